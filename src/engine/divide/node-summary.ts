import type { KubeObject } from '../../kube/object.ts';
import { canonicalJson, isObject, type JsonObject, listAt, objectAt, stringAt } from '../../schema/json.ts';
import { type Amounts, amountsOf, minus, plus, podNeeds } from './amounts.ts';
import type { ClusterCapacity, NodeClass, NodeTaint, NodeToleration, ReplicaNeeds } from './capacity.ts';

/** More classes than this are merged: free amounts are rounded down until there are few enough. */
const MAX_CLASSES = 200;
/** They name a single node: nothing that may run in several clusters selects by them. */
const NODE_NAMES = new Set(['kubernetes.io/hostname', 'topology.kubernetes.io/hostname']);
const TERMINAL = new Set(['Succeeded', 'Failed']);
/** Significant binary digits to which free amounts are rounded, one after the other. */
const PRECISIONS = [52, 6, 4, 3, 2, 1] as const;

/** What is free in a cluster, from its nodes and pods. Nodes that are cordoned, going, or not ready take nothing. */
export function summariseNodes(nodes: readonly KubeObject[], pods: readonly KubeObject[]): ClusterCapacity {
  const used = new Map<string, Amounts>();
  for (const pod of pods) {
    const node = stringAt(pod, 'spec', 'nodeName');
    if (node === undefined || TERMINAL.has(stringAt(pod, 'status', 'phase') ?? '')) continue;
    used.set(node, plus(used.get(node) ?? {}, podNeeds(objectAt(pod, 'spec'))));
  }
  const open = nodes.filter(takesPods).map((node): NodeClass => {
    const allocatable = amountsOf(objectAt(node, 'status', 'allocatable'), 'down');
    const free = minus(allocatable, used.get(node.metadata.name ?? '') ?? {});
    for (const [resource, amount] of Object.entries(free)) free[resource] = Math.max(0, amount);
    return { count: 1, free, labels: labelsOf(node), taints: taintsOf(node) };
  });
  let free: Amounts = {};
  for (const node of open) free = plus(free, node.free);
  let classes: readonly NodeClass[] = open;
  for (const digits of PRECISIONS) {
    classes = merge(open, digits);
    if (classes.length <= MAX_CLASSES) break;
  }
  // Labels that differ on every node keep classes apart: better the sum alone than a list without end.
  return classes.length > MAX_CLASSES * 5 ? { free } : { free, nodes: classes };
}

/** What one replica of a workload needs, from the pod template at `path`. */
export function replicaNeeds(
  object: KubeObject,
  path: readonly string[] = ['spec', 'template', 'spec'],
): ReplicaNeeds {
  const spec = objectAt(object, ...path);
  const nodeSelector = objectAt(spec, 'nodeSelector');
  const tolerations = listAt(spec, 'tolerations').flatMap((item): NodeToleration[] => {
    if (!isObject(item)) return [];
    const toleration: Record<string, string> = {};
    for (const key of ['key', 'operator', 'value', 'effect']) {
      const value = item[key];
      if (typeof value === 'string') toleration[key] = value;
    }
    return [toleration];
  });
  return {
    amounts: podNeeds(spec),
    ...(nodeSelector ? { nodeSelector: stringsOf(nodeSelector) } : {}),
    ...(tolerations.length > 0 ? { tolerations } : {}),
  };
}

function takesPods(node: KubeObject): boolean {
  if (node.metadata.deletionTimestamp !== undefined) return false;
  if (objectAt(node, 'spec')?.['unschedulable'] === true) return false;
  const ready = listAt(node, 'status', 'conditions').find(
    (item) => isObject(item) && item['type'] === 'Ready',
  );
  return !isObject(ready) || ready['status'] === 'True';
}

function labelsOf(node: KubeObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(node.metadata.labels ?? {}).filter(([key]) => !NODE_NAMES.has(key)),
  );
}

function taintsOf(node: KubeObject): readonly NodeTaint[] {
  return listAt(node, 'spec', 'taints').flatMap((taint): NodeTaint[] => {
    const key = stringAt(taint, 'key');
    const effect = stringAt(taint, 'effect');
    const value = stringAt(taint, 'value');
    if (key === undefined || effect === undefined) return [];
    return [{ key, effect, ...(value === undefined ? {} : { value }) }];
  });
}

function merge(nodes: readonly NodeClass[], digits: number): readonly NodeClass[] {
  const classes = new Map<string, NodeClass>();
  for (const node of nodes) {
    const free = Object.fromEntries(
      Object.entries(node.free).map(([resource, amount]) => [resource, roundDown(amount, digits)]),
    );
    const key = canonicalJson({ free, labels: node.labels ?? {}, taints: node.taints ?? [] });
    const known = classes.get(key);
    classes.set(key, { ...node, free, count: (known?.count ?? 0) + 1 });
  }
  return [...classes.values()];
}

function roundDown(amount: number, digits: number): number {
  if (amount < 1) return 0;
  const step = 2 ** Math.max(0, Math.floor(Math.log2(amount)) + 1 - digits);
  return Math.floor(amount / step) * step;
}

function stringsOf(object: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
