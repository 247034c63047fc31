import type { ObjectState } from '../../engine/dispatch/dispatch.ts';
import type { ObjectWord } from '../../engine/dispatch/words.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import { type ObjectRef, refKey } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import { deepEqual, type JsonValue } from '../../schema/json.ts';
import type { AggregateReason } from './compile.ts';
import type { FederatedStatus, PropagationCondition } from './types.ts';

/** What a status of a cluster can be. Where an object is propagated there is none. */
export type ClusterStatusWord = Exclude<ObjectWord, 'Propagated' | 'ContractRefused'>;

export interface FederatedFindings {
  readonly generation: number;
  readonly target: ObjectRef;
  /** One for each cluster that is chosen. */
  readonly observations: readonly ClusterObservation[];
  /** Clusters that it is being taken away from, with what was read there last. */
  readonly removing?: readonly ClusterObservation[];
  /** From compiling: clusters whose overrides cannot be applied. */
  readonly blocked?: ReadonlyMap<string, string>;
  /** Clusters that are told nothing as long as the hub cannot write down what they are told. */
  readonly unrecorded?: readonly string[];
  /** From compiling and deciding: why there is no proper placement. */
  readonly reason?: AggregateReason;
  /** Status of the object, by cluster, where it is collected; a cluster without one is one to look at. */
  readonly remote?: ReadonlyMap<string, JsonValue>;
}

/** In one word what stands in the way on a cluster, or nothing. A Ready that nobody sees now is not known to be one. */
export function clusterWord(
  observation: ClusterObservation,
  target: ObjectRef,
): ClusterStatusWord | undefined {
  const { status } = observation;
  if (!observation.live) return unseenWord(observation);
  const has = (status?.appliedGeneration ?? 0) > 0;
  const failed = has ? 'UpdateFailed' : 'CreationFailed';
  const { epoch = 0, generation = 0 } = status?.position ?? {};
  const behind = epoch < (observation.wantedEpoch ?? 0) || generation < observation.wantedGeneration;
  if (behind) {
    const refused = status?.conditions?.find(({ type, status: is }) => type === 'Accepted' && is === 'False');
    if (refused) return UNTRIED_WORDS[refused.reason] ?? failed;
    return unsentWord(observation) ?? (has ? 'UpdateTimedOut' : 'CreationTimedOut');
  }
  const unsent = unsentWord(observation);
  if (unsent !== undefined) return unsent;
  const word = wordIn(status?.objects, target);
  if (word !== undefined) return word;
  const applied = status?.conditions?.find(({ type }) => type === 'Applied');
  if (applied?.status === 'False' && applied.reason !== 'Applying')
    return UNTRIED_WORDS[applied.reason] ?? failed;
  if ((status?.appliedGeneration ?? 0) < observation.wantedGeneration)
    return has ? 'UpdateTimedOut' : 'CreationTimedOut';
  return undefined;
}

/** Where what the hub has of a cluster is not what is there now. */
function unseenWord({ unread }: ClusterObservation): ClusterStatusWord {
  return unread === true ? 'CachedRetrievalFailed' : 'ClusterNotReady';
}

/** Why nothing could be tried, as the spoke says it of all that it was told. */
const UNTRIED_WORDS: Readonly<Record<string, ClusterStatusWord>> = {
  ContentMissing: 'ComputeResourceFailed',
  InvalidManifests: 'ComputeResourceFailed',
  RenderFailed: 'ApplyOverridesFailed',
};

/** Why the hub could not give its order. One that was not answered may have been taken: that is no failure yet. */
function unsentWord(observation: ClusterObservation): ClusterStatusWord | undefined {
  if (observation.dispatchProblem === undefined || observation.dispatchTimedOut === true) return undefined;
  return 'ClientRetrievalFailed';
}

function wordIn(
  objects: readonly ObjectState[] | undefined,
  target: ObjectRef,
): ClusterStatusWord | undefined {
  const key = refKey(target);
  const word = objects?.find(({ ref }) => refKey(ref) === key)?.word;
  if (word === undefined || word === 'Propagated') return undefined;
  // The owner of the cluster keeps Atoll from it: users of KubeFed know one word for that.
  return word === 'ContractRefused' ? 'ManagedLabelFalse' : word;
}

/** In one word what becomes of an order to take an object away. */
function removalWord(observation: ClusterObservation, target: ObjectRef): ClusterStatusWord {
  if (!observation.live) return unseenWord(observation);
  if (observation.dispatchTimedOut === true) return 'DeletionTimedOut';
  return unsentWord(observation) ?? wordIn(observation.status?.objects, target) ?? 'WaitingForRemoval';
}

/**
 * The status of a federated object. Where nothing changed it is the one before, so that it need not be written. `now` in
 * milliseconds.
 */
export function reportFederated(
  found: FederatedFindings,
  previous: FederatedStatus | undefined,
  now: number,
): FederatedStatus {
  const { target, blocked, remote } = found;
  const words = new Map<string, ClusterStatusWord | undefined>();
  for (const observation of found.removing ?? [])
    words.set(observation.cluster, removalWord(observation, target));
  let collected = true;
  for (const observation of found.observations) {
    const { cluster } = observation;
    const word = clusterWord(observation, target);
    const seen = observation.live;
    words.set(cluster, blocked?.has(cluster) === true && seen ? 'ApplyOverridesFailed' : word);
    if (remote && !remote.has(cluster)) collected = false;
  }
  for (const cluster of found.unrecorded ?? [])
    if (words.get(cluster) !== 'ClusterNotReady') words.set(cluster, 'VersionRetrievalFailed');
  const clusters = [...words]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, word]) => {
      const remoteStatus = remote?.get(name);
      return {
        name,
        ...(word === undefined ? {} : { status: word }),
        ...(remoteStatus === undefined ? {} : { remoteStatus }),
      };
    });
  const bad = !collected || [...words.values()].some((word) => word !== undefined);
  const reason: AggregateReason = found.reason || (bad ? 'CheckClusters' : '');
  const before = previous?.conditions?.find(({ type }) => type === 'Propagation');
  const status = reason === '' ? 'True' : 'False';
  const same =
    previous !== undefined &&
    before?.status === status &&
    (before.reason ?? '') === reason &&
    previous.observedGeneration === found.generation &&
    deepEqual(previous.clusters ?? [], clusters);
  if (same) return previous;
  const time = formatTime(now);
  const condition: PropagationCondition = {
    type: 'Propagation',
    status,
    ...(reason === '' ? {} : { reason }),
    lastUpdateTime: time,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : time,
  };
  return {
    observedGeneration: found.generation,
    conditions: [condition],
    ...(clusters.length === 0 ? {} : { clusters }),
  };
}
