import type { ClosureOptions } from '../../engine/closure/index.ts';
import type { DivisionOptions } from '../../engine/divide/index.ts';
import type { FailoverRecord } from '../../engine/failover/index.ts';
import type { ApplyStrategy, Author, Override, Placement } from '../../engine/intent.ts';
import type { Decision } from '../../engine/place/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { ReturnMode } from '../../engine/reflect/index.ts';
import type { ClusterCounts, RolloutStrategy } from '../../engine/rollout/index.ts';
import type { Activation, ResourceSelector } from '../../engine/select/index.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import type { Steering } from './steering.ts';

/** What comes along with the selected objects. */
export type PropagationDependencies = Pick<
  ClosureOptions,
  'references' | 'backends' | 'definitions' | 'namespaces'
>;

export interface PropagationSpec extends Steering {
  /** Who wrote it last, written down by the hub's API server. */
  readonly author?: Author;
  readonly resourceSelectors: readonly ResourceSelector[];
  readonly placement: Placement;
  readonly dependencies?: PropagationDependencies;
  readonly replicas?: DivisionOptions;
  readonly overrides?: readonly Override[];
  readonly apply?: ApplyStrategy;
  readonly rollout?: RolloutStrategy;
  readonly revisionHistoryLimit?: number;
  readonly returnStatus?: ReturnMode;
  readonly suspend?: boolean;
  readonly deletionBudget?: number | string;
  readonly clusterBudget?: number | string;
}

/** Where a rollout is, for people. */
export interface RolloutReport {
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  /** Number of the revision that is rolled out. */
  readonly revision?: number;
  readonly stages?: readonly StageReport[];
  readonly clusters?: ClusterCounts;
  /** Clusters that are neither done nor waiting for their turn, 50 at most. */
  readonly unsettled?: readonly { cluster: string; phase: string; message: string }[];
}

export interface StageReport {
  readonly name: string;
  readonly phase: string;
  readonly clusters: number;
  readonly updated: number;
  readonly startedAt?: string;
  readonly doneAt?: string;
  readonly waiting?: { reason: string; message: string; remedy: string; until?: string };
}

/** A revision that can be gone back to. */
export interface RevisionReport {
  readonly number: number;
  readonly digest: string;
  readonly at: string;
  readonly by?: string;
  readonly cause?: string;
  /** Since when it was everywhere. */
  readonly succeededAt?: string;
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
  /** What of it moves, or has moved, to other clusters by itself. */
  failover?: FailoverRecord;
  /** Objects that another Propagation has. */
  lost?: readonly { readonly object: string; readonly winner: string }[];
  /** Lazy activation: what is in force, and what waits. */
  activation?: Activation;
  rollout?: RolloutReport;
  /** Where another scheduler wants it, whom `spec.placement.schedulerName` names. Written by that scheduler. */
  scheduled?: { readonly schedulerName: string; readonly clusterNames: readonly string[] };
  /** Newest first. */
  revisions?: readonly RevisionReport[];
  notReady?: { cluster: string; state: string; reason: string; message: string }[];
  conditions?: Condition[];
}

/** A Propagation or a ClusterPropagation. */
export interface Propagation extends KubeObject {
  readonly spec: PropagationSpec;
  readonly status?: PropagationStatus;
}
