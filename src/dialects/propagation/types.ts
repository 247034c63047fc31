import type { ClosureOptions } from '../../engine/closure/index.ts';
import type { DivisionOptions } from '../../engine/divide/index.ts';
import type { ApplyStrategy, Author, Override, Placement } from '../../engine/intent.ts';
import type { Decision } from '../../engine/place/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { ResourceSelector } from '../../engine/select/select.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';

/** What comes along with the selected objects. */
export type PropagationDependencies = Pick<
  ClosureOptions,
  'references' | 'backends' | 'definitions' | 'namespaces'
>;

export interface PropagationSpec {
  /** Who wrote it last, written down by the hub's API server. */
  readonly author?: Author;
  readonly resourceSelectors: readonly ResourceSelector[];
  readonly placement: Placement;
  readonly dependencies?: PropagationDependencies;
  readonly replicas?: DivisionOptions;
  readonly overrides?: readonly Override[];
  readonly apply?: ApplyStrategy;
  readonly suspend?: boolean;
  readonly deletionBudget?: number | string;
}

/** How much of an aggregate is known, and from whom. The counts add up to the clusters that were chosen. */
export interface Freshness {
  ready: number;
  notReady: number;
  unknown: number;
  /** Until when the cluster was seen that has been out of sight for longest; absent where all are in sight. */
  oldestObservedAt?: string;
  /** Where the facts come from: the spokes themselves, by watch. */
  source: 'spokes';
}

export interface PropagationStatus {
  observedGeneration?: number;
  clusters?: number;
  ready?: number;
  stale?: number;
  freshness?: Freshness;
  objects?: number;
  revision?: string;
  /** What the next decision starts from, as plain JSON. */
  decision?: Decision;
  /** How many replicas each cluster has of each object, where they are divided. */
  replicas?: ReplicaRecord;
  dispatchGeneration?: number;
  dispatchDigest?: string;
  dispatchHistory?: string[];
  dispatchedTo?: string[];
  notReady?: { cluster: string; state: string; reason: string; message: string }[];
  conditions?: Condition[];
}

/** A Propagation or a ClusterPropagation. */
export interface Propagation extends KubeObject {
  readonly spec: PropagationSpec;
  readonly status?: PropagationStatus;
}
