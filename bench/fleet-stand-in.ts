/**
 * A spoke as light as can be: it answers what a hub asks of one, takes each dispatch at once and says that all is well. What it
 * costs is next to nothing, so that the hub is what is measured.
 */
import { clusterInfoOf } from '../src/dialects/kubevela/cluster-info.ts';
import { CLUSTER } from '../src/dialects/kubevela/kinds.ts';
import type { Cluster } from '../src/dialects/kubevela/types.ts';
import {
  BUNDLE,
  DISPATCH,
  type Dispatch,
  fleetRevision,
  SYSTEM_NAMESPACE,
} from '../src/engine/dispatch/index.ts';
import { apiVersionOf, type CustomKind } from '../src/kube/custom-resource.ts';
import type { Handler, Request, Response } from '../src/kube/exchange.ts';
import type { KubeObject } from '../src/kube/object.ts';

export interface StandIn {
  readonly handler: Handler;
  /** Writes that the hub asked for. */
  readonly writes: number;
}

interface Event {
  readonly version: number;
  readonly line: Uint8Array;
}

/** The objects of one kind, and who watches them. */
interface Shelf {
  readonly kind: CustomKind;
  readonly objects: Map<string, KubeObject>;
  /** The last few, for watches that begin a little back. */
  readonly recent: Event[];
  readonly watchers: Set<(event: Event) => void>;
}

type Told = NonNullable<NonNullable<Cluster['status']>['dispatches']>[number];

const RECENT = 16;
const STARTED = '2026-01-01T00:00:00Z';
const json = { 'content-type': 'application/json' };
const NODES = {
  kind: 'NodeList',
  apiVersion: 'v1',
  metadata: { resourceVersion: '1' },
  items: [1, 2].map((number) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${number}`, uid: `node-${number}`, creationTimestamp: STARTED },
    status: { capacity: { cpu: '8', memory: '32Gi' }, allocatable: { cpu: '8', memory: '32Gi' } },
  })),
};
const ETAG = '"1"';
const APIS = {
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: [
    {
      metadata: { name: 'atoll.dev' },
      versions: [
        {
          version: 'v1alpha1',
          freshness: 'Current',
          resources: [DISPATCH, BUNDLE].map(({ kind, plural }) => ({
            resource: plural,
            responseKind: { kind },
          })),
        },
      ],
    },
  ],
};
const DISCOVERY = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: apiVersionOf(DISPATCH),
  resources: [DISPATCH, BUNDLE].map(({ kind, plural }) => ({ name: plural, kind, namespaced: true })),
};

/** `onApplied` hears of the generation of each dispatch that was taken. */
export function standInSpoke(
  name: string,
  onApplied: (generation: number, dispatch: Dispatch) => void,
): StandIn {
  let version = 1;
  let objectsTotal = 0;
  let saying: NodeJS.Timeout | undefined;
  const dispatches = new Map<string, Told>();
  let writes = 0;
  const shelves = new Map<string, Shelf>();
  for (const kind of [DISPATCH, BUNDLE, CLUSTER]) {
    const path = `/apis/${apiVersionOf(kind)}/namespaces/${SYSTEM_NAMESPACE}/${kind.plural}`;
    shelves.set(path, { kind, objects: new Map(), recent: [], watchers: new Set() });
  }
  const clusters = [...shelves.values()].find(({ kind }) => kind === CLUSTER) as Shelf;

  function put(shelf: Shelf, object: KubeObject, type: 'ADDED' | 'MODIFIED' | 'DELETED'): KubeObject {
    version += 1;
    const { name: objectName = '', uid = `${name}-${version}` } = object.metadata;
    const metadata = { ...object.metadata, uid, resourceVersion: String(version) };
    const stored = { ...object, metadata };
    if (type === 'DELETED') shelf.objects.delete(objectName);
    else shelf.objects.set(objectName, stored);
    const event = { version, line: Buffer.from(`${JSON.stringify({ type, object: stored })}\n`) };
    shelf.recent.push(event);
    if (shelf.recent.length > RECENT) shelf.recent.shift();
    for (const tell of shelf.watchers) tell(event);
    return stored;
  }

  function write(shelf: Shelf, request: Request, present: KubeObject | undefined): Response {
    writes += 1;
    const object = JSON.parse(Buffer.from(request.body ?? []).toString()) as KubeObject;
    const read = object.metadata.resourceVersion;
    const stale = read !== undefined && read !== present?.metadata.resourceVersion;
    if (present && (request.method === 'POST' || stale)) return status(409, 'Conflict');
    const generation = (present?.metadata.generation ?? 0) + 1;
    const stored = put(
      shelf,
      {
        ...object,
        metadata: { ...present?.metadata, ...object.metadata, generation, creationTimestamp: STARTED },
      },
      present ? 'MODIFIED' : 'ADDED',
    );
    if (shelf.kind === DISPATCH) carryOut(shelf, stored as Dispatch);
    return answer(present ? 200 : 201, stored);
  }

  function carryOut(shelf: Shelf, dispatch: Dispatch): void {
    const { position, revision, objects, source } = dispatch.spec;
    const condition = (type: string): object => ({
      type,
      status: 'True',
      reason: type,
      message: '',
      lastTransitionTime: STARTED,
    });
    const total = objects.length;
    const done = {
      ...dispatch,
      status: {
        position,
        appliedRevision: revision,
        appliedGeneration: position.generation,
        appliedAt: STARTED,
        summary: { total, applied: total, healthy: total },
        conditions: ['Accepted', 'Applied', 'Healthy'].map(condition),
      },
    } as Dispatch;
    onApplied(position.generation, dispatch);
    put(shelf, done, 'MODIFIED');
    const told = {
      name: dispatch.metadata.name ?? '',
      source: `${source.kind} ${source.namespace}/${source.name}`,
      revision,
      generation: position.generation,
      appliedGeneration: position.generation,
      appliedAt: STARTED,
      health: 'Healthy',
    };
    dispatches.set(told.name, told);
    objectsTotal += total;
    sayOfSelfSoon();
  }

  /** As spokes do: what names all dispatches is gathered the longer the more there are. */
  function sayOfSelfSoon(): void {
    if (saying !== undefined) return;
    saying = setTimeout(
      () => {
        saying = undefined;
        sayOfSelf();
      },
      Math.min(5_000, 50 + 4 * dispatches.size),
    );
  }

  function sayOfSelf(): void {
    const told = [...dispatches.values()];
    const revision = fleetRevision(told);
    const present = clusters.objects.get(name);
    const object: Cluster = {
      apiVersion: apiVersionOf(CLUSTER),
      kind: CLUSTER.kind,
      metadata: { ...present?.metadata, name, namespace: SYSTEM_NAMESPACE, creationTimestamp: STARTED },
      status: {
        engine: 'bench',
        clusterInfo: { ...clusterInfoOf('v1.36.0', NODES.items as KubeObject[]), lastSyncedTime: STARTED },
        dispatchedRevision: revision,
        appliedRevision: revision,
        dispatches: told,
        health: { status: 'Healthy', objectsHealthy: objectsTotal, objectsTotal },
        drift: { corrections: 0 },
      },
    };
    put(clusters, object, present ? 'MODIFIED' : 'ADDED');
  }

  function list(shelf: Shelf): Response {
    const { kind } = shelf.kind;
    return answer(200, {
      kind: `${kind}List`,
      apiVersion: apiVersionOf(shelf.kind),
      metadata: { resourceVersion: String(version) },
      items: [...shelf.objects.values()],
    });
  }

  sayOfSelf();
  return {
    get writes() {
      return writes;
    },
    async handler(request): Promise<Response> {
      const [path = '', query = ''] = request.path.split('?');
      if (path === '/livez' || path === '/readyz')
        return { status: 200, headers: {}, body: Buffer.from('ok') };
      if (path === '/version') return answer(200, { gitVersion: 'v1.36.0' });
      if (path === '/api/v1/nodes') return answer(200, NODES);
      if (path === '/api' || path === '/apis') {
        const isKnown = request.headers['if-none-match'] === ETAG;
        return { ...answer(isKnown ? 304 : 200, APIS), headers: { ...json, etag: ETAG } };
      }
      if (path === '/api/v1/namespaces/kube-system')
        return answer(200, {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: 'kube-system', uid: name },
        });
      if (path === `/apis/${DISCOVERY.groupVersion}`) return answer(200, DISCOVERY);
      const shelf = shelves.get(path);
      if (shelf) {
        if (request.method === 'POST') {
          const { metadata } = JSON.parse(Buffer.from(request.body ?? []).toString()) as KubeObject;
          return write(shelf, request, shelf.objects.get(metadata.name ?? ''));
        }
        const asked = new URLSearchParams(query);
        if (!asked.has('watch')) return list(shelf);
        const from = Number(asked.get('resourceVersion') ?? 0);
        return { status: 200, headers: json, body: watch(shelf, from, request.signal) };
      }
      const slash = path.lastIndexOf('/');
      const place = shelves.get(path.slice(0, slash));
      const present = place?.objects.get(path.slice(slash + 1));
      if (!place || !present) return status(404, 'NotFound');
      if (request.method === 'GET') return answer(200, present);
      if (request.method === 'PUT') return write(place, request, present);
      if (request.method !== 'DELETE') return status(405, 'MethodNotAllowed');
      writes += 1;
      return answer(200, put(place, present, 'DELETED'));
    },
  };
}

async function* watch(
  shelf: Shelf,
  from: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const waiting = shelf.recent.filter((event) => event.version > from).map(({ line }) => line);
  let wake = (): void => {};
  const tell = ({ line }: Event): void => {
    waiting.push(line);
    wake();
  };
  const onAbort = (): void => wake();
  signal?.addEventListener('abort', onAbort, { once: true });
  shelf.watchers.add(tell);
  try {
    while (signal?.aborted !== true) {
      const line = waiting.shift();
      if (line !== undefined) yield line;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    shelf.watchers.delete(tell);
    signal?.removeEventListener('abort', onAbort);
  }
}

function answer(code: number, content: object): Response {
  return { status: code, headers: json, body: Buffer.from(JSON.stringify(content)) };
}

function status(code: number, reason: string): Response {
  const message = `${reason}, says a stand-in for a spoke`;
  return answer(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message });
}
