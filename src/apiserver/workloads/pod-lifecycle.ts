import { type IpPool, ipPool } from './ip-pool.ts';
import type { Pod } from './kinds.ts';
import { hostAddress } from './nodes.ts';
import { controllerOf, keyOf, splitKey } from './owner.ts';
import { nextStage, type Surroundings } from './pod-stage.ts';
import { conditionOf, isFinished } from './pod-state.ts';
import { behaviourOf } from './simulation.ts';
import type { World } from './world.ts';

/** Room for 262 thousand pods, apart from the ranges of services and load balancers. */
const POD_RANGE = ['10.244.0.0', 4 * 65_536] as const;

/** Leads every scheduled pod through its stages, as the kubelets of its nodes would. */
export function startPodLifecycle(world: World): void {
  const { pods, nodes, runtime, recorder } = world;
  const addresses: IpPool = ipPool(...POD_RANGE);
  /** The stage that a pod waits for, by uid. */
  const plans = new Map<string, { stage: string; dueAt: number }>();

  const controller = world.control({
    name: 'pod',
    concurrency: 256,
    writes: [pods],
    reconcile: async (key) => {
      const pod = pods.get(...splitKey(key));
      return pod && step(pod);
    },
  });

  pods.onChange(({ type, object }) => {
    const uid = object.metadata.uid ?? '';
    const ip = object.status?.podIP;
    if (type === 'deleted') plans.delete(uid);
    if (type === 'deleted' || isFinished(object)) addresses.release(uid);
    else if (ip !== undefined && object.spec.hostNetwork !== true) addresses.hold(uid, ip);
    if (type !== 'deleted') controller.enqueue(keyOf(object));
  });
  nodes.onChange(({ object, previous, type }) => {
    const ready = conditionOf(object.status?.conditions, 'Ready')?.status;
    const before = conditionOf(previous?.status?.conditions, 'Ready')?.status;
    if (type === 'updated' && ready === before) return;
    for (const pod of pods.list())
      if (pod.spec.nodeName === object.metadata.name) controller.enqueue(keyOf(pod));
  });

  function around(pod: Pod): Surroundings {
    const node = nodes.get('', pod.spec.nodeName ?? '');
    const ready = conditionOf(node?.status?.conditions, 'Ready')?.status === 'True';
    const address = node?.status?.addresses?.find((each) => each.type === 'InternalIP')?.address;
    return {
      node: node === undefined ? 'missing' : ready ? 'ready' : 'not-ready',
      // A node may say of itself that it has none; endpoints are never of the loopback range.
      hostIP: address ?? hostAddress(pod.spec.nodeName ?? ''),
      podIP: () => addresses.take(pod.metadata.uid ?? ''),
      now: runtime.clock.now(),
    };
  }

  async function step(pod: Pod): Promise<{ requeueAfterMs: number } | undefined> {
    const uid = pod.metadata.uid ?? '';
    const behaviour = behaviourOf(pod, controllerOf(pod)?.kind === 'Job');
    const stage = nextStage(pod, behaviour, around(pod));
    if (!stage) {
      plans.delete(uid);
      return undefined;
    }
    const now = runtime.clock.monotonic();
    let plan = plans.get(uid);
    if (plan?.stage !== stage.name) {
      const delay =
        typeof stage.delayMs === 'number'
          ? stage.delayMs
          : stage.delayMs[0] + runtime.random.next() * (stage.delayMs[1] - stage.delayMs[0]);
      plan = { stage: stage.name, dueAt: now + delay };
      plans.set(uid, plan);
    }
    const leftMs = plan.dueAt - now;
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    if (stage.status === undefined) await pods.remove(pod, { gracePeriodSeconds: 0 });
    else {
      if (stage.warning) recorder.record(pod, 'Warning', stage.warning.reason, stage.warning.message);
      await pods.setStatus(pod, stage.status());
    }
    plans.delete(uid);
    return undefined;
  }
}
