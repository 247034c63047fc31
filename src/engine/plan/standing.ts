import { deepEqual } from '../../schema/json.ts';
import type { DispatchSpec } from '../dispatch/index.ts';
import { applyOn, type Plan } from './plan.ts';

/** Parts of a dispatch that a plan states as they are. */
const APPLY_PARTS = [
  'author',
  'apply',
  'objectApply',
  'returns',
  'returnFields',
  'shared',
  'removeWhenLostSeconds',
] as const satisfies readonly (keyof Plan['apply'])[];

/**
 * Whether an earlier order already says to a cluster all that a plan does: the change that made the plan a new one was about
 * other clusters. Such an order stands, so that a change costs no more than the clusters that it is about.
 */
export function stands(spec: DispatchSpec, cluster: string, plan: Plan, generation: number): boolean {
  const apply = applyOn(plan, cluster);
  return (
    spec.position.generation < generation &&
    plan.objects.length > 0 &&
    spec.revision === plan.revision &&
    deepEqual(spec.source, plan.source) &&
    deepEqual(spec.objects, plan.objects) &&
    deepEqual(spec.patches, plan.patches.get(cluster) ?? []) &&
    APPLY_PARTS.every((part) => deepEqual(spec[part], apply[part]))
  );
}
