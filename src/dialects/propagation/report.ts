import type { Decision } from '../../engine/place/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { FleetSummary } from '../../engine/summarise/summarise.ts';
import { setCondition } from '../../kube/conditions.ts';
import type { Condition } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { Freshness, PropagationStatus, RevisionReport, RolloutReport } from './types.ts';

/** What became of a propagation, for its status. */
export interface PropagationFindings {
  readonly generation: number;
  /** How many are selected. This and the revision are absent where they were not computed since the hub started: then what is recorded stands. */
  readonly objects?: number | undefined;
  readonly revision?: string | undefined;
  readonly dispatchGeneration: number;
  readonly dispatchDigest: string;
  readonly dispatchHistory: readonly string[];
  /** Absent where none was made since the hub started: then the one that is recorded stands. */
  readonly decision?: Decision | undefined;
  readonly replicas?: ReplicaRecord | undefined;
  readonly dispatchedTo: readonly string[];
  readonly summary: FleetSummary;
  /** Why clusters that are not chosen any more keep what they have. */
  readonly keeping?: string | undefined;
  readonly suspended: boolean;
  /** Why the hub sends nothing to anyone, where it does not. */
  readonly observing?: string | undefined;
  /** Why the selection is not (fully) usable. `hold` withholds every dispatch. */
  readonly selection: { readonly ok: boolean; readonly reason: string; readonly message: string };
  readonly placement: { readonly ok: boolean; readonly reason: string; readonly message: string };
  readonly overrides: { readonly ok: boolean; readonly reason: string; readonly message: string };
  /** Where its rollout is, and what can be gone back to; absent where neither is kept. */
  readonly rollout?: RolloutReport | undefined;
  readonly revisions?: readonly RevisionReport[] | undefined;
  /** Whether what selected objects need came along; absent where nothing was asked to. */
  readonly dependencies?:
    | { readonly ok: boolean; readonly reason: string; readonly message: string }
    | undefined;
  /** What the owners of clusters will refuse; absent where nothing is known of it. */
  /** Objects that others want as well, one text each. */
  readonly conflicts?: readonly string[];
  readonly permitted?: { readonly ok: false; readonly reason: string; readonly message: string } | undefined;
}

const MAX_NOT_READY = 50;
const NOT_DISPATCHED: ReadonlySet<string> = new Set(['NotDispatched', 'DispatchTimedOut']);

/** What was decided; as long as nothing was since the hub started, what is recorded stands. */
function decided(
  found: PropagationFindings,
  previous: PropagationStatus | undefined,
): Pick<PropagationStatus, 'decision' | 'replicas' | 'failover' | 'lost' | 'activation'> {
  // Written as they come to be, not with the report.
  const { failover, lost, activation } = previous ?? {};
  const decision = found.decision ?? previous?.decision;
  const replicas = found.replicas ?? previous?.replicas;
  return {
    ...(failover === undefined ? {} : { failover }),
    ...(lost === undefined ? {} : { lost }),
    ...(activation === undefined ? {} : { activation }),
    ...(decision === undefined ? {} : { decision }),
    ...(replicas === undefined || Object.keys(replicas).length === 0 ? {} : { replicas }),
  };
}

/** A hub that restarted has not seen a cluster that was away before: what it knew then stands. */
function oldestSight(
  { stale, oldestObservedAt = 0 }: FleetSummary,
  previous: PropagationStatus | undefined,
): Pick<Freshness, 'oldestObservedAt'> {
  const known = oldestObservedAt > 0 ? formatTime(oldestObservedAt) : previous?.freshness?.oldestObservedAt;
  return stale === 0 || known === undefined ? {} : { oldestObservedAt: known };
}

/** The status of a Propagation. Equal for equal findings, so that an unchanged one need not be written. */
export function reportPropagation(
  found: PropagationFindings,
  previous: PropagationStatus | undefined,
  now: number,
): PropagationStatus {
  const objects = found.objects ?? previous?.objects ?? 0;
  let conditions: Condition[] = [...(previous?.conditions ?? [])];
  const set = (type: string, status: Condition['status'], reason: string, message: string): void => {
    conditions = setCondition(
      conditions,
      { type, status, reason, message, observedGeneration: found.generation },
      now,
    ).conditions;
  };
  const flag = (type: string, part: { ok: boolean; reason: string; message: string }): void =>
    set(type, part.ok ? 'True' : 'False', part.reason, part.message);
  flag('Selected', found.selection);
  flag('Placed', found.placement);
  flag('OverridesApplied', found.overrides);
  if (found.dependencies) flag('Dependencies', found.dependencies);
  else conditions = conditions.filter(({ type }) => type !== 'Dependencies');
  if (found.permitted) flag('Permitted', found.permitted);
  else if (conditions.some(({ type }) => type === 'Permitted'))
    flag('Permitted', {
      ok: true,
      reason: 'Permitted',
      message: 'no contract of a cluster is known to refuse it',
    });
  const [conflict, ...moreConflicts] = found.conflicts ?? [];
  if (conflict !== undefined) {
    const more = moreConflicts.length > 0 ? ` (and ${moreConflicts.length} more)` : '';
    set('Conflict', 'True', 'AlsoWanted', `${conflict}${more}`);
  } else if (conditions.some(({ type }) => type === 'Conflict'))
    set('Conflict', 'False', 'Settled', 'nobody else wants its objects');
  if (found.suspended)
    set(
      'Dispatched',
      'False',
      'Suspended',
      'spec.suspend is true: changes are held back, the spokes keep what they have',
    );
  else if (found.observing !== undefined)
    set(
      'Dispatched',
      'False',
      'Observing',
      `${found.observing}. Nothing is sent to any spoke; look at it with \`atoll diff\`, then: atoll hub confirm`,
    );
  else {
    const waiting = found.summary.notReady.filter(
      ({ word, reason }) => word === 'Waiting' || NOT_DISPATCHED.has(reason),
    );
    const isEmpty = objects === 0 && found.selection.reason === 'NothingSelected';
    const [first] = isEmpty ? waiting.filter(({ reason }) => reason !== 'NotAccepted') : waiting;
    if (isEmpty && !first)
      set('Dispatched', 'False', 'NothingSelected', 'nothing is selected, so there is nothing to send');
    else if (first)
      set(
        'Dispatched',
        'False',
        first.reason,
        `${waiting.length} of ${found.summary.clusters} clusters do not have generation ${found.dispatchGeneration}; ${first.cluster}: ${first.message}`,
      );
    else if (found.keeping !== undefined) set('Dispatched', 'False', 'NotDispatched', found.keeping);
    else
      set(
        'Dispatched',
        'True',
        'Dispatched',
        `generation ${found.dispatchGeneration} is on every connected cluster`,
      );
  }
  const { summary } = found;
  const bad = summary.notReady.find((item) => item.word !== 'Stale');
  if (summary.clusters === 0) set('Ready', 'False', 'NotPlaced', 'no cluster is chosen');
  else if (objects === 0 && !found.selection.ok)
    // Nothing is sent because nothing could be: that is no readiness.
    set('Ready', 'False', found.selection.reason, found.selection.message);
  else if (bad)
    set(
      'Ready',
      'False',
      bad.reason,
      `${summary.ready} of ${summary.clusters} clusters are ready; ${bad.cluster}: ${bad.message}`,
    );
  else if (summary.stale > 0)
    set(
      'Ready',
      'Unknown',
      'Stale',
      `${summary.stale} of ${summary.clusters} clusters cannot be seen now: ${summary.notReady
        .slice(0, 5)
        .map((item) => item.cluster)
        .join(', ')}`,
    );
  else set('Ready', 'True', 'Ready', `all ${summary.clusters} clusters are ready`);
  return {
    observedGeneration: found.generation,
    clusters: summary.clusters,
    ready: summary.ready,
    stale: summary.stale,
    freshness: {
      ready: summary.ready,
      notReady: summary.clusters - summary.ready - summary.stale,
      unknown: summary.stale,
      ...oldestSight(summary, previous),
      source: 'spokes',
    },
    objects,
    revision: found.revision ?? previous?.revision ?? '',
    dispatchGeneration: found.dispatchGeneration,
    dispatchDigest: found.dispatchDigest,
    ...(found.dispatchHistory.length === 0 ? {} : { dispatchHistory: [...found.dispatchHistory] }),
    dispatchedTo: [...found.dispatchedTo],
    ...decided(found, previous),
    ...(found.rollout === undefined ? {} : { rollout: found.rollout }),
    ...((found.revisions ?? []).length === 0 ? {} : { revisions: found.revisions ?? [] }),
    notReady: summary.notReady
      .slice(0, MAX_NOT_READY)
      .map(({ cluster, word, reason, message }) => ({ cluster, state: word, reason, message })),
    conditions,
  };
}
