import type { Handler } from './exchange.ts';
import type { KubeList, KubeObject } from './object.ts';

/** A kind and how to address it. Constants exist for well-known ones; others come from discovery ({@link Client.resourceFor}). */
export interface ResourceId {
  readonly group: string;
  readonly version: string;
  /** Plural, as in URLs: `deployments`. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface ReadOptions {
  signal?: AbortSignal;
}

export interface ListOptions extends ReadOptions {
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  limit?: number;
  continue?: string;
}

export interface WatchOptions extends ReadOptions {
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  /** Synthetic ADDED events for the present state, ended by a BOOKMARK annotated `k8s.io/initial-events-end`. */
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
  /** Called when the server has accepted the watch, before the first event. */
  onOpen?: () => void;
}

export type WatchEvent<T extends KubeObject = KubeObject> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T }
  | { type: 'ERROR'; object: { code?: number; reason?: string; message?: string } };

/** Events as they come, to be asked for one at a time. */
export interface WatchEvents<T extends KubeObject = KubeObject>
  extends AsyncIterableIterator<WatchEvent<T>, void> {
  return(): Promise<IteratorResult<WatchEvent<T>, void>>;
}

export interface WriteOptions extends ReadOptions {
  fieldManager?: string;
  dryRun?: boolean;
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** `status`, `scale`, `finalize` … */
  subresource?: string;
}

export interface DeleteOptions extends ReadOptions {
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: boolean;
}

export type PatchType = 'json' | 'merge' | 'strategic';

/** Reads of any Kubernetes API. Every method throws `StatusError` for an answer that is a failure. */
export interface Reader {
  get<T extends KubeObject = KubeObject>(
    resource: ResourceId,
    namespace: string,
    name: string,
    options?: ReadOptions,
  ): Promise<T>;
  /** `namespace` '' lists all namespaces, or the cluster-scoped objects. */
  list<T extends KubeObject = KubeObject>(
    resource: ResourceId,
    namespace: string,
    options?: ListOptions,
  ): Promise<KubeList<T>>;
  /** Ends when the server ends the stream or the signal is aborted. ERROR events are yielded, not thrown. */
  watch<T extends KubeObject = KubeObject>(
    resource: ResourceId,
    namespace: string,
    options?: WatchOptions,
  ): WatchEvents<T>;
}

export interface Writer {
  create<T extends KubeObject>(resource: ResourceId, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubeObject>(resource: ResourceId, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject = KubeObject>(
    resource: ResourceId,
    namespace: string,
    name: string,
    type: PatchType,
    patch: unknown,
    options?: WriteOptions,
  ): Promise<T>;
  /** Server-side apply of `object` (which names itself). `force` takes over fields of other managers. */
  apply<T extends KubeObject = KubeObject>(
    resource: ResourceId,
    object: KubeObject,
    options: WriteOptions & { fieldManager: string; force?: boolean },
  ): Promise<T>;
  delete(resource: ResourceId, namespace: string, name: string, options?: DeleteOptions): Promise<KubeObject>;
}

/** A Kubernetes API, over whatever transport. */
export interface Client extends Reader, Writer {
  /** The raw exchange below, for paths that are not resources (`/version`, `/livez`). */
  readonly handler: Handler;
  /**
   * The resource that serves a kind, by discovery (cached; asked again once when the kind is unknown, and when it is not there).
   * Throws a 404 `StatusError` of reason `NoKindMatch` when the API does not serve it.
   */
  resourceFor(apiVersion: string, kind: string): Promise<ResourceId>;
  /** GET of a path as JSON. */
  getJson<T = unknown>(path: string, options?: ReadOptions): Promise<T>;
}
