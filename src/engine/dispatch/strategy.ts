import type { KubeObject } from '../../kube/object.ts';
import type { ApplyStrategy } from '../intent.ts';
import { isTarget } from '../render/override.ts';
import type { DispatchSpec } from './dispatch.ts';

/** On a source object: take over an object that is on the spoke already and was made by someone else. */
export const ADOPT_ANNOTATION = 'atoll.dev/adopt';
export const STRATEGY_ANNOTATION = 'atoll.dev/apply-strategy';
export const RETAIN_REPLICAS_ANNOTATION = 'atoll.dev/retain-replicas';
export const PRESERVE_ANNOTATION = 'atoll.dev/preserve-on-deletion';

const STRATEGIES: ReadonlySet<string> = new Set(['ServerSideApply', 'Update', 'CreateOnly', 'ReadOnly']);

function isStrategy(value: string | undefined): value is NonNullable<ApplyStrategy['strategy']> {
  return value !== undefined && STRATEGIES.has(value);
}

/**
 * How one object of a dispatch is written: what the object itself asks for in annotations, then the first of the strategies
 * for some objects that speaks of it, then what holds for all.
 */
export function strategyOf(
  spec: Pick<DispatchSpec, 'apply' | 'objectApply'>,
  object: KubeObject,
): ApplyStrategy {
  let strategy: ApplyStrategy = spec.apply ?? {};
  const { annotations } = object.metadata;
  for (const { target, ...choices } of [...(spec.objectApply ?? [])].reverse())
    if (isTarget(target, object)) strategy = { ...strategy, ...choices };
  if (annotations === undefined) return strategy;
  const named = annotations[STRATEGY_ANNOTATION];
  const adopt = annotations[ADOPT_ANNOTATION];
  const retain = annotations[RETAIN_REPLICAS_ANNOTATION];
  const preserve = annotations[PRESERVE_ANNOTATION];
  if (named === undefined && adopt === undefined && retain === undefined && preserve === undefined)
    return strategy;
  return {
    ...strategy,
    ...(isStrategy(named) ? { strategy: named } : {}),
    ...(adopt === undefined ? {} : { adopt: adopt === 'true' ? 'Always' : 'Never' }),
    ...(retain === undefined ? {} : { retainReplicas: retain === 'true' }),
    ...(preserve === undefined ? {} : { preserveOnDeletion: preserve === 'true' }),
  };
}
