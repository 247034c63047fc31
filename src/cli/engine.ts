import { GRAPH_REVISION, RESOURCE_GRAPH_DEFINITION } from '../dialects/kro/index.ts';
import { CLUSTER, SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import { CLUSTER_PROPAGATION, PROPAGATION } from '../dialects/propagation/kinds.ts';
import { SPOKE_CONTRACT } from '../engine/contract/index.ts';
import { BUNDLE, DISPATCH, OWNERSHIP_RECORD, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import { RESOURCE_RULE } from '../engine/rules/index.ts';
import { type Access, type AccessRules, startAccess } from '../hub/access/index.ts';
import type { CredentialOptions } from '../hub/credential/index.ts';
import { type Hub, startHub } from '../hub/hub.ts';
import type { LinkSource } from '../hub/inventory.ts';
import { installPolicies } from '../hub/policies/index.ts';
import { RETRACTION } from '../hub/retractions.ts';
import type { Client } from '../kube/client.ts';
import { type CustomKind, installKinds, resourceIdOf } from '../kube/custom-resource.ts';
import type { Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type Graphs, startGraphs } from '../spoke/graphs/index.ts';
import { grantHubAccess } from '../spoke/hub-access.ts';
import { type Spoke, startSpoke } from '../spoke/spoke.ts';

/** Every kind that the engine reads or writes. */
export const ENGINE_KINDS: readonly CustomKind[] = [
  SPOKE_CLUSTER,
  CLUSTER,
  PROPAGATION,
  CLUSTER_PROPAGATION,
  RETRACTION,
  DISPATCH,
  BUNDLE,
  OWNERSHIP_RECORD,
  RESOURCE_RULE,
  SPOKE_CONTRACT,
  RESOURCE_GRAPH_DEFINITION,
  GRAPH_REVISION,
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
  /** What people may do on the spokes of this hub without a grant. */
  readonly access?: AccessRules;
  /** Whether the hub of this cluster was pinned when it joined; see `SpokeOptions`. */
  readonly pinned?: boolean;
}

export interface Engine {
  hub(): Hub | undefined;
  /** The way of users to the spokes, once this is a hub. */
  access(): Access | undefined;
  spoke(): Spoke | undefined;
  stop(): Promise<void>;
}

/**
 * The one engine. The objects on a cluster decide its role: SpokeClusters make it a hub, Dispatches make it a spoke, both
 * make it the middle of a tree; ResourceGraphDefinitions make it run graphs, whatever else it is. Roles start when their first
 * object appears and stay.
 */
export async function startEngine(runtime: Runtime, options: EngineOptions): Promise<Engine> {
  const { client } = options;
  await installKinds(runtime.clock, client, ENGINE_KINDS);
  await grantHubAccess(client);
  // What is written before the first cluster joins has an author as well.
  if (!options.roles?.hub && !options.roles?.spoke) await installPolicies(client, runtime.log);
  const started: { hub?: Promise<Hub>; spoke?: Promise<Spoke> } = {};
  const running: { hub?: Hub; access?: Access; spoke?: Spoke; graphs?: Graphs } = {};
  const watches: Informer[] = [];

  function beHub(): Promise<Hub> {
    started.hub ??= startHub(runtime, {
      client,
      links: options.links,
      credentials: options.credentials,
    }).then(async (hub) => {
      running.hub = hub;
      const { fleet, inventory } = hub;
      running.access = await startAccess(runtime, {
        client,
        fleet,
        inventory,
        tunnel: options.links.tunnel,
        ...(options.access === undefined ? {} : { rules: options.access }),
      });
      return hub;
    });
    return started.hub;
  }
  function beSpoke(): Promise<Spoke> {
    started.spoke ??= startSpoke(runtime, {
      name: options.name,
      client,
      version: options.version,
      pinned: options.pinned ?? false,
    }).then((spoke) => {
      running.spoke = spoke;
      return spoke;
    });
    return started.spoke;
  }
  async function runGraphs(): Promise<void> {
    running.graphs ??= startGraphs(runtime, { client, version: options.version });
  }
  function onFirst(informer: Informer, role: string, begin: () => Promise<unknown>): void {
    watches.push(informer);
    informer.onChange(() => {
      informer.stop();
      begin().catch((error: unknown) =>
        runtime.log.error('a role could not start', { role, why: errorText(error) }),
      );
    });
  }

  if (options.roles?.hub) await beHub();
  else onFirst(startInformer(runtime, client, resourceIdOf(SPOKE_CLUSTER)), 'hub', beHub);
  if (options.roles?.spoke) await beSpoke();
  else
    onFirst(
      startInformer(runtime, client, resourceIdOf(DISPATCH), { namespace: SYSTEM_NAMESPACE }),
      'spoke',
      beSpoke,
    );

  onFirst(startInformer(runtime, client, resourceIdOf(RESOURCE_GRAPH_DEFINITION)), 'graphs', runGraphs);

  return {
    hub: () => running.hub,
    access: () => running.access,
    spoke: () => running.spoke,
    async stop(): Promise<void> {
      for (const watch of watches) watch.stop();
      running.access?.stop();
      await Promise.all([running.hub?.stop(), running.spoke?.stop(), running.graphs?.stop()]);
    },
  };
}
