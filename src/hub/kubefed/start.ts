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
  const federation = openFederation(runtime, { client, definitions, records });
  const early = openEarly(runtime, { client, definitions, records });
  const remote = openRemote(runtime, { fleet, onNews: (key) => federation.touch(key) });
  const events = startEventRecorder(runtime, client, { component: 'kubefed' });
  const types = await startTypeConfigs(runtime, { client, definitions, federation });
  const clusters = startClusters(runtime, { client, definitions, federation, events });
  const dns = startDns(runtime, { client, definitions, federation, inventory, remote, resolve });
  const collected = startCollectedStatus(runtime, { client, federation, records, remote });
  return {
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
      await Promise.all([types, clusters, dns, collected, remote].map((part) => part.stop()));
    },
  };
}
