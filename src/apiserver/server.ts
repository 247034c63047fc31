import type { Handler, Request, Response } from '../kube/exchange.ts';
import type { KeyPair } from '../kube/pki.ts';
import { notFound, StatusError } from '../kube/status-error.ts';
import type { Connection } from '../kube/wire/index.ts';
import { errorText, type Runtime } from '../runtime/index.ts';
import { clone } from '../schema/json.ts';
import {
  admissionChain,
  namespaceLifecycle,
  rbacEscalation,
  serviceAccount,
  terminatingDefinition,
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
  isPublicPath,
  newAuditId,
  pathAttributes,
  type RequestAttributes,
  resourceAttributes,
  type UserInfo,
} from './auth/index.ts';
import { clusterExists, namespaceContents, seedCluster } from './bootstrap.ts';
import { builtinResources } from './builtin-resources.ts';
import { loadCatalogue } from './catalogue/index.ts';
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  startCertificateController,
} from './certificates/index.ts';
import { clusterObjects } from './cluster-objects.ts';
import {
  localApiServices,
  standingObjects,
  startBootstrapTokens,
  startEventExpiry,
  startGarbageCollector,
  startNamespaceController,
  startServiceAccountSecrets,
} from './controllers/index.ts';
import { definitionCleanup, isDefinitionResource, resourceRegistry } from './crd/index.ts';
import { type Documents, documentsOf, handlePath } from './handle-path.ts';
import { serverIdentity } from './identity.ts';
import { followRbac, roleAggregation, storedRbac } from './rbac-source.ts';
import {
  errorResponse,
  negotiate,
  parseRequestInfo,
  type Representation,
  type RequestInfo,
} from './request/index.ts';
import { handleResource } from './rest/handle-resource.ts';
import { openWatches } from './rest/open-watches.ts';
import { inFlight, type RestServer } from './rest/scope.ts';
import { serverActions } from './rest/server-actions.ts';
import { answerReview } from './reviews.ts';
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
  /** Names of built-in admission plugins that are switched off, such as `ServiceAccount`. */
  readonly disableAdmissionPlugins?: readonly string[];
}

/** A Kubernetes-compatible API server as a function from request to response. */
export interface ApiServer {
  /** The whole pipeline: authenticate → authorize → audit → handle. Never rejects. */
  handle(request: Request, connection: Connection): Promise<Response>;
  /** A way in for this process: `user` is believed; authorization and audit are as for anyone. */
  as(user: UserInfo): Handler;
  /** Creates a logical cluster, served below `/clusters/<name>`. Does nothing when it exists. */
  createCluster(name: string): Promise<void>;
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
  const store = await openStore(runtime, options.storage, options.store);
  const registry = resourceRegistry(
    store,
    builtinResources(catalogue, options.excludeGroups ?? []),
    catalogue.definition,
  );
  const rbac = createRbacAuthorizer(storedRbac(store));
  const authorizer = options.authorize ?? rbac;
  const watches = openWatches(registry);
  const disabled = new Set(options.disableAdmissionPlugins);
  const plugins = [
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
  const rest: RestServer = {
    runtime,
    store,
    inFlight: inFlight(),
    afterCreate: (resource, record) =>
      isDefinitionResource(resource) ? actions.changeDefinition(record.key, clone) : Promise.resolve(),
    disabledAdmission: disabled,
    resources: registry.of,
    admission: admissionChain([
      namespaceLifecycle,
      ...plugins,
      terminatingDefinition((cluster, resource) => registry.of(cluster).terminating(resource)),
      rbacEscalation(rbac),
    ]),
    requestToken: identity.requestToken,
  };
  const apiServices = localApiServices(runtime, {
    store,
    resources: (cluster) => registry.of(cluster).all,
    onChange: registry.onChange,
  });
  const clientCa = options.clientCa?.certificate;
  const standing = standingObjects(
    runtime,
    store,
    clusterObjects({
      ...(options.address === undefined ? {} : { address: options.address }),
      ...(clientCa === undefined ? {} : { clientCa }),
    }),
  );
  const stops: (() => void | Promise<void>)[] = [
    followRbac(store, rbac),
    () => registry.close(),
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
  const seed = async (cluster: string): Promise<void> => {
    await seedCluster(rest, cluster, catalogue.bootstrapRbac());
    await Promise.all([standing.ensure(cluster), apiServices.ensure(cluster)]);
  };
  await seed(ROOT_CLUSTER);

  let ready = true;
  let requests = 0;
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
    requests += 1;
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
          streaming: !(response.body instanceof Uint8Array),
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
    if (space && inner) {
      refuseWrites(info.cluster, request);
      return forwardToSpace(info.cluster, space, request, inner.path);
    }
    if (info.cluster !== ROOT_CLUSTER && !clusterExists(rest, info.cluster))
      throw notFound('', 'clusters', info.cluster);
    if (!info.isResourceRequest) return servePath(request, info);
    return handleResource({
      server: rest,
      watches,
      request,
      info,
      user,
      warnings,
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
      requests: () => requests,
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
    createCluster: (name) => {
      parseRequestInfo('GET', `/clusters/${name}/api`);
      return seed(name);
    },
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
  const { verb, group, version, resource, subresource, name, namespace } = info;
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
