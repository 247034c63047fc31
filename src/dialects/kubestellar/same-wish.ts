import { deepEqual } from '../../schema/json.ts';
import { combineModulations } from './modulation.ts';
import { listedIn, listedKey } from './resolve.ts';
import type { BindingSpec, ListedObject } from './types.ts';

const MAX_NAMED = 4;

/**
 * Why a Binding does not say what a policy comes to; `undefined` where both mean the same objects on the same clusters in the same way.
 * In which version objects are read, and of when, makes no difference.
 */
export function differenceOf(
  binding: BindingSpec | undefined,
  policy: BindingSpec | undefined,
): string | undefined {
  const [ours, theirs] = [clustersOf(binding), clustersOf(policy)];
  if (!deepEqual(ours, theirs)) return `it goes to ${someOf(ours)}, the policy to ${someOf(theirs)}`;
  const [own, wanted] = [objectsOf(binding), objectsOf(policy)];
  const more = [...own.entries()].find(([key]) => !wanted.has(key))?.[1];
  if (more) return `${textOf(more)} is in the Binding only`;
  for (const [key, listed] of wanted) {
    const present = own.get(key);
    if (!present) return `${textOf(listed)} is of the policy only`;
    if (!deepEqual({ ...combineModulations([present]) }, { ...combineModulations([listed]) }))
      return `${textOf(listed)} is not brought in the same way (createOnly, wanted states, collectors)`;
  }
  return undefined;
}

function clustersOf(spec: BindingSpec | undefined): string[] {
  return [...new Set((spec?.destinations ?? []).map(({ clusterId }) => clusterId))].sort();
}

function objectsOf(spec: BindingSpec | undefined): ReadonlyMap<string, ListedObject> {
  return new Map(listedIn(spec).map((listed) => [listedKey(listed), listed]));
}

function textOf({ resource, namespace, name }: ListedObject): string {
  return `${resource} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

function someOf(clusters: readonly string[]): string {
  if (clusters.length === 0) return 'no cluster';
  const more = clusters.length > MAX_NAMED ? ` and ${clusters.length - MAX_NAMED} more` : '';
  return `${clusters.slice(0, MAX_NAMED).join(', ')}${more}`;
}
