import { afterEach, describe, expect, it } from 'vitest';
import { memoryDriver } from '../../src/apiserver/index.ts';
import { type Dispatch, dispatchSigner } from '../../src/engine/dispatch/index.ts';
import { confirmHub } from '../../src/hub/mode.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  DISPATCHES,
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedCluster,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
} from './fleet.ts';
import { colour, configMap, openShop, paint, propagation, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const BUNDLES = { ...DISPATCHES, resource: 'bundles', kind: 'Bundle' };

async function open(names: string[] = ['a'], objects?: KubeObject[]): Promise<void> {
  fleet = await simulateFleet(4, names);
  await openShop(fleet, objects);
  await ready(fleet, names.length);
}

function order(name: string = 'a'): Dispatch {
  const found = dispatchesOn(fleet.spoke(name))[0];
  if (!found) throw new Error(`no dispatch on ${name}`);
  return found as Dispatch;
}

async function write(name: string, dispatch: Dispatch): Promise<void> {
  await fleet.run(fleet.spoke(name).client.update(DISPATCHES, dispatch));
}

/** A driver with everything that another one holds now. */
async function snapshot(target: SimulatedCluster): Promise<SimulatedCluster['storage']> {
  const copy = memoryDriver();
  const changes = [];
  for await (const change of target.storage.changesSince(0)) changes.push(change);
  await copy.commit(changes);
  return copy;
}

describe('a deletion at the hub', () => {
  it('[K104] [F37] waits for no spoke that is away; the spoke carries it out when it returns', async () => {
    await open(['a', 'b']);
    fleet.spoke('b').link.cut();
    await fleet.rest(10_000);
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the removal on a');
    await fleet.until(() => shop(fleet) === undefined, 'the end of the propagation', 120_000);
    const owed = (): KubeObject[] => storedBelow(fleet.hub, 'atoll.dev/retractions/-');
    expect(owed()).toMatchObject([{ spec: { source: { name: 'shop' }, clusters: ['b'] } }]);
    expect(colour(fleet.spoke('b'))).toBe('red');
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    fleet.spoke('b').link.heal();
    await fleet.until(() => colour(fleet.spoke('b')) === '', 'the removal on b');
    await fleet.until(
      () => (owed()[0]?.['spec'] as { clusters: string[] } | undefined)?.clusters.length === 0,
      'the end of the retraction',
    );
    expect(dispatchesOn(fleet.spoke('b'))).toEqual([]);
  });
});

describe('what a spoke believes', () => {
  it('absence never deletes: the order deleted by hand', async () => {
    await open();
    fleet.spoke('a').link.cut();
    await fleet.run(fleet.spoke('a').client.delete(DISPATCHES, 'atoll-system', order().metadata.name ?? ''));
    await fleet.rest(60_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'still kept', 5_000);
    await fleet.kill(fleet.spoke('a'));
    await fleet.start(fleet.spoke('a'));
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'still kept after a restart', 5_000);
    fleet.spoke('a').link.heal();
    await fleet.until(() => dispatchesOn(fleet.spoke('a')).length === 1, 'the order written again');
    await ready(fleet, 1);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the next change');
  });

  it('an order deleted by hand after something was removed is written again and agreed on', async () => {
    await open(['a'], [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === '', 'the removal');
    await ready(fleet, 1);
    await fleet.run(fleet.spoke('a').client.delete(DISPATCHES, 'atoll-system', order().metadata.name ?? ''));
    await fleet.until(() => dispatchesOn(fleet.spoke('a')).length === 1, 'the order written again');
    await fleet.rest(2_000);
    expect(conditionOf(order(), 'Accepted')).toBe('True/Accepted');
    await ready(fleet, 1);
  });

  it('absence never deletes: the content deleted or damaged by hand is sent again', async () => {
    await open();
    const spoke = fleet.spoke('a');
    const bundle = storedBelow(spoke, 'atoll.dev/bundles/atoll-system')[0];
    if (!bundle) throw new Error('no bundle');
    await fleet.run(spoke.client.delete(BUNDLES, 'atoll-system', bundle.metadata.name ?? ''));
    spoke.link.cut();
    await fleet.kill(spoke);
    await fleet.start(spoke);
    await fleet.rest(30_000);
    expect(colour(spoke)).toBe('red');
    expect(conditionOf(order(), 'Applied')).toBe('False/ContentMissing');
    spoke.link.heal();
    await fleet.until(() => conditionOf(order(), 'Applied') === 'True/Applied', 'repaired');

    const there = storedBelow(spoke, 'atoll.dev/bundles/atoll-system')[0] as KubeObject & { spec: object };
    await fleet.run(spoke.client.update(BUNDLES, { ...there, spec: { ...there.spec, data: 'AAAA' } }));
    await fleet.kill(spoke);
    await fleet.start(spoke);
    spoke.link.cut();
    spoke.link.heal();
    await fleet.until(
      () =>
        JSON.stringify(storedBelow(spoke, 'atoll.dev/bundles/atoll-system')[0]?.['spec']) ===
        JSON.stringify(bundle['spec']),
      'overwritten',
    );
    await ready(fleet, 1);
    expect(colour(spoke)).toBe('red');
  });

  it('[K36] refuses an order that was edited, keeps what it has, and the hub writes its own again', async () => {
    await open(['a'], [configMap('settings', 'red'), configMap('prices', 'gold')]);
    fleet.spoke('a').link.cut();
    const { spec } = order();
    await write('a', {
      ...order(),
      spec: { ...spec, objects: [], tombstones: spec.objects.map((ref) => ({ ref, reason: 'forged' })) },
    });
    await fleet.until(() => conditionOf(order(), 'Accepted') === 'False/BadSignature', 'the refusal');
    const forgery = { ...order().spec, position: { ...spec.position, generation: 999 } };
    await write('a', { ...order(), spec: forgery });
    await fleet.kill(fleet.spoke('a'));
    await fleet.start(fleet.spoke('a'));
    await fleet.rest(5_000);
    expect(conditionOf(order(), 'Accepted')).toBe('False/BadSignature');
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['red', 'gold']);
    fleet.spoke('a').link.heal();
    await fleet.until(() => conditionOf(order(), 'Accepted') === 'True/Accepted', 'the true order again');
    await ready(fleet, 1);
    expect(order().spec.position.generation).toBe(spec.position.generation);
    expect(order().spec.objects).toEqual(spec.objects);
  });

  it('[K36] an edit of the order on a connected spoke is written over at once', async () => {
    await open();
    const { spec } = order();
    await write('a', { ...order(), spec: { ...spec, objects: [], bundles: [] } });
    await fleet.until(() => order().spec.objects.length === 1, 'the true order');
    await ready(fleet, 1);
    expect(colour(fleet.spoke('a'))).toBe('red');
  });

  it('[K36] refuses the order of another spoke', async () => {
    await open(['a', 'b']);
    for (const spoke of fleet.spokes) spoke.link.cut();
    await paint(fleet, fleet.hub, 'blue');
    fleet.spoke('a').link.heal();
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the change on a');
    await write('b', { ...order('b'), spec: order('a').spec });
    await fleet.until(() => conditionOf(order('b'), 'Accepted') === 'False/BadSignature', 'the refusal on b');
    expect(colour(fleet.spoke('b'))).toBe('red');
  });

  it('[K37] refuses another hub, and deletes nothing, when the hub lost its state', async () => {
    await open();
    const before = everything(fleet.spoke('a'));
    await fleet.kill(fleet.hub);
    fleet.hub.storage = memoryDriver();
    await fleet.start(fleet.hub);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('a')));
    await openShop(fleet, [configMap('settings', 'blue')]);
    await fleet.until(
      () => conditionOf(shop(fleet), 'Ready') === 'False/AnotherHub',
      'the refusal told at the hub',
    );
    await fleet.rest(60_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    expect(everything(fleet.spoke('a'))).toMatchObject(
      Object.fromEntries(Object.entries(before).filter(([key]) => !key.includes('/clusters/'))),
    );
    // The owner hands the spoke over, as the message says.
    expect(conditionMessage(shop(fleet), 'Ready')).toContain('atoll takeover');
    await fleet.run(fleet.spoke('a').client.delete(configMaps, 'atoll-system', 'hub-trust'));
    await fleet.until(
      () =>
        dispatchesOn(fleet.spoke('a')).some(
          (item) =>
            conditionOf(item, 'Accepted') === 'True/Accepted' &&
            item.metadata.name !==
              Object.keys(before)
                .find((key) => key.includes('/dispatches/'))
                ?.split('/')
                .pop(),
        ),
      'the new hub accepted',
      120_000,
    );
  });

  it('is not rolled back by a hub that was restored from an old state', async () => {
    await open(['a'], [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await fleet.rest(1_000);
    const old = await snapshot(fleet.hub);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.run(fleet.hub.client.create(configMaps, configMap('more', 'grey')));
    await fleet.until(() => colour(fleet.spoke('a'), 'more') === 'grey', 'two changes on');
    await ready(fleet, 1);
    await fleet.rest(1_000);
    const before = everything(fleet.spoke('a'));
    await fleet.kill(fleet.hub);
    fleet.hub.storage = old;
    await fleet.start(fleet.hub);
    await fleet.until(() => conditionOf(shop(fleet), 'Dispatched') === 'False/Observing', 'the hold');
    expect(conditionMessage(shop(fleet), 'Dispatched')).toContain('restored from an old state');
    await fleet.rest(20_000);
    expect(everything(fleet.spoke('a'))).toEqual(before);
    // Not even after a restart, until a person confirms.
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(20_000);
    expect(everything(fleet.spoke('a'))).toEqual(before);
    await fleet.run(confirmHub(fleet.hub.client));
    await fleet.until(
      () => colour(fleet.spoke('a')) === 'red' && colour(fleet.spoke('a'), 'more') === '',
      'the takeover',
    );
    await ready(fleet, 1);
  });

  it('is not rolled back by a restored hub whose count has caught up with other content', async () => {
    await open(['a'], [configMap('settings', 'red')]);
    await fleet.rest(1_000);
    const old = await snapshot(fleet.hub);
    await paint(fleet, fleet.hub, 'blue');
    await ready(fleet, 1);
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'a change on');
    fleet.spoke('a').link.cut();
    await fleet.kill(fleet.hub);
    fleet.hub.storage = old;
    await fleet.start(fleet.hub);
    await paint(fleet, fleet.hub, 'green');
    await fleet.rest(5_000);
    fleet.spoke('a').link.heal();
    await fleet.until(() => conditionOf(shop(fleet), 'Dispatched') === 'False/Observing', 'the hold');
    expect(colour(fleet.spoke('a'))).toBe('blue');
  });

  it('is not rolled back by a restored hub that was edited past what the spoke has, nor is any other spoke', async () => {
    await open(['a', 'b'], [configMap('settings', 'red')]);
    await fleet.rest(1_000);
    const old = await snapshot(fleet.hub);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(
      () => colour(fleet.spoke('a')) === 'blue' && colour(fleet.spoke('b')) === 'blue',
      'a change on',
    );
    for (const name of ['a', 'b']) fleet.spoke(name).link.cut();
    await fleet.kill(fleet.hub);
    fleet.hub.storage = old;
    await fleet.start(fleet.hub);
    for (const shade of ['green', 'grey', 'gold']) {
      await paint(fleet, fleet.hub, shade);
      await fleet.rest(2_000);
    }
    fleet.spoke('a').link.heal();
    await fleet.until(() => conditionOf(shop(fleet), 'Dispatched') === 'False/Observing', 'the hold');
    fleet.spoke('b').link.heal();
    await fleet.rest(30_000);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('b'))]).toEqual(['blue', 'blue']);
    await fleet.run(confirmHub(fleet.hub.client));
    await fleet.until(
      () => colour(fleet.spoke('a')) === 'gold' && colour(fleet.spoke('b')) === 'gold',
      'the takeover',
    );
    await ready(fleet, 2);
  });

  it('accepts nothing that is signed by a stranger, whatever it says', async () => {
    await open();
    fleet.spoke('a').link.cut();
    const stranger = (await import('../../src/hub/dispatch/signing-key.ts')).createSigningKey();
    const sign = dispatchSigner(stranger.privateKey);
    const { spec, metadata } = order();
    const { signature: _signature, ...unsigned } = spec;
    const next = {
      ...unsigned,
      position: { ...spec.position, generation: 50 },
      objects: [],
      publicKey: stranger.publicKey,
    };
    await write('a', { ...order(), spec: sign('a', metadata.name ?? '', next) });
    await fleet.until(() => conditionOf(order(), 'Accepted') === 'False/AnotherHub', 'the refusal');
    await write('a', {
      ...order(),
      spec: { ...sign('a', metadata.name ?? '', next), publicKey: spec.publicKey },
    });
    await fleet.until(() => conditionOf(order(), 'Accepted') === 'False/BadSignature', 'the refusal');
    expect(colour(fleet.spoke('a'))).toBe('red');
  });

  it('keeps its own record when someone else wrote or deleted it', async () => {
    await open();
    const spoke = fleet.spoke('a');
    const RECORDS = { ...DISPATCHES, resource: 'ownershiprecords', kind: 'OwnershipRecord' };
    const name = order().metadata.name ?? '';
    await fleet.run(
      spoke.client.patch(RECORDS, 'atoll-system', name, 'merge', {
        metadata: { annotations: { seen: 'yes' } },
      }),
    );
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(spoke) === 'blue', 'a change after an edit');
    await fleet.run(spoke.client.delete(RECORDS, 'atoll-system', name));
    await paint(fleet, fleet.hub, 'green');
    await fleet.until(() => colour(spoke) === 'green', 'a change after a deletion');
    await ready(fleet, 1);
    expect(stored(spoke, `atoll.dev/ownershiprecords/atoll-system/${name}`)).toBeDefined();
  });

  it('gets a Propagation that was made anew under its name as another one', async () => {
    await open();
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => shop(fleet) === undefined, 'gone');
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('shop')));
    await ready(fleet, 1);
    expect(shopStatus(fleet)['dispatchGeneration']).toBe(1);
    expect(colour(fleet.spoke('a'))).toBe('red');
  });
});
