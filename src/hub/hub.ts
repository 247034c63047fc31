import type { Client } from '../kube/client.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { customResourceDefinitions } from '../kube/well-known.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CredentialOptions } from './credential/index.ts';
import { hubIdentity } from './dispatch/identity.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { startGraphTargets } from './graphs/index.ts';
import { startKubeStellar } from './intents/kubestellar/index.ts';
import { openIntentRecords } from './intents/records.ts';
import { type Inventory, type LinkSource, startInventory } from './inventory/index.ts';
import { followJoins, type Joins } from './join/index.ts';
import { startKubeFed } from './kubefed/index.ts';
import { type HubMode, openHubMode } from './mode.ts';
import { installOverridePolicies } from './overrides/index.ts';
import type { SchedulerPlugin } from './placement/index.ts';
import { installPolicies } from './policies/index.ts';
import { startPropagator } from './propagate/propagate.ts';
import type { ClusterProvider } from './provision/index.ts';
import { createMeasure, type OpenEndpoint } from './rollouts/index.ts';

export interface HubOptions {
  /** The hub's own API server, embedded or real. */
  readonly client: Client;
  readonly links: LinkSource;
  readonly credentials: CredentialOptions;
  /** Rules for placing beside those of the engine. */
  readonly schedulerPlugins?: readonly SchedulerPlugin[];
  /** How servers are reached that measure metrics; over the network where nothing is said. */
  readonly openEndpoint?: OpenEndpoint;
  /** Makes clusters with `mode: provision`; nothing does where nothing is said. */
  readonly provider?: ClusterProvider;
}

export interface Hub {
  readonly fleet: Fleet;
  readonly inventory: Inventory;
  readonly mode: HubMode;
  readonly joins: Joins;
  stop(): Promise<void>;
}

/** The hub's side of the engine: inventory, decisions, dispatch, observation. Its kinds must be served already. */
export async function startHub(runtime: Runtime, options: HubOptions): Promise<Hub> {
  const identity = await hubIdentity(runtime, options.client);
  const policies = await installPolicies(options.client, runtime.log);
  const overridesAuthored = await installOverridePolicies(runtime, options.client);
  const mode = openHubMode(runtime, options.client, identity.epoch);
  await mode.whenKnown();
  const fleet = createFleet(runtime);
  const inventory = startInventory(
    runtime,
    options.client,
    fleet,
    options.links,
    options.credentials,
    options.provider,
  );
  const joins = followJoins(runtime, options.client);
  const definitions = startInformer(runtime, options.client, customResourceDefinitions);
  const records = openIntentRecords(runtime, options.client);
  const graphTargets = startGraphTargets(runtime, { client: options.client, fleet, inventory, records });
  const kubefed = await startKubeFed(runtime, {
    client: options.client,
    fleet,
    inventory,
    definitions,
    records,
    resolve: options.credentials.resolve,
  });
  const kubestellar = startKubeStellar(runtime, { client: options.client, inventory, definitions, records });
  const measure = createMeasure({
    client: options.client,
    clock: runtime.clock,
    resolve: options.credentials.resolve,
    rules: options.credentials.rules,
    ...(options.openEndpoint === undefined ? {} : { open: options.openEndpoint }),
  });
  const propagator = startPropagator(runtime, {
    client: options.client,
    identity,
    fleet,
    inventory,
    mode,
    policies,
    definitions,
    dialects: { records, kubefed, kubestellar },
    plugins: options.schedulerPlugins ?? [],
    measure,
    overridesAuthored,
  });
  return {
    fleet,
    inventory,
    mode,
    joins,
    async stop(): Promise<void> {
      await Promise.all([
        propagator.stop(),
        kubefed.stop(),
        kubestellar.stop(),
        graphTargets.stop(),
        inventory.stop(),
        joins.stop(),
      ]);
      records.stop();
      definitions.stop();
      mode.stop();
      fleet.stop();
    },
  };
}
