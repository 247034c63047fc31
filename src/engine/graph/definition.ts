import type { JsonObject, JsonValue } from '../../schema/json.ts';

/** A graph as its author writes it: the API that instances are written against, and the resources that make one up. */
export interface GraphDefinition {
  readonly name: string;
  readonly schema: GraphSchema;
  readonly resources: readonly GraphResource[];
}

export interface GraphSchema {
  readonly kind: string;
  /** Version only: `v1alpha1`. */
  readonly apiVersion: string;
  /** `kro.run` where it is left out. */
  readonly group?: string;
  readonly scope?: 'Namespaced' | 'Cluster';
  /** SimpleSchema. */
  readonly spec?: JsonObject;
  /** Custom types of SimpleSchema. */
  readonly types?: JsonObject;
  /** Expressions; `conditions` is a list of them. */
  readonly status?: JsonObject;
  readonly additionalPrinterColumns?: readonly JsonObject[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Further ways to read and write instances, as CustomResourceDefinitions have them. */
  readonly subresources?: { readonly scale?: ScaleSubresource };
  /** Of the CustomResourceDefinition. */
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** Where `kubectl scale` and autoscalers find and write how many. */
export interface ScaleSubresource {
  /** `.spec.replicas` */
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface GraphResource {
  readonly id: string;
  readonly template?: JsonObject;
  /** Of a Graph: its template is added to an object that is there already, to all of it or to its status, by a manager of the node's own. */
  readonly patches?: 'object' | 'status';
  /** Of a Graph: nodes with a scope of their own, which see those around them. */
  readonly graph?: { readonly nodes: readonly GraphResource[] };
  /** What the body is called where it was written, if not `template` or `externalRef`. */
  readonly word?: 'patch' | 'ref';
  readonly externalRef?: ExternalRef;
  /** Values that other nodes use, computed once for each instance. No object is made of it. */
  readonly def?: JsonObject;
  readonly readyWhen?: readonly string[];
  readonly includeWhen?: readonly string[];
  /** While one is not true, an object that is there keeps what was applied before. */
  readonly propagateWhen?: readonly string[];
  /** Where its objects are, if not where the instance is. The dialect writes it into the template. */
  readonly target?: GraphTarget;
  /** With a target: the template names what is there, and is not written. The dialect says it of an `externalRef`. */
  readonly reads?: true;
  /** Only the hub serves its kind, so its objects are made there. The dialect says it of what a hub sent. */
  readonly hub?: HubKind;
  /** One variable each; several make the product. */
  readonly forEach?: readonly JsonObject[];
}

/** A kind that only the hub serves, as the hub says. */
export interface HubKind {
  readonly scope: 'Namespaced' | 'Cluster';
  /** OpenAPI; whatever is written is taken where there is none. */
  readonly schema?: JsonObject;
}

/** What the graph reads and never writes. */
export interface ExternalRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: JsonValue;
    readonly namespace?: JsonValue;
    readonly selector?: JsonObject;
  };
}

/** Nodes that are brought about for themselves: no API is made, and nobody else is an instance. */
export interface GraphObjectDefinition {
  readonly name: string;
  readonly nodes: readonly GraphResource[];
}

/** A cluster of the fleet, by a name that may be an expression. */
export interface GraphTarget {
  readonly cluster:
    | { readonly name: string }
    /** By a Secret of the hub with a kubeconfig. */
    | { readonly kubeconfigSecretName: string; readonly kubeconfigSecretNamespace?: string };
}

export const DEFAULT_GROUP = 'kro.run';
