import type { ClusterProgress, Mark, MetricProgress, RolloutState, StageProgress } from './state.ts';

/** The latest time at which something happened of which the state tells. */
export function lastStamp({ startedAt, finishedAt, stages, clusters }: RolloutState): number {
  const ofStages = stages.flatMap(({ metrics, ...stage }) => [
    ...[stage.startedAt, stage.doneAt, stage.askedAt, stage.healthySince, stage.batchDoneAt],
    ...Object.values(metrics).flatMap((metric) => [metric.sampledAt, metric.askedAt]),
  ]);
  const ofClusters = Object.values(clusters).flatMap((cluster) => [
    ...[cluster.startedAt, cluster.doneAt, cluster.awaySince, cluster.readySince],
    ...[cluster.degradedSince, cluster.heldAt],
  ]);
  const all = [startedAt, finishedAt, ...ofStages, ...ofClusters];
  return all.reduce((last: number, at) => Math.max(last, at ?? last), startedAt);
}

/**
 * The state as it would be had all of it happened so many milliseconds later (earlier where that is negative): what becomes of it when
 * the wall clock was set. Who waits then waits as long as before, and what has lasted for a while has lasted no longer. Messages that name
 * times are made anew with the next step.
 */
export function shifted(state: RolloutState, byMs: number): RolloutState {
  const later = (at: number): number => at + byMs;
  const moved = <T extends object, K extends keyof T>(of: T, fields: readonly K[]): Partial<T> =>
    Object.fromEntries(
      fields.flatMap((field) => {
        const at = of[field];
        return typeof at === 'number' ? [[field, later(at)]] : [];
      }),
    ) as Partial<T>;
  const mark = (of: Mark): Mark => ({ ...of, at: later(of.at) });

  function metric(of: MetricProgress): MetricProgress {
    return { ...of, ...moved(of, ['sampledAt', 'askedAt']) };
  }

  function stage(of: StageProgress): StageProgress {
    const { approved, waiting, metrics } = of;
    return {
      ...of,
      ...moved(of, ['startedAt', 'doneAt', 'askedAt', 'healthySince', 'batchDoneAt']),
      ...(approved && { approved: mark(approved) }),
      metrics: Object.fromEntries(Object.entries(metrics).map(([name, one]) => [name, metric(one)])),
      // A window opens when the clock says so, wherever that was set to.
      ...(waiting && {
        waiting: waiting.reason === 'Window' ? waiting : { ...waiting, ...moved(waiting, ['until']) },
      }),
    };
  }

  function cluster(of: ClusterProgress): ClusterProgress {
    const { seen } = of;
    return {
      ...of,
      ...moved(of, [
        'startedAt',
        'doneAt',
        'awaySince',
        'readySince',
        'degradedSince',
        'heldAt',
        'checkpointUntil',
      ]),
      ...(seen && { seen: { ...seen, ...moved(seen, ['liveSince']) } }),
    };
  }

  const { paused, promoted, emergency, failure } = state;
  return {
    ...state,
    ...moved(state, ['startedAt', 'finishedAt', 'nextStartAt']),
    stages: state.stages.map(stage),
    clusters: Object.fromEntries(Object.entries(state.clusters).map(([name, one]) => [name, cluster(one)])),
    ...(paused && { paused: mark(paused) }),
    ...(promoted && { promoted: mark(promoted) }),
    ...(emergency && { emergency: mark(emergency) }),
    ...(failure && { failure: { ...failure, at: later(failure.at) } }),
  };
}
