import type { KubeObject } from '../../src/kube/object.ts';
import { stringAt } from '../../src/schema/json.ts';
import { enable, federated, federatedAt, openFederatedShop, propagation } from './federation.ts';
import { type SimulatedFleet, simulateFleet, storedBelow } from './fleet.ts';

export const onA: object = { placement: { clusters: [{ name: 'a' }] } };
export const onBoth: object = { placement: { clusters: [{ name: 'a' }, { name: 'b' }] } };

export function config(name: string, spec: object): KubeObject {
  return federated('ConfigMap', name, { template: { data: { colour: 'red' } }, ...spec });
}

export function deployment(replicas: number): object {
  return {
    metadata: { labels: { app: 'web' } },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web:1' }] },
      },
    },
  };
}

export function preference(spec: object): KubeObject {
  return {
    apiVersion: 'scheduling.kubefed.io/v1alpha1',
    kind: 'ReplicaSchedulingPreference',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { targetKind: 'FederatedDeployment', ...spec },
  };
}

/** A hub with these types enabled, and the federated namespace `shop` on all spokes. */
export async function federatedFleet(
  names: string[],
  kinds: string[],
  options: Parameters<typeof simulateFleet>[2] = {},
): Promise<SimulatedFleet> {
  const fleet = await simulateFleet(9, names, options);
  await enable(fleet, ['Namespace', ...kinds]);
  await openFederatedShop(fleet, names);
  return fleet;
}

/** What is said and seen of federated objects in `shop`, on the fleet that is there when it is said. Kinds are those of targets. */
export interface FederatedWords {
  /** The word for each cluster in the status. */
  words(kind: string, name: string): Record<string, string>;
  /** Waits for the status `is` of Propagation and these words for clusters. */
  until(kind: string, name: string, is: string, clusters: Record<string, string>): Promise<void>;
  /** The reasons of the events about it, in alphabetical order. */
  eventsOf(name: string): string[];
  /** A merge patch. */
  patch(kind: string, name: string, change: object): Promise<void>;
  remove(kind: string, name: string): Promise<void>;
}

export function federatedWords(present: () => SimulatedFleet): FederatedWords {
  const resourceOf = (kind: string): ReturnType<SimulatedFleet['hub']['client']['resourceFor']> =>
    present().hub.client.resourceFor('types.kubefed.io/v1beta1', `Federated${kind}`);
  return {
    words: (kind, name) => propagation(federatedAt(present(), kind, name)).clusters,
    async until(kind, name, is, clusters) {
      const wanted = JSON.stringify({ is, clusters });
      await present().until(
        () => JSON.stringify(propagation(federatedAt(present(), kind, name))) === wanted,
        `${name}: ${wanted}`,
        120_000,
      );
    },
    eventsOf: (name) =>
      storedBelow(present().hub, 'core/events/shop')
        .filter((event) => stringAt(event, 'involvedObject', 'name') === name)
        .map((event) => stringAt(event, 'reason') ?? '')
        .sort(),
    async patch(kind, name, change) {
      const fleet = present();
      const resource = await fleet.run(resourceOf(kind));
      await fleet.run(fleet.hub.client.patch(resource, 'shop', name, 'merge', change));
    },
    async remove(kind, name) {
      const fleet = present();
      const resource = await fleet.run(resourceOf(kind));
      await fleet.run(fleet.hub.client.delete(resource, 'shop', name));
    },
  };
}
