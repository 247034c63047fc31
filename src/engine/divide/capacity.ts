import { type Amounts, minus, timesIn } from './amounts.ts';

/** What is free in a cluster, as one small value however many nodes there are. JSON. */
export interface ClusterCapacity {
  /** Of all nodes that take pods. */
  readonly free: Amounts;
  /** Nodes that are alike; without them only the sum is known. */
  readonly nodes?: readonly NodeClass[];
}

export interface NodeClass {
  readonly count: number;
  /** On each of them. */
  readonly free: Amounts;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly NodeTaint[];
}

export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** What one replica needs. */
export interface ReplicaNeeds {
  readonly amounts: Amounts;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly NodeToleration[];
}

export interface NodeToleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface Estimate {
  readonly replicas: number;
  /** Why not more. */
  readonly reason: string;
}

/** The most that is ever answered: with no needs stated everything would fit without end. */
export const MAX_ESTIMATE: number = 2 ** 31 - 1;

/** How many more replicas a cluster has room for. With nodes known each replica must fit on one of them. */
export function estimateReplicas(capacity: ClusterCapacity, needs: ReplicaNeeds): Estimate {
  const overall = timesIn(capacity.free, needs.amounts);
  const scarce = (replicas: number, resource: string): Estimate => ({
    replicas: Math.min(replicas, MAX_ESTIMATE),
    reason: resource === '' ? 'nothing is asked for' : `limited by ${resource}`,
  });
  if (!capacity.nodes) return scarce(overall.times, overall.scarce);
  let fitting = 0;
  let suitable = 0;
  let tightest = '';
  for (const node of capacity.nodes) {
    if (!takes(node, needs)) continue;
    suitable += node.count;
    const { times, scarce: resource } = timesIn(node.free, needs.amounts);
    if (node.count > 0 && times < MAX_ESTIMATE) tightest = resource;
    fitting += Math.min(times, MAX_ESTIMATE) * node.count;
  }
  if (suitable === 0) return { replicas: 0, reason: 'no node suits its node selector and tolerations' };
  if (overall.times < fitting) return scarce(overall.times, overall.scarce);
  if (fitting === 0 && overall.times > 0)
    return { replicas: 0, reason: `no single node has enough ${tightest}` };
  return scarce(fitting, tightest);
}

/** Takes `replicas` off what is free, first where there is least but enough. `undefined` where they do not all fit. */
export function take(
  capacity: ClusterCapacity,
  needs: ReplicaNeeds,
  replicas: number,
): ClusterCapacity | undefined {
  const { capacity: rest, left } = takeUpTo(capacity, needs, replicas);
  return left === 0 ? rest : undefined;
}

/** The same for as many as fit; `left` did not. */
export function takeUpTo(
  capacity: ClusterCapacity,
  needs: ReplicaNeeds,
  replicas: number,
): { readonly capacity: ClusterCapacity; readonly left: number } {
  if (!capacity.nodes) {
    const taken = Math.min(replicas, timesIn(capacity.free, needs.amounts).times);
    return { capacity: { free: minus(capacity.free, needs.amounts, taken) }, left: replicas - taken };
  }
  const fits = (node: NodeClass): number =>
    takes(node, needs) ? timesIn(node.free, needs.amounts).times : 0;
  const classes = capacity.nodes.map((node) => ({ node, each: Math.min(fits(node), MAX_ESTIMATE) }));
  classes.sort((a, b) => a.each - b.each);
  let left = Math.min(replicas, timesIn(capacity.free, needs.amounts).times);
  const unplaced = replicas - left;
  const nodes: NodeClass[] = [];
  let taken = 0;
  for (const { node, each } of classes) {
    const here = Math.min(left, each * node.count);
    if (here === 0) {
      nodes.push(node);
      continue;
    }
    left -= here;
    taken += here;
    const full = Math.floor(here / each);
    const rest = here % each;
    const part = (count: number, on: number): void => {
      if (count > 0) nodes.push({ ...node, count, free: minus(node.free, needs.amounts, on) });
    };
    part(node.count - full - (rest > 0 ? 1 : 0), 0);
    part(full, each);
    part(rest > 0 ? 1 : 0, rest);
  }
  return { capacity: { free: minus(capacity.free, needs.amounts, taken), nodes }, left: left + unplaced };
}

/** A workload of several kinds of pods, such as a job manager and its workers: useful only as a whole. */
export interface Component {
  readonly name: string;
  readonly replicas: number;
  readonly needs: ReplicaNeeds;
}

/** How many whole sets fit, up to `wanted`. The largest pods are placed first, as they have the least choice. */
export function estimateSets(
  capacity: ClusterCapacity,
  components: readonly Component[],
  wanted: number,
): Estimate {
  const order = [...components].sort((a, b) => size(b.needs, capacity) - size(a.needs, capacity));
  let rest = capacity;
  for (let sets = 0; sets < wanted; sets++) {
    for (const { name, replicas, needs } of order) {
      const next = take(rest, needs, replicas);
      if (!next) return { replicas: sets, reason: `no room for ${replicas} of ${name} in set ${sets + 1}` };
      rest = next;
    }
  }
  return { replicas: wanted, reason: 'all sets fit' };
}

/** The largest share of what is free that one replica takes; resources that nobody counts do not matter. */
function size({ amounts }: ReplicaNeeds, { free }: ClusterCapacity): number {
  const shares = Object.entries(amounts).map(([resource, amount]) => {
    const here = free[resource];
    return here === undefined ? 0 : amount / Math.max(1, here);
  });
  return Math.max(0, ...shares);
}

function takes({ labels = {}, taints = [] }: NodeClass, needs: ReplicaNeeds): boolean {
  for (const [key, value] of Object.entries(needs.nodeSelector ?? {}))
    if (labels[key] !== value) return false;
  return taints.every(
    (taint) =>
      taint.effect === 'PreferNoSchedule' ||
      (needs.tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}

function tolerates(
  { key = '', operator = 'Equal', value = '', effect = '' }: NodeToleration,
  taint: NodeTaint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return key !== '' && operator === 'Equal' && value === (taint.value ?? '');
}
