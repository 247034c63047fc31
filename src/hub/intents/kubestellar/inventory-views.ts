import {
  instancesOf,
  LOCATION,
  type Location,
  labelValueOf,
  SYNC_TARGET,
  type SyncTarget,
} from '../../../dialects/kubestellar/index.ts';
import type { Client } from '../../../kube/client.ts';
import { startController } from '../../../kube/controller-loop.ts';
import { apiVersionOf } from '../../../kube/custom-resource.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { ignoring } from '../../../kube/status-error.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';
import type { Inventory } from '../../inventory/index.ts';
import type { KindWatch } from '../../kubefed/index.ts';
import type { ControlObjects } from './control.ts';

/** On SyncTargets and Locations that are views of SpokeClusters. Those of others are never touched. */
export const VIEW_ANNOTATION = 'atoll.dev/view-of';
/** On SyncTargets that are views: the name of the cluster, as far as it fits. */
const CLUSTER_LABEL = 'atoll.dev/cluster';
const PASS = 'inventory';
const GATHER_MS = 50;
const NOT_SHOWN = new Set(['kubectl.kubernetes.io/last-applied-configuration', VIEW_ANNOTATION]);

/** Shows each SpokeCluster as a SyncTarget, and as a Location of its own where no other Location selects it. */
export interface InventoryViews {
  look(): void;
  stop(): Promise<void>;
}

export interface InventoryViewsOptions {
  readonly client: Client;
  readonly control: ControlObjects;
  readonly inventory: Inventory;
}

export function startInventoryViews(
  runtime: Runtime,
  { client, control, inventory }: InventoryViewsOptions,
): InventoryViews {
  const loop = startController(runtime, { name: 'kubestellar-inventory', reconcile: pass });
  const look = (): void => {
    if (control.locations.resource) loop.enqueue(PASS, GATHER_MS);
  };
  inventory.onChange(look);

  async function pass(): Promise<void> {
    const { locations, targets } = control;
    if (!control.synced || !locations.resource || !targets.resource) return;
    await inventory.whenSynced();
    const clusters = inventory.clusters();
    await keep(
      targets,
      clusters.map(({ name, labels }) => targetFor(name, labels, annotationsOf(inventory, name))),
    );
    const described = locations.list().filter((location) => !isView(location));
    const all = targets.list();
    const elsewhere = new Set(
      described.flatMap((location) => instancesOf(location, all)).map(({ metadata }) => metadata.name),
    );
    await keep(
      locations,
      clusters
        .filter(({ name }) => !elsewhere.has(name))
        .map(({ name, labels }) => locationFor(name, labels, annotationsOf(inventory, name))),
    );
    for (const location of locations.list()) await count(location, all);
  }

  /** What is a view and shows nothing any more goes; what somebody else made stays as it is. */
  async function keep<T extends KubeObject>(watch: KindWatch<T>, wanted: readonly T[]): Promise<void> {
    const { resource } = watch;
    if (!resource) return;
    const names = new Set(wanted.map(({ metadata }) => metadata.name ?? ''));
    for (const object of wanted) {
      const present = watch.get('', object.metadata.name ?? '');
      if (!present) await ignoring(409, client.create(resource, object));
      else if (isView(present) && differs(present, object))
        await ignoring(
          409,
          client.update(resource, {
            ...present,
            ...object,
            metadata: { ...present.metadata, ...object.metadata },
          }),
        );
    }
    for (const present of watch.list()) {
      const { name = '', uid = '' } = present.metadata;
      if (isView(present) && !names.has(name))
        await ignoring(404, client.delete(resource, '', name, { preconditions: { uid } }));
    }
  }

  async function count(location: Location, targets: readonly SyncTarget[]): Promise<void> {
    const { resource } = control.locations;
    const selected = instancesOf(location, targets);
    const status = {
      instances: selected.length,
      availableInstances: selected.filter(({ metadata }) => inventory.has(metadata.name ?? '')).length,
    };
    if (!resource || deepEqual(location['status'], status)) return;
    await ignoring(
      404,
      client.patch(
        resource,
        '',
        location.metadata.name ?? '',
        'merge',
        { status },
        { subresource: 'status' },
      ),
    );
  }

  return { look, stop: () => loop.stop() };
}

/**
 * A cluster of the inventory that is not to be seen as SyncTarget or Location now, though it will be: somebody took away what shows
 * it, which says nothing of the cluster.
 */
export function unshownCluster(
  clusters: readonly { readonly name: string }[],
  locations: readonly Location[],
  targets: readonly SyncTarget[],
): string | undefined {
  const known = new Set(targets.map(({ metadata }) => metadata.name));
  const described = locations.filter((location) => !isView(location));
  const located = new Set(
    [...locations, ...described.flatMap((location) => instancesOf(location, targets))].map(
      ({ metadata }) => metadata.name,
    ),
  );
  return clusters.find(({ name }) => !known.has(name) || !located.has(name))?.name;
}

function targetFor(
  name: string,
  labels: Readonly<Record<string, string>>,
  annotations: Record<string, string>,
): SyncTarget {
  return {
    apiVersion: apiVersionOf(SYNC_TARGET),
    kind: SYNC_TARGET.kind,
    metadata: {
      name,
      labels: { ...labels, [CLUSTER_LABEL]: labelValueOf(name) },
      annotations: { ...annotations, [VIEW_ANNOTATION]: 'SpokeCluster' },
    },
    spec: {},
  };
}

function locationFor(
  name: string,
  labels: Readonly<Record<string, string>>,
  annotations: Record<string, string>,
): Location {
  return {
    apiVersion: apiVersionOf(LOCATION),
    kind: LOCATION.kind,
    metadata: {
      name,
      labels: { ...labels },
      annotations: { ...annotations, [VIEW_ANNOTATION]: 'SpokeCluster' },
    },
    spec: { instanceSelector: { matchLabels: { [CLUSTER_LABEL]: labelValueOf(name) } } },
  };
}

function annotationsOf(inventory: Inventory, name: string): Record<string, string> {
  const all = inventory.get(name)?.metadata.annotations ?? {};
  return Object.fromEntries(Object.entries(all).filter(([key]) => !NOT_SHOWN.has(key)));
}

function isView({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[VIEW_ANNOTATION] !== undefined;
}

function differs(present: KubeObject, wanted: KubeObject): boolean {
  return (
    !deepEqual(present.metadata.labels ?? {}, wanted.metadata.labels ?? {}) ||
    !deepEqual(present.metadata.annotations ?? {}, wanted.metadata.annotations ?? {}) ||
    !deepEqual(present['spec'] ?? {}, wanted['spec'] ?? {})
  );
}
