import type { Request, Response } from '../kube/exchange.ts';
import { type Catalogue, NEWEST_RELEASE, type Release } from './catalogue/index.ts';
import type { ClusterResources, ResourceRegistry } from './crd/index.ts';
import { createDiscovery, type DiscoveredResource, type Discovery } from './discovery/index.ts';
import { healthPaths, healthResponse } from './health.ts';
import { createOpenApi, type OpenApi } from './openapi/index.ts';
import {
  checkRoute,
  checkTypes,
  methodNotAllowed,
  pathNotFound,
  type RequestInfo,
  routeNotFound,
  textResponse,
  valueResponse,
} from './request/index.ts';

/** What a cluster tells of itself. */
export interface Documents {
  readonly discovery: Discovery;
  readonly openApi: () => OpenApi;
  readonly builtInGroups: ReadonlySet<string>;
}

/** Discovery and OpenAPI of a cluster, made anew when its resources have changed. */
export function documentsOf(
  registry: ResourceRegistry,
  catalogue: Catalogue,
  address: string,
  release: Release = NEWEST_RELEASE,
  remote: (cluster: string) => readonly DiscoveredResource[] = () => [],
): (cluster: string) => Documents {
  const made = new WeakMap<object, Documents & { readonly resources: ClusterResources }>();
  return (cluster) => {
    const resources = registry.of(cluster);
    const others = remote(cluster);
    const key = others.length === 0 ? resources : others;
    let documents = made.get(key);
    if (documents?.resources !== resources) documents = undefined;
    if (!documents) {
      let openApi: OpenApi | undefined;
      const builtIn = resources.all.filter((resource) => !resource.custom);
      documents = {
        resources,
        builtInGroups: new Set(builtIn.map((resource) => resource.group)),
        discovery: createDiscovery([...resources.all, ...others], address, release),
        openApi: () => {
          openApi ??= createOpenApi(resources.all, catalogue, undefined, release);
          return openApi;
        },
      };
      made.set(key, documents);
    }
    return documents;
  };
}

/** The state of the server that some paths show. */
export interface ServerFacts {
  ready(): boolean;
  /** Why the storage takes no more writes until the server starts again, where that is so. */
  storageBroken(): string | undefined;
  readonly version: string;
  /** How requests were answered, in the text format of Prometheus. */
  requestMetrics(): string;
  revision(): number;
  watches(): number;
}

const OTHER_PATHS = [
  '/.well-known/openid-configuration',
  '/apis/',
  '/metrics',
  '/metrics/slis',
  '/openid/v1/jwks',
  '/version',
];

/** Serves what is not a resource: discovery, OpenAPI, health, version, metrics. */
export function handlePath(
  request: Request,
  info: RequestInfo,
  documents: Documents,
  facts: ServerFacts,
): Response {
  const { path, query } = info;
  const { headers } = request;
  const health = healthResponse(path, query, facts);
  if (health) return health;
  // Unknown versions have no route that could know methods.
  const isRouted = isVersionPath(path) || (ROUTED.test(path) && documents.discovery.has(path));
  if (isRouted && info.method !== 'GET') throw methodNotAllowed();
  switch (path) {
    case '/version':
    case '/version/':
      checkTypes(headers, ['application/json']);
      return valueResponse(200, versionInfo(facts.version));
    case '/metrics':
      return textResponse(200, metricsText(facts), METRICS_HEADERS);
    case '/metrics/slis':
      return textResponse(200, healthMetrics(facts), METRICS_HEADERS);
    case '/':
    case '/index.html':
      return valueResponse(200, {
        paths: [
          ...documents.discovery.paths,
          ...documents.openApi().paths,
          ...healthPaths(),
          ...OTHER_PATHS,
        ].sort(),
      });
    default:
  }
  if (path.startsWith('/openapi'))
    return (
      documents.openApi().respond(path, query, headers.accept, headers['if-none-match']) ?? pathNotFound()
    );
  // What answers in several forms looks at those of its route before it looks at parameters.
  if (isRouted && documents.discovery.has(path)) checkRoute(headers, false);
  const document = documents.discovery.respond(path, headers.accept, headers['if-none-match']);
  if (document) return document;
  if (path.startsWith('/version/') || isBelowBuiltIn(path, documents)) throw routeNotFound();
  return pathNotFound();
}

/** Paths that have routes, which are for GET alone; what is around them answers any method alike. */
const ROUTED = /^\/(api\/?|api\/[^/]+\/?|apis\/[^/]+\/[^/]+\/?)$/;

function isVersionPath(path: string): boolean {
  return path === '/version' || path === '/version/';
}

/** Whether a path is in a group whose router answers for all below it. */
function isBelowBuiltIn(path: string, documents: Documents): boolean {
  const [, prefix, group] = path.split('/');
  if (prefix === 'api' || prefix === 'version') return true;
  return prefix === 'apis' && group !== undefined && documents.builtInGroups.has(group);
}

/** Servers since this minor release say which release they are like, and back to which one others may be beside them. */
const COMPATIBILITY_TOLD_SINCE = 33;

/** What clients read from `/version`; they parse `gitVersion` as a semantic version. */
function versionInfo(gitVersion: string): Record<string, string> {
  const [, major = '1', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    ...(Number(minor) < COMPATIBILITY_TOLD_SINCE
      ? {}
      : {
          emulationMajor: major,
          emulationMinor: minor,
          minCompatibilityMajor: major,
          minCompatibilityMinor: String(Number(minor) - 1),
        }),
    gitVersion,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '2026-01-01T00:00:00Z',
    goVersion: '',
    // Clients compare what they know of Kubernetes, which says the same for all its builds.
    compiler: 'gc',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

const METRICS_HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8; escaping=values' };

/** What the health checks say, as upstream's component metrics name it. */
function healthMetrics(facts: ServerFacts): string {
  const row = (type: string, healthy: boolean): string =>
    `kubernetes_healthcheck{name="ping",type="${type}"} ${healthy ? 1 : 0}\n`;
  return [
    '# HELP kubernetes_healthcheck Whether a health check passes.\n# TYPE kubernetes_healthcheck gauge\n',
    row('healthz', true),
    row('livez', true),
    row('readyz', facts.ready()),
  ].join('');
}

function metricsText(facts: ServerFacts): string {
  const row = (name: string, type: string, help: string, value: number): string =>
    `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`;
  return [
    facts.requestMetrics(),
    row('atoll_apiserver_open_watches', 'gauge', 'Watches that are open.', facts.watches()),
    row('atoll_apiserver_store_revision', 'gauge', 'The newest revision of the store.', facts.revision()),
  ].join('');
}
