import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROLLOUT_ACTION } from '../../src/hub/rollouts/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { PROPAGATIONS, type SimulatedCluster, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { type FaultyStorage, faultyStorage } from './rig/faults.ts';
import { colour, configMap, merge, openShop, propagation, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
let disk: FaultyStorage;
afterEach(async () => fleet.stop());

/** Selects what is on a side. */
function side(name: string, more: object = {}): object {
  const labelSelector = { matchLabels: { side: name } };
  return propagation(name, {
    resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector }],
    ...more,
  });
}

const uidOn = (spoke: string, name: string = 'settings'): string | undefined =>
  stored(fleet.spoke(spoke), `core/configmaps/shop/${name}`)?.metadata.uid;

/** People put the object on another side, and change it. */
async function move(to: string, shade: string, name: string = 'settings'): Promise<void> {
  const metadata = { labels: { side: to } };
  await merge(fleet, fleet.hub, configMaps, 'shop', name, { metadata, data: { colour: shade } });
}

async function approve(): Promise<void> {
  const action = {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'RolloutAction',
    metadata: { name: 'yes', namespace: 'shop' },
    spec: { target: { kind: 'Propagation', name: 'right' }, action: 'Approve', stage: 'rest' },
  };
  await fleet.run(fleet.hub.client.create(resourceIdOf(ROLLOUT_ACTION), action));
}

/** The first cluster at once, the others when somebody says so. */
const STAGES = [
  { name: 'canary', clusterNames: ['a'] },
  { name: 'rest', approval: { users: ['admin'] } },
];

/** What a spoke says it has that nobody asks for and nobody ordered away. */
function keptOn(spoke: SimulatedCluster): unknown[] {
  const { dispatches = [] } = (stored(spoke, `core.oam.dev/clusters/atoll-system/${spoke.name}`)?.[
    'status'
  ] ?? {}) as { dispatches?: { kept?: unknown[] }[] };
  return dispatches.flatMap(({ kept = [] }) => kept);
}

function waitsOn(spoke: string): string {
  const { notReady = [] } = shopStatus(fleet, 'left') as {
    notReady?: { cluster: string; message: string }[];
  };
  return notReady.find(({ cluster }) => cluster === spoke)?.message ?? '';
}

describe('an object that is moved from one Propagation to another', () => {
  beforeEach(async () => {
    disk = faultyStorage();
    fleet = await simulateFleet(17, ['a', 'b'], {
      storage: (name) => (name === 'hub' ? disk : faultyStorage()),
    });
    await openShop(fleet, [configMap('settings', 'red', { side: 'left' })], null);
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, side('left') as never));
    await fleet.until(() => ['a', 'b'].every((name) => colour(fleet.spoke(name)) === 'red'), 'red on both');
  });

  it('stays where it is while the other one is suspended, and is the same object afterwards', async () => {
    await fleet.run(
      fleet.hub.client.create(PROPAGATIONS, side('right', { suspension: { dispatching: true } }) as never),
    );
    await fleet.rest(5_000);
    const uids = [uidOn('a'), uidOn('b')];
    await move('right', 'green');
    await fleet.rest(300_000);
    expect(['a', 'b'].map((name) => colour(fleet.spoke(name)))).toEqual(['red', 'red']);
    expect(waitsOn('a')).toContain('Propagation/shop/right');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'right', { spec: { suspension: null } });
    await fleet.until(
      () => ['a', 'b'].every((name) => colour(fleet.spoke(name)) === 'green'),
      'green on both',
    );
    await fleet.rest(60_000);
    expect([uidOn('a'), uidOn('b')]).toEqual(uids);
    expect(waitsOn('a')).toBe('');
  });

  it('stays where the other one waits for an approval, however long that takes', async () => {
    await fleet.run(
      fleet.hub.client.create(PROPAGATIONS, side('right', { rollout: { stages: STAGES } }) as never),
    );
    await fleet.rest(5_000);
    const uids = [uidOn('a'), uidOn('b')];
    await move('right', 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'green on the canary');
    await fleet.rest(300_000);
    expect(colour(fleet.spoke('b'))).toBe('red');
    await approve();
    await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'green on the rest');
    await fleet.rest(60_000);
    expect([uidOn('a'), uidOn('b')]).toEqual(uids);
  });

  it.each([
    ['at once', {}],
    ['one in stages', { rollout: { stages: STAGES } }],
  ])('is swapped for an object of the other one, neither waiting for the other: %s', async (_how, spec) => {
    const { client } = fleet.hub;
    await fleet.run(client.create(configMaps, configMap('other', 'white', { side: 'right' })));
    await fleet.run(client.create(PROPAGATIONS, side('right') as never));
    await fleet.until(() => colour(fleet.spoke('b'), 'other') === 'white', 'white on b');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'right', { spec });
    await fleet.rest(5_000);
    const uids = (): unknown => ['a', 'b'].map((name) => [uidOn(name), uidOn(name, 'other')]);
    const before = uids();
    await move('right', 'green');
    await move('left', 'black', 'other');
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'green on a');
    await fleet.until(
      () => ['a', 'b'].every((name) => colour(fleet.spoke(name), 'other') === 'black'),
      'black on both',
    );
    if ('rollout' in spec) {
      await fleet.rest(300_000);
      expect(colour(fleet.spoke('b'))).toBe('red');
      await approve();
    }
    await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'green on b');
    await fleet.rest(60_000);
    expect(uids()).toEqual(before);
    // Nothing is left of what the one had before.
    expect(['a', 'b'].flatMap((name) => keptOn(fleet.spoke(name)))).toEqual([]);
  });

  it('stays where an order went without the word that takes it away, over a restart and the end of its Propagation', async () => {
    const { client } = fleet.hub;
    await fleet.run(client.create(configMaps, configMap('other', 'white', { side: 'right' })));
    await fleet.run(client.create(PROPAGATIONS, side('right') as never));
    await fleet.until(() => colour(fleet.spoke('b'), 'other') === 'white', 'white on b');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'right', { spec: { rollout: { stages: STAGES } } });
    await fleet.rest(5_000);
    const uid = uidOn('b');
    await move('right', 'green');
    await move('left', 'black', 'other');
    await fleet.until(() => colour(fleet.spoke('b'), 'other') === 'black', 'black on b');
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(keptOn(fleet.spoke('b'))).toMatchObject([{ name: 'settings' }]);
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'left'));
    await fleet.rest(60_000);
    expect(colour(fleet.spoke('b'))).toBe('red');
    await approve();
    await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'green on b');
    await fleet.until(() => stored(fleet.hub, 'atoll.dev/propagations/shop/left') === undefined, 'the end');
    await fleet.rest(60_000);
    expect(uidOn('b')).toBe(uid);
    expect(['a', 'b'].map((name) => colour(fleet.spoke(name), 'other'))).toEqual(['', '']);
    expect(['a', 'b'].flatMap((name) => keptOn(fleet.spoke(name)))).toEqual([]);
  });

  it('stays although the hub dies at any write while it is handed over', async () => {
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, side('right') as never));
    await fleet.rest(5_000);
    const uids = [uidOn('a'), uidOn('b')];
    for (let round = 0; round < 4; round++) {
      await move(round % 2 === 0 ? 'right' : 'left', `round ${round}`);
      disk.crashAfter(Math.floor(round / 2));
      await fleet.rest(1_000);
      await fleet.kill(fleet.hub);
      disk.revive();
      await fleet.start(fleet.hub);
      await fleet.until(
        () => ['a', 'b'].every((name) => colour(fleet.spoke(name)) === `round ${round}`),
        `round ${round}`,
      );
      expect([uidOn('a'), uidOn('b')]).toEqual(uids);
    }
  });
});
