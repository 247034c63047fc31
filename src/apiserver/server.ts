import { badRequest, notFound } from '../kube/status-error.ts';
import { clone } from '../schema/json.ts';
import { remoteAsker, startAggregation } from './aggregation/index.ts';
import { auditTrail } from './audit/index.ts';
import {
  AUTHENTICATED_GROUP,
  createRbacAuthorizer,
  type UserInfo,
  unionAuthenticator,
} from './auth/index.ts';
import { builtinResources, pluginsWithoutResource } from './builtin-resources.ts';
import { loadCatalogue, NEWEST_RELEASE } from './catalogue/index.ts';
import { clusterObjects, standingFlowObjects } from './cluster-objects.ts';
import { logicalClusters, overlayStore } from './clusters/index.ts';
import { localApiServices, standingObjects, startEventExpiry } from './controllers/index.ts';
import {
  conversionWebhooks,
  definitionCleanup,
  isDefinitionResource,
  resourceRegistry,
} from './crd/index.ts';
import { fairQueue } from './fairness/index.ts';
import { FLOW_CONTROL_GROUP } from './flow-objects.ts';
import { documentsOf, handlePath } from './handle-path.ts';
import { serverIdentity } from './identity.ts';
import { oidcAuthenticator } from './oidc/index.ts';
import { outboundConnections } from './outbound/index.ts';
import { requestPipeline } from './pipeline/index.ts';
import { proxyPods } from './proxy/index.ts';
import { followRbac, ownRbac, storedRbac } from './rbac-source.ts';
import { createRequestMetrics } from './request-metrics.ts';
import { followPriorityLevels, noteDangling } from './rest/flow-schema-status.ts';
import { listTexts } from './rest/list-text.ts';
import { openWatches } from './rest/open-watches.ts';
import { inFlight, type RestServer } from './rest/scope.ts';
import { CONTROLLER_USER, serverActions } from './rest/server-actions.ts';
import { serverAdmission } from './server-admission.ts';
import { startControllers } from './server-controllers.ts';
import { type ApiServer, type ApiServerOptions, ROOT_CLUSTER, versionOf } from './server-options.ts';
import { sharedTemplates } from './shared-objects.ts';
import { openStore } from './store/index.ts';
import { podStreams } from './streams/index.ts';
import { issuerDocument, signingKey } from './tokens/index.ts';
import { metricsResources, usageMetrics } from './workloads/metrics/index.ts';
import { startWorkspaces } from './workspaces/index.ts';

/** Opens the storage and starts the server. Rejects when the storage cannot be opened. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { runtime } = options;
  const release = options.emulatedVersion ?? NEWEST_RELEASE;
  const catalogue = loadCatalogue(release);
  // Read before anything is opened: a bad key must leave nothing open behind.
  const key = options.serviceAccountKey === undefined ? undefined : signingKey(options.serviceAccountKey);
  const outbound = options.outbound ?? outboundConnections();
  const authenticators = [
    ...(options.authenticate === undefined ? [] : [options.authenticate]),
    ...(options.oidc === undefined ? [] : [oidcAuthenticator(runtime, outbound, options.oidc)]),
  ];
  const stored = await openStore(runtime, options.storage, options.store);
  const builtIn = [
    ...builtinResources(catalogue, options.excludeGroups ?? [], release, options.allowPrivileged),
    ...(options.simulatedMetrics ? metricsResources() : []),
  ];
  const registry = resourceRegistry(stored, builtIn, catalogue.definition);
  const clientCa = options.clientCa?.certificate;
  const standingList = clusterObjects({
    ...(options.address === undefined ? {} : { address: options.address }),
    ...(clientCa === undefined ? {} : { clientCa }),
    ...(options.frontProxy === undefined ? {} : { frontProxyCa: options.frontProxy.authority }),
  });
  const templates = sharedTemplates(
    { runtime, store: stored, resources: registry.of },
    {
      cluster: ROOT_CLUSTER,
      catalogue,
      builtIn,
      release,
      standing: standingList,
      caCertificate: options.controllers === false ? undefined : (options.caCertificate ?? ''),
    },
  );
  const store = overlayStore(stored, templates);
  const clusters = logicalClusters(runtime, stored, templates.digest);
  const own = ownRbac(stored);
  const rbac = createRbacAuthorizer(
    storedRbac(store, own, {
      exists: clusters.has,
      isShared: templates.hasNamespace,
      aggregates: options.controllers !== false,
    }),
  );
  const authorizer = options.authorize ?? rbac;
  const watches = openWatches(registry, runtime);
  const identity = serverIdentity(runtime, {
    store,
    catalogue,
    authenticate: authenticators.length === 0 ? undefined : unionAuthenticator(...authenticators),
    signingKey: key,
    issuer: options.serviceAccountIssuer,
    authorityOf: (cluster) =>
      cluster !== ROOT_CLUSTER && options.spaces?.(`/clusters/${cluster}/`) ? ROOT_CLUSTER : cluster,
  });
  const plugins = [...(options.disableAdmissionPlugins ?? []), ...pluginsWithoutResource(builtIn)];
  const admission = serverAdmission(
    runtime,
    { ...options, disableAdmissionPlugins: plugins },
    { store, registry, authorizer, rbac, outbound },
  );
  const pods = podStreams(runtime, store);
  const rest: RestServer = {
    runtime,
    store,
    inFlight: inFlight(),
    listTexts: listTexts(),
    afterWrite: (resource, record) => {
      if (isDefinitionResource(resource)) return actions.changeDefinition(record.key, clone);
      return resource.group === FLOW_CONTROL_GROUP ? noteDangling(rest, record.key) : Promise.resolve();
    },
    disabledAdmission: admission.disabled,
    resources: registry.of,
    admission: admission.chain,
    convert: conversionWebhooks(runtime, admission.callers),
    requestToken: identity.requestToken,
    pods,
    proxy: proxyPods(runtime, store),
    computed: (scope) => usageMetrics(store, runtime.clock.now(), scope),
  };
  const actions = serverActions(rest);
  const { resolveService } = admission.callers;
  const aggregation = startAggregation(runtime, {
    store: stored,
    actions,
    resolveService,
    ask: remoteAsker({
      outbound,
      resolveService,
      ...(options.frontProxy === undefined ? {} : { frontProxy: options.frontProxy }),
    }),
  });
  const apiServices = localApiServices(runtime, {
    store,
    resources: (cluster) => registry.of(cluster).all,
    onChange: registry.onChange,
    exists: clusters.has,
  });
  const kept = [...standingList, ...standingFlowObjects()];
  const standing = standingObjects(runtime, store, templates, kept, clusters.has);
  const stops: (() => void | Promise<void>)[] = [
    pods.close,
    followRbac(stored, rbac, own),
    () => registry.close(),
    () => outbound.close(),
    () => admission.close(),
    () => aggregation.stop(),
    () => watches.close(),
    apiServices.stop,
    standing.stop,
    startEventExpiry(runtime, store).stop,
    // Definitions are the server's own business, whatever else runs beside it.
    definitionCleanup(runtime, { store, stored, isBuiltIn: registry.isBuiltIn }, actions).stop,
    followPriorityLevels(rest),
  ];
  if (options.controllers !== false) {
    const { ledger } = admission;
    const controlled = { store, registry, rest, actions, identity, authorizer, ledger };
    stops.push(...startControllers(runtime, options, controlled));
  }
  const isNew = stored.count('') === 0;
  await clusters.start();
  await clusters.create(ROOT_CLUSTER);
  await Promise.all(
    clusters.names().map(async (name) => {
      await standing.ensure(name);
      // Whoever serves nothing but what is built in has the API services of that.
      if (registry.of(name).all.some((resource) => resource.custom)) await apiServices.ensure(name);
    }),
  );

  // What a new server begins with was never otherwise to any client.
  if (isNew) stored.beginHistory();

  let ready = true;
  const metrics = createRequestMetrics();
  const address = options.address ?? '127.0.0.1:6443';
  const documents = documentsOf(registry, catalogue, address, release, aggregation.resources);
  const facts = {
    ready: () => ready,
    storageBroken: () => options.storage?.broken?.(),
    version: options.version ?? versionOf(release),
    requestMetrics: () => `${metrics.text()}${runtime.metrics.text()}`,
    revision: () => store.revision,
    watches: () => watches.size,
  };
  const { authenticate } = identity;
  const pipeline = requestPipeline(
    runtime,
    {
      authenticate,
      anonymous: options.anonymous ?? false,
      audit: auditTrail(runtime, options.audit, options.auditPolicy),
      metrics,
    },
    {
      authorizer,
      rbac,
      identity,
      queue: fairQueue(runtime.clock, options.fairness),
      registry,
      rest,
      watches,
      exists: clusters.has,
      space: (path) => options.spaces?.(path),
      remote: aggregation.find,
      path: (request, info) =>
        issuerDocument(identity.tokens, info, request.headers, address) ??
        aggregation.withSchemas(info, handlePath(request, info, documents(info.cluster), facts)),
    },
  );

  async function deleteCluster(name: string): Promise<boolean> {
    if (name === ROOT_CLUSTER) throw badRequest(`the logical cluster ${JSON.stringify(name)} always exists`);
    const deleted = await clusters.delete(name);
    own.forget(name);
    rbac.invalidate(name);
    watches.endCluster(name);
    return deleted;
  }

  if (options.workspaces) {
    const workspaces = await startWorkspaces(runtime, {
      store,
      actions,
      bindings: registry.bindings,
      handler: (request) => pipeline.handleAs(CONTROLLER_USER, request),
      address,
      createCluster: clusters.create,
      deleteCluster,
      ownerOf: clusters.ownerOf,
      clusters: clusters.names,
    });
    stops.push(workspaces.stop);
  }

  return {
    handle: pipeline.handle,
    as(user) {
      const groups = user.groups.includes(AUTHENTICATED_GROUP)
        ? user.groups
        : [...user.groups, AUTHENTICATED_GROUP];
      const known: UserInfo = { ...user, groups };
      return (request) => pipeline.handleAs(known, request);
    },
    createCluster: clusters.create,
    deleteCluster,
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
