import { startController } from '../../kube/controller-loop.ts';
import type { Request, Response } from '../../kube/exchange.ts';
import { asJson } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import { errorText, formatTime, type Runtime } from '../../runtime/index.ts';
import { parseJsonBody } from '../../schema/decode.ts';
import { isObject, listAt, objectAt } from '../../schema/json.ts';
import type { ResolveService } from '../admission/index.ts';
import type { UserInfo } from '../auth/index.ts';
import type { ObjectActions } from '../controllers/index.ts';
import type { DiscoveredResource } from '../discovery/index.ts';
import { type RequestInfo, splitCluster } from '../request/index.ts';
import { CONTROLLER_USER } from '../rest/server-actions.ts';
import { parseKey, resourcePrefix } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';
import type { AskRemote } from './front-proxy.ts';
import { remoteResources } from './remote-discovery.ts';
import { API_SERVICES, type RemoteService, remoteServiceOf, sameService } from './remote-service.ts';

export interface AggregationOptions {
  readonly store: Store;
  readonly actions: Pick<ObjectActions, 'change'>;
  readonly ask: AskRemote;
  readonly resolveService: ResolveService;
}

/** What stands in the condition `Available`. */
interface Availability {
  readonly status: 'True' | 'False';
  readonly reason: 'Passed' | 'ServiceNotFound' | 'MissingEndpoints' | 'FailedDiscoveryCheck';
  readonly message: string;
}

/** Group versions that other servers serve, below the paths of this one. */
export interface Aggregation {
  /** Who serves a request that is for an extension API server, and throws 502 and 503; `undefined` for all others. */
  find(info: RequestInfo): ((request: Request, user: UserInfo) => Promise<Response>) | undefined;
  /** What they serve in a logical cluster, as far as it is known. The same array until that changes. */
  resources(cluster: string): readonly DiscoveredResource[];
  /** The list of OpenAPI documents with theirs, which they are asked for themselves; any other response as it is. */
  withSchemas(info: RequestInfo, response: Response): Response;
  stop(): Promise<void>;
}

interface Known {
  readonly remote: RemoteService;
  resources: readonly DiscoveredResource[];
}

const NONE: readonly never[] = [];
const SCHEMAS = '/openapi/v3';
const SERVICES = resourcePrefix('', 'services');
const ENDPOINTS = resourcePrefix('', 'endpoints');
const PROBE_EVERY_MS = 30_000;
const PROBE_TIMEOUT_MS = 5_000;
const PROBES_AT_ONCE = 8;

/**
 * Follows the APIServices of all logical clusters that lead to a Service, asks each from time to time what it serves, and says
 * in its condition `Available` how that went. Without such APIServices there is nothing to do, and no timer.
 */
export function startAggregation(
  runtime: Runtime,
  { store, actions, ask, resolveService }: AggregationOptions,
): Aggregation {
  /** By cluster, then by `group/version`. */
  const clusters = new Map<string, Map<string, Known>>();
  const lists = new Map<string, readonly DiscoveredResource[]>();
  const controller = startController(runtime, {
    name: 'aggregation',
    concurrency: PROBES_AT_ONCE,
    reconcile: probe,
  });

  function take(record: StoreRecord, exists: boolean): void {
    const { key } = record;
    const remote = exists ? remoteServiceOf(record) : undefined;
    const cluster = key.slice(API_SERVICES.length, key.indexOf('/', API_SERVICES.length));
    const known = clusters.get(cluster) ?? new Map<string, Known>();
    for (const [id, entry] of known) if (entry.remote.key === key) known.delete(id);
    lists.delete(cluster);
    if (remote !== undefined) {
      known.set(`${remote.group}/${remote.version}`, { remote, resources: NONE });
      clusters.set(cluster, known);
      controller.enqueue(key);
    } else if (known.size === 0) clusters.delete(cluster);
  }

  function knownAt(key: string): Known | undefined {
    const cluster = key.slice(API_SERVICES.length, key.indexOf('/', API_SERVICES.length));
    for (const entry of clusters.get(cluster)?.values() ?? []) if (entry.remote.key === key) return entry;
    return undefined;
  }

  async function probe(key: string, signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const known = knownAt(key);
    if (known === undefined) return undefined;
    const availability = missing(known.remote) ?? (await discover(known, signal));
    if (signal.aborted) return undefined;
    await report(key, availability);
    return knownAt(key) === known ? { requeueAfterMs: PROBE_EVERY_MS } : undefined;
  }

  /** Says why there is nobody to ask. */
  function missing({ service, cluster }: RemoteService): Availability | undefined {
    const { namespace, name, port } = service;
    try {
      if (resolveService(namespace, name, port, cluster) !== undefined) return undefined;
    } catch (error) {
      const why = errorText(error);
      const absent = / not found$/.test(why);
      const message = absent ? `service/${name} in ${JSON.stringify(namespace)} is not present` : why;
      return { status: 'False', reason: 'ServiceNotFound', message };
    }
    const message = `the Service ${JSON.stringify(name)} in ${JSON.stringify(namespace)} has no ready endpoints`;
    return { status: 'False', reason: 'MissingEndpoints', message };
  }

  async function discover(known: Known, signal: AbortSignal): Promise<Availability> {
    const { remote } = known;
    const timeout = new AbortController();
    const abort = (): void => timeout.abort(new Error('it took too long to answer'));
    const timer = runtime.clock.after(PROBE_TIMEOUT_MS, abort);
    signal.addEventListener('abort', abort, { once: true });
    try {
      const request: Request = {
        method: 'GET',
        path: `/apis/${remote.group}/${remote.version}`,
        headers: { accept: 'application/json' },
        signal: timeout.signal,
      };
      known.resources = await remoteResources(remote, await ask(remote, request, CONTROLLER_USER));
      lists.delete(remote.cluster);
      return { status: 'True', reason: 'Passed', message: 'all checks passed' };
    } catch (error) {
      const why = error instanceof StatusError ? error.message : errorText(error);
      const message = `failing or missing response from the service: ${why}`;
      return { status: 'False', reason: 'FailedDiscoveryCheck', message };
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  async function report(key: string, { status, reason, message }: Availability): Promise<void> {
    await actions.change(
      key,
      (object) => {
        const conditions = listAt(object, 'status', 'conditions').filter(isObject);
        const old = conditions.find(({ type }) => type === 'Available');
        if (old?.status === status && old.reason === reason && old.message === message) return undefined;
        const lastTransitionTime =
          old?.status === status ? (old.lastTransitionTime ?? null) : formatTime(runtime.clock.now());
        asJson(object).status = {
          conditions: [
            ...conditions.filter(({ type }) => type !== 'Available'),
            { type: 'Available', status, reason, message, lastTransitionTime },
          ],
        };
        return object;
      },
      'status',
    );
  }

  const watch = store.watch(API_SERVICES, store.revision, (events) => {
    for (const { type, record, previous } of events) {
      const isStatus =
        type === 'updated' && previous !== undefined && sameService(previous.object, record.object);
      if (!isStatus) take(record, type !== 'deleted');
    }
  });
  // What comes or goes behind a Service is noticed at once.
  const behind = store.watch([SERVICES, ENDPOINTS], store.revision, (events) => {
    if (clusters.size === 0) return;
    for (const { record } of events) {
      const { cluster, namespace, name } = parseKey(record.key);
      for (const { remote } of clusters.get(cluster)?.values() ?? [])
        if (remote.service.name === name && remote.service.namespace === namespace)
          controller.enqueue(remote.key);
    }
  });
  for (const record of store.list(API_SERVICES).records) if (!record.shared) take(record, true);

  return {
    find(info) {
      const known = clusters.get(info.cluster);
      if (known === undefined) return undefined;
      const path = info.path.startsWith(SCHEMAS) ? info.path.slice(SCHEMAS.length) : info.path;
      const [, prefix, group, version] = path.split('/');
      const found = prefix === 'apis' ? known.get(`${group}/${version}`) : undefined;
      if (found === undefined) return undefined;
      return (request, user) =>
        ask(found.remote, { ...request, path: splitCluster(request.path).rest }, user);
    },
    resources(cluster) {
      const known = clusters.get(cluster);
      if (known === undefined) return NONE;
      let list = lists.get(cluster);
      if (list === undefined) {
        list = [...known.values()].flatMap(({ resources }) => resources);
        lists.set(cluster, list);
      }
      return list;
    },
    withSchemas(info, response) {
      const known = info.path === SCHEMAS ? clusters.get(info.cluster) : undefined;
      if (known === undefined || response.status !== 200 || !(response.body instanceof Uint8Array))
        return response;
      const decoded = parseJsonBody(response.body);
      const paths = decoded.ok ? objectAt(decoded.value, 'paths') : undefined;
      if (paths === undefined) return response;
      for (const [id, { resources }] of known)
        if (resources.length > 0) paths[`apis/${id}`] = { serverRelativeURL: `${SCHEMAS}/apis/${id}` };
      return { ...response, body: Buffer.from(JSON.stringify({ paths })) };
    },
    stop() {
      watch.stop();
      behind.stop();
      return controller.stop();
    },
  };
}
