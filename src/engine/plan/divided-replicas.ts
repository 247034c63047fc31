import { type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import {
  type DivisionOptions,
  divide,
  preferencesOf,
  readReplicas,
  replicasPatch,
  replicasPathOf,
} from '../divide/index.ts';
import type { ClusterFacts } from '../intent.ts';
import type { ObjectPatch } from '../render/override.ts';
import { parseFieldPath, readField } from '../retain/index.ts';

/** How many replicas each cluster has of each object, by the object's key and the cluster's name: what the next division starts from. */
export type ReplicaRecord = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface DividedReplicas {
  /** By cluster. They come before overrides, which may change replicas again. */
  readonly patches: ReadonlyMap<string, readonly ObjectPatch[]>;
  readonly record: ReplicaRecord;
  /** What could not be divided, and why; such objects keep the number that they state. */
  readonly problems: readonly string[];
}

/** Stands in `ObjectPatch.override` for patches that come from the division. */
export const FROM_DIVISION: number = -1;

const NOTHING: DividedReplicas = { patches: new Map(), record: {}, problems: [] };

/** Divides the replicas of every object that has some among the clusters that were chosen. Pure; sorted input gives equal output. */
export function divideReplicas(
  objects: readonly KubeObject[],
  options: DivisionOptions | undefined,
  clusters: readonly ClusterFacts[],
  previous: ReplicaRecord = {},
): DividedReplicas {
  if (!options || options.strategy === 'Duplicated' || clusters.length === 0) return NOTHING;
  const preferences = preferencesOf(options.preferences, clusters);
  if (preferences.problems.length > 0) return { ...NOTHING, problems: preferences.problems };
  const rule = options.replicasPath === undefined ? undefined : parseFieldPath(options.replicasPath);
  const patches = new Map<string, ObjectPatch[]>();
  const record: Record<string, Record<string, number>> = {};
  const problems: string[] = [];
  for (const object of objects) {
    const ref = refOf(object);
    const known = replicasPathOf(object);
    const path = known ?? rule;
    // A path that was given is for the kinds that have it.
    if (path === undefined || (known === undefined && readField(object, path) === undefined)) continue;
    const total = readReplicas(object, path);
    if (total === undefined) {
      problems.push(`${refText(ref)} states no whole number of replicas`);
      continue;
    }
    const before = previous[refKey(ref)];
    const division = divide({
      total,
      clusters: preferences.clusters,
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
      const patch = { target: ref, operations, override: FROM_DIVISION };
      if (present) present.push(patch);
      else patches.set(name, [patch]);
    }
    record[refKey(ref)] = own;
  }
  return { patches, record, problems };
}
