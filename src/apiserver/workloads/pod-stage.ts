import { createHash } from 'node:crypto';
import { formatTime } from '../../runtime/index.ts';
import type { Container, ContainerState, ContainerStatus, LooseCondition, Pod, PodStatus } from './kinds.ts';
import { isDeleting } from './owner.ts';
import { conditionOf, isFinished, withCondition } from './pod-state.ts';
import type { PodBehaviour } from './simulation.ts';

/** What the machine that a pod is on contributes. */
export interface Surroundings {
  /** `missing`: the Node object does not exist. */
  readonly node: 'ready' | 'not-ready' | 'missing';
  readonly hostIP: string;
  /** Gives the pod its address, the same each time. */
  readonly podIP: () => string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The next thing that happens to a pod: after a delay its status becomes another, or it is removed. */
export interface Stage {
  /** Tells stages of one pod apart: a stage that is waited for stays the same until its name changes. */
  readonly name: string;
  /** A fixed delay, or a range to draw from. */
  readonly delayMs: number | readonly [from: number, to: number];
  /** The new status; `undefined` removes the pod. */
  readonly status?: () => PodStatus;
  /** Worth an Event. */
  readonly warning?: { reason: string; message: string };
}

const STOP_MS = [50, 150] as const;
const INIT_MS = [50, 150] as const;
const START_MS = [200, 600] as const;
const BACKOFF_BASE_MS = 10_000;
const BACKOFF_MAX_MS = 300_000;

/**
 * The life of a pod as its kubelet would make it, one stage at a time; `undefined` when nothing more happens by itself.
 * Depends on nothing but its arguments, so a simulator that starts anew goes on where it was.
 */
export function nextStage(pod: Pod, behaviour: PodBehaviour, around: Surroundings): Stage | undefined {
  if (isDeleting(pod)) {
    if (pod.metadata.deletionGracePeriodSeconds === 0) return undefined; // held by finalizers only
    return { name: 'stop', delayMs: STOP_MS };
  }
  if (!pod.spec.nodeName) return undefined;
  if (around.node === 'missing') return { name: 'lost', delayMs: 1_000 };
  if (isFinished(pod)) return undefined;
  const status = pod.status ?? {};
  if (around.node === 'not-ready')
    return status.phase === 'Running' ? readiness(pod, behaviour, around) : undefined;
  if (status.startTime === undefined)
    return { name: 'admit', delayMs: 0, status: () => admitted(pod, around) };
  if (!hasStarted(status)) {
    if (behaviour.fail === 'image-pull') return pullFailure(pod, behaviour, around);
    const init = nextInit(pod, around);
    if (init) return init;
    return {
      name: 'start',
      delayMs: behaviour.startDelayMs ?? START_MS,
      status: () => started(pod, behaviour, around),
    };
  }
  return (
    restart(pod, behaviour, around) ??
    imageChange(pod, behaviour, around) ??
    debugging(pod, around) ??
    readiness(pod, behaviour, around) ??
    exit(pod, behaviour, around)
  );
}

function hasStarted(status: PodStatus): boolean {
  return status.phase === 'Running';
}

function admitted(pod: Pod, around: Surroundings): PodStatus {
  const time = formatTime(around.now);
  const init = pod.spec.initContainers ?? [];
  const waiting = init.length > 0 ? 'PodInitializing' : 'ContainerCreating';
  const names = pod.spec.containers.map((container) => container.name).join(' ');
  const unready = {
    status: 'False' as const,
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${names}]`,
  };
  let conditions = withCondition(
    pod.status?.conditions,
    init.length > 0
      ? {
          type: 'Initialized',
          status: 'False',
          reason: 'ContainersNotInitialized',
          message: `containers with incomplete status: [${init.map((each) => each.name).join(' ')}]`,
        }
      : { type: 'Initialized', status: 'True' },
    time,
  );
  conditions = withCondition(conditions, { type: 'Ready', ...unready }, time);
  conditions = withCondition(conditions, { type: 'ContainersReady', ...unready }, time);
  if (!conditionOf(conditions, 'PodScheduled'))
    conditions = withCondition(conditions, { type: 'PodScheduled', status: 'True' }, time);
  return {
    ...pod.status,
    phase: 'Pending',
    startTime: time,
    hostIP: around.hostIP,
    hostIPs: [{ ip: around.hostIP }],
    conditions,
    containerStatuses: pod.spec.containers.map((container) => waitingStatus(container, waiting)),
    ...(init.length > 0
      ? { initContainerStatuses: init.map((container) => waitingStatus(container, 'PodInitializing')) }
      : {}),
  };
}

function waitingStatus(container: Container, reason: string): ContainerStatus {
  return {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    ready: false,
    started: false,
    restartCount: 0,
    state: { waiting: { reason } },
  };
}

/** The init containers run one after the other; those that restart always (sidecars) go on running. */
function nextInit(pod: Pod, around: Surroundings): Stage | undefined {
  const containers = pod.spec.initContainers ?? [];
  const statuses = pod.status?.initContainerStatuses ?? [];
  const index = containers.findIndex((_, i) => {
    const state = statuses[i]?.state;
    return state?.terminated === undefined && state?.running === undefined;
  });
  const container = containers[index];
  if (!container) return undefined;
  const sidecar = container.restartPolicy === 'Always';
  return {
    name: `init-${index}`,
    delayMs: INIT_MS,
    status: () => {
      const time = formatTime(around.now);
      const done: ContainerStatus = {
        ...waitingStatus(container, ''),
        imageID: imageId(container.image ?? ''),
        containerID: containerId(pod, container.name, 0),
        ready: true,
        started: sidecar,
        state: sidecar
          ? { running: { startedAt: time } }
          : { terminated: { exitCode: 0, reason: 'Completed', startedAt: time, finishedAt: time } },
      };
      const last = index === containers.length - 1;
      return {
        ...pod.status,
        initContainerStatuses: containers.map(
          (each, i) => (i === index ? done : statuses[i]) ?? waitingStatus(each, 'PodInitializing'),
        ),
        ...(last
          ? {
              conditions: withCondition(
                pod.status?.conditions,
                { type: 'Initialized', status: 'True' },
                time,
              ),
            }
          : {}),
      };
    },
  };
}

function pullFailure(pod: Pod, behaviour: PodBehaviour, around: Surroundings): Stage | undefined {
  const reason = pod.status?.containerStatuses?.[0]?.state.waiting?.reason;
  if (reason === 'ImagePullBackOff') return undefined;
  const next = reason === 'ErrImagePull' ? 'ImagePullBackOff' : 'ErrImagePull';
  const image = pod.spec.containers[0]?.image ?? '';
  return {
    name: next,
    delayMs: next === 'ErrImagePull' ? (behaviour.startDelayMs ?? START_MS) : [1_000, 2_000],
    warning: { reason: 'Failed', message: `Failed to pull image "${image}": simulated failure` },
    status: () => ({
      ...pod.status,
      phase: 'Pending',
      containerStatuses: pod.spec.containers.map((container) => ({
        ...waitingStatus(container, next),
        state: {
          waiting: {
            reason: next,
            message:
              next === 'ErrImagePull'
                ? `failed to pull image "${container.image ?? ''}"`
                : `Back-off pulling image "${container.image ?? ''}"`,
          },
        },
      })),
      ...hostOf(pod, around),
    }),
  };
}

function hostOf(pod: Pod, around: Surroundings): Pick<PodStatus, 'hostIP' | 'hostIPs'> {
  const hostIP = pod.status?.hostIP ?? around.hostIP;
  return { hostIP, hostIPs: [{ ip: hostIP }] };
}

function started(pod: Pod, behaviour: PodBehaviour, around: Surroundings): PodStatus {
  const podIP = pod.spec.hostNetwork === true ? around.hostIP : around.podIP();
  const ready = isWantedReady(behaviour);
  const time = formatTime(around.now);
  const containerStatuses = pod.spec.containers.map((container) => running(pod, container, 0, ready, time));
  let conditions = withCondition(pod.status?.conditions, { type: 'Initialized', status: 'True' }, time);
  conditions = readyConditions(conditions, pod, ready, around);
  return {
    ...pod.status,
    ...hostOf(pod, around),
    phase: 'Running',
    podIP,
    podIPs: [{ ip: podIP }],
    containerStatuses,
    conditions,
  };
}

function running(
  pod: Pod,
  container: Container,
  restartCount: number,
  ready: boolean,
  time: string,
  lastState?: ContainerState,
): ContainerStatus {
  return {
    name: container.name,
    image: container.image ?? '',
    imageID: imageId(container.image ?? ''),
    containerID: containerId(pod, container.name, restartCount),
    ready,
    started: true,
    restartCount,
    state: { running: { startedAt: time } },
    ...(lastState === undefined ? {} : { lastState }),
  };
}

/** A container that is about to crash never becomes ready: it would flap. */
function isWantedReady(behaviour: PodBehaviour): boolean {
  return behaviour.fail === undefined;
}

function readyConditions(
  conditions: readonly LooseCondition[] | undefined,
  pod: Pod,
  ready: boolean,
  around: Surroundings,
): LooseCondition[] {
  const time = formatTime(around.now);
  const names = pod.spec.containers.map((container) => container.name).join(' ');
  const unready = { reason: 'ContainersNotReady', message: `containers with unready status: [${names}]` };
  const containers: LooseCondition = ready
    ? { type: 'ContainersReady', status: 'True' }
    : { type: 'ContainersReady', status: 'False', ...unready };
  const nodeReady = around.node === 'ready';
  const whole: LooseCondition =
    ready && nodeReady
      ? { type: 'Ready', status: 'True' }
      : { type: 'Ready', status: 'False', ...(ready ? {} : unready) };
  return withCondition(withCondition(conditions, containers, time), whole, time);
}

/** Brings readiness to what the annotations and the node say now. */
function readiness(pod: Pod, behaviour: PodBehaviour, around: Surroundings): Stage | undefined {
  const status = pod.status ?? {};
  const statuses = status.containerStatuses ?? [];
  const running = statuses.length > 0 && statuses.every((each) => each.state.running !== undefined);
  const ready = running && isWantedReady(behaviour);
  const conditions = readyConditions(status.conditions, pod, ready, around);
  const same = conditions === status.conditions && statuses.every((each) => each.ready === ready);
  if (same) return undefined;
  return {
    name: `ready-${ready}-${around.node}`,
    delayMs: 0,
    status: () => ({
      ...status,
      conditions,
      containerStatuses: statuses.map((each) => (each.ready === ready ? each : { ...each, ready })),
    }),
  };
}

/** Containers run for their time, then exit: the pod ends or backs off, as its restart policy says. */
function exit(pod: Pod, behaviour: PodBehaviour, around: Surroundings): Stage | undefined {
  if (behaviour.runForMs === undefined) return undefined;
  const statuses = pod.status?.containerStatuses ?? [];
  if (statuses.length === 0 || !statuses.every((each) => each.state.running)) return undefined;
  const { exitCode } = behaviour;
  const policy = pod.spec.restartPolicy ?? 'Always';
  const restarts = policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
  const count = statuses[0]?.restartCount ?? 0;
  return {
    name: `exit-${count}`,
    delayMs: behaviour.runForMs,
    ...(restarts ? { warning: { reason: 'BackOff', message: 'Back-off restarting failed container' } } : {}),
    status: () => {
      const time = formatTime(around.now);
      const terminated = (each: ContainerStatus): ContainerState => ({
        terminated: {
          exitCode,
          reason: exitCode === 0 ? 'Completed' : 'Error',
          ...(each.state.running?.startedAt === undefined ? {} : { startedAt: each.state.running.startedAt }),
          finishedAt: time,
        },
      });
      const containerStatuses = statuses.map((each) => ({
        ...each,
        ready: false,
        started: false,
        ...(restarts
          ? {
              state: {
                waiting: {
                  reason: 'CrashLoopBackOff',
                  message: `back-off ${backOffMs(each.restartCount) / 1_000}s restarting failed container=${each.name}`,
                },
              },
              lastState: terminated(each),
            }
          : { state: terminated(each) }),
      }));
      let conditions = readyConditions(pod.status?.conditions, pod, false, around);
      if (!restarts && exitCode === 0) {
        for (const type of ['Ready', 'ContainersReady', 'Initialized'])
          conditions = withCondition(
            conditions,
            { type, status: type === 'Initialized' ? 'True' : 'False', reason: 'PodCompleted' },
            time,
          );
      }
      return {
        ...pod.status,
        phase: restarts ? 'Running' : exitCode === 0 ? 'Succeeded' : 'Failed',
        containerStatuses,
        conditions,
      };
    },
  };
}

/** Containers that back off are started again, after a time that doubles; at once when they are healed. */
function restart(pod: Pod, behaviour: PodBehaviour, around: Surroundings): Stage | undefined {
  const statuses = pod.status?.containerStatuses ?? [];
  const first = statuses.find((each) => each.state.waiting !== undefined);
  if (!first) return undefined;
  const healed = behaviour.runForMs === undefined;
  return {
    name: `restart-${first.restartCount}${healed ? '-healed' : ''}`,
    delayMs: healed ? START_MS : backOffMs(first.restartCount),
    status: () => {
      const time = formatTime(around.now);
      const ready = isWantedReady(behaviour);
      const containerStatuses = pod.spec.containers.map((container, index) => {
        const before = statuses[index];
        return running(pod, container, (before?.restartCount ?? 0) + 1, ready, time, before?.lastState);
      });
      return {
        ...pod.status,
        phase: 'Running',
        containerStatuses,
        conditions: readyConditions(pod.status?.conditions, pod, ready, around),
      };
    },
  };
}

function backOffMs(restarts: number): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** Math.min(restarts, 10));
}

/** The image of a running pod may be changed: its containers are restarted with the new one. */
function imageChange(pod: Pod, behaviour: PodBehaviour, around: Surroundings): Stage | undefined {
  const statuses = pod.status?.containerStatuses ?? [];
  const changed = pod.spec.containers.filter((container, index) => {
    const status = statuses[index];
    return status !== undefined && status.image !== (container.image ?? '');
  });
  if (changed.length === 0) return undefined;
  return {
    name: `image-${changed.map((each) => each.image).join(' ')}`,
    delayMs: START_MS,
    status: () => ({
      ...pod.status,
      containerStatuses: pod.spec.containers.map((container, index) => {
        const status = statuses[index];
        if (status && !changed.includes(container)) return status;
        const count = (status?.restartCount ?? -1) + 1;
        return running(pod, container, count, isWantedReady(behaviour), formatTime(around.now));
      }),
    }),
  };
}

/** Ephemeral containers are started once, beside those that run; nothing depends on them. */
function debugging(pod: Pod, around: Surroundings): Stage | undefined {
  const wanted = pod.spec.ephemeralContainers ?? [];
  const statuses = pod.status?.ephemeralContainerStatuses ?? [];
  const fresh = wanted.filter(({ name }) => !statuses.some((status) => status.name === name));
  if (fresh.length === 0) return undefined;
  return {
    name: `ephemeral-${fresh.map(({ name }) => name).join(' ')}`,
    delayMs: INIT_MS,
    status: () => ({
      ...pod.status,
      ephemeralContainerStatuses: [
        ...statuses,
        ...fresh.map((container) => {
          const { started: _started, ...status } = running(pod, container, 0, false, formatTime(around.now));
          return status;
        }),
      ],
    }),
  };
}

function containerId(pod: Pod, name: string, restartCount: number): string {
  const digest = createHash('sha256').update(`${pod.metadata.uid}/${name}/${restartCount}`).digest('hex');
  return `containerd://${digest}`;
}

function imageId(image: string): string {
  if (image.includes('@sha256:')) return image;
  const name = image.replace(/:[^:/]*$/, '');
  return `${name}@sha256:${createHash('sha256').update(image).digest('hex')}`;
}
