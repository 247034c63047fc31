import type { Response } from '../kube/exchange.ts';
import { textResponse } from './request/index.ts';

/** Which checks stand behind a path, and whether they pass. */
interface HealthFacts {
  ready(): boolean;
  storageBroken(): string | undefined;
}

type Endpoint = 'healthz' | 'livez' | 'readyz';

/**
 * The checks have the names of other servers, so that probes which ask for one by its name work. What those start one after the
 * other is here before the first request is answered: what can fail later is the storage, which then needs a restart, and readiness.
 */
const STARTED: readonly string[] = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
].map((name) => `poststarthook/${name}`);

const ALWAYS: readonly string[] = ['ping', 'log', 'etcd'];
/** Those that are about what is below the server, whatever that is. */
const STORAGE: ReadonlySet<string> = new Set(['etcd', 'etcd-readiness']);
const AFTER: readonly string[] = [
  'autoregister-completion',
  'poststarthook/apiservice-openapi-controller',
  'poststarthook/apiservice-openapiv3-controller',
];

const CHECKS: Readonly<Record<Endpoint, readonly string[]>> = {
  healthz: [...ALWAYS, ...STARTED, ...AFTER],
  livez: [...ALWAYS, ...STARTED, ...AFTER],
  readyz: [...ALWAYS, 'etcd-readiness', 'informer-sync', ...STARTED, ...AFTER, 'shutdown'],
};

/** Every path that answers with a check, for the list at `/`. */
export function healthPaths(): string[] {
  return Object.entries(CHECKS).flatMap(([name, checks]) => [
    `/${name}`,
    ...checks.map((check) => `/${name}/${check}`),
  ]);
}

function isEndpoint(name: string | undefined): name is Endpoint {
  return name === 'healthz' || name === 'livez' || name === 'readyz';
}

/** Of a part that passes. */
const OK_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-cache, private',
};

/** Answers a health check or one part of it, by any method; `undefined` for a path that is none. */
export function healthResponse(
  path: string,
  query: URLSearchParams,
  facts: HealthFacts,
): Response | undefined {
  const [, name, ...rest] = path.split('/');
  if (!isEndpoint(name)) return undefined;
  const checks = CHECKS[name];
  const passes = (check: string): boolean =>
    check === 'shutdown' ? facts.ready() : !STORAGE.has(check) || facts.storageBroken() === undefined;
  const [first] = rest;
  if (first !== undefined) {
    const check = rest.join('/');
    if (!checks.includes(check)) return undefined;
    return passes(check)
      ? { ...textResponse(200, 'ok'), headers: OK_HEADERS }
      : textResponse(500, failedText(check));
  }
  const excluded = new Set(query.getAll('exclude'));
  const lines = checks.map((check) =>
    excluded.has(check)
      ? `[+]${check} excluded: ok\n`
      : passes(check)
        ? `[+]${check} ok\n`
        : failedText(check),
  );
  const unknown = [...excluded].filter((check) => !checks.includes(check));
  if (unknown.length > 0)
    lines.push(
      `warn: some health checks cannot be excluded: no matches for ${unknown.map((check) => JSON.stringify(check)).join(',')}\n`,
    );
  const healthy = checks.every((check) => excluded.has(check) || passes(check));
  if (!healthy) return textResponse(500, `${lines.join('')}${name} check failed\n`);
  return textResponse(200, query.has('verbose') ? `${lines.join('')}${name} check passed\n` : 'ok');
}

function failedText(check: string): string {
  return `[-]${check} failed: reason withheld\n`;
}
