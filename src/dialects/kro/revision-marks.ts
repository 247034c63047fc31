import type { KubeObject } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';

/** On an instance, or on a definition for all its instances: the number of the revision to stay at. */
export const REVISION_PIN = 'atoll.dev/graph-revision';

/** On a definition that a hub sent: which of its hub's revisions it is. It has that number here too. */
export const DISTRIBUTED_REVISION = 'atoll.dev/distributed-revision';

/** On a definition: what becomes of its instances when it is deleted, on each cluster by itself. */
export const ON_DELETION = 'atoll.dev/on-deletion';

/** On a definition: what becomes of its CustomResourceDefinition when it is deleted, on each cluster by itself. */
export const KIND_REMOVAL = 'atoll.dev/kind-removal';

/** On a definition: how many of its instances go to another revision within a minute, on each cluster. All at once by default. */
export const INSTANCES_PER_MINUTE = 'atoll.dev/instances-per-minute';

/** On an instance of such a definition, by the engine: the revision that it is made by. */
export const AT_REVISION = 'atoll.dev/at-revision';

/** `Keep` (the default): it stays. `AfterInstances`: it goes when the last instance is gone. */
export type KindRemoval = 'Keep' | 'AfterInstances';

/** The revision that an object is pinned to; what is no number pins to one that does not exist, and so is told. */
export function pinOf(object: KubeObject): number | undefined {
  return numberOf(object, REVISION_PIN);
}

/** The revision of its hub that a definition is; `undefined` for one that was written here. */
export function distributedRevisionOf(object: KubeObject): number | undefined {
  const number = numberOf(object, DISTRIBUTED_REVISION);
  return number === 0 ? undefined : number;
}

/** How many instances go on within a minute; `undefined` for all at once. What is no number is one. */
export function paceOf(object: KubeObject): number | undefined {
  const number = numberOf(object, INSTANCES_PER_MINUTE);
  return number === undefined ? undefined : Math.max(1, number);
}

export function atRevisionOf(object: KubeObject): number | undefined {
  return numberOf(object, AT_REVISION);
}

export function kindRemovalOf(object: KubeObject): KindRemoval {
  const said = stringAt(object, 'metadata', 'annotations', KIND_REMOVAL)?.trim();
  return said === 'AfterInstances' ? said : 'Keep';
}

function numberOf(object: KubeObject, annotation: string): number | undefined {
  const text = stringAt(object, 'metadata', 'annotations', annotation)?.trim();
  if (text === undefined || text === '') return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
