import type { Client } from '../../kube/client.ts';
import type { Resolve } from '../../kube/cluster-endpoint.ts';
import { type EventRecorder, startEventRecorder } from '../../kube/events.ts';
import type { Informer } from '../../kube/informer.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Fleet } from '../fleet.ts';
import type { IntentRecords } from '../intents/records.ts';
import type { Inventory } from '../inventory/index.ts';
import { startClusters } from './clusters.ts';
import { startCollectedStatus } from './collected-status.ts';
import { type ControlPlane, openControlPlane } from './control-plane.ts';
import { startDns } from './dns.ts';
import { type Early, openEarly } from './early.ts';
import { type Federation, openFederation } from './federation.ts';
import { openRemote, type Remote } from './remote.ts';
import { startTypeConfigs } from './type-configs.ts';

export interface KubeFedOptions {
  readonly client: Client;
  readonly fleet: Fleet;
  readonly inventory: Inventory;
  /** All CustomResourceDefinitions of the hub. */
  readonly definitions: Informer;
  readonly records: IntentRecords;
  /** Looks a host name up. */
  readonly resolve: Resolve;
}

/** KubeFed on a hub. */
export interface KubeFed {
  readonly controlPlane: ControlPlane;
  readonly federation: Federation;
  readonly early: Early;
  readonly remote: Remote;
  readonly events: EventRecorder;
  /** Whether what objects say of their author is the API server's word. */
  readonly authorsBelieved: boolean;
  stop(): Promise<void>;
}

export async function startKubeFed(runtime: Runtime, options: KubeFedOptions): Promise<KubeFed> {
  const { client, fleet, inventory, definitions, records, resolve } = options;
  const told = startEventRecorder(runtime, client, { component: 'kubefed' });
  const controlPlane = openControlPlane(runtime, { client, definitions, events: told });
  const federation = openFederation(runtime, { controlPlane, definitions, records });
  const early = openEarly(runtime, { controlPlane, definitions, records });
  const remote = openRemote(runtime, { fleet, onNews: (key) => federation.touch(key) });
  const events = startEventRecorder(runtime, controlPlane.client, { component: 'kubefed' });
  const types = await startTypeConfigs(runtime, { client, controlPlane, definitions, federation });
  const clusters = startClusters(runtime, {
    inventoryClient: client,
    controlPlane,
    definitions,
    federation,
    events,
  });
  const dns = startDns(runtime, { controlPlane, definitions, federation, inventory, remote, resolve });
  const collected = startCollectedStatus(runtime, {
    definer: client,
    client: controlPlane.client,
    federation,
    records,
    remote,
  });
  return {
    controlPlane,
    federation,
    early,
    remote,
    events,
    get authorsBelieved() {
      return types.authorsBelieved;
    },
    async stop(): Promise<void> {
      federation.stop();
      early.stop();
      events.stop();
      told.stop();
      await Promise.all([types, clusters, dns, collected, remote, controlPlane].map((part) => part.stop()));
    },
  };
}
