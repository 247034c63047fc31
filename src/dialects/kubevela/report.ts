import { UNREACHABLE_TAINT } from '../../engine/failover/index.ts';
import type { Liveness } from '../../engine/liveness/index.ts';
import { setCondition } from '../../kube/conditions.ts';
import type { Condition } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import { deepEqual } from '../../schema/json.ts';
import type { ApiEnablement, ClusterInfo, ClusterTaint, SpokeClusterStatus } from './types.ts';

export interface ProbedConnection {
  readonly ok: boolean;
  readonly unauthorized: boolean;
  /** Whether it is there and answers, though not well. */
  readonly answered?: boolean;
  readonly message: string;
  readonly latencyMillis?: number;
}

/** What the hub found out about a spoke in one pass, step by step: the pass stops at the first hard failure. */
export interface SpokeFindings {
  readonly generation: number;
  /** Absent where it does not come to that. */
  readonly credential?: {
    ok: boolean;
    reason: 'Materialized' | 'NoProvider' | 'MaterializeFailed';
    message: string;
  };
  /** Absent where the credential failed. */
  readonly registered?: { ok: boolean; reason: string; message: string };
  readonly connected?: ProbedConnection;
  /** When the probe behind `connected` ended, milliseconds; now where absent. */
  readonly probedAt?: number;
  readonly info?: ClusterInfo;
  readonly infoProblem?: string;
  /** When `info` was read for the last time, though it may fail now. */
  readonly syncedAt?: number;
  readonly endpoint?: string;
  /** Version of the spoke's engine; '' where there is none, absent where that is not known now. */
  readonly engine?: string;
  readonly dispatchedRevision?: string;
  readonly appliedRevision?: string;
  /** What the cluster serves; absent where that is not known now. */
  readonly apis?: readonly ApiEnablement[];
  readonly health?: { status: string; objectsHealthy: number; objectsTotal: number };
  /** What the cluster says of itself; absent where that is not known now. */
  readonly properties?: Record<string, string>;
  /** Those that people set. */
  readonly taints?: readonly ClusterTaint[];
  /** What became of its patches; absent where it has none. */
  readonly patches?: { readonly ok: boolean; readonly reason: string; readonly message: string };
  /** What it says of orders of this hub and cannot show; absent where there is nothing of the kind. */
  readonly claim?: string;
  /** Whether the spoke is there, damped. */
  readonly liveness?: Liveness;
}

/**
 * Set on a spoke that has been away for longer than a hiccup (S17, A47). It keeps new placements away and moves nothing: a spoke
 * looks after itself, and moving workloads elsewhere is somebody's decision.
 */
export { UNREACHABLE_TAINT };

/** Whether `spec.patches` changes what it says. There where there are patches only. */
export const PATCHES_APPLIED = 'PatchesApplied';

/** Whether a spoke shows what it says that this hub ordered. There where it does not only. */
export const HISTORY_AGREES = 'HistoryAgrees';

/**
 * The status of a SpokeCluster (spec chapters 1.1b and 2.2). What is known of an unreachable spoke is kept, with the time
 * at which it was true. `now` in milliseconds.
 */
export function reportSpoke(
  found: SpokeFindings,
  previous: SpokeClusterStatus | undefined,
  now: number,
): SpokeClusterStatus {
  const time = formatTime(now);
  const syncedTime = formatTime(found.syncedAt ?? now);
  const next: SpokeClusterStatus = { ...previous, observedGeneration: found.generation };
  let conditions: Condition[] = [...(previous?.conditions ?? [])];
  const set = (type: string, ok: boolean, reason: string, message: string): void => {
    conditions = setCondition(
      conditions,
      { type, status: ok ? 'True' : 'False', reason, message },
      now,
    ).conditions;
  };
  if (found.credential)
    set('CredentialValid', found.credential.ok, found.credential.reason, found.credential.message);
  if (found.registered)
    set('Registered', found.registered.ok, found.registered.reason, found.registered.message);
  next.connection = 'Unknown';
  if (found.connected) {
    next.connection = found.connected.ok
      ? 'Connected'
      : found.connected.unauthorized || found.connected.answered
        ? 'Unknown'
        : 'Disconnected';
    set(
      'Connected',
      found.connected.ok,
      found.connected.ok ? 'ProbeSucceeded' : 'ProbeFailed',
      found.connected.message,
    );
    next.lastProbeTime = formatTime(found.probedAt ?? now);
  }
  if (found.connected?.ok) {
    if (found.info) {
      set('InfoSynced', true, 'DiscoveryOK', 'version and nodes were read');
      next.clusterInfo = {
        ...found.info,
        ...(found.endpoint === undefined ? {} : { apiServerEndpoint: found.endpoint }),
        ...(found.connected.latencyMillis === undefined
          ? {}
          : { latencyMillis: found.connected.latencyMillis }),
        lastSyncedTime: syncedTime,
      };
    } else
      set('InfoSynced', false, 'DiscoveryFailed', found.infoProblem ?? 'version and nodes could not be read');
    if (found.engine === '') delete next.engine;
    else if (found.engine !== undefined) next.engine = found.engine;
    if (found.dispatchedRevision !== undefined) next.dispatchedRevision = found.dispatchedRevision;
    if (found.appliedRevision !== undefined) next.appliedRevision = found.appliedRevision;
    if (found.apis) next.apiEnablements = [...found.apis];
    if (found.properties && Object.keys(found.properties).length > 0) next.properties = found.properties;
    else if (found.properties) delete next.properties;
    if (found.health) next.health = { ...found.health, lastPulledAt: time };
  }
  // A status is not written for its times alone; the one that says that a spoke is gone says until when it was seen.
  if (found.info === undefined && found.syncedAt !== undefined && next.clusterInfo)
    next.clusterInfo = { ...next.clusterInfo, lastSyncedTime: syncedTime };
  if (found.liveness) {
    const { word, since } = found.liveness;
    const taints: ClusterTaint[] =
      word === 'Unreachable'
        ? [{ key: UNREACHABLE_TAINT, effect: 'NoSelectIfNew', timeAdded: formatTime(since) }]
        : [];
    // One that stands keeps its time: a hub that restarted while the spoke was away does not count anew.
    const standing = previous?.taints?.find((taint) => taint.key === UNREACHABLE_TAINT);
    if (word === 'Live') delete next.taints;
    else if (taints.length > 0 && !standing) next.taints = taints;
  }
  if (found.taints && found.taints.length > 0)
    next.observedTaints = found.taints.map((taint) => withTime(taint, previous?.observedTaints, time));
  else if (found.taints) delete next.observedTaints;
  if (found.patches) set(PATCHES_APPLIED, found.patches.ok, found.patches.reason, found.patches.message);
  else conditions = conditions.filter(({ type }) => type !== PATCHES_APPLIED);
  if (found.claim !== undefined) set(HISTORY_AGREES, false, 'UnprovenClaim', found.claim);
  else conditions = conditions.filter(({ type }) => type !== HISTORY_AGREES);
  next.conditions = conditions;
  return next;
}

/** People who set a taint rarely say when: it counts from when it was seen first. */
function withTime(
  { key, value, effect, timeAdded }: ClusterTaint,
  known: readonly ClusterTaint[] = [],
  now: string,
): ClusterTaint {
  const same = known.find((other) => other.key === key && other.value === value && other.effect === effect);
  return {
    key,
    ...(value === undefined ? {} : { value }),
    effect,
    timeAdded: timeAdded ?? same?.timeAdded ?? now,
  };
}

/** Whether two statuses say the same but for the times and the latency that every probe moves: then none is written. */
export function sameButForProbing(a: SpokeClusterStatus | undefined, b: SpokeClusterStatus): boolean {
  return a !== undefined && deepEqual(withoutProbing(a), withoutProbing(b));
}

function withoutProbing(status: SpokeClusterStatus): unknown {
  const { lastProbeTime: _probe, clusterInfo, health, ...rest } = status;
  const { lastSyncedTime: _synced, latencyMillis: _latency, ...info } = clusterInfo ?? {};
  const { lastPulledAt: _pulled, ...pulled } = health ?? {};
  return { ...rest, info, pulled };
}
