import { hasCode } from '../../kube/status-error.ts';
import { claim } from './claim.ts';
import type { Pod, StatefulSet, VolumeClaim } from './kinds.ts';
import { controllerOf, isDeleting, keyOf, splitKey } from './owner.ts';
import { availableInMs, countPods, isFinished, isReady, podFromTemplate } from './pod-state.ts';
import { GATHER_MS } from './replica-set.ts';
import { forgetRevisions, hashOf, type Revisions, syncRevisions } from './revision.ts';
import { REVISION_HASH } from './template-hash.ts';
import type { World } from './world.ts';

const POD_NAME = 'statefulset.kubernetes.io/pod-name';
const POD_INDEX = 'apps.kubernetes.io/pod-index';

/** Keeps the numbered pods of StatefulSets, in order unless they ask for all at once. */
export function startStatefulSets(world: World): void {
  const { statefulSets, pods } = world;
  const controller = world.control({
    name: 'statefulset',
    writes: [pods, statefulSets, world.controllerRevisions, world.volumeClaims],
    reconcile: async (key) => {
      const set = statefulSets.get(...splitKey(key));
      return set && reconcileSet(world, set);
    },
  });
  statefulSets.onChange(({ object }) => controller.enqueue(keyOf(object)));
  pods.onChange(({ type, object }) => {
    const owner = controllerOf(object);
    if (owner?.kind === 'StatefulSet')
      controller.enqueue(
        `${object.metadata.namespace ?? ''}/${owner.name}`,
        type === 'deleted' ? 0 : GATHER_MS,
      );
  });
}

async function reconcileSet(world: World, set: StatefulSet): Promise<{ requeueAfterMs: number } | undefined> {
  const { pods, runtime, statefulSets } = world;
  await claim(pods, statefulSets, set, set.spec.selector);
  const mine = (): Map<number, Pod> => numbered(set, pods.ownedBy(set.metadata.uid ?? ''));
  if (isDeleting(set)) return undefined;

  const revisions = await syncRevisions(world, set);
  const before = mine();
  await act(world, set, revisions, before);
  await pods.caughtUp();
  const after = mine();

  const now = runtime.clock.now();
  const live = [...after.values()].filter((pod) => !isFinished(pod));
  const counts = countPods(live, set.spec.minReadySeconds ?? 0, now);
  const wanted = set.spec.replicas ?? 1;
  const updateName = revisions.update.metadata.name ?? '';
  const updated = live.filter((pod) => isOf(pod, revisions.hash, updateName));
  const settled =
    updated.length === live.length &&
    live.length === wanted &&
    counts.ready === wanted &&
    partitionOf(set) === 0;
  const currentRevision = settled ? updateName : (set.status?.currentRevision ?? updateName);
  const current = live.filter((pod) => pod.metadata.labels?.[REVISION_HASH] === currentRevision);
  await statefulSets.setStatus(set, {
    ...set.status,
    observedGeneration: set.metadata.generation,
    replicas: live.length,
    readyReplicas: counts.ready === 0 ? undefined : counts.ready,
    availableReplicas: counts.available,
    currentReplicas: current.length === 0 ? undefined : current.length,
    updatedReplicas: updated.length === 0 ? undefined : updated.length,
    currentRevision,
    updateRevision: updateName,
    collisionCount: set.status?.collisionCount ?? 0,
  });
  if (settled) {
    const inUse = new Set([currentRevision, updateName]);
    await forgetRevisions(world, revisions, set.spec.revisionHistoryLimit ?? 10, inUse);
  }
  return Number.isFinite(counts.nextAvailableInMs) ? { requeueAfterMs: counts.nextAvailableInMs } : undefined;
}

/** Pods of a StatefulSet carry the whole name of their revision. */
function isOf(pod: Pod, hash: string, revisionName: string): boolean {
  const label = pod.metadata.labels?.[REVISION_HASH];
  return label === revisionName || label === hash;
}

function partitionOf(set: StatefulSet): number {
  return set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
}

function numbered(set: StatefulSet, pods: readonly Pod[]): Map<number, Pod> {
  const out = new Map<number, Pod>();
  const prefix = `${set.metadata.name}-`;
  for (const pod of [...pods].sort((a, b) => ordinalOf(prefix, a) - ordinalOf(prefix, b))) {
    const ordinal = ordinalOf(prefix, pod);
    if (ordinal >= 0) out.set(ordinal, pod);
  }
  return out;
}

function ordinalOf(prefix: string, pod: Pod): number {
  const name = pod.metadata.name ?? '';
  const text = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^\d{1,9}$/.test(text) ? Number(text) : -1;
}

/** One move: make what is missing, take away what is too much, replace what is old; in order, waiting for each pod. */
async function act(
  world: World,
  set: StatefulSet,
  revisions: Revisions,
  present: ReadonlyMap<number, Pod>,
): Promise<void> {
  const { pods, runtime } = world;
  const ordered = set.spec.podManagementPolicy !== 'Parallel';
  const first = set.spec.ordinals?.start ?? 0;
  const last = first + (set.spec.replicas ?? 1) - 1;
  const minReady = set.spec.minReadySeconds ?? 0;
  const now = runtime.clock.now();
  const isSettled = (pod: Pod): boolean => isReady(pod) && availableInMs(pod, minReady, now) === 0;

  for (let ordinal = first; ordinal <= last; ordinal++) {
    const pod = present.get(ordinal);
    if (!pod) await createPod(world, set, revisionFor(set, revisions, ordinal), ordinal);
    else if (isFinished(pod) && !isDeleting(pod)) await pods.remove(pod);
    else if (isSettled(pod) && !isDeleting(pod)) continue;
    if (ordered) return;
  }

  const surplus = [...present].filter(([ordinal]) => ordinal > last || ordinal < first).reverse();
  for (const [, pod] of surplus) {
    if (!isDeleting(pod)) await pods.remove(pod);
    if (ordered) return;
  }
  if (set.spec.updateStrategy?.type === 'OnDelete') return;

  const name = revisions.update.metadata.name ?? '';
  for (let ordinal = last; ordinal >= Math.max(first, first + partitionOf(set)); ordinal--) {
    const pod = present.get(ordinal);
    if (!pod) return;
    if (!isOf(pod, revisions.hash, name)) {
      if (!isDeleting(pod)) await pods.remove(pod);
      return;
    }
    if (!isSettled(pod)) return;
  }
}

/** Pods below the partition are made from the current revision, the others from the new one. */
function revisionFor(
  set: StatefulSet,
  revisions: Revisions,
  ordinal: number,
): { name: string; template: StatefulSet['spec']['template'] } {
  const newest = { name: revisions.update.metadata.name ?? '', template: set.spec.template };
  if (ordinal - (set.spec.ordinals?.start ?? 0) >= partitionOf(set)) return newest;
  const current = revisions.all.find((each) => each.metadata.name === set.status?.currentRevision);
  const template = current?.data?.spec?.template as
    | (StatefulSet['spec']['template'] & { $patch?: string })
    | undefined;
  if (!current || !template || hashOf(current) === revisions.hash) return newest;
  const { $patch: _patch, ...plain } = template;
  return { name: current.metadata.name ?? '', template: plain };
}

async function createPod(
  world: World,
  set: StatefulSet,
  revision: { name: string; template: StatefulSet['spec']['template'] },
  ordinal: number,
): Promise<void> {
  const name = `${set.metadata.name}-${ordinal}`;
  const claims = set.spec.volumeClaimTemplates ?? [];
  for (const template of claims) await ensureClaim(world, set, template, name);
  const pod = podFromTemplate(
    revision.template,
    set,
    { name },
    {
      [POD_NAME]: name,
      [POD_INDEX]: String(ordinal),
      [REVISION_HASH]: revision.name,
    },
  );
  const claimed = new Set(claims.map((each) => each.metadata.name));
  const volumes = (pod.spec.volumes ?? []).filter((each) => !claimed.has(each.name));
  for (const { metadata } of claims)
    volumes.push({
      name: metadata.name ?? '',
      persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
    });
  pod.spec = {
    ...pod.spec,
    hostname: name,
    ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
    ...(volumes.length > 0 ? { volumes } : {}),
  };
  await world.pods.create(pod);
}

async function ensureClaim(
  world: World,
  set: StatefulSet,
  template: { metadata: VolumeClaim['metadata']; spec: VolumeClaim['spec'] },
  podName: string,
): Promise<void> {
  const name = `${template.metadata.name}-${podName}`;
  const namespace = set.metadata.namespace ?? '';
  if (world.volumeClaims.get(namespace, name)) return;
  const labels = { ...template.metadata.labels, ...set.spec.selector.matchLabels };
  try {
    await world.volumeClaims.create({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace, ...(Object.keys(labels).length > 0 ? { labels } : {}) },
      spec: template.spec,
    });
  } catch (error) {
    if (!hasCode(error, 409)) throw error; // there already, and not seen yet
  }
}
