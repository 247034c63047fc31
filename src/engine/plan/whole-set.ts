import { refOf } from '../../kube/object.ts';
import { type Component, type DivisionCluster, divide, type Part, replicasPatch } from '../divide/index.ts';
import type { ClusterFacts } from '../intent.ts';
import { type ObjectPatch, OF_DIVISION } from '../render/override.ts';
import type { DividedReplicas, ReplicaRecord } from './divided-replicas.ts';

/** Whether all of some components fit in a cluster together; `undefined` where that is not known. */
export type RoomForSet = (cluster: string, components: readonly Component[]) => boolean | undefined;

/** What a cluster lacks of a set, by what was divided before. */
export function missingOf(parts: readonly Part[], previous: ReplicaRecord, cluster: string): Component[] {
  return parts.flatMap(({ key, name, total = 0, needs }) => {
    const replicas = total - (previous[key]?.[cluster] ?? 0);
    return replicas > 0 ? [{ name, replicas, needs: needs() }] : [];
  });
}

/** Puts all parts into one cluster, or into none: half of them would be of no use. */
export function placeSet(
  parts: readonly Part[],
  preferred: readonly DivisionCluster[],
  clusters: readonly ClusterFacts[],
  previous: ReplicaRecord,
  room: RoomForSet | undefined,
  fresh: boolean,
): DividedReplicas {
  const has = (cluster: string): boolean => parts.some(({ key }) => (previous[key]?.[cluster] ?? 0) > 0);
  const candidates = preferred.map((cluster): DivisionCluster => {
    const missing = missingOf(parts, previous, cluster.name);
    const fits = missing.length === 0 || room?.(cluster.name, missing) !== false;
    return fits ? cluster : { ...cluster, capacity: 0 };
  });
  const [first] = parts;
  const { clusters: shares } = divide({
    total: 1,
    strategy: 'Whole',
    clusters: candidates,
    key: first?.key ?? '',
    previous: Object.fromEntries(clusters.filter(({ name }) => has(name)).map(({ name }) => [name, 1])),
    ...(fresh ? { mode: 'Fresh' as const } : {}),
  });
  const chosen = shares.find(({ replicas }) => replicas > 0)?.cluster;
  const patches = new Map<string, ObjectPatch[]>();
  const record: Record<string, Record<string, number>> = {};
  for (const { object, key, path, total = 0 } of parts) {
    const own: Record<string, number> = {};
    for (const { name } of clusters) {
      // Where it does not fit any more, what is there stays as it is.
      own[name] = chosen === undefined ? (previous[key]?.[name] ?? 0) : name === chosen ? total : 0;
      const operations = replicasPatch(object, path, own[name]);
      if (!operations) continue;
      const patch = { target: refOf(object), operations, override: OF_DIVISION };
      const present = patches.get(name);
      if (present) present.push(patch);
      else patches.set(name, [patch]);
    }
    record[key] = own;
  }
  const names = parts.map(({ name, total }) => `${total} of ${name}`).join(', ');
  const problems =
    chosen === undefined ? [`no cluster has room for ${names} together: make room in one`] : [];
  return { patches, record, problems };
}
