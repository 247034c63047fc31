import type { KubeObject } from '../kube/object.ts';
import type { FieldError } from '../kube/status-error.ts';
import type { JsonObject } from '../schema/json.ts';
import type { TypeSchema } from '../schema/open-api-schema.ts';

/**
 * One served resource in one version: what discovery tells of it, the schema of its kind, and how it behaves.
 * Built-in kinds come from the catalogue with a strategy of `builtins/`; custom ones are made from CRDs.
 */
export interface Resource {
  readonly group: string;
  readonly version: string;
  /** Versions of one resource share a storage: the version that objects are stored in. */
  readonly storageVersion: string;
  /** Where it is not `group`: the group under which objects are stored (events of events.k8s.io are core events). */
  readonly storageGroup?: string;
  /** For discovery, where it is not that of `storageVersion`. */
  readonly storageVersionHash?: string;
  /** Plural: `deployments`. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly Verb[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** True for resources of CustomResourceDefinitions. */
  readonly custom: boolean;
  /** Pruning, strict decoding, defaulting from the schema, validation, apply and strategic merge all read this. */
  readonly type: TypeSchema;
  /** The types of all versions of a custom resource by their names: an object may be stored in any of them. */
  readonly versionTypes?: ReadonlyMap<string, TypeSchema>;
  readonly strategy: Strategy;
  /** Who converts custom objects between versions. Without it they differ in nothing but `apiVersion`. */
  readonly conversion?: { readonly clientConfig: JsonObject; readonly reviewVersions: readonly string[] };
  /** What every answer warns of when this version is deprecated. */
  readonly deprecation?: string;
  readonly columns: readonly Column[];
  /** False for kinds whose columns are those of any kind. */
  readonly hasPrinter?: boolean;
  /** One cell per column. `now` is in milliseconds, for ages. */
  readonly cells: (object: KubeObject, now: number) => readonly Cell[];
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

export interface Subresource {
  /** `status`, `scale`, `eviction`, `binding`, `token`, `approval`, `finalize`, `log` … */
  readonly name: string;
  readonly verbs: readonly Verb[];
  /** The kind of the body where it differs from the parent's. */
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  /** For `scale`: paths in the parent, as in CRDs (`.spec.replicas`). */
  readonly scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
}

export type Cell = string | number | bigint | boolean | null;

/** A column of `kubectl get`. Priority 0 is always shown, 1 with `-o wide`. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface StrategyContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /** Tells the client of something that is not wrong. */
  readonly warn?: (text: string) => void;
  /** Built-in admission plugins that are switched off, by name (`ServiceAccount`). */
  readonly disabledAdmission?: ReadonlySet<string>;
}

/** How objects of one kind behave beyond their schema. Functions change the object they are given (a private copy). */
export interface Strategy {
  /** Defaults that the schema does not hold; runs on every decode of a write, after pruning. */
  defaults?(object: KubeObject): void;
  /** After defaulting, before validation: initial status, what a client may not set. */
  prepareForCreate?(object: KubeObject, context: StrategyContext): void;
  /** Keeps what a client may not change. `status` is reset by the pipeline already. */
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): void;
  /** For writes to a subresource with its own rules, such as `status`: what else to keep from `old`. */
  prepareForStatusUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): void;
  /** For writes to any other subresource that takes the kind itself, such as `approval`: keeps all that it is not for. */
  prepareForSubresource?(
    subresource: string,
    object: KubeObject,
    old: KubeObject,
    context: StrategyContext,
  ): void;
  /** What must hold of the object by itself. Runs on create, and on update where there is no `validateUpdate`. */
  validate?(object: KubeObject): FieldError[];
  /** What must hold besides when the object is made. */
  validateCreate?(object: KubeObject): FieldError[];
  /**
   * All that must hold of an update: what `validate` checks, and what may not change. Of a write of the status, what it finds in
   * the spec is let go.
   */
  validateUpdate?(object: KubeObject, old: KubeObject): FieldError[];
  /** What must hold of a write of the status, in the place of `validateUpdate`. */
  validateStatusUpdate?(object: KubeObject, old: KubeObject): FieldError[];
  /** The same of a write to any other subresource that takes the kind itself; `undefined` where it has no rules of its own. */
  validateSubresourceUpdate?(
    subresource: string,
    object: KubeObject,
    old: KubeObject,
  ): FieldError[] | undefined;
  /**
   * Rules of the schema that are expressions, about the object and, on update, its change. Asked only where the form of the
   * object is right: `schemaErrors` is what its schema refuses.
   */
  rules?(
    object: KubeObject,
    old: KubeObject | undefined,
    schemaErrors: readonly FieldError[],
    /** Hears of rules that are broken by what is as it was. */
    warn?: (text: string) => void,
  ): FieldError[];
  /** Checks the name; RFC 1123 subdomain by default. */
  validateName?(name: string): string[];
  /**
   * What raises `metadata.generation`: a change of spec, of anything but metadata and status (or of labels as well), or
   * nothing. With `spec-on-update` it begins with the first change.
   */
  readonly generation:
    | 'spec'
    | 'spec-and-annotations'
    | 'spec-on-update'
    | 'all-but-metadata'
    | 'all-and-labels'
    | 'none';
  /** Whether a deletion that has to wait sets nothing but the time: no grace period, no new generation. */
  readonly plainDeletion?: boolean;
  /** Values of the `Warning` header for an object that is created, or that an update makes of `old`. */
  warnings?(object: KubeObject, old: KubeObject | undefined): string[];
  readonly allowUnconditionalUpdate: boolean;
  readonly allowCreateOnUpdate: boolean;
  /** Whether a new object keeps the status it comes with (nodes register with theirs); others begin without. */
  readonly keepsStatusOnCreate?: boolean;
  /** Whether DELETE answers with the object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** Before a deletion is decided on: finalizers and status that it calls for. */
  prepareForDelete?(object: KubeObject, context: StrategyContext): void;
  /** Seconds of grace for a delete (pods), 0 for at once. */
  gracePeriod?(object: KubeObject, asked: number | undefined): number;
  /** What an unset propagation policy means. */
  readonly defaultPropagation: 'Background' | 'Orphan';
  /** Annotations that are made when an object is shown as a whole, and are not among its metadata otherwise. */
  readonly derivedAnnotations?: readonly string[];
  /** Field selector labels beyond metadata.name and metadata.namespace. */
  fieldLabels?(object: KubeObject): Record<string, string>;
  readonly fieldLabelNames: readonly string[];
  /** Paths that are never owned by writers of the main resource, of `status` or of `approval` (server-side apply reset fields). */
  readonly resetFields: { main: JsonObject; status: JsonObject; approval?: JsonObject };
  /**
   * For resources that show objects of another group: how those are stored, and shown. `apiVersion` is set by the caller.
   * `to` leaves its argument as it is; `from` may change it.
   */
  readonly storedForm?: { to(object: KubeObject): KubeObject; from(stored: KubeObject): KubeObject };
  /** Allocates what the server gives (cluster IPs, node ports); may consult other objects. Runs before validation. */
  allocate?(object: KubeObject, old: KubeObject | undefined, lookup: AllocationLookup): void;
}

/** What allocation may know of the logical cluster: every present object of the same resource. */
export interface AllocationLookup {
  all(): Iterable<KubeObject>;
  /** Milliseconds since the epoch. */
  readonly now?: number;
  /** Whether nothing of it is kept. */
  readonly dryRun?: boolean;
}
