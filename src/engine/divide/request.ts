import type { LabelSelector } from '../../schema/label-selector.ts';

/**
 * How a number (of replicas, of sets) is divided among the chosen clusters.
 *
 * - `Duplicated`: every cluster gets all of them.
 * - `Balanced` (the default): the minimum of each cluster, then by weight (Webster), never above a maximum or a capacity.
 * - `StaticWeight`: by weight alone. What ran before and what has room do not matter; minima and maxima do.
 * - `DynamicWeight`: in proportion to the room that each cluster has.
 * - `Aggregated`: into as few clusters as have the room, those that have some already first.
 * - `Planner`: as KubeFed's ReplicaSchedulingPreference does it.
 * - `Whole`: all into one cluster or into none, for what must not be torn apart.
 */
export type DivisionStrategy = (typeof DIVISION_STRATEGIES)[number];
export const DIVISION_STRATEGIES = [
  'Duplicated',
  'Balanced',
  'StaticWeight',
  'DynamicWeight',
  'Aggregated',
  'Planner',
  'Whole',
] as const;

/** What someone wants of the division, as it stands in an intent. */
export interface DivisionOptions {
  readonly strategy?: DivisionStrategy;
  /**
   * The first that means a cluster holds for it. Where some are given, a cluster that none of them means gets nothing; one
   * without names and selector means every cluster.
   */
  readonly preferences?: readonly ClusterPreference[];
  /** `Planner` only: move what runs already to where the weights want it. */
  readonly rebalance?: boolean;
  /** Where replicas are in objects of kinds that the engine does not know: `spec.size`. */
  readonly replicasPath?: string;
  /**
   * `Whole` only: kinds whose pods come from several templates, each with its number of replicas. All of an intent, workloads beside
   * them included, fit in one cluster together or go nowhere.
   */
  readonly components?: readonly { readonly replicasPath: string; readonly templatePath: string }[];
  /** When set to a later time than that of the last division, everything is divided anew. RFC 3339. */
  readonly divideAnewAfter?: string;
}

export interface ClusterPreference {
  readonly clusterNames?: readonly string[];
  readonly clusterSelector?: LabelSelector;
  /** 1 by default. With 0 a cluster gets its minimum only. */
  readonly weight?: number;
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  /** Clusters of a tier are filled before those of the next higher one get anything. 0 by default. */
  readonly tier?: number;
}

/** A candidate: its preference, resolved, and what is known of it. */
export interface DivisionCluster {
  readonly name: string;
  /** 1 by default. */
  readonly weight?: number;
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  readonly tier?: number;
  /** How many more would fit; without it nothing is known and all of them would. Reservations are taken off already. */
  readonly available?: number;
  /** The most that can run there in all, where that has shown. */
  readonly capacity?: number;
  /** How many run there now. `Planner` only. */
  readonly current?: number;
}

export interface DivisionRequest {
  readonly total: number;
  /** Names are unique. The order does not matter. */
  readonly clusters: readonly DivisionCluster[];
  readonly strategy?: DivisionStrategy;
  /** `Steady` (the default) leaves what was divided before where it is and divides the difference only. */
  readonly mode?: 'Steady' | 'Fresh';
  /** What was decided before. Clusters that are no candidates any more do not count. */
  readonly previous?: Readonly<Record<string, number>>;
  /** Decides between equals, the same way each time. `namespace/name`; for Karmada's ties the uid of the object. */
  readonly key: string;
  readonly rebalance?: boolean;
}

export interface Division {
  /** Every candidate, in name order, also those that get nothing. */
  readonly clusters: readonly Share[];
  /** What no cluster could take. */
  readonly unassigned: number;
  /** Why, and what to do; set where something is unassigned or the request is not valid. */
  readonly problem?: string;
}

export interface Share {
  readonly cluster: string;
  readonly replicas: number;
  /** Of these, more than the cluster has room for as far as is known (`Planner` only). */
  readonly overflow?: number;
  /** Why that many, for people. */
  readonly reason: string;
}

/** Above this, counts and weights are taken for mistakes; below it, all arithmetic is exact. */
export const MAX_COUNT: number = 2 ** 31 - 1;

export function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;
}

/** What is wrong with a request; empty where nothing is. */
export function requestProblems(request: DivisionRequest): readonly string[] {
  const problems: string[] = [];
  const check = (what: string, of: string, value: number | undefined): void => {
    if (value !== undefined && !isCount(value))
      problems.push(`${what}${of} must be a whole number from 0 to ${MAX_COUNT}, not ${value}`);
  };
  check('total', '', request.total);
  const names = new Set<string>();
  for (const cluster of request.clusters) {
    const { name, weight, minReplicas, maxReplicas, available, capacity, current, tier } = cluster;
    if (names.has(name)) problems.push(`cluster ${name} is there twice`);
    names.add(name);
    check('weight of cluster ', name, weight);
    check('minReplicas of cluster ', name, minReplicas);
    check('maxReplicas of cluster ', name, maxReplicas);
    check('available of cluster ', name, available);
    check('capacity of cluster ', name, capacity);
    check('current of cluster ', name, current);
    check('tier of cluster ', name, tier);
  }
  for (const [name, value] of Object.entries(request.previous ?? {}))
    check('previous replicas of cluster ', name, value);
  return problems;
}
