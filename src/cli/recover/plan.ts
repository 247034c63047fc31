import { comparePositions } from '../../engine/dispatch/index.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import type { Found } from './found.ts';

export interface RecoveryPlan {
  /** In the order in which they are made: namespaces and content, the inventory, propagations last. */
  readonly objects: readonly KubeObject[];
  /** What two spokes tell differently; the newest word counts. */
  readonly conflicts: readonly string[];
  /** Hubs that the orders come from, by lineage. */
  readonly lineages: readonly string[];
}

/** What a hub held by the word of its spokes. Pure; of several words for one object that of the newest position counts. */
export function recoveryPlan(found: readonly Found[]): RecoveryPlan {
  const newest = [...found].sort(
    (a, b) =>
      comparePositions(b.position, a.position) ??
      (a.position.lineage < b.position.lineage ? -1 : a.position.lineage > b.position.lineage ? 1 : 0),
  );
  const content = new Map<string, KubeObject>();
  const origin = new Map<string, KubeObject>();
  const said = new Map<string, string>();
  const conflicts: string[] = [];
  // Orders of one source come with one content per generation: only the newest word of each source is taken.
  const sources = new Map<string, Found>();
  for (const item of newest) {
    const known = sources.get(item.dispatch);
    if (!known) sources.set(item.dispatch, item);
    for (const object of item.origin) {
      const key = refKey(refOf(object));
      if (!origin.has(key)) origin.set(key, object);
    }
  }
  for (const item of sources.values()) {
    for (const object of item.content) {
      const ref = refOf(object);
      const key = refKey(ref);
      const text = JSON.stringify(object);
      if (!content.has(key)) {
        content.set(key, object);
        said.set(key, text);
      } else if (said.get(key) !== text)
        conflicts.push(`${refText(ref)} is in two orders with different contents; ${item.spoke} has another`);
    }
  }
  const byOrder = (a: KubeObject, b: KubeObject): number => compareForApply(refOf(a), refOf(b));
  const namespaces = namespacesOf([...content.values(), ...origin.values()], content);
  const inventory = [...origin.values()].filter((object) => object.kind === 'SpokeCluster');
  const propagations = [...origin.values()].filter((object) => object.kind !== 'SpokeCluster');
  return {
    objects: [
      ...namespaces,
      ...[...content.values()].sort(byOrder),
      ...inventory.sort(byOrder),
      ...propagations.sort(byOrder),
    ],
    conflicts,
    lineages: [...new Set(found.map((item) => item.position.lineage))].sort(),
  };
}

/** Namespaces that the objects need and that are not among them. */
function namespacesOf(
  objects: readonly KubeObject[],
  content: ReadonlyMap<string, KubeObject>,
): KubeObject[] {
  const names = new Set(objects.map((object) => object.metadata.namespace ?? ''));
  for (const given of ['', 'default', 'kube-system']) names.delete(given);
  return [...names]
    .sort()
    .map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
    .filter((namespace) => !content.has(refKey(refOf(namespace))));
}
