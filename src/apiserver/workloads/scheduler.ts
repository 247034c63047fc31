import { hasCode } from '../../kube/status-error.ts';
import { pods as podResource } from '../../kube/well-known.ts';
import { formatTime, parseTime } from '../../runtime/index.ts';
import type { Node, Pod } from './kinds.ts';
import { type Amounts, addAmounts, insufficient, nodeRefusal, requestsOf } from './node-fit.ts';
import { isDeleting, keyOf } from './owner.ts';
import { isFinished, withCondition } from './pod-state.ts';
import type { World } from './world.ts';

const ROUND = 'round';

/**
 * Gives each pod a node where it may run and fits, the emptiest first. All pods that wait are scheduled in one round, in
 * the order of their creation; a pod that fits nowhere is told why, and tried again when nodes or other pods change.
 */
export function startScheduler(world: World): void {
  const { pods, nodes, recorder } = world;
  const waiting = new Map<string, Pod>();
  /** What pods take of their nodes, those included whose binding is under way. */
  const placed = new Map<string, { node: string; uid: string; requests: Amounts }>();
  const used = new Map<string, Amounts>();

  function place(pod: Pod, node: string): void {
    const key = keyOf(pod);
    unplace(key);
    const requests = requestsOf(pod.spec);
    placed.set(key, { node, uid: pod.metadata.uid ?? '', requests });
    let sum = used.get(node);
    if (!sum) {
      sum = new Map();
      used.set(node, sum);
    }
    addAmounts(sum, requests, 1);
  }

  function unplace(key: string): boolean {
    const before = placed.get(key);
    if (!before) return false;
    placed.delete(key);
    const sum = used.get(before.node);
    if (sum) addAmounts(sum, before.requests, -1);
    return true;
  }

  const controller = world.control({
    name: 'scheduler',
    concurrency: 1,
    writes: [pods],
    reconcile: () => round(),
  });

  pods.onChange(({ type, object }) => {
    const key = keyOf(object);
    if (type === 'deleted' || isFinished(object)) {
      waiting.delete(key);
      if (unplace(key) && waiting.size > 0) controller.enqueue(ROUND);
    } else if (object.spec.nodeName) {
      waiting.delete(key);
      if (placed.get(key)?.uid !== object.metadata.uid) place(object, object.spec.nodeName);
    } else if (
      !isDeleting(object) &&
      (object.spec.schedulerName ?? 'default-scheduler') === 'default-scheduler' &&
      (object.spec.schedulingGates ?? []).length === 0
    ) {
      const isNew = waiting.get(key)?.metadata.uid !== object.metadata.uid;
      waiting.set(key, object);
      if (isNew && placed.get(key)?.uid !== object.metadata.uid) controller.enqueue(ROUND);
    } else waiting.delete(key);
  });
  nodes.onChange(() => {
    if (waiting.size > 0) controller.enqueue(ROUND);
  });

  async function round(): Promise<void> {
    const all = nodes.list();
    const born = (pod: Pod): number => parseTime(pod.metadata.creationTimestamp) ?? 0;
    const candidates = [...waiting.values()]
      .filter((pod) => placed.get(keyOf(pod))?.uid !== pod.metadata.uid)
      .sort((a, b) => born(a) - born(b));
    const results = await Promise.allSettled(
      candidates.map((pod) => {
        const choice = choose(pod, all);
        if ('node' in choice) {
          place(pod, choice.node);
          return bind(pod, choice.node);
        }
        return explain(pod, choice.why);
      }),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  function choose(pod: Pod, all: readonly Node[]): { node: string } | { why: string } {
    const requests = requestsOf(pod.spec);
    const reasons = new Map<string, number>();
    let best: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const node of all) {
      const name = node.metadata.name ?? '';
      const refusal = nodeRefusal(pod, node);
      const why = refusal === undefined ? insufficient(requests, node, used.get(name)) : [refusal];
      for (const each of why) reasons.set(each, (reasons.get(each) ?? 0) + 1);
      if (why.length > 0) continue;
      const count = used.get(name)?.get('pods') ?? 0;
      if (count < fewest) {
        fewest = count;
        best = name;
      }
    }
    if (best !== undefined) return { node: best };
    if (all.length === 0) return { why: 'no nodes available to schedule pods' };
    const list = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
    return { why: `0/${all.length} nodes are available: ${list.join(', ')}.` };
  }

  async function bind(pod: Pod, node: string): Promise<void> {
    const { name = '', namespace = '', uid } = pod.metadata;
    try {
      await world.client.create(
        podResource,
        {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name, namespace, ...(uid === undefined ? {} : { uid }) },
          target: { apiVersion: 'v1', kind: 'Node', name: node },
        },
        { subresource: 'binding' },
      );
    } catch (error) {
      unplace(keyOf(pod));
      // Gone, or bound by somebody else: the watch tells what it is now.
      if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
    }
  }

  async function explain(pod: Pod, why: string): Promise<void> {
    const current = pods.get(pod.metadata.namespace ?? '', pod.metadata.name ?? '');
    if (!current || current.spec.nodeName) return;
    const before = current.status?.conditions;
    const conditions = withCondition(
      before,
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: why },
      formatTime(world.runtime.clock.now()),
    );
    if (conditions === before) return;
    recorder.record(current, 'Warning', 'FailedScheduling', why);
    await pods.setStatus(current, { ...current.status, conditions });
  }
}
