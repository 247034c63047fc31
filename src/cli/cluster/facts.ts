import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { shortDigest } from '../../engine/digest.ts';
import { parseTime } from '../../runtime/clock.ts';
import { agoText, type Cell, cell, type Paint, table } from '../output.ts';

/** A cluster in one line, as the hub knows it. */
export interface ClusterLine {
  readonly name: string;
  readonly namespace: string;
  readonly connection: 'Connected' | 'Disconnected' | 'Unknown';
  /** Whether what follows is not known to be true now. */
  readonly stale: boolean;
  /** Why it is not connected. */
  readonly message?: string;
  /** The last time at which the facts were read from the spoke and had changed. */
  readonly lastSynced?: string;
  readonly version?: string;
  readonly nodes?: number;
  readonly engine?: string;
  readonly objects?: { readonly healthy: number; readonly total: number };
  readonly dispatchedRevision?: string;
  readonly appliedRevision?: string;
}

export function clusterLine(spoke: SpokeCluster): ClusterLine {
  const { status = {} } = spoke;
  const { clusterInfo, health } = status;
  const connection = status.connection ?? 'Unknown';
  const lastSynced = lastSyncedOf(spoke);
  const problem = problemOf(spoke);
  return {
    name: spoke.metadata.name ?? '',
    namespace: spoke.metadata.namespace ?? '',
    connection,
    stale: connection !== 'Connected',
    ...(connection === 'Connected' || problem === undefined ? {} : { message: problem }),
    ...(lastSynced === undefined ? {} : { lastSynced }),
    ...(clusterInfo?.kubernetesVersion === undefined ? {} : { version: clusterInfo.kubernetesVersion }),
    ...(clusterInfo?.nodeCount === undefined ? {} : { nodes: clusterInfo.nodeCount }),
    ...(status.engine === undefined ? {} : { engine: status.engine }),
    ...(health?.objectsTotal === undefined
      ? {}
      : { objects: { healthy: health.objectsHealthy ?? 0, total: health.objectsTotal } }),
    ...(status.dispatchedRevision === undefined ? {} : { dispatchedRevision: status.dispatchedRevision }),
    ...(status.appliedRevision === undefined ? {} : { appliedRevision: status.appliedRevision }),
  };
}

/** The later of the times at which facts and health were read from the spoke. */
export function lastSyncedOf(spoke: SpokeCluster): string | undefined {
  const times = [spoke.status?.clusterInfo?.lastSyncedTime, spoke.status?.health?.lastPulledAt];
  return times
    .filter((time) => time !== undefined)
    .sort()
    .at(-1);
}

/** The message of the first step that failed: credential, registration, connection, facts. */
function problemOf(spoke: SpokeCluster): string | undefined {
  const conditions = spoke.status?.conditions ?? [];
  if (conditions.length === 0) return 'the hub has not looked at it yet';
  for (const type of ['CredentialValid', 'Registered', 'Connected', 'InfoSynced']) {
    const failed = conditions.find((condition) => condition.type === type && condition.status !== 'True');
    if (failed) return failed.message;
  }
  return undefined;
}

export function clusterTable(clusters: readonly ClusterLine[], now: number, paint: Paint): string {
  return table(
    ['CLUSTER', 'STATUS', 'SYNCED', 'VERSION', 'NODES', 'HEALTHY', 'REVISION'],
    clusters.map((cluster) => [
      cell(cluster.name, 'strong'),
      connectionCell(cluster.connection),
      cluster.stale ? cell(agoText(parseTime(cluster.lastSynced), now), 'warn') : 'now',
      cluster.version ?? '-',
      cluster.nodes === undefined ? '-' : String(cluster.nodes),
      objectsCell(cluster),
      revisionCell(cluster),
    ]),
    paint,
  );
}

export function connectionCell(connection: ClusterLine['connection']): Cell {
  return cell(connection, connection === 'Connected' ? 'good' : connection === 'Unknown' ? 'warn' : 'bad');
}

function objectsCell({ objects, stale }: ClusterLine): Cell {
  if (objects === undefined) return cell('-');
  const text = `${objects.healthy}/${objects.total}`;
  if (stale) return cell(`${text} (stale)`, 'warn');
  return cell(text, objects.healthy === objects.total ? 'good' : 'warn');
}

/** One word where the spoke has applied all it was told, two where it has not. */
export function revisionCell(cluster: ClusterLine): Cell {
  const { dispatchedRevision: dispatched, appliedRevision: applied } = cluster;
  if (!dispatched && !applied) return cell('-');
  const stale = cluster.stale ? ' (stale)' : '';
  if (dispatched === applied)
    return cell(`${shortDigest(applied ?? '')}${stale}`, cluster.stale ? 'warn' : 'plain');
  return cell(`${revisionText(applied)} → ${revisionText(dispatched)}${stale}`, 'warn');
}

export function revisionText(revision: string | undefined): string {
  return revision ? shortDigest(revision) : 'none';
}
