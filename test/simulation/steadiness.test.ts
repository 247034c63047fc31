import { afterEach, describe, expect, it } from 'vitest';
import { memoryDriver } from '../../src/apiserver/index.ts';
import { configMaps, deployments } from '../../src/kube/well-known.ts';
import {
  conditionOf,
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedCluster,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, ready, shop, shopStatus } from './shop.ts';

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
const BOTH_KINDS = {
  resourceSelectors: [
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { apiVersion: 'apps/v1', kind: 'Deployment' },
  ],
};

async function open(names: string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(31, names, { workloads: true });
  await openShop(fleet, [configMap('settings', 'red'), CART], BOTH_KINDS);
  await ready(fleet, names.length);
  await fleet.rest(5_000);
}

const cart = (name: string) => stored(fleet.spoke(name), 'apps/deployments/shop/cart');
/** Everything that anyone wrote on a cluster since a position of its audit log. */
function writesSince(target: SimulatedCluster, position: number): string[] {
  return target.audit
    .slice(position)
    .filter(
      ({ verb, responseStatus }) =>
        !['get', 'list', 'watch'].includes(verb) && (responseStatus?.code ?? 0) < 300,
    )
    .map(({ verb, user, objectRef }) => `${user.username} ${verb} ${objectRef?.resource}/${objectRef?.name}`);
}

describe('an agent whose hub is away', () => {
  it('[S46] restores a Deployment that was deleted on its cluster, from its own store', async () => {
    await open(['a']);
    await fleet.kill(fleet.hub);
    const before = cart('a')?.metadata.uid;
    await fleet.run(fleet.spoke('a').client.delete(deployments, 'shop', 'cart'));
    await fleet.until(() => cart('a') !== undefined, 'the Deployment again', 5_000);
    expect(cart('a')?.metadata.uid).not.toBe(before);
    expect(cart('a')?.['spec']).toMatchObject({ replicas: 2 });
  });
});

describe('at rest', () => {
  it('[S48] an edit is reverted, and ten idle minutes are no write', async () => {
    await open(['a']);
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'the edit reverted', 5_000);
    await fleet.rest(10_000);
    const before = everything(fleet.spoke('a'));
    const from = fleet.spoke('a').audit.length;
    await fleet.rest(600_000);
    expect(everything(fleet.spoke('a'))).toEqual(before);
    expect(writesSince(fleet.spoke('a'), from)).toEqual([]);
  });

  it('[F32] a fleet writes no status in ten minutes, on the hub or on a member', async () => {
    await open();
    await fleet.rest(60_000);
    const clusters = [fleet.hub, fleet.spoke('a'), fleet.spoke('b')];
    const from = clusters.map(({ audit }) => audit.length);
    await fleet.rest(600_000);
    expect(clusters.flatMap((target, index) => writesSince(target, from[index] ?? 0))).toEqual([]);
  });

  it('[F28] a restart of the hub writes nothing on any member', async () => {
    await open();
    const before = ['a', 'b'].map((name) => everything(fleet.spoke(name)));
    const from = ['a', 'b'].map((name) => fleet.spoke(name).audit.length);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    await ready(fleet, 2);
    expect(['a', 'b'].map((name) => everything(fleet.spoke(name)))).toEqual(before);
    expect(['a', 'b'].flatMap((name, index) => writesSince(fleet.spoke(name), from[index] ?? 0))).toEqual([]);
  });
});

describe('a restart', () => {
  it.each([
    ['of the hub', ['hub']],
    ['of an agent', ['a']],
    ['of the hub and of all agents', ['hub', 'a', 'b']],
  ])('[S69] %s loses nothing, nor the change that was made just before', async (_what, names) => {
    await open();
    const uids = ['a', 'b'].map((name) => cart(name)?.metadata.uid);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.run(fleet.hub.client.create(configMaps, configMap('prices', 'gold')));
    for (const name of names) await fleet.kill(name);
    for (const name of names) await fleet.start(name);
    await fleet.until(
      () =>
        ['a', 'b'].every(
          (name) => colour(fleet.spoke(name)) === 'blue' && colour(fleet.spoke(name), 'prices') === 'gold',
        ),
      'both changes everywhere',
    );
    await ready(fleet, 2);
    expect(['a', 'b'].map((name) => cart(name)?.metadata.uid)).toEqual(uids);
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(
      () => ['a', 'b'].every((name) => colour(fleet.spoke(name), 'prices') === ''),
      'a removal afterwards',
    );
  });
});

describe('one dead cluster', () => {
  it('[F55] keeps no other from what is created, updated and deleted', async () => {
    await open(['a', 'b', 'dead']);
    await fleet.kill('dead');
    fleet.cut('dead');
    await fleet.run(fleet.hub.client.create(configMaps, configMap('prices', 'gold')));
    await paint(fleet, fleet.hub, 'blue');
    const alive = [fleet.spoke('a'), fleet.spoke('b')];
    await fleet.until(
      () => alive.every((spoke) => colour(spoke) === 'blue' && colour(spoke, 'prices') === 'gold'),
      'creation and update on the others',
      5_000,
    );
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(() => alive.every((spoke) => colour(spoke, 'prices') === ''), 'the deletion', 5_000);
    await fleet.until(() => shopStatus(fleet)['ready'] === 2, 'the status of the others', 5_000);
    expect(shopStatus(fleet)).toMatchObject({ clusters: 3, freshness: { unknown: 1 } });
    expect(conditionOf(shop(fleet), 'Ready')).toBe('Unknown/Stale');
  });
});

describe('absence', () => {
  it('[A78] of everything the hub knew deletes nothing when an agent restarts', async () => {
    await open(['a']);
    const uid = cart('a')?.metadata.uid;
    await fleet.kill('a');
    await fleet.kill(fleet.hub);
    (fleet.hub as { storage: unknown }).storage = memoryDriver();
    await fleet.start(fleet.hub);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('a')));
    await fleet.start('a');
    await fleet.rest(600_000);
    expect(cart('a')?.metadata.uid).toBe(uid);
    expect(colour(fleet.spoke('a'))).toBe('red');
    expect(dispatchesOn(fleet.spoke('a'))).toHaveLength(1);
  });

  it('[A78] a change that would take away more than its budget waits for a person', async () => {
    fleet = await simulateFleet(32, ['a']);
    const maps = ['one', 'two', 'three', 'four'].map((name) =>
      configMap(name, 'red', { tier: name === 'one' ? 'front' : 'back' }),
    );
    await openShop(fleet, maps);
    await ready(fleet, 1);
    const selectors = [
      { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { tier: 'front' } } },
    ];
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { resourceSelectors: selectors } });
    await fleet.until(
      () => conditionOf(shop(fleet), 'Ready') === 'False/NotDispatched',
      'the change held back',
    );
    await fleet.rest(60_000);
    expect(['one', 'two', 'three', 'four'].map((name) => colour(fleet.spoke('a'), name))).toEqual([
      'red',
      'red',
      'red',
      'red',
    ]);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { deletionBudget: '80%' } });
    await fleet.until(() => colour(fleet.spoke('a'), 'four') === '', 'the change once it is allowed');
    expect(['one', 'two', 'three', 'four'].map((name) => colour(fleet.spoke('a'), name))).toEqual([
      'red',
      '',
      '',
      '',
    ]);
  });
});
