import { hasCode } from '../../kube/status-error.ts';
import { formatTime, parseTime } from '../../runtime/index.ts';
import { latestTime, localTimeOf, nextTime, parseCron } from './cron-schedule.ts';
import { isJobOver } from './job.ts';
import type { CronJob, Job } from './kinds.ts';
import { controllerOf, controllerReference, isDeleting, keyOf, splitKey } from './owner.ts';
import { conditionOf } from './pod-state.ts';
import type { World } from './world.ts';

/** Missed times are looked at this far back; the newest of them is made up for. */
const MISSED_MS = 24 * 3_600_000;
/** Timers are not set further ahead: schedules are looked at again. */
const LONGEST_WAIT_MS = 3_600_000;

/** Starts Jobs at the times of CronJobs, and keeps as many finished ones as these ask for. */
export function startCronJobs(world: World): void {
  const { cronJobs, jobs } = world;
  const controller = world.control({
    name: 'cronjob',
    writes: [jobs, cronJobs],
    reconcile: async (key) => {
      const cron = cronJobs.get(...splitKey(key));
      return cron && reconcileCron(world, cron);
    },
  });
  cronJobs.onChange(({ object }) => controller.enqueue(keyOf(object)));
  jobs.onChange(({ object }) => {
    const owner = controllerOf(object);
    if (owner?.kind === 'CronJob') controller.enqueue(`${object.metadata.namespace ?? ''}/${owner.name}`);
  });
}

async function reconcileCron(world: World, cron: CronJob): Promise<{ requeueAfterMs: number } | undefined> {
  const { jobs, cronJobs, runtime, recorder } = world;
  if (isDeleting(cron)) return undefined;
  const now = runtime.clock.now();
  const mine = jobs.ownedBy(cron.metadata.uid ?? '');
  await trim(world, cron, mine);

  let lastScheduled = parseTime(cron.status?.lastScheduleTime);
  let waitMs: number | undefined;
  const schedule = parseCron(cron.spec.schedule);
  const local = localTimeOf(cron.spec.timeZone);
  if (!schedule || !local) {
    recorder.record(
      cron,
      'Warning',
      'InvalidSchedule',
      `unusable schedule or time zone: ${cron.spec.schedule}`,
    );
  } else if (cron.spec.suspend !== true) {
    // The clock was wrong when this was written: waiting for it to come true could take years.
    if (lastScheduled !== undefined && lastScheduled > now + MISSED_MS) lastScheduled = now;
    const since = lastScheduled ?? parseTime(cron.metadata.creationTimestamp) ?? now;
    const deadline = cron.spec.startingDeadlineSeconds;
    const earliest = Math.max(since, now - (deadline === undefined ? MISSED_MS : deadline * 1_000));
    const due = latestTime(schedule, local, earliest, now);
    if (due !== undefined && (await begin(world, cron, mine, due))) lastScheduled = due;
    const next = nextTime(schedule, local, now);
    if (next !== undefined) waitMs = Math.min(LONGEST_WAIT_MS, next - now);
    await jobs.caughtUp();
  }

  const after = jobs.ownedBy(cron.metadata.uid ?? '');
  const active = after
    .filter((job) => !isJobOver(job))
    .map((job) => ({
      apiVersion: job.apiVersion,
      kind: job.kind,
      name: job.metadata.name,
      namespace: job.metadata.namespace,
      uid: job.metadata.uid,
    }));
  const succeeded = after
    .map((job) => parseTime(job.status?.completionTime))
    .concat(parseTime(cron.status?.lastSuccessfulTime))
    .filter((time) => time !== undefined);
  await cronJobs.setStatus(cron, {
    ...cron.status,
    active: active.length > 0 ? active : undefined,
    lastScheduleTime: lastScheduled === undefined ? undefined : formatTime(lastScheduled),
    lastSuccessfulTime: succeeded.length === 0 ? undefined : formatTime(Math.max(...succeeded)),
  });
  return waitMs === undefined ? undefined : { requeueAfterMs: waitMs };
}

/** Starts the Job of one time, unless one is running and the policy forbids another; whether the time is used. */
async function begin(world: World, cron: CronJob, mine: readonly Job[], due: number): Promise<boolean> {
  const running = mine.filter((job) => !isJobOver(job) && !isDeleting(job));
  if (running.length > 0) {
    if (cron.spec.concurrencyPolicy === 'Forbid') return false;
    if (cron.spec.concurrencyPolicy === 'Replace')
      for (const job of running) await world.jobs.remove(job, { propagationPolicy: 'Background' });
  }
  const template = cron.spec.jobTemplate;
  try {
    await world.jobs.create({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name: `${(cron.metadata.name ?? '').slice(0, 52)}-${Math.floor(due / 60_000)}`,
        namespace: cron.metadata.namespace ?? '',
        ...(template.metadata?.labels ? { labels: template.metadata.labels } : {}),
        annotations: {
          ...template.metadata?.annotations,
          'batch.kubernetes.io/cronjob-scheduled-timestamp': formatTime(due),
        },
        ownerReferences: [controllerReference(cron)],
      },
      spec: template.spec,
    });
  } catch (error) {
    if (!hasCode(error, 409)) throw error; // made before, and not noted in the status
  }
  return true;
}

async function trim(world: World, cron: CronJob, mine: readonly Job[]): Promise<void> {
  const over = (type: string): Job[] =>
    mine
      .filter((job) => !isDeleting(job) && conditionOf(job.status?.conditions, type)?.status === 'True')
      .sort((a, b) => (parseTime(a.status?.startTime) ?? 0) - (parseTime(b.status?.startTime) ?? 0));
  const surplus = (jobs: Job[], limit: number): Job[] => jobs.slice(0, Math.max(0, jobs.length - limit));
  const gone = [
    ...surplus(over('Complete'), cron.spec.successfulJobsHistoryLimit ?? 3),
    ...surplus(over('Failed'), cron.spec.failedJobsHistoryLimit ?? 1),
  ];
  for (const job of gone) await world.jobs.remove(job, { propagationPolicy: 'Background' });
}
