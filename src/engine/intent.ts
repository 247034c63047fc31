import type { KubeObject } from '../kube/object.ts';
import type { JsonValue } from '../schema/json.ts';
import type { LabelSelector } from '../schema/label-selector.ts';
import type { DivisionOptions } from './divide/index.ts';
import type { ClusterMatch, Placement } from './place/placement.ts';

export type { ClusterFacts, ClusterMatch, Placement } from './place/placement.ts';

/** Which object of the hub an intent was compiled from. */
export interface IntentSource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
}

/** Who wrote an intent last, as the hub's API server knows them. */
export interface Author {
  readonly username: string;
  readonly groups?: readonly string[];
}

/** What someone wants somewhere: every dialect compiles to this, and everything behind it knows nothing else. */
export interface Intent {
  readonly source: IntentSource;
  /** With whose rights it is carried out, here and on every spoke. */
  readonly author?: Author;
  /** Portable objects: free of what belongs to the cluster they were read from. In apply order. */
  readonly objects: readonly KubeObject[];
  readonly placement: Placement;
  readonly overrides: readonly Override[];
  /** How replicas are divided among the clusters; every cluster gets all of them where nothing is said. */
  readonly replicas?: DivisionOptions;
  /** While true nothing is dispatched; what is on the spokes stays. */
  readonly suspend: boolean;
  /** How many objects one change may take away from a cluster by no longer selecting them (`"50%"`, `3`). */
  readonly deletionBudget: number | string;
  /** How the objects are written on a spoke; server-side apply where nothing is said. */
  readonly applyStrategy?: ApplyStrategy;
  /** The same for some of the objects. Of several that mean an object each says what those before it left open. */
  readonly objectStrategies?: readonly ObjectStrategy[];
}

/** How a spoke writes an object, and what becomes of it in the end. */
export interface ApplyStrategy {
  /**
   * `ServerSideApply` (the default) owns the fields that are stated and no others. `Update` replaces the whole object but
   * for what its cluster owns. `CreateOnly` makes an object that is not there and never changes it. `ReadOnly` writes
   * nothing: it only tells how the object is.
   */
  readonly strategy?: 'ServerSideApply' | 'Update' | 'CreateOnly' | 'ReadOnly';
  /** Server-side apply: take fields over from other managers. True by default; with false a conflict is reported. */
  readonly force?: boolean;
  readonly ignoreFields?: readonly IgnoredFields[];
  /** What to do about an object that is there and that nobody's dispatch made: leave it alone (the default) or take it over. */
  readonly adopt?: 'Never' | 'Always';
  /** Leave the number of replicas to the cluster, once the object is there. */
  readonly retainReplicas?: boolean;
  /** Let the object stay, without marks, where it would be removed. */
  readonly preserveOnDeletion?: boolean;
  readonly deletion?: DeletionOptions;
}

export interface IgnoredFields {
  /** Left alone as soon as the object is there (`OnPresent`), or as soon as another writer has changed them (`OnChange`). */
  readonly condition: 'OnPresent' | 'OnChange';
  /** Such as `spec.replicas`, `spec.template.spec.containers[*].image` or `/spec/replicas`. */
  readonly paths: readonly string[];
}

/** How an object is deleted, as `kubectl delete` has it. */
export interface DeletionOptions {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
}

export interface ObjectStrategy extends ApplyStrategy {
  readonly target: OverrideTarget;
}

/** A change of selected objects on some clusters. Applied in order; later ones see what earlier ones did. */
export interface Override extends ClusterMatch {
  readonly target?: OverrideTarget;
  readonly patch?: readonly PatchOperation[];
  readonly images?: readonly ImageOverride[];
}

/** Which objects an override changes; all of the intent's where nothing is given. */
export interface OverrideTarget {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly labelSelector?: LabelSelector;
}

/** RFC 6902. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

/** Replaces images by repository name, in every container of the targets (the form that kustomize uses). */
export interface ImageOverride {
  readonly name: string;
  readonly newName?: string;
  readonly newTag?: string;
  readonly digest?: string;
}
