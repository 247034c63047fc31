import { BINDING, type Binding, CONTROL_GROUP } from '../../../dialects/kubestellar/index.ts';
import type { Client } from '../../../kube/client.ts';
import type { Informer } from '../../../kube/informer.ts';
import { parseApiVersion } from '../../../kube/object.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';
import type { Inventory } from '../../inventory/index.ts';
import type { IntentSource } from '../intent-source.ts';
import { startVanishedSweep } from '../kubefed/vanished.ts';
import type { IntentRecords } from '../records.ts';
import { bindingKey, openBindingSource } from './binding-source.ts';
import { openControlObjects } from './control.ts';
import { startInventoryViews } from './inventory-views.ts';
import { createListings } from './listings.ts';
import { startResolver } from './resolver.ts';
import { openWorkloadKinds } from './workload-kinds.ts';

export interface KubeStellarOptions {
  readonly client: Client;
  readonly inventory: Inventory;
  /** All CustomResourceDefinitions of the hub. */
  readonly definitions: Informer;
  readonly records: IntentRecords;
}

/** KubeStellar on a hub. */
export interface KubeStellar {
  /** Its intents. `onChange` hears of keys whose wish changed. */
  open(onChange: (key: string) => void): IntentSource<Binding>;
  stop(): Promise<void>;
}

export function startKubeStellar(runtime: Runtime, options: KubeStellarOptions): KubeStellar {
  const { client, inventory, definitions, records } = options;
  const listeners = new Set<(key: string) => void>();
  const listings = createListings();
  let stopped = false;

  const tell = (name: string): void => {
    for (const listener of listeners) listener(bindingKey(name));
  };
  const control = openControlObjects(runtime, {
    client,
    definitions,
    onObject(kind, change): void {
      if (kind === 'Binding') {
        const { type, object, previous } = change;
        const binding = type === 'deleted' ? undefined : (object as Binding);
        const isWish =
          type !== 'updated' ||
          !deepEqual(object['spec'], previous?.['spec']) ||
          !deepEqual(object.metadata.ownerReferences, previous?.metadata.ownerReferences) ||
          !deepEqual(object.metadata.annotations, previous?.metadata.annotations) ||
          object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp;
        const { name = '' } = object.metadata;
        if (isWish) {
          for (const other of listings.put(name, binding)) tell(other);
          if (type === 'deleted') sweep.lookAfter(bindingKey(name));
          kinds.open();
          tell(name);
        }
      }
      resolver.controlChanged(kind, change);
      if (kind === 'Location' || kind === 'SyncTarget') views.look();
    },
    onServed: look,
  });
  const kinds = openWorkloadKinds(runtime, {
    client,
    definitions,
    onObject: (kind, change) => resolver.objectChanged(kind, change),
    onKinds: look,
  });
  const resolver = startResolver(runtime, { client, control, kinds, inventory, onStanding: tell });
  const views = startInventoryViews(runtime, { client, control, inventory });
  const source = openBindingSource(runtime, { client, control, kinds, listings, records, resolver });
  const sweep = startVanishedSweep(runtime, client, records, [source as unknown as IntentSource], {
    name: 'kubestellar-vanished',
    // A policy makes another one at once: until the old one is ordered back, its clusters have an order of nobody.
    settlesMs: 0,
    isOurs: ({ kind, apiVersion }) =>
      kind === BINDING.kind && parseApiVersion(apiVersion).group === CONTROL_GROUP,
  });
  records.whenSynced().then(look, () => undefined);

  function look(): void {
    if (stopped || !control.used) return;
    resolver.lookAtAll();
    views.look();
    if (control.bindings.list().length > 0) kinds.open();
    if (!source.synced) return;
    for (const { metadata } of control.bindings.list()) tell(metadata.name ?? '');
  }

  return {
    open(onChange): IntentSource<Binding> {
      listeners.add(onChange);
      return source;
    },
    async stop(): Promise<void> {
      stopped = true;
      kinds.stop();
      sweep.stop();
      await Promise.all([control.stop(), resolver.stop(), views.stop()]);
    },
  };
}
