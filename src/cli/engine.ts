import { GRAPH } from '../dialects/kro/graph-kind.ts';
import { HUB_OBJECT_KIND, HUB_REPLY_KIND } from '../dialects/kro/hub-object.ts';
import { GRAPH_REVISION, RESOURCE_GRAPH_DEFINITION } from '../dialects/kro/kinds.ts';
import { REMOTE_OBJECT_KIND } from '../dialects/kro/remote-object.ts';
import { GRAPH_ROLLOUT } from '../dialects/kro/rollout.ts';
import { CLUSTER, SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import { CLUSTER_PROPAGATION, PROPAGATION } from '../dialects/propagation/kinds.ts';
import { SPOKE_CONTRACT } from '../engine/contract/kind.ts';
import { BUNDLE, DISPATCH, OWNERSHIP_RECORD, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import { RESOURCE_RULE } from '../engine/rules/kind.ts';
import type { Access, AccessRules } from '../hub/access/index.ts';
import type { CredentialOptions } from '../hub/credential/index.ts';
import type { Hub } from '../hub/hub.ts';
import { INTENT_RECORD } from '../hub/intents/records.ts';
import type { LinkSource } from '../hub/inventory/index.ts';
import type { SchedulerPlugin } from '../hub/placement/index.ts';
import { PLACEMENT_POLICY } from '../hub/placement/policies.ts';
import { CLUSTER_TAINT_POLICY } from '../hub/placement/taint-policies.ts';
import { REBALANCE } from '../hub/propagate/rebalances.ts';
import { RETRACTION } from '../hub/propagate/retractions.ts';
import type { ClusterProvider } from '../hub/provision/index.ts';
import { INCIDENT } from '../hub/rollouts/incidents.ts';
import { INTENT_REVISION, INTENT_ROLLOUT, ROLLOUT_ACTION } from '../hub/rollouts/kinds.ts';
import { ANALYSIS_PROVIDER, type OpenEndpoint } from '../hub/rollouts/measuring.ts';
import type { Client } from '../kube/client.ts';
import { startController } from '../kube/controller-loop.ts';
import { type CustomKind, installKinds, resourceIdOf } from '../kube/custom-resource.ts';
import type { Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { GraphSettings, Graphs } from '../spoke/graphs/index.ts';
import { grantHubAccess } from '../spoke/hub-access.ts';
import type { Spoke } from '../spoke/spoke.ts';

/** Every kind that the engine reads or writes. */
export const ENGINE_KINDS: readonly CustomKind[] = [
  SPOKE_CLUSTER,
  CLUSTER,
  PROPAGATION,
  CLUSTER_PROPAGATION,
  RETRACTION,
  PLACEMENT_POLICY,
  CLUSTER_TAINT_POLICY,
  REBALANCE,
  INTENT_ROLLOUT,
  INTENT_REVISION,
  ROLLOUT_ACTION,
  ANALYSIS_PROVIDER,
  INCIDENT,
  INTENT_RECORD,
  DISPATCH,
  BUNDLE,
  OWNERSHIP_RECORD,
  RESOURCE_RULE,
  SPOKE_CONTRACT,
  RESOURCE_GRAPH_DEFINITION,
  GRAPH_REVISION,
  GRAPH,
  GRAPH_ROLLOUT,
  REMOTE_OBJECT_KIND,
  HUB_OBJECT_KIND,
  HUB_REPLY_KIND,
];

export interface EngineOptions {
  /** The name of the cluster that the engine runs on, as its hub knows it. */
  readonly name: string;
  readonly client: Client;
  readonly version: string;
  readonly links: LinkSource;
  readonly credentials: CredentialOptions;
  /** Roles that start at once; without them a role starts with the first object that asks for it. */
  readonly roles?: { readonly hub?: boolean; readonly spoke?: boolean };
  /** What people may do on the spokes of this hub without a grant. False where the process lets them in apart from the engine. */
  readonly access?: AccessRules | false;
  /** Whether the hub of this cluster was pinned when it joined; see `SpokeOptions`. */
  readonly pinned?: boolean;
  readonly graphs?: GraphSettings;
  /** Whether the API server surely has all kinds of the engine and the rights of its hub already: then nobody looks. */
  readonly kindsInstalled?: boolean;
  /** Rules that the hub places by, beside its own. */
  readonly schedulerPlugins?: readonly SchedulerPlugin[];
  /** How servers are reached that measure metrics; see `HubOptions`. */
  readonly openEndpoint?: OpenEndpoint;
  /** Makes clusters for a hub; see `HubOptions`. */
  readonly provider?: ClusterProvider;
}

export interface Engine {
  hub(): Hub | undefined;
  /** The way of users to the spokes, once this is a hub. */
  access(): Access | undefined;
  spoke(): Spoke | undefined;
  stop(): Promise<void>;
}

/** A process loads what its roles need, and no more: most of the memory of a small spoke is code. */
const loadRole = {
  hub: async () => Promise.all([import('../hub/hub.ts'), import('../hub/access/index.ts')]),
  policies: async () => import('../hub/policies/index.ts'),
  spoke: async () => import('../spoke/spoke.ts'),
  graphs: async () => import('../spoke/graphs/index.ts'),
};

/** Loads the code of all roles now, for whoever cannot wait for it later: a virtual clock does not know of files being read. */
export async function loadRoles(): Promise<void> {
  await Promise.all(Object.values(loadRole).map((load) => load()));
}

/**
 * The one engine. The objects on a cluster decide its role: SpokeClusters make it a hub, Dispatches make it a spoke, both
 * make it the middle of a tree; ResourceGraphDefinitions make it run graphs, whatever else it is. Roles start when their first
 * object appears and stay.
 */
export async function startEngine(runtime: Runtime, options: EngineOptions): Promise<Engine> {
  const { client } = options;
  if (options.kindsInstalled !== true) {
    await installKinds(runtime.clock, client, ENGINE_KINDS);
    await grantHubAccess(client, (refused) =>
      runtime.log.warn('rights of others are left as they are', {
        why: `${refused.message}; apply what \`atoll hub rights\` prints now, or on a spoke \`atoll join -o yaml\``,
      }),
    );
  }
  // What is written before the first cluster joins has an author as well.
  if (!options.roles?.hub && !options.roles?.spoke) {
    const { installPolicies } = await loadRole.policies();
    await installPolicies(client, runtime.log);
  }
  const started: { hub?: Promise<Hub>; spoke?: Promise<Spoke> } = {};
  const running: { hub?: Hub; access?: Access; spoke?: Spoke; graphs?: Graphs } = {};
  const watches: Informer[] = [];
  let stopped = false;

  /** Nobody waits for what is starting when the engine is stopped: it is stopped once it runs. */
  async function unlessStopped<T extends { stop(): unknown }>(starting: Promise<T>): Promise<T> {
    const part = await starting;
    if (!stopped) return part;
    await part.stop();
    throw new Error('the engine was stopped');
  }

  async function startHubRole(): Promise<Hub> {
    const [{ startHub }, { sessionMembers, startAccess }] = await loadRole.hub();
    const { links, credentials, schedulerPlugins = [], openEndpoint, provider } = options;
    // It may be there already, and only the way of users not: two would give orders side by side.
    running.hub ??= await unlessStopped(
      startHub(runtime, {
        client,
        links,
        credentials,
        schedulerPlugins,
        ...(openEndpoint === undefined ? {} : { openEndpoint }),
        ...(provider === undefined ? {} : { provider }),
      }),
    );
    const { hub } = running;
    if (options.access !== false)
      running.access = await unlessStopped(
        startAccess(runtime, {
          client,
          members: sessionMembers(hub.fleet, hub.inventory, links.tunnel),
          ...(options.access === undefined ? {} : { rules: options.access }),
        }),
      );
    return hub;
  }
  async function startSpokeRole(): Promise<Spoke> {
    const { startSpoke } = await loadRole.spoke();
    const { name, version, pinned = false } = options;
    running.spoke = await unlessStopped(startSpoke(runtime, { name, client, version, pinned }));
    return running.spoke;
  }
  function beHub(): Promise<Hub> {
    started.hub ??= startHubRole().catch((error: unknown) => {
      delete started.hub;
      throw error;
    });
    return started.hub;
  }
  function beSpoke(): Promise<Spoke> {
    started.spoke ??= startSpokeRole().catch((error: unknown) => {
      delete started.spoke;
      throw error;
    });
    return started.spoke;
  }
  async function runGraphs(): Promise<void> {
    const { startGraphs } = await loadRole.graphs();
    if (stopped) return;
    running.graphs ??= startGraphs(runtime, {
      ...options.graphs,
      client,
      version: options.version,
      cluster: options.name,
    });
  }
  /** What keeps a role from starting, such as an API server that is away, may be over soon. */
  const begin = { hub: beHub, spoke: beSpoke, graphs: runGraphs };
  const beginning = startController(runtime, {
    name: 'begin',
    concurrency: 3,
    async reconcile(role: string): Promise<undefined> {
      await begin[role as keyof typeof begin]();
    },
  });
  function onFirst(informer: Informer, role: keyof typeof begin): void {
    watches.push(informer);
    informer.onChange(() => {
      informer.stop();
      beginning.enqueue(role);
    });
  }

  async function stop(): Promise<void> {
    stopped = true;
    for (const watch of watches) watch.stop();
    // Nobody waits for it: a role that is starting may itself be waiting for an API server that never answers.
    void beginning.stop();
    running.access?.stop();
    await Promise.all([running.hub?.stop(), running.spoke?.stop(), running.graphs?.stop()]);
  }

  try {
    if (options.roles?.hub) await beHub();
    else onFirst(startInformer(runtime, client, resourceIdOf(SPOKE_CLUSTER)), 'hub');
    if (options.roles?.spoke) await beSpoke();
    else
      onFirst(
        startInformer(runtime, client, resourceIdOf(DISPATCH), { namespace: SYSTEM_NAMESPACE }),
        'spoke',
      );

    for (const kind of [RESOURCE_GRAPH_DEFINITION, GRAPH])
      onFirst(startInformer(runtime, client, resourceIdOf(kind)), 'graphs');
  } catch (error) {
    // Whoever tries again must not have two of what has been started by now.
    await stop();
    throw error;
  }

  return {
    hub: () => running.hub,
    access: () => running.access,
    spoke: () => running.spoke,
    stop,
  };
}
