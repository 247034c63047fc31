import type { Client } from '../kube/client.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CredentialOptions } from './credential/index.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { hubIdentity } from './identity.ts';
import { type Inventory, type LinkSource, startInventory } from './inventory.ts';
import { followJoins, type Joins } from './join/index.ts';
import { type HubMode, openHubMode } from './mode.ts';
import { installPolicies } from './policies/index.ts';
import { startPropagator } from './propagate.ts';

export interface HubOptions {
  /** The hub's own API server, embedded or real. */
  readonly client: Client;
  readonly links: LinkSource;
  readonly credentials: CredentialOptions;
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
  const mode = openHubMode(runtime, options.client);
  await mode.whenKnown();
  const fleet = createFleet(runtime);
  const inventory = startInventory(runtime, options.client, fleet, options.links, options.credentials);
  const joins = followJoins(runtime, options.client);
  const propagator = startPropagator(runtime, options.client, identity, fleet, inventory, mode, policies);
  return {
    fleet,
    inventory,
    mode,
    joins,
    async stop(): Promise<void> {
      await Promise.all([propagator.stop(), inventory.stop(), joins.stop()]);
      mode.stop();
      fleet.stop();
    },
  };
}
