import type { Request, Response } from '../kube/exchange.ts';
import { type Catalogue, NEWEST_RELEASE, type Release } from './catalogue/index.ts';
import type { ClusterResources, ResourceRegistry } from './crd/index.ts';
import { createDiscovery, type DiscoveredResource, type Discovery } from './discovery/index.ts';
import { createOpenApi, type OpenApi } from './openapi/index.ts';
import {
  methodNotAllowed,
  negotiate,
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
          openApi ??= createOpenApi(resources.all, catalogue);
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
  readonly version: string;
  /** How requests were answered, in the text format of Prometheus. */
  requestMetrics(): string;
  revision(): number;
  watches(): number;
}

const OTHER_PATHS = [
  '/.well-known/openid-configuration',
  '/apis/',
  '/healthz',
  '/livez',
  '/metrics',
  '/metrics/slis',
  '/openid/v1/jwks',
  '/readyz',
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
  const health = healthOf(path, facts, query);
  if (health) return health;
  // The list of groups is answered whatever the method, as upstream's aggregator does.
  if (info.method !== 'GET' && info.method !== 'HEAD' && !/^\/apis(\/[^/]*)?$/.test(path))
    throw methodNotAllowed();
  switch (path) {
    case '/version':
    case '/version/':
      return valueResponse(200, versionInfo(facts.version), {
        representation: negotiate(headers, query, { views: false, protobuf: false }),
      });
    case '/metrics':
      return textResponse(200, metricsText(facts), METRICS_HEADERS);
    case '/metrics/slis':
      return textResponse(200, healthMetrics(facts), METRICS_HEADERS);
    case '/':
      return valueResponse(
        200,
        {
          paths: [...documents.discovery.paths, ...documents.openApi().paths, ...OTHER_PATHS].sort(),
        },
        { representation: negotiate(headers, query, { views: false, protobuf: false }) },
      );
    default:
  }
  if (path.startsWith('/openapi'))
    return (
      documents.openApi().respond(path, query, headers.accept, headers['if-none-match']) ?? pathNotFound()
    );
  const document = documents.discovery.respond(path, headers.accept, headers['if-none-match']);
  if (document) return document;
  if (isBelowBuiltIn(path, documents)) throw routeNotFound();
  return pathNotFound();
}

/** Whether a path is in a group whose router answers for all below it. */
function isBelowBuiltIn(path: string, documents: Documents): boolean {
  const [, prefix, group] = path.split('/');
  if (prefix === 'api') return true;
  return prefix === 'apis' && group !== undefined && documents.builtInGroups.has(group);
}

function healthOf(path: string, facts: ServerFacts, query: URLSearchParams): Response | undefined {
  const [, name, check, ...more] = path.split('/');
  if ((name !== 'livez' && name !== 'readyz' && name !== 'healthz') || more.length > 0) return undefined;
  if (check !== undefined && check !== '' && check !== 'ping') return undefined;
  const fails = name === 'readyz' && !facts.ready();
  const verbose = query.has('verbose');
  if (fails)
    return textResponse(500, `[+]ping ok\n[-]shutdown failed: reason withheld\n${name} check failed\n`);
  return textResponse(200, verbose ? `[+]ping ok\n[+]shutdown ok\n${name} check passed\n` : 'ok');
}

/** What clients read from `/version`; they parse `gitVersion` as a semantic version. */
function versionInfo(gitVersion: string): Record<string, string> {
  const [, major = '1', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
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

const METRICS_HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

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
