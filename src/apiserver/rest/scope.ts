import type { Request, Response } from '../../kube/exchange.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/index.ts';
import type { UserInfo } from '../auth/index.ts';
import type { ProxyTarget } from '../proxy/index.ts';
import { ALL_CLUSTERS, type Body, type DeleteQuery } from '../request/index.ts';
import type { Resource, StrategyContext, Subresource } from '../resource.ts';
import { namespacePrefix, objectKey, resourcePrefix } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';
import type { PodStreams } from '../streams/index.ts';
import type { ListTexts } from './list-text.ts';

/** What the verbs need of the server around them. */
export interface RestServer {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly admission: Admission;
  /** Objects that are decided on but not durable yet, so that allocation sees them. */
  readonly inFlight: InFlight;
  readonly listTexts: ListTexts;
  /** What the server does about an object that was just created, before its creation is answered. */
  readonly afterWrite?: (resource: Resource, record: StoreRecord) => Promise<void>;
  /** Names of built-in admission plugins that are switched off. */
  readonly disabledAdmission?: ReadonlySet<string>;
  /** The resources of a logical cluster, as of now. */
  resources(cluster: string): ResourceLookup;
  /** Asks the webhook of a custom resource for objects in another version. Throws the `StatusError` of a failure. */
  convert?(
    cluster: string,
    resource: Resource,
    objects: readonly KubeObject[],
    version: string,
  ): Promise<KubeObject[]>;
  /** Answers a create of `serviceaccounts/token`, where the server issues tokens. Throws the `StatusError` of a failure. */
  requestToken?(scope: Scope, name: string, body: Body, options: WriteOptions): KubeObject;
  /** Serves what kubelets serve of pods: logs, commands, ports. */
  readonly pods?: PodStreams;
  /** Passes requests on to ports of pods. */
  readonly proxy?: (target: ProxyTarget, request: Request) => Promise<Response>;
  /** The objects of a collection that is worked out rather than stored; `undefined` for all that are stored. */
  computed?(scope: Scope): KubeObject[] | undefined;
}

/** The resources that a logical cluster serves. */
export interface ResourceLookup {
  readonly all: readonly Resource[];
  find(group: string, version: string, resource: string): Resource | undefined;
  /** Any served version of a resource, the storage version where it is served. */
  stored(group: string, resource: string): Resource | undefined;
  byKind(apiVersion: string, kind: string): Resource | undefined;
}

/** The resource (and namespace) that an operation is about, and who asks. */
export interface Scope {
  readonly server: RestServer;
  readonly cluster: string;
  readonly resource: Resource;
  /**
   * The cluster whose API others have taken over, where its collection over all of them is meant; `cluster` is `*` then.
   */
  readonly consumersOf?: string;
  /** '' for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  /** Who asks, for admission and strategies. */
  readonly user: UserInfo;
  /** The subresource that is written, such as `status`; undefined for the object itself. */
  readonly subresource?: Subresource;
  /** Throws when the user may not create: asked where an update or an apply would make a new object. */
  readonly mayCreate?: () => void;
  /** Adds a value of the `Warning` header. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the request's event in the audit log; absent where there is none. */
  readonly annotate?: (key: string, value: string) => void;
}

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** One write on its way in, or a conversation that begins, as admission plugins see it. */
export interface AdmissionRequest {
  readonly operation: Operation;
  readonly scope: Scope;
  readonly name: string;
  /** The object to be, a private copy that plugins may change; undefined for DELETE. */
  readonly object: KubeObject | undefined;
  readonly old: KubeObject | undefined;
  readonly dryRun: boolean;
  /** With what options the object is written; absent for DELETE, which has {@link deletion}. */
  readonly options?: WriteOptions;
  readonly deletion?: DeleteQuery;
}

/**
 * All phases throw a `StatusError` to refuse. They run where the store decides, so they are synchronous unless somebody
 * outside has to be asked: then they return a promise, which rejects to refuse.
 */
export interface Admission {
  /** Changes the object. */
  mutate(request: AdmissionRequest): Promise<void> | undefined;
  /** Checks it. */
  validate(request: AdmissionRequest): Promise<void> | undefined;
  /**
   * Asked again at the moment at which an object is made, where somebody outside was asked before: throws where there is no place for
   * it any more.
   */
  place?(scope: Scope, name: string): void;
  /** The last word, at the moment of the write: takes what the object costs of what is left. */
  charge(request: AdmissionRequest): Charge | undefined;
  /** Whether anybody outside might have to be asked about writes of this scope. */
  mayWait(scope: Scope): boolean;
}

/** What was taken is given back by `release`, once the write is over and counted. */
export interface Charge {
  readonly release: () => void;
}

export interface WriteOptions {
  readonly fieldManager: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  readonly dryRun: boolean;
  /** Whether a patch made the object. */
  readonly byPatch?: true;
}

/** What a write came to. `record` is absent for a dry run. */
export interface Written {
  readonly object: KubeObject;
  readonly record: StoreRecord | undefined;
  readonly outcome: 'created' | 'updated' | 'deleted' | 'unchanged';
}

export interface InFlight {
  add(prefix: string, object: KubeObject): void;
  remove(prefix: string, object: KubeObject): void;
  of(prefix: string): Iterable<KubeObject>;
}

export function inFlight(): InFlight {
  const sets = new Map<string, Set<KubeObject>>();
  return {
    add(prefix, object) {
      const set = sets.get(prefix) ?? new Set();
      sets.set(prefix, set.add(object));
    },
    remove(prefix, object) {
      const set = sets.get(prefix);
      set?.delete(object);
      if (set?.size === 0) sets.delete(prefix);
    },
    of: (prefix) => sets.get(prefix) ?? [],
  };
}

/** The group that a resource's keys begin with: two groups may show the same objects. */
function storageGroupOf({ group, storageGroup }: Resource): string {
  return storageGroup ?? group;
}

export function keyOf(scope: Scope, name: string): string {
  const { resource } = scope;
  return objectKey(
    storageGroupOf(resource),
    resource.resource,
    scope.cluster,
    resource.namespaced ? scope.namespace : '',
    name,
  );
}

/** Whether a collection is that of all logical clusters. */
export function spansClusters(scope: Scope): boolean {
  return scope.cluster === ALL_CLUSTERS;
}

/** Whether the collection is one in which a name stands for one object. */
export function isAddressable(scope: Scope): boolean {
  return !spansClusters(scope) && (!scope.resource.namespaced || scope.namespace !== '');
}

/** The prefix of a collection: one namespace, the whole logical cluster, or all of them. */
export function collectionPrefix(scope: Scope): string {
  const { resource, namespaced } = scope.resource;
  const group = storageGroupOf(scope.resource);
  if (spansClusters(scope)) return resourcePrefix(group, resource);
  if (namespaced && scope.namespace === '')
    return namespacePrefix(group, resource, scope.cluster, '').slice(0, -2);
  return namespacePrefix(group, resource, scope.cluster, namespaced ? scope.namespace : '');
}

export function hasSubresource(resource: Resource, name: string): boolean {
  return resource.subresources.some((subresource) => subresource.name === name);
}

/** What strategies may know of a write: when, and by whom. */
export function strategyContext(scope: Scope, now: number): StrategyContext {
  const { name, uid, groups, extra } = scope.user;
  return {
    now,
    user: name,
    groups,
    warn: scope.warn,
    ...(scope.server.disabledAdmission ? { disabledAdmission: scope.server.disabledAdmission } : {}),
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}
