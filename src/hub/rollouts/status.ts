import type { RevisionReport, RolloutReport, StageReport } from '../../dialects/propagation/types.ts';
import { type Revision, rolloutStatus } from '../../engine/rollout/index.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { RolloutRecord } from './store.ts';

/** Part of the status of an intent. */
export interface RolloutFindings {
  readonly rollout?: RolloutReport;
  /** Newest first. */
  readonly revisions: readonly RevisionReport[];
}

const MAX_UNSETTLED = 50;

/** What is told of rollouts. Equal for equal states, so that an unchanged one is not written. */
export function reportRollout(record: RolloutRecord, problem: string | undefined): RolloutFindings {
  const revisions = [...record.history].reverse().map(revisionReport);
  const { state } = record;
  if (problem !== undefined)
    return { rollout: { phase: 'Refused', reason: 'RolloutRefused', message: problem }, revisions };
  if (!state) return { revisions };
  const { phase, reason, message, target, stages, clusters, unsettled } = rolloutStatus(state);
  const revision = record.history.find(({ digest }) => digest === target)?.number;
  return {
    rollout: {
      phase,
      reason,
      message,
      ...(revision === undefined ? {} : { revision }),
      stages: stages.map(
        ({ name, phase: of, clusters: size, updated, startedAt, doneAt, waiting }): StageReport => ({
          name,
          phase: of,
          clusters: size,
          updated,
          ...(startedAt === undefined ? {} : { startedAt: formatTime(startedAt) }),
          ...(doneAt === undefined ? {} : { doneAt: formatTime(doneAt) }),
          ...(waiting === undefined
            ? {}
            : {
                waiting: {
                  reason: waiting.reason,
                  message: waiting.message,
                  remedy: waiting.remedy,
                  ...(waiting.until === undefined ? {} : { until: formatTime(waiting.until) }),
                },
              }),
        }),
      ),
      clusters,
      unsettled: unsettled
        .slice(0, MAX_UNSETTLED)
        .map(({ cluster, phase: of, message: why }) => ({ cluster, phase: of, message: why })),
    },
    revisions,
  };
}

function revisionReport({ number, digest, at, by, cause, succeededAt }: Revision): RevisionReport {
  return {
    number,
    digest,
    at: formatTime(at),
    ...(by === '' ? {} : { by }),
    ...(cause === undefined ? {} : { cause }),
    ...(succeededAt === undefined ? {} : { succeededAt: formatTime(succeededAt) }),
  };
}
