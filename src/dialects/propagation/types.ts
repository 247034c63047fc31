import type { Override, Placement } from '../../engine/intent.ts';
import type { ResourceSelector } from '../../engine/select/select.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';

export interface PropagationSpec {
  readonly resourceSelectors: readonly ResourceSelector[];
  readonly placement: Placement;
  readonly overrides?: readonly Override[];
  readonly suspend?: boolean;
  readonly deletionBudget?: number | string;
}

export interface PropagationStatus {
  observedGeneration?: number;
  clusters?: number;
  ready?: number;
  stale?: number;
  objects?: number;
  revision?: string;
  dispatchGeneration?: number;
  dispatchDigest?: string;
  dispatchedTo?: string[];
  notReady?: { cluster: string; state: string; reason: string; message: string }[];
  conditions?: Condition[];
}

/** A Propagation or a ClusterPropagation. */
export interface Propagation extends KubeObject {
  readonly spec: PropagationSpec;
  readonly status?: PropagationStatus;
}
