import type { GraphResource, GraphSchema, GraphTarget } from '../../engine/graph/index.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';

/** `kro.run/v1alpha1`. */
export interface ResourceGraphDefinition extends KubeObject {
  readonly spec: ResourceGraphDefinitionSpec;
  readonly status?: ResourceGraphDefinitionStatus;
}

export interface ResourceGraphDefinitionSpec {
  readonly schema: GraphSchema;
  readonly resources?: readonly GraphResource[];
  /** Where the objects of all nodes are that have no target of their own. */
  readonly target?: GraphTarget;
}

export interface ResourceGraphDefinitionStatus {
  state?: 'Active' | 'Inactive';
  /** Ids of nodes. */
  topologicalOrder?: string[];
  /** Nodes that have dependencies. */
  resources?: { id: string; dependencies: { id: string }[] }[];
  conditions?: Condition[];
  /** Never goes back. */
  lastIssuedRevision?: number;
}

/** `internal.kro.run/v1alpha1`: what a definition said, immutable. */
export interface GraphRevision extends KubeObject {
  readonly spec: {
    readonly revision: number;
    readonly snapshot: {
      readonly name: string;
      readonly generation: number;
      readonly spec: ResourceGraphDefinitionSpec;
    };
  };
  readonly status?: {
    topologicalOrder?: string[];
    resources?: { id: string; dependencies: { id: string }[] }[];
    conditions?: Condition[];
  };
}
