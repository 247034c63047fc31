import type { ResourceId } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, namespaces } from '../../src/kube/well-known.ts';
import { PROPAGATIONS, type SimulatedCluster, type SimulatedFleet, stored } from './fleet.ts';

/** What most scenarios work with: a namespace `shop` with config maps and one Propagation over them. */

export function configMap(name: string, colour: string, labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', labels },
    data: { colour },
  };
}

export function propagation(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Propagation',
    metadata: { name, namespace: 'shop' },
    spec: {
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }],
      placement: { clusterSelector: {} },
      ...spec,
    },
  };
}

/** Creates the namespace, objects and, unless `spec` is null, the Propagation on the hub. */
export async function openShop(
  fleet: SimulatedFleet,
  objects: readonly KubeObject[] = [configMap('settings', 'red')],
  spec: object | null = {},
): Promise<void> {
  const { client } = fleet.hub;
  await fleet.run(
    client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
  );
  for (const object of objects)
    await fleet.run(
      client.create(await fleet.run(client.resourceFor(object.apiVersion, object.kind)), object),
    );
  if (spec !== null) await fleet.run(client.create(PROPAGATIONS, propagation('shop', spec)));
}

/** The colour of a config map in `shop`, or '' where there is none. */
export function colour(target: SimulatedCluster, name: string = 'settings'): string {
  const map = stored(target, `core/configmaps/shop/${name}`);
  return (map?.['data'] as Record<string, string> | undefined)?.['colour'] ?? '';
}

export async function paint(
  fleet: SimulatedFleet,
  target: SimulatedCluster,
  value: string,
  name: string = 'settings',
): Promise<void> {
  await fleet.run(target.client.patch(configMaps, 'shop', name, 'merge', { data: { colour: value } }));
}

export async function merge(
  fleet: SimulatedFleet,
  target: SimulatedCluster,
  resource: ResourceId,
  namespace: string,
  name: string,
  patch: object,
): Promise<KubeObject> {
  return fleet.run(target.client.patch(resource, namespace, name, 'merge', patch));
}

/** A field of the Propagation's status. */
export function shopStatus(fleet: SimulatedFleet, name: string = 'shop'): Record<string, unknown> {
  const object = stored(fleet.hub, `atoll.dev/propagations/shop/${name}`);
  return (object?.['status'] ?? {}) as Record<string, unknown>;
}

export function shop(fleet: SimulatedFleet, name: string = 'shop'): KubeObject | undefined {
  return stored(fleet.hub, `atoll.dev/propagations/shop/${name}`);
}

/** Waits until the Propagation is applied and healthy everywhere. */
export async function ready(fleet: SimulatedFleet, clusters: number, name: string = 'shop'): Promise<void> {
  await fleet.until(() => {
    const object = shop(fleet, name);
    const status = shopStatus(fleet, name);
    return (
      status['ready'] === clusters &&
      status['clusters'] === clusters &&
      status['observedGeneration'] === object?.metadata.generation
    );
  }, `${name} ready on ${clusters} clusters`);
}
