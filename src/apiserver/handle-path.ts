import type { Request, Response } from '../kube/exchange.ts';
import type { Catalogue } from './catalogue/index.ts';
import type { ClusterResources, ResourceRegistry } from './crd/index.ts';
import { createDiscovery, type Discovery } from './discovery/index.ts';
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
): (cluster: string) => Documents {
  const made = new WeakMap<ClusterResources, Documents>();
  return (cluster) => {
    const resources = registry.of(cluster);
    let documents = made.get(resources);
    if (!documents) {
      let openApi: OpenApi | undefined;
      const builtIn = resources.all.filter((resource) => !resource.custom);
      documents = {
        builtInGroups: new Set(builtIn.map((resource) => resource.group)),
        discovery: createDiscovery(resources.all, address),
        openApi: () => {
          openApi ??= createOpenApi(resources.all, catalogue);
          return openApi;
        },
      };
      made.set(resources, documents);
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
  if (info.method !== 'GET' && info.method !== 'HEAD' && path !== '/apis' && path !== '/apis/')
    throw methodNotAllowed();
  switch (path) {
    case '/version':
    case '/version/':
      return valueResponse(200, versionInfo(facts.version), {
        representation: negotiate(headers, query, false),
      });
    case '/metrics':
      return textResponse(200, metricsText(facts), {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      });
    case '/':
      return valueResponse(
        200,
        {
          paths: [
            ...documents.discovery.paths,
            ...documents.openApi().paths,
            '/livez',
            '/metrics',
            '/readyz',
            '/version',
          ].sort(),
        },
        { representation: negotiate(headers, query, false) },
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
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
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
