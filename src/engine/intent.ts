import type { KubeObject } from '../kube/object.ts';
import type { JsonValue } from '../schema/json.ts';
import type { LabelSelector } from '../schema/label-selector.ts';

/** Which object of the hub an intent was compiled from. */
export interface IntentSource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
}

/** What someone wants somewhere: every dialect compiles to this, and everything behind it knows nothing else. */
export interface Intent {
  readonly source: IntentSource;
  /** Portable objects: free of what belongs to the cluster they were read from. In apply order. */
  readonly objects: readonly KubeObject[];
  readonly placement: Placement;
  readonly overrides: readonly Override[];
  /** While true nothing is dispatched; what is on the spokes stays. */
  readonly suspend: boolean;
  /** How many objects one change may take away from a cluster by no longer selecting them (`"50%"`, `3`). */
  readonly deletionBudget: number | string;
}

/** Both conditions must hold where both are given. Neither given places nothing: a blast radius is never a default. */
export interface Placement {
  readonly clusterNames?: readonly string[];
  readonly clusterSelector?: LabelSelector;
}

/** A change of selected objects on some clusters. Applied in order; later ones see what earlier ones did. */
export interface Override extends Placement {
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

/** What placement may know of a cluster. */
export interface ClusterFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}
