import { clusterInfoOf } from '../dialects/kubevela/cluster-info.ts';
import { CLUSTER } from '../dialects/kubevela/kinds.ts';
import type { Cluster, ClusterStatus } from '../dialects/kubevela/types.ts';
import { type Dispatch, fleetRevision, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { setCondition } from '../kube/conditions.ts';
import { apiVersionOf, resourceIdOf } from '../kube/custom-resource.ts';
import { type Condition, type KubeObject, type ObjectRef, refKey } from '../kube/object.ts';
import { ignoring } from '../kube/status-error.ts';
import { formatTime } from '../runtime/clock.ts';
import { deepEqual } from '../schema/json.ts';
import type { Held } from './held.ts';

/** What a spoke knows of itself, to be told in its Cluster object. */
export interface ClusterReport {
  readonly name: string;
  readonly engine: string;
  readonly gitVersion: string;
  readonly nodes: readonly KubeObject[];
  readonly dispatches: readonly Dispatch[];
  readonly held: readonly Held[];
  readonly corrections: number;
  readonly lastCorrection: Record<string, string> | undefined;
  /** One word for the contracts of the cluster's owner, '' where there is none. */
  readonly contract?: string;
  /** What the cluster says of itself. */
  readonly properties?: Record<string, string>;
}

const CLUSTERS = resourceIdOf(CLUSTER);
/** Most objects that are named for one dispatch: the status must stay small. */
const MAX_KEPT = 1000;
/** About how many bytes the names of all of them may take. */
const MAX_KEPT_BYTES = 256 * 1024;
const REF_BYTES = 64;

/** The status of the Cluster object. Equal for equal facts: times move only when what they date changes. */
export function clusterStatusOf(
  report: ClusterReport,
  previous: ClusterStatus | undefined,
  now: number,
): ClusterStatus {
  const facts = clusterInfoOf(report.gitVersion, report.nodes);
  const { lastSyncedTime, ...previousFacts } = previous?.clusterInfo ?? {};
  const info = {
    ...facts,
    lastSyncedTime:
      lastSyncedTime !== undefined && deepEqual(facts, previousFacts) ? lastSyncedTime : formatTime(now),
  };
  let total = 0;
  let healthy = 0;
  const ordered = new Set(report.dispatches.map((dispatch) => dispatch.metadata.name));
  const dispatches = report.held
    .map((held) => {
      const bad = [...held.states.values()].filter(
        (state) => state.failure !== undefined || state.health.state !== 'Healthy',
      );
      total += held.states.size;
      healthy += held.states.size - bad.length;
      const degraded = bad.some((state) => state.failure !== undefined || state.health.state === 'Degraded');
      const { source, revision, position } = held.accepted;
      return {
        name: held.name,
        source: `${source.kind} ${source.namespace === '' ? '' : `${source.namespace}/`}${source.name}`,
        revision,
        generation: position.generation,
        ...(held.appliedGeneration === undefined ? {} : { appliedGeneration: held.appliedGeneration }),
        ...(held.appliedAt === undefined ? {} : { appliedAt: held.appliedAt }),
        health: bad.length === 0 ? 'Healthy' : degraded ? 'Degraded' : 'Progressing',
        ...keptOf(held, ordered.has(held.name)),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  boundKept(dispatches);
  const open = dispatches.filter((dispatch) => dispatch.appliedGeneration !== dispatch.generation);
  const word = dispatches.some((dispatch) => dispatch.health === 'Degraded')
    ? 'Degraded'
    : healthy < total
      ? 'Progressing'
      : 'Healthy';
  let conditions: Condition[] = [...(previous?.conditions ?? [])];
  const set = (type: string, ok: boolean, reason: string, message: string): void => {
    conditions = setCondition(
      conditions,
      { type, status: ok ? 'True' : 'False', reason, message },
      now,
    ).conditions;
  };
  const firstOpen = open[0];
  if (firstOpen)
    set(
      'BlueprintApplied',
      false,
      'Applying',
      `${open.length} dispatches are not applied yet, ${firstOpen.source} first; see: kubectl -n ${SYSTEM_NAMESPACE} get dispatches`,
    );
  else set('BlueprintApplied', true, 'Applied', `all ${dispatches.length} dispatches are applied`);
  set('Healthy', word === 'Healthy', word, `${healthy} of ${total} objects are healthy`);
  return {
    engine: report.engine,
    clusterInfo: info,
    ...(Object.keys(report.properties ?? {}).length === 0 ? {} : { properties: report.properties ?? {} }),
    dispatchedRevision: fleetRevision(
      report.dispatches.map((dispatch) => ({
        name: dispatch.metadata.name ?? '',
        generation: dispatch.spec.position.generation,
      })),
    ),
    appliedRevision: fleetRevision(
      dispatches.map((dispatch) => ({ name: dispatch.name, generation: dispatch.appliedGeneration ?? 0 })),
    ),
    dispatches,
    health: { status: word, objectsHealthy: healthy, objectsTotal: total },
    drift: {
      corrections: report.corrections,
      ...(report.lastCorrection === undefined ? {} : { last: report.lastCorrection }),
    },
    ...((report.contract ?? '') === '' ? {} : { contract: report.contract }),
    conditions,
  };
}

export async function readCluster(client: Client, name: string): Promise<Cluster | undefined> {
  return ignoring(404, client.get<Cluster>(CLUSTERS, SYSTEM_NAMESPACE, name));
}

/** Creates the Cluster object where it is absent and writes its status where it differs. */
export async function writeClusterStatus(
  client: Client,
  name: string,
  next: (previous: ClusterStatus | undefined) => ClusterStatus,
): Promise<void> {
  const fresh: Cluster = {
    apiVersion: apiVersionOf(CLUSTER),
    kind: CLUSTER.kind,
    metadata: { name, namespace: SYSTEM_NAMESPACE },
  };
  const present = (await readCluster(client, name)) ?? (await client.create<Cluster>(CLUSTERS, fresh));
  const status = next(present.status);
  if (deepEqual(status, present.status)) return;
  await client.update(CLUSTERS, { ...present, status }, { subresource: 'status' });
}

/**
 * What nobody asks for and nobody ordered away: named, so that the hub can. With its order gone that is everything. It may have
 * been made without its UID being noted, so what was never made is named too, which costs a word.
 */
function keptOf(held: Held, ordered: boolean): { kept?: ObjectRef[]; keptMore?: number } {
  const named = new Set(held.accepted.tombstones.map(({ ref }) => refKey(ref)));
  for (const ref of held.accepted.objects) named.add(refKey(ref));
  const kept = [...held.owned.values()].filter(({ ref }) => !ordered || !named.has(refKey(ref)));
  return ordered && kept.length === 0 ? {} : { kept: kept.map(({ ref }) => ref) };
}

/** Each that keeps anything names at least one object: the hub takes one that names none for done. */
function boundKept(dispatches: readonly { kept?: ObjectRef[]; keptMore?: number }[]): void {
  let bytes = 0;
  for (const dispatch of dispatches) {
    const { kept = [] } = dispatch;
    let named = 0;
    while (named < kept.length && named < MAX_KEPT) {
      const { apiVersion, kind, namespace, name } = kept[named] as ObjectRef;
      const size = apiVersion.length + kind.length + namespace.length + name.length + REF_BYTES;
      if (named > 0 && bytes + size > MAX_KEPT_BYTES) break;
      bytes += size;
      named += 1;
    }
    if (named === kept.length) continue;
    dispatch.keptMore = kept.length - named;
    dispatch.kept = kept.slice(0, named);
  }
}
