import { afterEach, describe, expect, it } from 'vitest';
import { carryOutPromotion, readPromotion } from '../../src/cli/promote/index.ts';
import { DISPATCH_LABEL } from '../../src/engine/dispatch/index.ts';
import { type KubeObject, type ObjectRef, refOf, refText } from '../../src/kube/object.ts';
import { configMaps, deployments, namespaces } from '../../src/kube/well-known.ts';
import { dispatchesOn, PROPAGATIONS, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { colour, configMap, merge, paint } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const web: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          { name: 'main', image: 'shop/web:1', envFrom: [{ configMapRef: { name: 'settings' } }] },
        ],
      },
    },
  },
};
const WEB: ObjectRef = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' };

async function legacy(): Promise<void> {
  const { client } = fleet.spoke('a');
  await fleet.run(
    client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
  );
  await fleet.run(client.create(configMaps, configMap('settings', 'red')));
  await fleet.run(client.create(deployments, structuredClone(web)));
}

const onA = (path: string): KubeObject | undefined => stored(fleet.spoke('a'), path);
const promotion = (dependencies: boolean): ReturnType<typeof readPromotion> =>
  fleet.run(readPromotion(fleet.hub.client, fleet.spoke('a').client, 'a', WEB, dependencies));

describe('promoting an object of a cluster', () => {
  it('[A70] takes it over as it is, with what it needs, and giving it back leaves it there', async () => {
    fleet = await simulateFleet(91, ['a', 'b'], { workloads: true });
    await legacy();
    await fleet.rest(10_000);
    const [uid, mapUid] = ['apps/deployments/shop/web', 'core/configmaps/shop/settings'].map(
      (path) => onA(path)?.metadata.uid,
    );
    const found = await promotion(true);
    expect(found.namespace).toBe('shop');
    expect(found.objects.map((object) => refText(refOf(object)))).toEqual([
      'ConfigMap shop/settings',
      'Deployment shop/web',
    ]);
    expect(stored(fleet.hub, 'apps/deployments/shop/web')).toBeUndefined();
    await fleet.run(carryOutPromotion(fleet.hub.client, found));
    await fleet.until(
      () => onA('apps/deployments/shop/web')?.metadata.labels?.[DISPATCH_LABEL] !== undefined,
      'the hub has it',
    );
    await fleet.rest(5_000);
    expect(onA('apps/deployments/shop/web')?.metadata.uid).toBe(uid);
    expect(onA('core/configmaps/shop/settings')?.metadata.uid).toBe(mapUid);
    // One cluster only, and its pods go on: the template is what it was.
    expect(colour(fleet.spoke('b'))).toBe('');
    expect(onA('apps/deployments/shop/web')?.['spec']).toMatchObject(web['spec'] as object);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the hub has the say');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'web-deployment'));
    await fleet.until(() => dispatchesOn(fleet.spoke('a')).length === 0, 'it is given back');
    expect(onA('apps/deployments/shop/web')?.metadata.uid).toBe(uid);
    expect(onA('apps/deployments/shop/web')?.metadata.labels?.[DISPATCH_LABEL]).toBeUndefined();
    expect(colour(fleet.spoke('a'))).toBe('blue');
  });

  it('[A70] is refused where the hub has another of the name, where a hub has it already, and where there is none', async () => {
    fleet = await simulateFleet(92, ['a']);
    await expect(promotion(false)).rejects.toThrow('a has no Deployment shop/web');
    await legacy();
    const { client } = fleet.hub;
    await fleet.run(
      client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    const other = structuredClone(web);
    (other['spec'] as { replicas: number }).replicas = 9;
    await fleet.run(client.create(deployments, other));
    await expect(promotion(false)).rejects.toThrow(/has another Deployment shop\/web/);
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', { spec: { replicas: 1 } });
    const found = await promotion(false);
    expect(found.objects).toEqual([]);
    await fleet.run(carryOutPromotion(client, found));
    await fleet.until(
      () => onA('apps/deployments/shop/web')?.metadata.labels?.[DISPATCH_LABEL] !== undefined,
      'the hub has it',
    );
    await expect(promotion(false)).rejects.toThrow(/a hub has it already/);
  });
});
