import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROLLOUT_ACTION } from '../../src/hub/rollouts/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { PROPAGATIONS, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
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

const uidOn = (spoke: string): string | undefined =>
  stored(fleet.spoke(spoke), 'core/configmaps/shop/settings')?.metadata.uid;

/** People put the object on another side, and change it. */
async function move(to: string, shade: string): Promise<void> {
  const metadata = { labels: { side: to } };
  await merge(fleet, fleet.hub, configMaps, 'shop', 'settings', { metadata, data: { colour: shade } });
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
    const stages = [
      { name: 'canary', clusterNames: ['a'] },
      { name: 'rest', approval: { users: ['admin'] } },
    ];
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, side('right', { rollout: { stages } }) as never));
    await fleet.rest(5_000);
    const uids = [uidOn('a'), uidOn('b')];
    await move('right', 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'green on the canary');
    await fleet.rest(300_000);
    expect(colour(fleet.spoke('b'))).toBe('red');
    const action = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'RolloutAction',
      metadata: { name: 'yes', namespace: 'shop' },
      spec: { target: { kind: 'Propagation', name: 'right' }, action: 'Approve', stage: 'rest' },
    };
    await fleet.run(fleet.hub.client.create(resourceIdOf(ROLLOUT_ACTION), action));
    await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'green on the rest');
    await fleet.rest(60_000);
    expect([uidOn('a'), uidOn('b')]).toEqual(uids);
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
