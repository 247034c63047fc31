import { afterEach, describe, expect, it } from 'vitest';
import { configMaps, deployments } from '../../src/kube/well-known.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import { everything, PROPAGATIONS, type SimulatedFleet, simulateFleet, stored, writesBy } from './fleet.ts';
import { colour, configMap, merge, openShop, paint, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const CART = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cart', namespace: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'cart' } },
    template: {
      metadata: { labels: { app: 'cart' } },
      spec: { containers: [{ name: 'web', image: 'cart:1' }] },
    },
  },
};

function cartReplicas(name: string): unknown {
  const cart = stored(fleet.spoke(name), 'apps/deployments/shop/cart');
  return (cart?.['spec'] as { replicas?: number } | undefined)?.replicas;
}

async function openCart(): Promise<void> {
  fleet = await simulateFleet(1, ['a', 'b']);
  await openShop(fleet, [configMap('settings', 'red'), CART], {
    resourceSelectors: [
      { apiVersion: 'v1', kind: 'ConfigMap' },
      { apiVersion: 'apps/v1', kind: 'Deployment' },
    ],
  });
  await fleet.until(
    () => ['a', 'b'].every((name) => colour(fleet.spoke(name)) === 'red' && cartReplicas(name) === 2),
    'everything on both spokes',
  );
  await fleet.rest(2_000);
}

describe('a spoke without its hub', () => {
  it('[K26] carries objects of the hub to every spoke and shows what is applied in its Cluster', async () => {
    await openCart();
    for (const name of ['a', 'b']) {
      const cluster = stored(fleet.spoke(name), `core.oam.dev/clusters/atoll-system/${name}`);
      const { dispatchedRevision, appliedRevision } = (cluster?.['status'] ?? {}) as Record<string, string>;
      expect(appliedRevision).toBe(dispatchedRevision);
      expect(appliedRevision).toMatch(/^sha256:/);
    }
  });

  it('[K27] puts back what is changed or deleted on it while the hub is dead', async () => {
    await openCart();
    await fleet.kill(fleet.hub);
    const spoke = fleet.spoke('a');
    await paint(fleet, spoke, 'green');
    await merge(fleet, spoke, deployments, 'shop', 'cart', { spec: { replicas: 7 } });
    await fleet.until(() => colour(spoke) === 'red' && cartReplicas('a') === 2, 'drift corrected', 5_000);
    const before = stored(spoke, 'apps/deployments/shop/cart')?.metadata.uid;
    await fleet.run(spoke.client.delete(deployments, 'shop', 'cart'));
    await fleet.run(spoke.client.delete(configMaps, 'shop', 'settings'));
    await fleet.until(() => colour(spoke) === 'red' && cartReplicas('a') === 2, 'deletions undone', 5_000);
    expect(stored(spoke, 'apps/deployments/shop/cart')?.metadata.uid).not.toBe(before);
  });

  it('[K27] puts back a label that marks its objects', async () => {
    await openCart();
    await fleet.kill(fleet.hub);
    const spoke = fleet.spoke('a');
    const label = stored(spoke, 'core/configmaps/shop/settings')?.metadata.labels;
    await merge(fleet, spoke, configMaps, 'shop', 'settings', { metadata: { labels: null } });
    await fleet.rest(2_000);
    expect(stored(spoke, 'core/configmaps/shop/settings')?.metadata.labels).toEqual(label);
  });

  it('[K28] converges from its own memory after a restart while the hub is dead', async () => {
    await openCart();
    const spoke = fleet.spoke('a');
    await fleet.kill(fleet.hub);
    // Only the engine dies first, so that the changes happen unseen.
    await fleet.run(spoke.engine?.stop() ?? Promise.resolve());
    await paint(fleet, spoke, 'green');
    await fleet.run(spoke.client.delete(deployments, 'shop', 'cart'));
    await fleet.kill(spoke);
    await fleet.start(spoke);
    await fleet.until(() => colour(spoke) === 'red' && cartReplicas('a') === 2, 'converged again', 10_000);
    await paint(fleet, spoke, 'blue');
    await fleet.until(() => colour(spoke) === 'red', 'drift corrected after the restart', 5_000);
  });

  it('[K28] writes nothing at a restart where nothing is to be done', async () => {
    await openCart();
    const spoke = fleet.spoke('a');
    const before = everything(spoke);
    await fleet.kill(spoke);
    await fleet.start(spoke);
    await fleet.rest(30_000);
    expect(everything(spoke)).toEqual(before);
  });

  it('[K29] never writes at the hub', async () => {
    await openCart();
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.rest(5_000);
    const users = new Set(fleet.hub.audit.map((event) => event.user.username));
    expect([...users].sort()).toEqual(['admin', 'atoll:engine']);
  });
});

describe('a hub that restarts', () => {
  it('[K31] writes nothing on any spoke', async () => {
    await openCart();
    await fleet.rest(70_000);
    const before = fleet.spokes.map(everything);
    const revisions = fleet.spokes.map((spoke) => spoke.server.store.revision);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(120_000);
    expect(fleet.spokes.map(everything)).toEqual(before);
    expect(fleet.spokes.map((spoke) => spoke.server.store.revision)).toEqual(revisions);
    expect(shopStatus(fleet)['clusters']).toBe(2);
    expect(shopStatus(fleet)['stale']).toBe(0);
  });

  it('[K31] orders nothing away while it cannot read what it propagates', async () => {
    fleet = await simulateFleet(1, ['a']);
    await openShop(fleet, [configMap('settings', 'red')], {
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'ConfigMap' },
        { apiVersion: 'widgets.example/v1', kind: 'Widget' },
      ],
    });
    await fleet.rest(2_000);
    expect(colour(fleet.spoke('a'))).toBe('');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }] },
    });
    await ready(fleet, 1);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { resourceSelectors: [{ apiVersion: 'widgets.example/v1', kind: 'Widget' }] },
    });
    await fleet.rest(2_000);
    const before = everything(fleet.spoke('a'));
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(2_000);
    fleet.spoke('a').link.cut();
    fleet.spoke('a').link.heal();
    await fleet.rest(60_000);
    expect(everything(fleet.spoke('a'))).toEqual(before);
    expect(shopStatus(fleet)).toMatchObject({ ready: 1, notReady: [] });
    expect(colour(fleet.spoke('a'))).toBe('red');
  });

  it('[K31] has written dispatches and bundles only', async () => {
    await openCart();
    await paint(fleet, fleet.hub, 'blue');
    await ready(fleet, 2).catch(() => undefined);
    await fleet.rest(5_000);
    for (const spoke of fleet.spokes) {
      for (const write of writesBy(spoke.audit, HUB_USER))
        expect(write).toMatch(/^(create|update|delete) (dispatches|bundles)$/);
    }
  });
});

describe('a fleet at rest', () => {
  it('[K17] writes nothing in ten minutes, on the hub or on the spokes', async () => {
    await openCart();
    // Unused bundles are collected about a minute after the last change.
    await fleet.rest(70_000);
    const revisions = [fleet.hub, ...fleet.spokes].map((cluster) => cluster.server.store.revision);
    await fleet.rest(600_000);
    expect([fleet.hub, ...fleet.spokes].map((cluster) => cluster.server.store.revision)).toEqual(revisions);
  });
});
