import { formatTime, parseTime } from '../../runtime/index.ts';
import { claim } from './claim.ts';
import type { Job, JobStatus, LooseCondition, Pod } from './kinds.ts';
import { controllerOf, isDeleting, keyOf, splitKey } from './owner.ts';
import { conditionOf, isActive, isReady, podFromTemplate, withCondition } from './pod-state.ts';
import { GATHER_MS, namePrefix } from './replica-set.ts';
import { slowStart } from './slow-start.ts';
import type { World } from './world.ts';

const INDEX = 'batch.kubernetes.io/job-completion-index';
const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;

/** Pods of a Job that have ended, by uid: counted once, also when they are deleted afterwards. */
interface Ledger {
  readonly succeeded: Set<string>;
  readonly failed: Set<string>;
  /** Counted by an earlier process, which knew pods that are gone. */
  readonly baseSucceeded: number;
  readonly baseFailed: number;
  lastFailureAt: number;
}

/** Runs Jobs to their completions, or until they have failed too often or taken too long. */
export function startJobs(world: World): void {
  const { jobs, pods } = world;
  const ledgers = new Map<string, Ledger>();

  const controller = world.control({
    name: 'job',
    writes: [pods, jobs],
    reconcile: async (key) => {
      const job = jobs.get(...splitKey(key));
      return job && reconcileJob(world, job, ledgers);
    },
  });
  jobs.onChange(({ type, object }) => {
    if (type === 'deleted') ledgers.delete(object.metadata.uid ?? '');
    else controller.enqueue(keyOf(object));
  });
  pods.onChange(({ object }) => {
    const owner = controllerOf(object);
    if (owner?.kind === 'Job')
      controller.enqueue(`${object.metadata.namespace ?? ''}/${owner.name}`, GATHER_MS);
  });
}

export function isJobOver(job: Job): boolean {
  return ['Complete', 'Failed'].some((type) => conditionOf(job.status?.conditions, type)?.status === 'True');
}

function openLedger(job: Job, pods: readonly Pod[]): Ledger {
  const ended = (phase: string): number => pods.filter((pod) => pod.status?.phase === phase).length;
  return {
    succeeded: new Set(),
    failed: new Set(),
    baseSucceeded: Math.max(0, (job.status?.succeeded ?? 0) - ended('Succeeded')),
    baseFailed: Math.max(0, (job.status?.failed ?? 0) - ended('Failed')),
    lastFailureAt: Number.NEGATIVE_INFINITY,
  };
}

async function reconcileJob(
  world: World,
  job: Job,
  ledgers: Map<string, Ledger>,
): Promise<{ requeueAfterMs: number } | undefined> {
  const { pods, jobs, runtime } = world;
  if (isDeleting(job)) return undefined;
  const now = runtime.clock.now();
  if (isJobOver(job)) return expire(world, job, now);
  if (job.spec.selector) await claim(pods, jobs, job, job.spec.selector);
  const uid = job.metadata.uid ?? '';
  let mine = pods.ownedBy(uid);
  let ledger = ledgers.get(uid);
  if (!ledger) {
    ledger = openLedger(job, mine);
    ledgers.set(uid, ledger);
  }
  count(ledger, mine, runtime.clock.monotonic());

  const verdict = judge(job, ledger, mine, now);
  let retryInMs: number | undefined;
  if (verdict || job.spec.suspend === true) {
    await Promise.all(mine.filter(isActive).map((pod) => pods.remove(pod)));
  } else {
    retryInMs = await supply(world, job, ledger, mine);
  }
  await pods.caughtUp();
  mine = pods.ownedBy(uid);
  await jobs.setStatus(job, statusOf(job, ledger, mine, verdict, now));
  const deadline = verdict ? undefined : deadlineInMs(job, now);
  const times = [retryInMs, deadline].filter((each) => each !== undefined);
  return times.length > 0 ? { requeueAfterMs: Math.max(1, Math.min(...times)) } : undefined;
}

function count(ledger: Ledger, pods: readonly Pod[], monotonic: number): void {
  for (const pod of pods) {
    const uid = pod.metadata.uid ?? '';
    if (pod.status?.phase === 'Succeeded') ledger.succeeded.add(uid);
    else if (pod.status?.phase === 'Failed' && !ledger.failed.has(uid)) {
      ledger.failed.add(uid);
      ledger.lastFailureAt = monotonic;
    }
  }
}

interface Verdict {
  readonly type: 'Complete' | 'Failed';
  readonly reason: string;
  readonly message: string;
}

function succeededOf(ledger: Ledger): number {
  return ledger.baseSucceeded + ledger.succeeded.size;
}

function failedOf(ledger: Ledger): number {
  return ledger.baseFailed + ledger.failed.size;
}

/** Containers that were restarted in place count as failures too (restart policy OnFailure). */
function restartsOf(pods: readonly Pod[]): number {
  let sum = 0;
  for (const pod of pods)
    if (isActive(pod))
      for (const status of pod.status?.containerStatuses ?? [])
        sum += status.restartCount + (status.state.waiting?.reason === 'CrashLoopBackOff' ? 1 : 0);
  return sum;
}

function judge(job: Job, ledger: Ledger, pods: readonly Pod[], now: number): Verdict | undefined {
  // What was decided stays decided, though the pods that it was decided by may be gone.
  const target = conditionOf(job.status?.conditions, 'FailureTarget');
  if (target?.status === 'True')
    return { type: 'Failed', reason: target.reason ?? '', message: target.message ?? '' };
  const limit = job.spec.backoffLimit ?? 6;
  if (failedOf(ledger) > limit || restartsOf(pods) >= Math.max(1, limit))
    return {
      type: 'Failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    };
  if (deadlineInMs(job, now) === 0)
    return {
      type: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    };
  const done =
    job.spec.completionMode === 'Indexed'
      ? completedOf(job, pods).size >= (job.spec.completions ?? 1)
      : job.spec.completions === undefined
        ? succeededOf(ledger) > 0 && !pods.some(isActive)
        : succeededOf(ledger) >= job.spec.completions;
  if (!done) return undefined;
  return {
    type: 'Complete',
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
  };
}

function deadlineInMs(job: Job, now: number): number | undefined {
  const seconds = job.spec.activeDeadlineSeconds;
  const start = parseTime(job.status?.startTime);
  if (seconds === undefined || start === undefined || job.spec.suspend === true) return undefined;
  return Math.max(0, start + seconds * 1_000 - now);
}

function indexesOf(pods: readonly Pod[], phase?: string): Set<number> {
  const out = new Set<number>();
  for (const pod of pods) {
    if (phase === undefined ? !isActive(pod) : pod.status?.phase !== phase) continue;
    const index = Number(pod.metadata.annotations?.[INDEX] ?? Number.NaN);
    if (Number.isInteger(index)) out.add(index);
  }
  return out;
}

/** Indexes that are completed. Those that the status tells of stay so, though their pods may be gone. */
function completedOf(job: Job, pods: readonly Pod[]): Set<number> {
  const out = indexesOf(pods, 'Succeeded');
  for (const range of (job.status?.completedIndexes ?? '').split(',')) {
    const [from, to = from] = range.split('-').map(Number);
    const last = Math.min(to ?? -1, (job.spec.completions ?? 1) - 1);
    if (range !== '') for (let index = from ?? 0; index <= last; index++) out.add(index);
  }
  return out;
}

/** Starts or stops pods so that as many run as may; says when to look again if a failure is to be waited out. */
async function supply(
  world: World,
  job: Job,
  ledger: Ledger,
  mine: readonly Pod[],
): Promise<number | undefined> {
  const { pods, runtime } = world;
  const active = mine.filter(isActive);
  const parallelism = job.spec.parallelism ?? 1;
  const { completions } = job.spec;
  const left =
    completions === undefined
      ? succeededOf(ledger) > 0
        ? active.length
        : parallelism
      : Math.max(0, completions - succeededOf(ledger));
  const wanted = Math.min(parallelism, left);
  if (active.length > wanted) {
    await Promise.all(active.slice(wanted).map((pod) => pods.remove(pod)));
    return undefined;
  }
  const missing = wanted - active.length;
  if (missing === 0) return undefined;
  const failures = failedOf(ledger);
  if (failures > 0) {
    const delay = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** Math.min(failures - 1, 10));
    const waitMs = ledger.lastFailureAt + delay - runtime.clock.monotonic();
    if (waitMs > 0) return waitMs;
  }
  const indexes = job.spec.completionMode === 'Indexed' ? freeIndexes(job, mine, missing) : [];
  await slowStart(missing, (i) => pods.create(jobPod(job, indexes[i])));
  return undefined;
}

function freeIndexes(job: Job, mine: readonly Pod[], count: number): number[] {
  const taken = indexesOf(mine).union(completedOf(job, mine));
  const out: number[] = [];
  for (let index = 0; index < (job.spec.completions ?? 1) && out.length < count; index++)
    if (!taken.has(index)) out.push(index);
  return out;
}

function jobPod(job: Job, index: number | undefined): Pod {
  const prefix = index === undefined ? namePrefix(job) : `${namePrefix(job)}${index}-`;
  const pod = podFromTemplate(job.spec.template, job, { generateName: prefix });
  if (index === undefined) return pod;
  const text = String(index);
  pod.metadata.annotations = { ...pod.metadata.annotations, [INDEX]: text };
  pod.metadata.labels = { ...pod.metadata.labels, [INDEX]: text };
  pod.spec = {
    ...pod.spec,
    hostname: `${job.metadata.name}-${index}`,
    containers: pod.spec.containers.map((container) => ({
      ...container,
      env: [
        ...((container.env as unknown[] | undefined) ?? []),
        {
          name: 'JOB_COMPLETION_INDEX',
          valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${INDEX}']` } },
        },
      ],
    })),
  };
  return pod;
}

function isTerminating(pod: Pod): boolean {
  return isDeleting(pod) && pod.status?.phase !== 'Succeeded';
}

function statusOf(
  job: Job,
  ledger: Ledger,
  mine: readonly Pod[],
  verdict: Verdict | undefined,
  now: number,
): JobStatus {
  const time = formatTime(now);
  const active = mine.filter(isActive);
  const positive = (count: number): number | undefined => (count === 0 ? undefined : count);
  const suspended = job.spec.suspend === true;
  let conditions: LooseCondition[] = job.status?.conditions ?? [];
  const probed = (condition: LooseCondition): void => {
    const next = withCondition(conditions, condition, time);
    if (next !== conditions)
      conditions = next.map((each) =>
        each.type === condition.type ? { ...each, lastProbeTime: time } : each,
      );
  };
  if (verdict) {
    const { reason, message } = verdict;
    probed({
      type: verdict.type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget',
      status: 'True',
      reason,
      message,
    });
    // The verdict is carried out when the last pod has stopped.
    if (!mine.some((pod) => isActive(pod) || isTerminating(pod)))
      probed({ type: verdict.type, status: 'True', reason, message });
  } else if (suspended || conditionOf(conditions, 'Suspended')) {
    probed({
      type: 'Suspended',
      status: suspended ? 'True' : 'False',
      reason: suspended ? 'JobSuspended' : 'JobResumed',
      message: suspended ? 'Job suspended' : 'Job resumed',
    });
  }
  const over = conditions.some(
    (each) => (each.type === 'Complete' || each.type === 'Failed') && each.status === 'True',
  );
  const completed = verdict?.type === 'Complete' && over;
  return {
    ...job.status,
    active: positive(active.length),
    ready: active.filter(isReady).length,
    terminating: mine.filter(isTerminating).length,
    succeeded: positive(succeededOf(ledger)),
    failed: positive(failedOf(ledger)),
    startTime: suspended && !over ? undefined : (job.status?.startTime ?? time),
    ...(completed ? { completionTime: time } : {}),
    ...(job.spec.completionMode === 'Indexed' ? { completedIndexes: rangesOf(completedOf(job, mine)) } : {}),
    uncountedTerminatedPods: {},
    conditions: conditions.length > 0 ? conditions : undefined,
  } as JobStatus;
}

/** `0-2,5`. */
function rangesOf(indexes: ReadonlySet<number>): string | undefined {
  const sorted = [...indexes].sort((a, b) => a - b);
  const out: string[] = [];
  for (let i = 0; i < sorted.length; i++) {
    const from = sorted[i] ?? 0;
    while (sorted[i + 1] === (sorted[i] ?? 0) + 1) i += 1;
    const to = sorted[i] ?? 0;
    out.push(from === to ? String(from) : `${from}-${to}`);
  }
  return out.length === 0 ? undefined : out.join(',');
}

/** Deletes a Job that is over after `ttlSecondsAfterFinished`. */
async function expire(world: World, job: Job, now: number): Promise<{ requeueAfterMs: number } | undefined> {
  const ttl = job.spec.ttlSecondsAfterFinished;
  if (ttl === undefined) return undefined;
  const last = (job.status?.conditions ?? [])
    .filter((each) => each.type === 'Complete' || each.type === 'Failed')
    .map((each) => parseTime(each.lastTransitionTime) ?? now);
  const leftMs = Math.max(...last, 0) + ttl * 1_000 - now;
  if (leftMs > 0) return { requeueAfterMs: leftMs };
  await world.jobs.remove(job, { propagationPolicy: 'Background' });
  return undefined;
}
