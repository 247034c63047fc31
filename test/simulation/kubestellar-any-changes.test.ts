import { afterEach, beforeEach, describe, it } from 'vitest';
import { BINDING_POLICY } from '../../src/dialects/kubestellar/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { configMaps, namespaces } from '../../src/kube/well-known.ts';
import { seededRandom } from '../../src/runtime/index.ts';
import { makeNamespace } from './federation.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, storedBelow } from './fleet.ts';
import { type ChurnPolicy, churnObject, churnOracle, expectedOn } from './kubestellar-churn.ts';
import { kubestellarFleet, kubestellarWords } from './kubestellar-words.ts';
import { merge } from './shop.ts';

const POLICIES = resourceIdOf(BINDING_POLICY);

let fleet: SimulatedFleet;
beforeEach(async () => {
  fleet = await kubestellarFleet();
});
afterEach(async () => fleet?.stop());
const { apply, policyOf } = kubestellarWords(() => fleet);

describe('any changes, with a hub that is killed now and then', () => {
  it('end in the right set', async () => {
    const random = seededRandom(11);
    const one = <T>(...values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;
    const oracle = churnOracle();
    const held = (cluster: string): string[] =>
      ['n1', 'n2'].flatMap((namespace) =>
        storedBelow(fleet.spoke(cluster), `core/configmaps/${namespace}`)
          .map(({ metadata }) => `${namespace}/${metadata.name}`)
          .filter((key) => !key.endsWith('kube-root-ca.crt')),
      );
    const steps = {
      async map(): Promise<void> {
        const [namespace, name, l] = [one('n1', 'n2'), one('x', 'y', 'z'), one('x', 'y')];
        oracle.maps.set(`${namespace}/${name}`, { l });
        await apply({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, namespace, labels: { l } },
        });
      },
      async noMap(): Promise<void> {
        const key = one(...oracle.maps.keys(), '');
        if (!oracle.maps.delete(key)) return;
        const [namespace = '', name = ''] = key.split('/');
        await fleet.run(fleet.hub.client.delete(configMaps, namespace, name));
      },
      async namespace(): Promise<void> {
        const [name, l] = [one('n1', 'n2'), one('x', 'y')];
        oracle.namespaces.set(name, { l });
        await merge(fleet, fleet.hub, namespaces, '', name, { metadata: { labels: { l } } });
      },
      async cluster(): Promise<void> {
        const [name, tier] = [one('a', 'b'), one('0', '1')];
        oracle.clusters.set(name, { tier });
        await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels: { tier } } });
      },
      async policy(): Promise<void> {
        const name = one('p', 'q');
        // One of its name that is going is another.
        if (policyOf(name)?.metadata.deletionTimestamp !== undefined) return;
        const wish: ChurnPolicy = {
          tier: one('*', '0', '1'),
          by: one('label', 'namespace', 'name'),
          value: one('x', 'y'),
        };
        oracle.policies.set(name, wish);
        await apply(churnObject(name, wish));
      },
      async noPolicy(): Promise<void> {
        const name = one('p', 'q');
        if (oracle.policies.delete(name)) await fleet.run(fleet.hub.client.delete(POLICIES, '', name));
      },
    };
    for (const name of ['n1', 'n2']) await makeNamespace(fleet, name);
    for (let count = 1; count <= 48; count += 1) {
      await steps[one('map', 'map', 'noMap', 'namespace', 'cluster', 'policy', 'policy', 'noPolicy')]();
      if (one(true, false)) await fleet.rest(Math.floor(random.next() * 200));
      if (count % 16 === 0) {
        await fleet.kill(fleet.hub);
        await fleet.start(fleet.hub);
      }
      if (count % 8 !== 0) continue;
      for (const cluster of ['a', 'b'])
        await fleet.until(
          () => held(cluster).sort().join() === expectedOn(oracle, cluster).join(),
          `after ${count} steps ${cluster} has ${expectedOn(oracle, cluster).join() || 'nothing'}`,
        );
    }
  });
});
