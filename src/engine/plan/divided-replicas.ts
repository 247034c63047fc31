import { type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import {
  COMPLETIONS,
  completionsOf,
  type DivisionCluster,
  type DivisionOptions,
  divide,
  divideCompletions,
  partsOf,
  preferencesOf,
  replicasPatch,
} from '../divide/index.ts';
import type { ClusterFacts } from '../intent.ts';
import { type ObjectPatch, OF_DIVISION } from '../render/override.ts';
import { placeSet, type RoomForSet } from './whole-set.ts';

/**
 * How many replicas each cluster has of each object, by the object's key and the cluster's name: what the next division starts
 * from. Completions of Jobs are beside it, under the key with ` completions` behind it.
 */
export type ReplicaRecord = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** How many more replicas of an object a cluster takes; `undefined` where that is not known. */
export type RoomFor = (cluster: string, object: KubeObject) => number | undefined;

/** What a division goes by beside what is asked for. */
export interface DivisionContext {
  readonly room?: RoomFor | undefined;
  readonly roomForSet?: RoomForSet | undefined;
  /** The most that may stay in a cluster, by the object's key: replicas that found no node there. */
  readonly capacity?: ReplicaRecord | undefined;
  /** Divide everything anew, whatever was before. */
  readonly fresh?: boolean | undefined;
  /** The overflow tier of each cluster, where there are some. */
  readonly tierOf?: ((cluster: string) => number) | undefined;
}

export interface DividedReplicas {
  /** By cluster. They come before overrides, which may change replicas again. */
  readonly patches: ReadonlyMap<string, readonly ObjectPatch[]>;
  readonly record: ReplicaRecord;
  /** What could not be divided, and why; such objects keep the number that they state. */
  readonly problems: readonly string[];
  /** Why nobody can know how to divide: nothing is to be sent then, not even the numbers that objects state. */
  readonly blocks?: string;
}

const NOTHING: DividedReplicas = { patches: new Map(), record: {}, problems: [] };

/** Divides the replicas of every object that has some among the clusters that were chosen. Pure; sorted input gives equal output. */
export function divideReplicas(
  objects: readonly KubeObject[],
  options: DivisionOptions | undefined,
  clusters: readonly ClusterFacts[],
  previous: ReplicaRecord = {},
  { room, roomForSet, capacity = {}, fresh = false, tierOf }: DivisionContext = {},
): DividedReplicas {
  if (!options || options.strategy === 'Duplicated' || clusters.length === 0) return NOTHING;
  const preferences = preferencesOf(options.preferences, clusters);
  if (preferences.problems.length > 0) {
    const { problems } = preferences;
    return { ...NOTHING, record: previous, problems, blocks: problems.join('; ') };
  }
  const parts = partsOf(objects, options);
  const unclear = parts.filter(({ total }) => total === undefined);
  if (options.strategy === 'Whole' && parts.length > 1 && unclear.length === 0)
    return placeSet(
      parts,
      preferences.clusters.map((cluster) => {
        const tier = tierOf?.(cluster.name) ?? 0;
        return tier === 0 || cluster.tier !== undefined ? cluster : { ...cluster, tier };
      }),
      clusters,
      previous,
      roomForSet,
      fresh,
    );
  const patches = new Map<string, ObjectPatch[]>();
  const record: Record<string, Record<string, number>> = {};
  const problems: string[] = [];
  for (const { object, key: part, path, total } of parts) {
    const ref = refOf(object);
    // Of several parts each has its number; only a whole of them is divided.
    if (part !== refKey(ref)) continue;
    if (total === undefined) {
      problems.push(`${refText(ref)} states no whole number of replicas`);
      continue;
    }
    const before = previous[refKey(ref)];
    const limits = capacity[refKey(ref)] ?? {};
    const candidates = preferences.clusters.map((cluster): DivisionCluster => {
      const available = room?.(cluster.name, object);
      const limit = limits[cluster.name];
      const tier = tierOf?.(cluster.name) ?? 0;
      return {
        ...cluster,
        ...(available === undefined ? {} : { available }),
        ...(limit === undefined ? {} : { capacity: limit }),
        ...(tier === 0 || cluster.tier !== undefined ? {} : { tier }),
      };
    });
    const division = divide({
      total,
      clusters: candidates,
      ...(fresh ? { mode: 'Fresh' as const } : {}),
      ...(options.strategy === undefined ? {} : { strategy: options.strategy }),
      ...(options.rebalance === undefined ? {} : { rebalance: options.rebalance }),
      ...(before === undefined ? {} : { previous: before }),
      key: `${ref.namespace}/${ref.name}`,
    });
    if (division.problem !== undefined) problems.push(`${refText(ref)}: ${division.problem}`);
    const shares = new Map(division.clusters.map(({ cluster, replicas }) => [cluster, replicas]));
    const own: Record<string, number> = {};
    for (const { name } of clusters) {
      // A cluster that no preference means gets nothing.
      const replicas = shares.get(name) ?? 0;
      own[name] = replicas;
      const operations = replicasPatch(object, path, replicas);
      if (!operations) continue;
      const present = patches.get(name);
      const patch = { target: ref, operations, override: OF_DIVISION };
      if (present) present.push(patch);
      else patches.set(name, [patch]);
    }
    record[refKey(ref)] = own;
    const completions = completionsOf(object);
    if (completions === undefined) continue;
    const key = `${refKey(ref)} completions`;
    const divided = divideCompletions(completions, own, `${ref.namespace}/${ref.name}`, previous[key]);
    if (divided.lost > 0)
      problems.push(
        `${refText(ref)}: ${divided.lost} of its completions were of clusters that it left, and no Job that is there can take them; they go to the next cluster that is new, or with a new Job`,
      );
    record[key] = divided.shares;
    for (const { name } of clusters) {
      const operations = replicasPatch(object, COMPLETIONS, divided.shares[name] ?? 0) ?? [];
      patches.get(name)?.push({ target: ref, operations, override: OF_DIVISION });
    }
  }
  return { patches, record, problems };
}

/** Whether everything is divided already, among these clusters and no others: then nothing has to be known to divide it so again. */
export function isDivided(
  objects: readonly KubeObject[],
  options: DivisionOptions | undefined,
  clusters: readonly string[],
  previous: ReplicaRecord,
): boolean {
  return partsOf(objects, options).every(({ key, total }) => {
    if (total === undefined) return true;
    const shares = previous[key];
    return shares !== undefined && clusters.reduce((sum, name) => sum + (shares[name] ?? 0), 0) === total;
  });
}
