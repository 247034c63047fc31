import type { Cluster, ClusterInfo, SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Dispatch, ObjectState } from '../../engine/dispatch/index.ts';
import { type Condition, refText } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { SpokeReading } from '../fleet-reading.ts';
import { type ClusterLine, clusterLine } from './facts.ts';

/** What `atoll cluster show` found out. */
export interface ClusterFacts {
  readonly spoke: SpokeCluster;
  /** Absent where the spoke was not asked. */
  readonly reading?: SpokeReading<{ readonly cluster: Cluster; readonly dispatches: readonly Dispatch[] }>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface ClusterReport extends ClusterLine {
  /** `live`: read from the spoke just now. `cached`: the last that the hub read, true at `asOf`. */
  readonly source: 'live' | 'cached';
  readonly asOf?: string;
  /** Why the spoke could not be asked, where it was to be. */
  readonly notLive?: string;
  readonly mode: string;
  readonly credential: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly clusterInfo: ClusterInfo;
  readonly healthStatus?: string;
  readonly drift?: { readonly corrections: number; readonly last?: Readonly<Record<string, string>> };
  /** Of the spoke itself, with the state of each dispatch. Live only. */
  readonly dispatches?: readonly DispatchLine[];
  /** Objects that are not healthy. Live only. */
  readonly troubled?: readonly TroubledObject[];
  /** As the hub sees the cluster. */
  readonly conditions: readonly Condition[];
}

export interface DispatchLine {
  readonly name: string;
  readonly source: string;
  readonly generation: number;
  readonly appliedGeneration?: number;
  readonly appliedAt?: string;
  readonly health: string;
  /** The condition that fails, where one does. */
  readonly problem?: string;
}

export interface TroubledObject {
  readonly object: string;
  readonly source: string;
  readonly health: ObjectState['health'];
  readonly reason: string;
  readonly message: string;
}

/** Everything about one cluster: live where the spoke answered, else what the hub knew last, with its time. Pure. */
export function clusterReport({ spoke, reading, now }: ClusterFacts): ClusterReport {
  const line = clusterLine(spoke);
  const base = {
    ...line,
    mode: spoke.spec.mode ?? 'connect',
    credential: spoke.spec.credential.type,
    labels: spoke.metadata.labels ?? {},
    conditions: spoke.status?.conditions ?? [],
  };
  if (!reading?.live) {
    const asOf = line.stale ? line.lastSynced : formatTime(now);
    const healthStatus = spoke.status?.health?.status;
    return {
      ...base,
      source: 'cached',
      ...(asOf === undefined ? {} : { asOf }),
      ...(reading === undefined ? {} : { notLive: reading.why, stale: true }),
      // It did not answer just now: only what was written down is known to have been true.
      ...(reading === undefined || line.lastSynced === undefined ? {} : { asOf: line.lastSynced }),
      clusterInfo: spoke.status?.clusterInfo ?? {},
      ...(healthStatus === undefined ? {} : { healthStatus }),
    };
  }
  const { cluster, dispatches } = reading.value;
  const { status = {} } = cluster;
  const { clusterInfo = {}, health } = status;
  return {
    ...base,
    source: 'live',
    asOf: formatTime(now),
    connection: 'Connected',
    stale: false,
    lastSynced: formatTime(now),
    ...(clusterInfo.kubernetesVersion === undefined ? {} : { version: clusterInfo.kubernetesVersion }),
    ...(clusterInfo.nodeCount === undefined ? {} : { nodes: clusterInfo.nodeCount }),
    ...(status.engine === undefined ? {} : { engine: status.engine }),
    ...(status.dispatchedRevision === undefined ? {} : { dispatchedRevision: status.dispatchedRevision }),
    ...(status.appliedRevision === undefined ? {} : { appliedRevision: status.appliedRevision }),
    ...(health === undefined
      ? {}
      : {
          objects: { healthy: health.objectsHealthy, total: health.objectsTotal },
          healthStatus: health.status,
        }),
    ...(status.drift === undefined ? {} : { drift: status.drift }),
    clusterInfo,
    dispatches: dispatches.map(dispatchLine).sort((a, b) => (a.source < b.source ? -1 : 1)),
    troubled: dispatches.flatMap(troubledOf),
  };
}

function dispatchLine(dispatch: Dispatch): DispatchLine {
  const { spec, status } = dispatch;
  const problem = ['Accepted', 'Applied', 'Healthy']
    .map((type) => status?.conditions?.find((condition) => condition.type === type))
    .find((condition) => condition !== undefined && condition.status !== 'True');
  const healthy = status?.conditions?.find((condition) => condition.type === 'Healthy');
  return {
    name: dispatch.metadata.name ?? '',
    source: sourceText(dispatch),
    generation: spec.position.generation,
    ...(status?.appliedGeneration === undefined ? {} : { appliedGeneration: status.appliedGeneration }),
    ...(status?.appliedAt === undefined ? {} : { appliedAt: status.appliedAt }),
    health: healthy === undefined ? 'Unknown' : healthy.status === 'True' ? 'Healthy' : healthy.reason,
    ...(problem === undefined ? {} : { problem: `${problem.reason}: ${problem.message}` }),
  };
}

function troubledOf(dispatch: Dispatch): TroubledObject[] {
  return (dispatch.status?.objects ?? []).map(({ ref, health, reason, message }) => ({
    object: refText(ref),
    source: sourceText(dispatch),
    health,
    reason,
    message,
  }));
}

function sourceText({ spec }: Dispatch): string {
  const { kind, namespace, name } = spec.source;
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}
