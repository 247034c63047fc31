import type { GraphOnEngaged } from '../../dialects/kro/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import { startController } from '../../kube/controller-loop.ts';
import { apiVersionOf, resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, type JsonObject } from '../../schema/json.ts';
import {
  ENGAGED_CLUSTER,
  type EngagedCluster,
  type EngagedGraph,
  type EngagedState,
  type EngagedStatus,
  objectNameOf,
} from './kind.ts';

export const ENGAGED_CLUSTERS: ReturnType<typeof resourceIdOf> = resourceIdOf(ENGAGED_CLUSTER);

/** What the hub shows of the clusters that this worker has. */
export interface Views {
  state(cluster: ClusterName, state: EngagedState, message?: string): void;
  graph(cluster: ClusterName, name: string, report: GraphOnEngaged | undefined): void;
  /** Resolves when the hub has it on record that the cluster has something of a definition. */
  record(cluster: ClusterName, name: string): Promise<void>;
  /** Resolves when the hub has it on record who the cluster is. */
  identify(cluster: ClusterName, id: string | undefined): Promise<void>;
  /** The object that shows it is not as it was written, or gone. */
  again(cluster: ClusterName): void;
  /** Another worker has it now: it says the rest. */
  leave(cluster: ClusterName): void;
  stop(): Promise<void>;
}

export interface ViewsOptions {
  readonly client: Client;
  readonly provider: string;
  readonly worker: string;
  readonly informer: Informer<EngagedCluster>;
}

interface View {
  state: EngagedState;
  message: string | undefined;
  since: string;
  id: string | undefined;
  readonly graphs: Map<string, EngagedGraph>;
}

/** Changes come in swarms. */
const GATHER_MS = 500;
const MAX_MESSAGE = 500;

export function createViews(runtime: Runtime, options: ViewsOptions): Views {
  const { clock } = runtime;
  const { client, provider, worker, informer } = options;
  const views = new Map<ClusterName, View>();
  const loop = startController(runtime, {
    name: 'engaged clusters',
    concurrency: 4,
    reconcile: (cluster) => write(cluster as ClusterName),
  });

  /** What was known before goes on to hold until something else is told. */
  function viewOf(cluster: ClusterName): View {
    const found = views.get(cluster);
    if (found) return found;
    const before = informer.get('', objectNameOf(cluster))?.status;
    const made: View = {
      state: 'Engaging',
      message: undefined,
      since: formatTime(clock.now()),
      id: before?.id,
      graphs: new Map((before?.graphs ?? []).map((graph) => [graph.name, graph])),
    };
    views.set(cluster, made);
    return made;
  }

  function statusOf({ state, message, since, id, graphs }: View): EngagedStatus {
    return {
      state,
      since,
      ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) }),
      ...(state === 'Disengaged' ? {} : { worker, ...(id === undefined ? {} : { id }) }),
      ...(graphs.size === 0
        ? {}
        : { graphs: [...graphs.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)) }),
    };
  }

  async function write(cluster: ClusterName): Promise<void> {
    const view = views.get(cluster);
    if (!view) return;
    await show(cluster, view);
    // The last word on it: whoever engages it again begins anew.
    if (view.state === 'Disengaged' && views.get(cluster) === view) views.delete(cluster);
  }

  async function show(cluster: ClusterName, view: View): Promise<void> {
    const name = objectNameOf(cluster);
    const status = statusOf(view);
    const present = informer.get('', name);
    if (present && deepEqual(present.status as unknown, status as unknown)) return;
    if (!present) await create(cluster, name);
    const patch = [{ op: 'add', path: '/status', value: status as unknown as JsonObject }];
    try {
      await client.patch(ENGAGED_CLUSTERS, '', name, 'json', patch, { subresource: 'status' });
    } catch (error) {
      // Somebody deleted it: it is made again, with the next look.
      if (!hasCode(error, 404)) throw error;
      loop.enqueue(cluster, GATHER_MS);
    }
  }

  async function create(cluster: ClusterName, name: string): Promise<void> {
    await ignoring(
      409,
      client.create(ENGAGED_CLUSTERS, {
        apiVersion: apiVersionOf(ENGAGED_CLUSTER),
        kind: ENGAGED_CLUSTER.kind,
        metadata: { name },
        spec: { cluster, provider },
      }),
    );
  }

  return {
    state(cluster, state, message) {
      const view = viewOf(cluster);
      if (view.state !== state) view.since = formatTime(clock.now());
      view.state = state;
      view.message = message;
      // What is there is that of the other name.
      if (state === 'AlreadyEngaged') view.graphs.clear();
      loop.enqueue(cluster, GATHER_MS);
    },
    graph(cluster, name, report) {
      const { graphs } = viewOf(cluster);
      if (!report) {
        if (graphs.delete(name)) loop.enqueue(cluster);
        return;
      }
      graphs.set(name, graphOf(name, report));
      loop.enqueue(cluster, GATHER_MS);
    },
    async record(cluster, name) {
      const { graphs } = viewOf(cluster);
      if (
        graphs.has(name) &&
        (informer.get('', objectNameOf(cluster))?.status?.graphs ?? []).some((graph) => graph.name === name)
      )
        return;
      if (!graphs.has(name)) graphs.set(name, { name, state: 'Engaging' });
      await write(cluster);
    },
    async identify(cluster, id) {
      const view = viewOf(cluster);
      if (view.id === id && informer.get('', objectNameOf(cluster))?.status?.id === id) return;
      view.id = id;
      await write(cluster);
    },
    again(cluster) {
      if (views.has(cluster)) loop.enqueue(cluster, GATHER_MS);
    },
    leave: (cluster) => void views.delete(cluster),
    stop: () => loop.stop(),
  };
}

function graphOf(name: string, { state, revision, message, instances }: GraphOnEngaged): EngagedGraph {
  const worst = instances?.first;
  const said = message !== '' ? message : worst ? `${worst.name} is ${worst.state}: ${worst.message}` : '';
  return {
    name,
    state,
    ...(revision === undefined ? {} : { revision }),
    ...(instances === undefined ? {} : { instances: instances.total, active: instances.active }),
    ...(said === '' ? {} : { message: said.slice(0, MAX_MESSAGE) }),
  };
}
