import { scaledValue } from '../../schema/int-or-percent.ts';
import { claim } from './claim.ts';
import type { DaemonSet, Node, Pod, PodSpec, Toleration } from './kinds.ts';
import { matchesAffinity, toleratesTaint } from './node-fit.ts';
import { controllerOf, isDeleting, keyOf, splitKey } from './owner.ts';
import { availableInMs, isFinished, isReady, podFromTemplate } from './pod-state.ts';
import { GATHER_MS, namePrefix } from './replica-set.ts';
import { forgetRevisions, type Revisions, syncRevisions } from './revision.ts';
import { REVISION_HASH } from './template-hash.ts';
import type { World } from './world.ts';

/** What pods of DaemonSets tolerate besides what they ask for: they look after nodes that are in trouble. */
const TOLERATIONS: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];

/** Keeps one pod of each DaemonSet on every node that it may run on. */
export function startDaemonSets(world: World): void {
  const { daemonSets, pods, nodes } = world;
  const controller = world.control({
    name: 'daemonset',
    writes: [pods, daemonSets, world.controllerRevisions],
    reconcile: async (key) => {
      const set = daemonSets.get(...splitKey(key));
      return set && reconcileSet(world, set);
    },
  });
  daemonSets.onChange(({ object }) => controller.enqueue(keyOf(object)));
  pods.onChange(({ type, object }) => {
    const owner = controllerOf(object);
    if (owner?.kind === 'DaemonSet')
      controller.enqueue(
        `${object.metadata.namespace ?? ''}/${owner.name}`,
        type === 'deleted' ? 0 : GATHER_MS,
      );
  });
  nodes.onChange(() => {
    for (const set of daemonSets.list()) controller.enqueue(keyOf(set), GATHER_MS);
  });
}

async function reconcileSet(world: World, set: DaemonSet): Promise<{ requeueAfterMs: number } | undefined> {
  const { pods, nodes } = world;
  if (isDeleting(set)) return undefined;
  await claim(pods, world.daemonSets, set, set.spec.selector);
  const revisions = await syncRevisions(world, set);
  const eligible = nodes.list().filter((node) => mayRun(set, node));
  await act(world, set, revisions, eligible);
  await pods.caughtUp();
  return report(world, set, revisions, eligible);
}

function mayRun(set: DaemonSet, node: Node): boolean {
  const { spec } = set.spec.template;
  const tolerations = [...(spec.tolerations ?? []), ...TOLERATIONS];
  const refused = (node.spec?.taints ?? []).some(
    (taint) => taint.effect !== 'PreferNoSchedule' && !toleratesTaint(tolerations, taint),
  );
  return !refused && !isDeleting(node) && matchesAffinity(spec, node);
}

/** The node that a pod was made for: where it is, or where its affinity binds it. */
function nodeOf(pod: Pod): string {
  if (pod.spec.nodeName) return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms[0]?.matchFields?.find((field) => field.key === 'metadata.name')?.values?.[0] ?? '';
}

function podsByNode(world: World, set: DaemonSet): Map<string, Pod[]> {
  const out = new Map<string, Pod[]>();
  for (const pod of world.pods.ownedBy(set.metadata.uid ?? '')) {
    const node = nodeOf(pod);
    const list = out.get(node);
    if (list) list.push(pod);
    else out.set(node, [pod]);
  }
  return out;
}

async function act(
  world: World,
  set: DaemonSet,
  revisions: Revisions,
  eligible: readonly Node[],
): Promise<void> {
  const { pods, runtime } = world;
  const byNode = podsByNode(world, set);
  const wanted = new Set(eligible.map((node) => node.metadata.name ?? ''));
  const writes: Promise<unknown>[] = [];
  let unavailable = 0;
  const old: Pod[] = [];
  for (const node of wanted) {
    const present = byNode.get(node) ?? [];
    const ended = present.filter((pod) => isFinished(pod) && !isDeleting(pod));
    for (const pod of ended) writes.push(pods.remove(pod));
    const live = present.filter((pod) => !isFinished(pod));
    const pod = live.find((each) => !isDeleting(each));
    if (live.length === 0 && ended.length === 0)
      writes.push(pods.create(daemonPod(set, revisions.hash, node)));
    for (const extra of live.filter((each) => each !== pod && !isDeleting(each)))
      writes.push(pods.remove(extra));
    const available =
      pod !== undefined && availableInMs(pod, set.spec.minReadySeconds ?? 0, runtime.clock.now()) === 0;
    if (!available) unavailable += 1;
    if (pod && pod.metadata.labels?.[REVISION_HASH] !== revisions.hash) old.push(pod);
  }
  for (const [node, present] of byNode)
    if (!wanted.has(node)) for (const pod of present) if (!isDeleting(pod)) writes.push(pods.remove(pod));

  if (set.spec.updateStrategy?.type !== 'OnDelete') {
    const asked = set.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
    const most = Math.max(1, scaledValue(asked, wanted.size, 'up') ?? 1);
    // Pods that are not available may go at once: nothing is lost with them.
    const broken = old.filter((pod) => !isReady(pod));
    const sound = old.filter((pod) => isReady(pod));
    const room = Math.max(0, most - unavailable);
    for (const pod of [...broken, ...sound.slice(0, room)]) writes.push(pods.remove(pod));
  }
  const results = await Promise.allSettled(writes);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** A pod bound to its node by affinity, so that the scheduler puts it there and nowhere else. */
function daemonPod(set: DaemonSet, hash: string, node: string): Pod {
  const pod = podFromTemplate(
    set.spec.template,
    set,
    { generateName: namePrefix(set) },
    {
      [REVISION_HASH]: hash,
    },
  );
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  const { affinity } = pod.spec;
  const spec: PodSpec = {
    ...pod.spec,
    affinity: {
      ...affinity,
      nodeAffinity: {
        ...affinity?.nodeAffinity,
        // The other terms of the template were checked when the node was chosen.
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
      },
    },
    tolerations: [...(pod.spec.tolerations ?? []), ...TOLERATIONS.map((each) => ({ ...each }))],
  };
  return { ...pod, spec };
}

async function report(
  world: World,
  set: DaemonSet,
  revisions: Revisions,
  eligible: readonly Node[],
): Promise<{ requeueAfterMs: number } | undefined> {
  const now = world.runtime.clock.now();
  const minReady = set.spec.minReadySeconds ?? 0;
  const byNode = podsByNode(world, set);
  const wanted = new Set(eligible.map((node) => node.metadata.name ?? ''));
  let current = 0;
  let ready = 0;
  let available = 0;
  let updated = 0;
  let misscheduled = 0;
  let next = Number.POSITIVE_INFINITY;
  for (const [node, present] of byNode) {
    const live = present.filter((pod) => !isFinished(pod) && !isDeleting(pod));
    if (live.length === 0) continue;
    if (!wanted.has(node)) {
      misscheduled += 1;
      continue;
    }
    current += 1;
    const pod = live[0];
    if (!pod) continue;
    const inMs = availableInMs(pod, minReady, now);
    if (isReady(pod)) ready += 1;
    if (inMs === 0) available += 1;
    else next = Math.min(next, inMs);
    if (pod.metadata.labels?.[REVISION_HASH] === revisions.hash) updated += 1;
  }
  await world.daemonSets.setStatus(set, {
    ...set.status,
    observedGeneration: set.metadata.generation,
    desiredNumberScheduled: wanted.size,
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    numberReady: ready,
    numberAvailable: available === 0 ? undefined : available,
    numberUnavailable: wanted.size - available === 0 ? undefined : wanted.size - available,
    updatedNumberScheduled: updated === 0 ? undefined : updated,
  });
  if (updated === wanted.size)
    await forgetRevisions(world, revisions, set.spec.revisionHistoryLimit ?? 10, new Set([revisions.hash]));
  return Number.isFinite(next) ? { requeueAfterMs: next } : undefined;
}
