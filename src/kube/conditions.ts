import { formatTime } from '../runtime/clock.ts';
import type { Condition } from './object.ts';

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition is there and `True`. */
export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The conditions with one of them set. `lastTransitionTime` moves only when the status changes. When nothing changes
 * the list is the one given and `changed` is false, so that nothing need be written. `now` in milliseconds.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: NewCondition,
  now: number,
): { conditions: Condition[]; changed: boolean } {
  const list = (conditions ?? []) as Condition[];
  const index = list.findIndex((each) => each.type === condition.type);
  const old = list[index];
  if (!old)
    return { conditions: [...list, { ...condition, lastTransitionTime: formatTime(now) }], changed: true };
  const same =
    old.status === condition.status &&
    old.reason === condition.reason &&
    old.message === condition.message &&
    old.observedGeneration === condition.observedGeneration;
  if (same) return { conditions: list, changed: false };
  const lastTransitionTime = old.status === condition.status ? old.lastTransitionTime : formatTime(now);
  return { conditions: list.with(index, { ...condition, lastTransitionTime }), changed: true };
}
