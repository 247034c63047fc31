import type { Handler, Request, Response } from '../kube/exchange.ts';
import type { KeyPair } from '../kube/pki.ts';
import { badRequest, failure, notFound, StatusError } from '../kube/status-error.ts';
import type { Connection } from '../kube/wire/index.ts';
import { errorText, type Runtime } from '../runtime/index.ts';
import { clone } from '../schema/json.ts';
import {
  admissionChain,
  conditionCheck,
  limitRanger,
  mutatingAdmissionPolicies,
  namespaceLifecycle,
  policyTypeChecking,
  quotaLedger,
  type ResolveService,
  rbacEscalation,
  resourceQuota,
  serviceAccount,
  serviceResolver,
  startQuotaStatus,
  storedPolicies,
  terminatingDefinition,
  validatingAdmissionPolicies,
  type WebhookCaller,
  webhookAdmission,
  webhookConfigurations,
  webhookConnections,
} from './admission/index.ts';
import {
  AUTHENTICATED_GROUP,
  type AuditSink,
  type Authenticator,
  type Authorizer,
  auditEvent,
  authenticate,
  bearerToken,
  createRbacAuthorizer,
  forbidden,
  impersonate,
  isMaster,
  isPublicPath,
  newAuditId,
  pathAttributes,
  type RequestAttributes,
  resourceAttributes,
  type UserInfo,
} from './auth/index.ts';
import { namespaceContents } from './bootstrap.ts';
import { builtinResources } from './builtin-resources.ts';
import { loadCatalogue } from './catalogue/index.ts';
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  startCertificateController,
} from './certificates/index.ts';
import { clusterObjects } from './cluster-objects.ts';
import { type ClusterOptions, logicalClusters, overlayStore, templateSet } from './clusters/index.ts';
import {
  localApiServices,
  standingObjects,
  startBootstrapTokens,
  startEventExpiry,
  startGarbageCollector,
  startNamespaceController,
  startServiceAccountSecrets,
} from './controllers/index.ts';
import {
  boundDefinition,
  conversionWebhooks,
  definitionCleanup,
  isDefinitionResource,
  resourceRegistry,
} from './crd/index.ts';
import { type FairQueueOptions, fairQueue } from './fairness/index.ts';
import { type Documents, documentsOf, handlePath } from './handle-path.ts';
import { serverIdentity } from './identity.ts';
import { followRbac, ownRbac, roleAggregation, storedRbac } from './rbac-source.ts';
import {
  ALL_CLUSTERS,
  errorResponse,
  methodNotAllowed,
  negotiate,
  parseRequestInfo,
  type Representation,
  type RequestInfo,
  textResponse,
} from './request/index.ts';
import { createRequestMetrics } from './request-metrics.ts';
import { handleResource } from './rest/handle-resource.ts';
import { objectForms } from './rest/object-forms.ts';
import { openWatches } from './rest/open-watches.ts';
import { inFlight, type ResourceLookup, type RestServer } from './rest/scope.ts';
import { serverActions } from './rest/server-actions.ts';
import { answerReview } from './reviews.ts';
import { sharedObjects } from './shared-objects.ts';
import { forwardToSpace, refuseWrites, type Space } from './space.ts';
import type { StorageDriver } from './storage/index.ts';
import { openStore, type Store, type StoreOptions } from './store/index.ts';
import { issuerDocument, signingKey } from './tokens/index.ts';

export interface ApiServerOptions {
  readonly runtime: Runtime;
  readonly storage: StorageDriver;
  readonly store?: StoreOptions;
  /**
   * Finds out who asks. Besides, holders of service account tokens and of bootstrap tokens are let in; without either
   * nobody is but through {@link ApiServer.as}.
   */
  readonly authenticate?: Authenticator;
  /** Whether requests without credentials are answered, as `system:anonymous`, where roles allow it. False by default. */
  readonly anonymous?: boolean;
  /** Private key (PEM; P-256 or RSA) that signs service account tokens. By default one that ends with the process. */
  readonly serviceAccountKey?: string;
  /** Who service account tokens say they are from. */
  readonly serviceAccountIssuer?: string;
  /** Role-based access control over the cluster's own objects by default. */
  readonly authorize?: Authorizer;
  readonly audit?: AuditSink;
  /** `host:port` as clients inside the cluster reach this server, for discovery. */
  readonly address?: string;
  /** PEM of the authority that this server's certificate comes from, for ConfigMap `kube-root-ca.crt`. */
  readonly caCertificate?: string;
  /**
   * The authority whose client certificates {@link authenticate} believes. With it, approved signing requests of the
   * cluster `root` are signed.
   */
  readonly clientCa?: KeyPair;
  /** `gitVersion` of `/version`. */
  readonly version?: string;
  /** Whether the garbage collector and the other controllers of this server run. True by default. */
  readonly controllers?: boolean;
  /** Clusters that someone else serves, by name. */
  readonly spaces?: (name: string) => Space | undefined;
  /** Built-in groups that are not served. */
  readonly excludeGroups?: readonly string[];
  /** How many requests are served at once, of all logical clusters and of each. */
  readonly fairness?: FairQueueOptions;
  /** Names of built-in admission plugins that are switched off, such as `ServiceAccount`. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** Finds where a Service that a webhook is behind can be reached. By default the first address of its Endpoints. */
  readonly resolveService?: ResolveService;
  /** Calls webhooks. By default over TLS. */
  readonly callWebhook?: WebhookCaller;
}

/** A Kubernetes-compatible API server as a function from request to response. */
export interface ApiServer {
  /** The whole pipeline: authenticate → authorize → audit → handle. Never rejects. */
  handle(request: Request, connection: Connection): Promise<Response>;
  /** A way in for this process: `user` is believed; authorization and audit are as for anyone. */
  as(user: UserInfo): Handler;
  /**
   * Creates a logical cluster, served below `/clusters/<name>`, which stays over restarts. Does nothing when it exists.
   * Throws 400 for a bad name, 409 while it is being deleted.
   */
  createCluster(name: string, options?: ClusterOptions): Promise<void>;
  /** Removes a logical cluster with all that is in it and ends its watches; whether there was one. */
  deleteCluster(name: string): Promise<boolean>;
  /**
   * Serves the API of a CustomResourceDefinition (`definition` is its name) of one logical cluster in another as well. The
   * objects are the consumer's; whoever may list or watch `<resource>/consumers` in the provider sees those of all consumers
   * below `/clusters/<provider>/consumers/apis/…`. Throws 404 and 409.
   */
  bindApi(binding: { provider: string; definition: string; consumer: string }): Promise<void>;
  /** Ends that; whether it was so. Throws 409 while there are objects. */
  unbindApi(consumer: string, definition: string): Promise<boolean>;
  /** The names of all logical clusters, `root` among them. */
  clusters(): string[];
  readonly store: Store;
  /** False while closing: `/readyz` says so. */
  readonly ready: boolean;
  /** Ends all watches, stops the controllers and closes the storage. */
  close(): Promise<void>;
}

/** The logical cluster without a path prefix. It always exists. */
export const ROOT_CLUSTER = 'root';
export const DEFAULT_VERSION = 'v1.34.0+atoll';

/** Opens the storage and starts the server. Rejects when the storage cannot be opened. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { runtime } = options;
  const { clock, log } = runtime;
  const catalogue = loadCatalogue();
  // Read before anything is opened: a bad key must leave nothing open behind.
  const key = options.serviceAccountKey === undefined ? undefined : signingKey(options.serviceAccountKey);
  const stored = await openStore(runtime, options.storage, options.store);
  const registry = resourceRegistry(
    stored,
    builtinResources(catalogue, options.excludeGroups ?? []),
    catalogue.definition,
  );
  const clientCa = options.clientCa?.certificate;
  const standingList = clusterObjects({
    ...(options.address === undefined ? {} : { address: options.address }),
    ...(clientCa === undefined ? {} : { clientCa }),
  });
  const templates = templateSet(
    sharedObjects(
      { runtime, store: stored, resources: registry.of },
      {
        cluster: ROOT_CLUSTER,
        rbac: catalogue.bootstrapRbac(),
        standing: standingList,
        caCertificate: options.controllers === false ? undefined : (options.caCertificate ?? ''),
      },
    ),
  );
  const store = overlayStore(stored, templates);
  const clusters = logicalClusters(runtime, stored, templates.digest);
  const own = ownRbac(stored);
  const rbac = createRbacAuthorizer(storedRbac(store, own, clusters.has, templates.hasNamespace));
  const authorizer = options.authorize ?? rbac;
  const watches = openWatches(registry);
  const disabled = new Set(options.disableAdmissionPlugins);
  const plugins = [
    limitRanger,
    serviceAccount,
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    certificateSubjectRestriction,
  ].filter(({ name }) => !disabled.has(name));
  const identity = serverIdentity(runtime, {
    store,
    catalogue,
    authenticate: options.authenticate,
    signingKey: key,
    issuer: options.serviceAccountIssuer,
    authorityOf: (cluster) =>
      cluster !== ROOT_CLUSTER && options.spaces?.(cluster) ? ROOT_CLUSTER : cluster,
  });
  const ledger = quotaLedger(store);
  const configurations = webhookConfigurations(store);
  const connections = webhookConnections();
  const callers = {
    call: options.callWebhook ?? connections.call,
    resolveService: options.resolveService ?? serviceResolver(store),
  };
  const webhooks = webhookAdmission(runtime, {
    ...callers,
    configurations,
    conditions: conditionCheck(authorizer),
    forms: objectForms,
    disabled,
  });
  const policies = storedPolicies(store);
  const policyPlugins = [
    mutatingAdmissionPolicies(policies, authorizer),
    validatingAdmissionPolicies(policies, authorizer),
  ].filter(({ name }) => !disabled.has(name));
  const rest: RestServer = {
    runtime,
    store,
    inFlight: inFlight(),
    afterCreate: (resource, record) =>
      isDefinitionResource(resource) ? actions.changeDefinition(record.key, clone) : Promise.resolve(),
    disabledAdmission: disabled,
    resources: registry.of,
    admission: admissionChain(
      [
        namespaceLifecycle,
        ...plugins,
        boundDefinition((cluster, name) => registry.bindings.find(cluster, name)?.provider),
        terminatingDefinition((cluster, resource) => registry.of(cluster).terminating(resource)),
        rbacEscalation(rbac),
        ...policyPlugins,
      ],
      webhooks,
      disabled.has('ResourceQuota') ? undefined : resourceQuota(ledger),
    ),
    convert: conversionWebhooks(runtime, callers),
    requestToken: identity.requestToken,
  };
  const apiServices = localApiServices(runtime, {
    store,
    resources: (cluster) => registry.of(cluster).all,
    onChange: registry.onChange,
    exists: clusters.has,
  });
  const standing = standingObjects(runtime, store, standingList, clusters.has);
  const stops: (() => void | Promise<void>)[] = [
    followRbac(stored, rbac, own),
    () => registry.close(),
    () => configurations.close(),
    () => ledger.close(),
    () => policies.close(),
    () => connections.close(),
    () => watches.close(),
    apiServices.stop,
    standing.stop,
    startEventExpiry(runtime, store).stop,
  ];
  const actions = serverActions(rest);
  // Definitions are the server's own business, whatever else runs beside it.
  stops.push(definitionCleanup(runtime, store, actions).stop);
  if (options.controllers !== false) {
    stops.push(
      roleAggregation(runtime, store).stop,
      namespaceContents(rest, options.caCertificate ?? '').stop,
      startGarbageCollector(runtime, { store, resources: (cluster) => registry.of(cluster).all, actions })
        .stop,
      startNamespaceController(runtime, { store, actions }).stop,
      policyTypeChecking(runtime, { store, actions, resources: registry.of }).stop,
      startQuotaStatus(runtime, { store, ledger, actions }).stop,
      startBootstrapTokens(runtime, { store, actions }).stop,
      startServiceAccountSecrets(runtime, {
        store,
        actions,
        tokens: identity.tokens,
        caCertificate: options.caCertificate ?? '',
      }).stop,
      startCertificateController(runtime, {
        store,
        actions,
        authorizer,
        cluster: ROOT_CLUSTER,
        ...(options.clientCa === undefined ? {} : { authority: options.clientCa }),
      }).stop,
    );
  }
  await clusters.start();
  await clusters.create(ROOT_CLUSTER);
  await Promise.all(
    clusters.names().map(async (name) => {
      await standing.ensure(name);
      // Whoever serves nothing but what is built in has the API services of that.
      if (registry.of(name).all.some((resource) => resource.custom)) await apiServices.ensure(name);
    }),
  );

  const queue = fairQueue(clock, options.fairness);
  let ready = true;
  const metrics = createRequestMetrics();
  const address = options.address ?? '127.0.0.1:6443';
  const documents = documentsOf(registry, catalogue, address);

  async function handle(request: Request, connection: Connection): Promise<Response> {
    const isPublic = isPublicPath(request.path) && (request.method === 'GET' || request.method === 'HEAD');
    return answer(request, connection, async () => {
      // Whoever shows a token must have a good one, even where none is needed.
      if (isPublic && bearerToken(request) === undefined) return undefined;
      const user = await authenticate(identity.authenticate, request, connection, options.anonymous);
      return isPublic ? undefined : user;
    });
  }

  /** Serves a request whose user `identify` finds, and tells the audit. `undefined` is anyone, on a public path. */
  async function answer(
    request: Request,
    connection: Connection,
    identify: () => Promise<UserInfo | undefined>,
  ): Promise<Response> {
    const receivedAt = clock.now();
    const auditID = newAuditId(runtime);
    const warnings: string[] = [];
    const track: Tracked = { user: NOBODY, verb: request.method.toLowerCase() };
    let response: Response;
    let reason: string | undefined;
    try {
      const user = await identify();
      if (user) track.user = user;
      response = await serve(request, user, warnings, track);
    } catch (error) {
      if (error instanceof StatusError) reason = error.reason;
      response = errorResponse(error, (cause) => reportInternal(request, cause), {
        representation: representationOr(request),
        warnings,
      });
    }
    const streaming = !(response.body instanceof Uint8Array);
    metrics.count(track.verb, response.status, clock.now() - receivedAt, streaming);
    options.audit?.(
      auditEvent(
        runtime,
        {
          auditID,
          uri: request.path,
          user: track.user,
          ...(track.impersonated ? { impersonatedUser: track.impersonated } : {}),
          ...(track.attributes ? { attributes: track.attributes } : {}),
          verb: track.verb,
          ...(connection.remoteAddress === undefined ? {} : { sourceAddress: connection.remoteAddress }),
          ...(request.headers['user-agent'] === undefined
            ? {}
            : { userAgent: request.headers['user-agent'] }),
          receivedAt,
        },
        {
          code: response.status,
          ...(reason ? { reason } : {}),
          streaming,
          ...(track.annotations ? { annotations: track.annotations } : {}),
        },
      ),
    );
    const headers = { ...response.headers, 'audit-id': auditID };
    return request.method === 'HEAD'
      ? { status: response.status, headers, body: new Uint8Array() }
      : { ...response, headers };
  }

  async function serve(
    asked: Request,
    requester: UserInfo | undefined,
    warnings: string[],
    track: Tracked,
  ): Promise<Response> {
    const info = parseRequestInfo(asked.method, asked.path);
    track.verb = info.verb;
    if (requester === undefined) return servePath(asked, info);
    const space = info.cluster === ROOT_CLUSTER ? undefined : options.spaces?.(info.cluster);
    const authority = space ? ROOT_CLUSTER : info.cluster;
    const acting = impersonate(authorizer, requester, authority, asked);
    const user = acting?.user ?? requester;
    const request = acting?.request ?? asked;
    if (acting) track.impersonated = acting.user;
    // What a slow space keeps waiting must not keep others.
    if (space || isMaster(user) || isLongRunning(info))
      return decide(request, info, user, space, warnings, track);
    const cluster = clusters.has(info.cluster) ? info.cluster : '';
    const seat = queue.enter(cluster, READING_VERBS.has(info.verb) ? 'reading' : 'writing', request.signal);
    if (seat === undefined) return tooManyRequests();
    const leave = typeof seat === 'function' ? seat : await seat;
    try {
      if (request.signal?.aborted)
        throw failure(503, 'ServiceUnavailable', 'the client did not wait for its turn');
      return await decide(request, info, user, space, warnings, track);
    } finally {
      leave();
    }
  }

  /** Authorizes a request whose turn it is, and serves it. */
  async function decide(
    request: Request,
    info: RequestInfo,
    user: UserInfo,
    space: Space | undefined,
    warnings: string[],
    track: Tracked,
  ): Promise<Response> {
    const inner = space && {
      ...request,
      path: request.path.slice(`/clusters/${info.cluster}`.length) || '/',
    };
    const attributes: RequestAttributes =
      space && inner ? { ...space.attributes(inner), user, cluster: ROOT_CLUSTER } : attributesOf(info, user);
    track.attributes = attributes;
    const decision = authorizer.authorize(attributes);
    track.annotations = {
      'authorization.k8s.io/decision': decision.allowed ? 'allow' : 'forbid',
      'authorization.k8s.io/reason': decision.reason,
    };
    if (!decision.allowed) throw forbidden(attributes, decision.reason);
    if (info.cluster === ALL_CLUSTERS) allowAllClusters(info, attributes);
    if (info.consumers) checkConsumers(info, registry.of(info.cluster));
    if (space && inner) {
      refuseWrites(info.cluster, request);
      return forwardToSpace(info.cluster, space, request, inner.path);
    }
    if (info.cluster !== ALL_CLUSTERS && !clusters.has(info.cluster))
      throw notFound('', 'clusters', info.cluster);
    if (!info.isResourceRequest) return servePath(request, info);
    return handleResource({
      server: rest,
      watches,
      request,
      info,
      user,
      warnings,
      annotate: (key, value) => {
        track.annotations = { ...track.annotations, [key]: value };
      },
      mayCreate: () => {
        const asked = { ...attributes, verb: 'create' };
        const allowed = authorizer.authorize(asked);
        if (!allowed.allowed) throw forbidden(asked, allowed.reason);
      },
      review: (resource, body, namespace) =>
        answerReview(rbac, identity.reviewer, resource, { user, cluster: info.cluster, namespace }, body),
    });
  }

  function servePath(request: Request, info: RequestInfo): Response {
    const issuer = issuerDocument(identity.tokens, info, address);
    if (issuer) return issuer;
    const served: Documents = documents(info.cluster);
    return handlePath(request, info, served, {
      ready: () => ready,
      version: options.version ?? DEFAULT_VERSION,
      requestMetrics: metrics.text,
      revision: () => store.revision,
      watches: () => watches.size,
    });
  }

  function reportInternal(request: Request, error: unknown): void {
    log.error('a request failed', {
      method: request.method,
      path: request.path.split('?')[0],
      error: errorText(error),
    });
  }

  return {
    handle,
    as: (user) => {
      const groups = user.groups.includes(AUTHENTICATED_GROUP)
        ? user.groups
        : [...user.groups, AUTHENTICATED_GROUP];
      const known: UserInfo = { ...user, groups };
      return (request) => answer(request, {}, () => Promise.resolve(known));
    },
    createCluster: clusters.create,
    async deleteCluster(name) {
      if (name === ROOT_CLUSTER)
        throw badRequest(`the logical cluster ${JSON.stringify(name)} always exists`);
      const deleted = await clusters.delete(name);
      own.forget(name);
      rbac.invalidate(name);
      watches.endCluster(name);
      return deleted;
    },
    clusters: clusters.names,
    async bindApi({ provider, definition, consumer }) {
      for (const cluster of [provider, consumer])
        if (!clusters.has(cluster)) throw notFound('', 'clusters', cluster);
      await registry.bindings.bind(provider, definition, consumer);
    },
    unbindApi: (consumer, definition) => registry.bindings.unbind(consumer, definition),
    store,
    get ready() {
      return ready;
    },
    async close() {
      if (!ready) return;
      ready = false;
      for (const stop of stops.reverse()) await stop();
      await store.close();
    },
  };
}

const READING_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Requests that may stay open for long take no seat from others. */
function isLongRunning({ verb, subresource }: RequestInfo): boolean {
  return verb === 'watch' || verb === 'proxy' || LONG_SUBRESOURCES.has(subresource);
}

function tooManyRequests(): Response {
  return textResponse(429, 'Too many requests, please try again later.\n', { 'retry-after': '1' });
}

/** Consumers are seen through custom resources, and only read. */
function checkConsumers(info: RequestInfo, served: ResourceLookup): void {
  const resource = info.isResourceRequest ? served.find(info.group, info.version, info.resource) : undefined;
  if (info.cluster === ALL_CLUSTERS || !resource?.custom)
    throw failure(
      404,
      'NotFound',
      'what consumers have can be asked of a custom resource of one logical cluster',
    );
  if (info.verb !== 'list' && info.verb !== 'watch') throw methodNotAllowed();
  wholeCollection(info);
}

function wholeCollection(info: RequestInfo): void {
  if (info.namespace !== '' || info.parts.length > 1)
    throw badRequest('of several logical clusters at once, whole collections can be listed and watched only');
}

/** All logical clusters at once are there to be listed and watched, by whoever may do everything anyway. */
function allowAllClusters(info: RequestInfo, attributes: RequestAttributes): void {
  if (!isMaster(attributes.user))
    throw forbidden(attributes, 'all logical clusters at once are for system:masters');
  if (!info.isResourceRequest) return;
  if (info.verb !== 'list' && info.verb !== 'watch') throw methodNotAllowed();
  wholeCollection(info);
}

/** What the audit learns on the way. */
interface Tracked {
  user: UserInfo;
  verb: string;
  impersonated?: UserInfo;
  attributes?: RequestAttributes;
  annotations?: Readonly<Record<string, string>>;
}

const NOBODY: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

function attributesOf(info: RequestInfo, user: UserInfo): RequestAttributes {
  if (!info.isResourceRequest) return pathAttributes(user, info.cluster, info.verb, info.path);
  const { verb, group, version, resource, name, namespace } = info;
  const subresource = info.consumers ? 'consumers' : info.subresource;
  return resourceAttributes(user, info.cluster, {
    verb,
    group,
    version,
    resource,
    subresource,
    name,
    namespace,
  });
}

/** How an error is written: as asked where that can be understood, otherwise JSON. */
function representationOr(request: Request): Representation {
  const mark = request.path.indexOf('?');
  try {
    return negotiate(request.headers, new URLSearchParams(mark < 0 ? '' : request.path.slice(mark + 1)));
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { format: 'json', pretty: false };
  }
}
