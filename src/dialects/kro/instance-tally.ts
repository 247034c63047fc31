import type { Condition } from '../../kube/object.ts';

/** How the instances of a definition are doing on one cluster. */
export interface InstanceTally {
  readonly total: number;
  readonly active: number;
  /** The one that serves them where they do not say otherwise. */
  readonly revision?: number;
  /** The worst of those that are not active: one that failed before one that is on its way. */
  readonly first?: { readonly name: string; readonly state: string; readonly message: string };
}

const MAX_MESSAGE = 500;
const COUNTS = /^(?:revision (\d+): )?(\d+) of (\d+) instances (?:is|are) active/;

/** As a condition of the definition, without its time. */
export function tallyCondition({
  total,
  active,
  first,
  revision,
}: InstanceTally): Pick<Condition, 'type' | 'status' | 'reason' | 'message'> {
  const of = revision === undefined ? '' : `revision ${revision}: `;
  const counts = `${of}${active} of ${total} instances ${active === 1 ? 'is' : 'are'} active`;
  if (!first) {
    const reason = total === 0 ? 'NoInstances' : 'AllActive';
    return { type: 'InstancesReady', status: 'True', reason, message: counts };
  }
  const more = first.message === '' ? '' : `: ${first.message}`;
  return {
    type: 'InstancesReady',
    status: 'False',
    reason: first.state === 'ERROR' ? 'InstancesFailed' : 'InstancesProgressing',
    message: `${counts}; ${first.name} is ${first.state}${more}`.slice(0, MAX_MESSAGE),
  };
}

/** The numbers in what {@link tallyCondition} says; `undefined` in any other text. */
export function countsIn(
  message: string,
): { readonly instances: number; readonly active: number; readonly revision?: number } | undefined {
  const [, revision, active, instances] = COUNTS.exec(message) ?? [];
  if (active === undefined || instances === undefined) return undefined;
  return {
    instances: Number(instances),
    active: Number(active),
    ...(revision !== undefined && { revision: Number(revision) }),
  };
}
