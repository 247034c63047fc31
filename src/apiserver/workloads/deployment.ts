import type { Controller } from '../../kube/controller.ts';
import { hasCode } from '../../kube/status-error.ts';
import { parseTime } from '../../runtime/index.ts';
import { claim, selects } from './claim.ts';
import { deploymentStatus } from './deployment-status.ts';
import type { Deployment, ReplicaSet } from './kinds.ts';
import { controllerOf, controllerReference, isDeleting, keyOf, splitKey } from './owner.ts';
import type { isActive } from './pod-state.ts';
import { newReplicas, oldReplicas, proportional, rollingBounds } from './rolling-update.ts';
import { POD_TEMPLATE_HASH, sameTemplate, templateHash, withoutHash } from './template-hash.ts';
import type { World } from './world.ts';

const REVISION = 'deployment.kubernetes.io/revision';
const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
const DESIRED = 'deployment.kubernetes.io/desired-replicas';
const MOST = 'deployment.kubernetes.io/max-replicas';
/** Annotations that belong to one object and are not handed down to ReplicaSets. */
const OWN_ANNOTATIONS = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED,
  MOST,
  'deprecated.deployment.rollback.to',
]);

/** Rolls Deployments out: one ReplicaSet for each template, scaled up and down within the bounds of the strategy. */
export function startDeployments(world: World): void {
  const { deployments, replicaSets, pods } = world;

  const controller: Controller = world.control({
    name: 'deployment',
    writes: [replicaSets, deployments],
    reconcile: async (key) => {
      const deployment = deployments.get(...splitKey(key));
      if (deployment) return reconcileDeployment(world, deployment);
      return undefined;
    },
  });
  deployments.onChange(({ object }) => controller.enqueue(keyOf(object)));
  replicaSets.onChange(({ type, object, previous }) => {
    for (const each of previous && previous !== object ? [previous, object] : [object]) {
      const owner = controllerOf(each);
      const namespace = each.metadata.namespace ?? '';
      if (owner?.kind === 'Deployment') controller.enqueue(`${namespace}/${owner.name}`);
      else if (owner === undefined && type !== 'deleted')
        for (const deployment of deployments.list(namespace))
          if (selects(deployment.spec.selector, each.metadata.labels)) controller.enqueue(keyOf(deployment));
    }
  });
  // Recreate waits for the last old pod to be gone, of which no ReplicaSet tells.
  pods.onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    const owner = controllerOf(object);
    if (owner?.kind !== 'ReplicaSet') return;
    const set = replicaSets.get(object.metadata.namespace ?? '', owner.name);
    const above = set && controllerOf(set);
    const deployment = above && deployments.get(object.metadata.namespace ?? '', above.name);
    if (deployment?.spec.strategy?.type === 'Recreate') controller.enqueue(keyOf(deployment));
  });
}

async function reconcileDeployment(
  world: World,
  deployment: Deployment,
): Promise<{ requeueAfterMs: number } | undefined> {
  const { replicaSets } = world;
  let all = byAge(await claim(replicaSets, world.deployments, deployment, deployment.spec.selector));
  if (!isDeleting(deployment)) {
    if (!(await resized(world, deployment, all)) && deployment.spec.paused !== true) {
      await rollOut(world, deployment, all);
    }
    await replicaSets.caughtUp();
    all = byAge(replicaSets.ownedBy(deployment.metadata.uid ?? ''));
  }
  const fresh = freshOf(deployment, all);
  const current = await annotateRevision(world, deployment, fresh);
  const { status, deadlineInMs } = deploymentStatus(current, fresh, all, world.runtime.clock.now());
  await world.deployments.setStatus(current, status);
  if (fresh !== undefined && !isDeleting(deployment)) await forgetOld(world, deployment, fresh, all);
  return deadlineInMs === undefined ? undefined : { requeueAfterMs: deadlineInMs + 1_000 };
}

function byAge(sets: readonly ReplicaSet[]): ReplicaSet[] {
  return [...sets].sort(
    (a, b) =>
      (parseTime(a.metadata.creationTimestamp) ?? 0) - (parseTime(b.metadata.creationTimestamp) ?? 0) ||
      revisionOf(a) - revisionOf(b) ||
      ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
}

/** The ReplicaSet of the present template: the oldest, should there be several. */
function freshOf(deployment: Deployment, all: readonly ReplicaSet[]): ReplicaSet | undefined {
  return all.find((set) => !isDeleting(set) && sameTemplate(set.spec.template, deployment.spec.template));
}

function revisionOf(object: { metadata: { annotations?: Record<string, string> } }): number {
  return Number(object.metadata.annotations?.[REVISION] ?? 0) || 0;
}

function counted(set: ReplicaSet): { replicas: number; available: number } {
  return { replicas: set.spec.replicas ?? 0, available: set.status?.availableReplicas ?? 0 };
}

async function rollOut(world: World, deployment: Deployment, all: readonly ReplicaSet[]): Promise<void> {
  const { replicaSets, pods } = world;
  const wanted = deployment.spec.replicas ?? 1;
  const bounds = rollingBounds(deployment);
  const existing = freshOf(deployment, all);
  const old = all.filter((set) => set !== existing);

  if (deployment.spec.strategy?.type === 'Recreate') {
    for (const set of old) await resize(world, deployment, set, 0);
    const running = old.some((set) =>
      pods.ownedBy(set.metadata.uid ?? '').some((pod) => !isFinishedPod(pod)),
    );
    if (running) return;
    if (!existing) await createFresh(world, deployment, all, wanted);
    else await resize(world, deployment, await renew(world, deployment, existing, old), wanted);
    return;
  }

  if (!existing) {
    const size = newReplicas(wanted, bounds, { replicas: 0, available: 0 }, old.map(counted));
    await createFresh(world, deployment, all, size);
  } else {
    const fresh = await renew(world, deployment, existing, old);
    await resize(world, deployment, fresh, newReplicas(wanted, bounds, counted(fresh), old.map(counted)));
  }
  await replicaSets.caughtUp();
  const now = byAge(replicaSets.ownedBy(deployment.metadata.uid ?? ''));
  const fresh = freshOf(deployment, now);
  if (!fresh) return;
  const others = now.filter((set) => set !== fresh && (set.spec.replicas ?? 0) > 0);
  const sizes = oldReplicas(wanted, bounds, counted(fresh), others.map(counted));
  for (const [index, set] of others.entries())
    await resize(world, deployment, set, sizes[index] ?? set.spec.replicas ?? 0);
}

function isFinishedPod(pod: Parameters<typeof isActive>[0]): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

async function createFresh(
  world: World,
  deployment: Deployment,
  all: readonly ReplicaSet[],
  replicas: number,
): Promise<void> {
  const { replicaSets, deployments, recorder } = world;
  const collisions = deployment.status?.collisionCount ?? 0;
  const template = withoutHash(deployment.spec.template);
  const hash = templateHash(template, collisions);
  const labels = { ...template.metadata?.labels, [POD_TEMPLATE_HASH]: hash };
  const name = `${(deployment.metadata.name ?? '').slice(0, 52)}-${hash}`;
  const set: ReplicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations: {
        ...handedDown(deployment),
        ...scaleAnnotations(deployment),
        [REVISION]: String(Math.max(0, ...all.map(revisionOf)) + 1),
      },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      ...(deployment.spec.minReadySeconds === undefined
        ? {}
        : { minReadySeconds: deployment.spec.minReadySeconds }),
      selector: {
        ...deployment.spec.selector,
        matchLabels: { ...deployment.spec.selector.matchLabels, [POD_TEMPLATE_HASH]: hash },
      },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  try {
    await replicaSets.create(set);
    recorder.record(
      deployment,
      'Normal',
      'ScalingReplicaSet',
      `Scaled up replica set ${name} to ${replicas}`,
    );
  } catch (error) {
    if (!hasCode(error, 409)) throw error;
    // The name is taken by another's ReplicaSet: the next try makes another name.
    const taken = replicaSets.get(set.metadata.namespace ?? '', name);
    if (taken && controllerOf(taken)?.uid !== deployment.metadata.uid)
      await deployments.setStatus(deployment, { ...deployment.status, collisionCount: collisions + 1 });
    throw error;
  }
}

/** The ReplicaSet of the present template has the Deployment's annotations, and the newest revision, also after a rollback. */
async function renew(
  world: World,
  deployment: Deployment,
  fresh: ReplicaSet,
  old: readonly ReplicaSet[],
): Promise<ReplicaSet> {
  const present = fresh.metadata.annotations ?? {};
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(handedDown(deployment)))
    if (present[key] !== value) annotations[key] = value;
  const before = revisionOf(fresh);
  const newest = Math.max(0, ...old.map(revisionOf));
  if (before <= newest) {
    annotations[REVISION] = String(newest + 1);
    const history = present[REVISION_HISTORY];
    if (before > 0) annotations[REVISION_HISTORY] = history ? `${history},${before}` : String(before);
  }
  // Old ones keep theirs: what counts as available there was decided with their template.
  const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
  const sameReady = (fresh.spec.minReadySeconds ?? 0) === minReadySeconds;
  if (Object.keys(annotations).length === 0 && sameReady) return fresh;
  return world.replicaSets.patch(fresh, {
    metadata: { annotations },
    ...(sameReady ? {} : { spec: { minReadySeconds } }),
  });
}

async function resize(
  world: World,
  deployment: Deployment,
  set: ReplicaSet,
  replicas: number,
): Promise<void> {
  const before = set.spec.replicas ?? 0;
  const annotations = scaleAnnotations(deployment);
  const marked = Object.entries(annotations).every(
    ([key, value]) => set.metadata.annotations?.[key] === value,
  );
  if (before === replicas && marked) return;
  await world.replicaSets.patch(set, { metadata: { annotations }, spec: { replicas } });
  if (before === replicas) return;
  const way = replicas > before ? 'up' : 'down';
  world.recorder.record(
    deployment,
    'Normal',
    'ScalingReplicaSet',
    `Scaled ${way} replica set ${set.metadata.name} from ${before} to ${replicas}`,
  );
}

function scaleAnnotations(deployment: Deployment): Record<string, string> {
  const wanted = deployment.spec.replicas ?? 1;
  return { [DESIRED]: String(wanted), [MOST]: String(wanted + rollingBounds(deployment).surge) };
}

function handedDown(deployment: Deployment): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {}))
    if (!OWN_ANNOTATIONS.has(key)) out[key] = value;
  return out;
}

/**
 * Handles a change of `spec.replicas`, and a paused Deployment, without going on with the rollout: a single ReplicaSet
 * takes the new size, several share it. Says whether it did.
 */
async function resized(world: World, deployment: Deployment, all: readonly ReplicaSet[]): Promise<boolean> {
  const wanted = deployment.spec.replicas ?? 1;
  const active = all.filter((set) => (set.spec.replicas ?? 0) > 0);
  const asked = active.some((set) => {
    const mark = set.metadata.annotations?.[DESIRED];
    return mark !== undefined && Number(mark) !== wanted;
  });
  if (!asked) return false;
  const fresh = freshOf(deployment, all);
  const only = active.length === 1 ? active[0] : undefined;
  if (only) {
    await resize(world, deployment, only, wanted);
    return true;
  }
  if (wanted === 0) {
    for (const set of active) await resize(world, deployment, set, 0);
    return true;
  }
  if (deployment.spec.strategy?.type === 'Recreate') return false;
  const newestFirst = [...active].sort((a, b) => Number(b === fresh) - Number(a === fresh));
  const sizes = proportional(
    newestFirst.map((set) => set.spec.replicas ?? 0),
    wanted + rollingBounds(deployment).surge,
  );
  for (const [index, set] of newestFirst.entries()) await resize(world, deployment, set, sizes[index] ?? 0);
  return true;
}

/** The Deployment shows the revision of its present ReplicaSet. Returns it as it is after that. */
async function annotateRevision(
  world: World,
  deployment: Deployment,
  fresh: ReplicaSet | undefined,
): Promise<Deployment> {
  const revision = fresh?.metadata.annotations?.[REVISION];
  if (revision === undefined || isDeleting(deployment)) return deployment;
  if (deployment.metadata.annotations?.[REVISION] === revision) return deployment;
  return world.deployments.patch(deployment, { metadata: { annotations: { [REVISION]: revision } } });
}

/** Deletes ReplicaSets beyond the history limit, once the rollout is complete. */
async function forgetOld(
  world: World,
  deployment: Deployment,
  fresh: ReplicaSet,
  all: readonly ReplicaSet[],
): Promise<void> {
  const idle = all.filter(
    (set) =>
      set !== fresh &&
      !isDeleting(set) &&
      (set.spec.replicas ?? 0) === 0 &&
      (set.status?.replicas ?? 0) === 0 &&
      (set.status?.observedGeneration ?? 0) >= (set.metadata.generation ?? 0),
  );
  const surplus = idle.length - (deployment.spec.revisionHistoryLimit ?? 10);
  if (surplus <= 0) return;
  const oldestFirst = idle.sort((a, b) => revisionOf(a) - revisionOf(b));
  for (const set of oldestFirst.slice(0, surplus)) await world.replicaSets.remove(set);
}
