import type { KubeObject } from '../../kube/object.ts';
import { objectAt } from '../../schema/json.ts';
import type { Problems } from './field-checks.ts';
import { invalidValue } from './field-errors.ts';
import { integer } from './fields.ts';

/** The count of hash collisions tells apart what was made before, so it never falls. */
export function collisionCountKept(object: KubeObject, old: KubeObject): Problems {
  const before = integer(objectAt(old, 'status'), 'collisionCount');
  const now = integer(objectAt(object, 'status'), 'collisionCount');
  return before === undefined || (now !== undefined && now >= before)
    ? []
    : [invalidValue('status.collisionCount', now ?? 0, 'cannot be decremented')];
}

/**
 * Counts in the status of a workload: none negative, and none of `parts` above all replicas. `ready` is how messages name the
 * replicas that are ready.
 */
export function replicaStatusProblems(
  object: KubeObject,
  parts: readonly string[],
  ready: string = 'readyReplicas',
): Problems {
  const status = objectAt(object, 'status');
  if (status === undefined) return [];
  const count = (key: string): number => integer(status, key) ?? 0;
  const problems: Problems = [];
  for (const key of ['observedGeneration', 'replicas', ...parts, 'unavailableReplicas', 'collisionCount']) {
    if (count(key) < 0)
      problems.push(invalidValue(`status.${key}`, count(key), 'must be greater than or equal to 0'));
  }
  for (const key of parts) {
    if (count(key) > count('replicas'))
      problems.push(invalidValue(`status.${key}`, count(key), 'cannot be greater than status.replicas'));
  }
  if (count('availableReplicas') > count('readyReplicas'))
    problems.push(
      invalidValue('status.availableReplicas', count('availableReplicas'), `cannot be greater than ${ready}`),
    );
  return problems;
}
