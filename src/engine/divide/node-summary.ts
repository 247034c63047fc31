import type { KubeObject } from '../../kube/object.ts';
import { parseTime } from '../../runtime/clock.ts';
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

/** What is free in a cluster, and what found no room there. JSON, small however many nodes and pods there are. */
export interface CapacityReport extends ClusterCapacity {
  readonly pending?: readonly PendingPods[];
}

/** Pods of one workload that no node took. */
export interface PendingPods {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly count: number;
  /** Milliseconds: when the first of them was refused. */
  readonly since: number;
}

/** Pods, counted page by page. */
export interface PodTally {
  readonly used: ReadonlyMap<string, Amounts>;
  readonly pending: readonly PendingPods[];
  add(pods: readonly KubeObject[]): void;
}

const MAX_PENDING = 100;

export function tallyPods(): PodTally {
  const used = new Map<string, Amounts>();
  const pending = new Map<string, PendingPods>();
  return {
    used,
    get pending() {
      return [...pending.values()].slice(0, MAX_PENDING);
    },
    add(pods): void {
      for (const pod of pods) {
        if (TERMINAL.has(stringAt(pod, 'status', 'phase') ?? '')) continue;
        const node = stringAt(pod, 'spec', 'nodeName');
        if (node !== undefined) used.set(node, plus(used.get(node) ?? {}, podNeeds(objectAt(pod, 'spec'))));
        else noteRefused(pod, pending);
      }
    },
  };
}

function noteRefused(pod: KubeObject, pending: Map<string, PendingPods>): void {
  const refused = listAt(pod, 'status', 'conditions').find(
    (item) => isObject(item) && item['type'] === 'PodScheduled' && item['status'] === 'False',
  );
  const since = parseTime(stringAt(refused, 'lastTransitionTime') ?? pod.metadata.creationTimestamp);
  const owner = workloadOf(pod);
  if (refused === undefined || since === undefined || !owner) return;
  const key = `${owner.kind}/${owner.namespace}/${owner.name}`;
  const known = pending.get(key);
  pending.set(key, {
    ...owner,
    count: (known?.count ?? 0) + 1,
    since: Math.min(known?.since ?? since, since),
  });
}

/** What made a pod; for one of a ReplicaSet the Deployment that the name tells. */
function workloadOf({ metadata }: KubeObject): Pick<PendingPods, 'kind' | 'namespace' | 'name'> | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (!owner) return undefined;
  const { namespace = '', labels = {} } = metadata;
  const hash = labels['pod-template-hash'];
  const ofDeployment = owner.kind === 'ReplicaSet' && hash !== undefined && owner.name.endsWith(`-${hash}`);
  return ofDeployment
    ? { kind: 'Deployment', namespace, name: owner.name.slice(0, -hash.length - 1) }
    : { kind: owner.kind, namespace, name: owner.name };
}

/**
 * What is free in a cluster, from its nodes and the pods that were counted. Nodes that are cordoned, going, or not ready take
 * nothing.
 */
export function capacityOf(
  nodes: readonly KubeObject[],
  used: ReadonlyMap<string, Amounts>,
): ClusterCapacity {
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
