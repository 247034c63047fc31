import type { EngagedWork, GraphOnEngaged } from '../../dialects/kro/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import { createClient } from '../../kube/rest-client.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { HubDefinitions } from './hub-definitions.ts';
import { type ClusterWay, type KeptConnection, keepConnected } from './kept-connection.ts';
import { onceOnly } from './once-only.ts';
import type { ClusterAccess } from './provider.ts';
import type { Twins } from './twins.ts';
import type { Views } from './views.ts';

/** What is to be done on a cluster, with the way to it. */
export interface ClusterWork extends EngagedWork {
  readonly client: Client;
  /** With whose rights objects of instances are written; those of `client` where nothing is said. */
  readonly actFor?: (definition: string, namespace: string) => Client;
}

/** Runs graphs on a cluster. It waits for nothing, and stops without touching what is there. */
export type ClusterRunner = (runtime: Runtime, work: ClusterWork) => { stop(): Promise<void> };

/** Whom instances of a definition in a namespace are carried out as. */
export type ActAs = (definition: string, namespace: string) => string;

export interface ClusterRunOptions {
  /** Different for each hub. */
  readonly hub: string;
  readonly definitions: HubDefinitions;
  readonly views: Views;
  readonly twins: Twins;
  readonly runner: ClusterRunner;
  readonly actAs?: ActAs;
}

/** The graphs of the hub on one cluster, for as long as it is engaged. */
export function startClusterRun(
  base: Runtime,
  cluster: ClusterName,
  first: ClusterAccess,
  { hub, definitions, views, twins, runner, actAs }: ClusterRunOptions,
): KeptConnection {
  const runtime = { ...base, log: base.log.with({ cluster }) };
  let stopped = false;

  function begin(way: ClusterWay): { stop(): Promise<void> } {
    const { client, tell } = way;
    // Parts of one API server are clusters of their own.
    if (way.access.view) return run(way);
    return onceOnly(runtime, { cluster, twins, client, tell, begin: () => run(way) });
  }

  function run({ access, client, handler, tell }: ClusterWay): { stop(): Promise<void> } {
    const seen = (of: Client): Client => access.view?.(of) ?? of;
    const acting = actingClients(handler, client);
    return runner(base, {
      cluster,
      hub,
      client: seen(client),
      source: definitions.for({ name: cluster, labels: access.labels }, (name) =>
        views.record(cluster, name),
      ),
      reports: {
        graph: (name: string, report: GraphOnEngaged | undefined) => {
          if (!stopped) views.graph(cluster, name, report);
        },
        state: tell,
      },
      ...(actAs && { actFor: (definition, namespace) => seen(acting(actAs(definition, namespace))) }),
    });
  }

  const kept = keepConnected(runtime, first, {
    show: (state, message) => views.state(cluster, state, message),
    begin,
  });
  return {
    use: kept.use,
    stop() {
      stopped = true;
      return kept.stop();
    },
  };
}

/** Users that a client is kept for. */
const MAX_USERS = 1_000;

/** Clients with the rights of others, over the connection of one that may `impersonate` them. */
export function actingClients(
  handler: ClusterWay['handler'],
  direct: Pick<Client, 'resourceFor'>,
): (user: string) => Client {
  const users = new Map<string, Client>();
  return (user) => {
    const found = users.get(user);
    if (found) return found;
    const acting = createClient(
      ({ headers, ...request }) => handler({ ...request, headers: { ...headers, 'impersonate-user': user } }),
      { userAgent: 'atoll-hub' },
    );
    // What the cluster serves is the same for all.
    const made = { ...acting, resourceFor: direct.resourceFor };
    if (users.size >= MAX_USERS) users.clear();
    users.set(user, made);
    return made;
  };
}
