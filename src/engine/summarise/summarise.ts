import type { DispatchStatus, ObjectState } from '../dispatch/dispatch.ts';

/** What the hub last read of one cluster for one intent, and how fresh it is. */
export interface ClusterObservation {
  readonly cluster: string;
  /** Whether the hub sees the spoke's state as it changes. */
  readonly live: boolean;
  /** Why it does not, where `live` is false. */
  readonly staleReason?: string;
  /** The spoke is connected and its state cannot be read. */
  readonly unread?: boolean;
  /** Milliseconds since the epoch until when the state was seen; undefined while it is, and when it never was. */
  readonly observedAt?: number;
  /** Generation and revision that the hub wants there now. */
  readonly wantedGeneration: number;
  /** Epoch of the hub; generations count within it. */
  readonly wantedEpoch?: number;
  readonly status?: DispatchStatus;
  /** Set when the hub could not write its order. */
  readonly dispatchProblem?: string;
  /** Set where that is that the spoke did not answer in time: whether it has the order is not known. */
  readonly dispatchTimedOut?: boolean;
  /** Set where the hub does not want the newest revision there yet: why. */
  readonly heldBack?: string;
}

export type ClusterWord = 'Ready' | 'Progressing' | 'Degraded' | 'Waiting' | 'Stale';

export interface ClusterSummary {
  readonly cluster: string;
  readonly word: ClusterWord;
  readonly reason: string;
  readonly message: string;
  readonly objects: readonly ObjectState[];
}

export interface FleetSummary {
  readonly clusters: number;
  readonly ready: number;
  readonly stale: number;
  /** Until when the state of the cluster was seen that has been out of sight for longest; absent where all are in sight. */
  readonly oldestObservedAt?: number;
  /** Those that are not Ready, in name order. */
  readonly notReady: readonly ClusterSummary[];
  /** What clusters tell of objects that another source wants there as well; absent where there are none. */
  readonly conflicts?: readonly { readonly cluster: string; readonly message: string }[];
}

/** One cluster in one word. A stale Ready is Stale: nobody knows. */
export function summariseCluster(observation: ClusterObservation): ClusterSummary {
  const { cluster, status } = observation;
  const summary = (
    word: ClusterWord,
    reason: string,
    message: string,
    objects: readonly ObjectState[] = [],
  ): ClusterSummary => ({ cluster, word, reason, message, objects });
  if (!observation.live)
    return summary('Stale', 'NotConnected', observation.staleReason ?? 'the spoke is not connected');
  const { epoch = 0, generation = 0 } = status?.position ?? {};
  const behind = epoch < (observation.wantedEpoch ?? 0) || generation < observation.wantedGeneration;
  const refused = status?.conditions?.find(({ type, status: is }) => type === 'Accepted' && is === 'False');
  // What the spoke says of it is nearer to the cause than that the hub therefore sends nothing.
  if (behind && refused)
    return summary(refused.reason === 'Held' ? 'Waiting' : 'Degraded', refused.reason, refused.message);
  if (observation.dispatchProblem !== undefined)
    return summary(
      'Degraded',
      observation.dispatchTimedOut === true ? 'DispatchTimedOut' : 'NotDispatched',
      observation.dispatchProblem,
    );
  if (observation.heldBack !== undefined) return summary('Waiting', 'HeldBack', observation.heldBack);
  if (behind) return summary('Waiting', 'NotAccepted', 'the spoke has not taken the newest revision yet');
  const applied = status?.conditions?.find((condition) => condition.type === 'Applied');
  const objects = status?.objects ?? [];
  if (applied?.status === 'False' && applied.reason !== 'Applying')
    return summary('Degraded', applied.reason, applied.message, objects);
  if ((status?.appliedGeneration ?? 0) < observation.wantedGeneration)
    return summary('Progressing', 'Applying', 'the newest revision is being applied', objects);
  const worst =
    objects.find((object) => object.health === 'Degraded') ??
    objects.find((object) => object.health !== 'Healthy');
  if (!worst) return summary('Ready', 'Ready', '');
  const word = worst.health === 'Degraded' ? 'Degraded' : 'Progressing';
  return summary(word, worst.reason, `${worst.ref.kind} ${worst.ref.name}: ${worst.message}`, objects);
}

export function summariseFleet(observations: readonly ClusterObservation[]): FleetSummary {
  const lastSights = observations.filter(({ live }) => !live).map(({ observedAt }) => observedAt ?? 0);
  const summaries = observations.map(summariseCluster).sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
  return {
    clusters: summaries.length,
    ready: summaries.filter((item) => item.word === 'Ready').length,
    stale: summaries.filter((item) => item.word === 'Stale').length,
    ...(lastSights.length === 0 ? {} : { oldestObservedAt: Math.min(...lastSights) }),
    notReady: summaries.filter((item) => item.word !== 'Ready'),
    ...conflictsOf(observations),
  };
}

function conflictsOf(observations: readonly ClusterObservation[]): Pick<FleetSummary, 'conflicts'> {
  const conflicts = observations.flatMap(({ cluster, status }) => {
    const told = status?.conditions?.find(({ type }) => type === 'Conflict');
    return told?.status === 'True' ? [{ cluster, message: told.message }] : [];
  });
  if (conflicts.length === 0) return {};
  return { conflicts: conflicts.sort((a, b) => (a.cluster < b.cluster ? -1 : 1)) };
}
