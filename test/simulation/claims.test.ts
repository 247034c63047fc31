import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_PROPAGATION } from '../../src/dialects/propagation/kinds.ts';
import type { ResourceId } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const CLUSTER_PROPAGATIONS: ResourceId = resourceIdOf(CLUSTER_PROPAGATION);
const MAPS = { apiVersion: 'v1', kind: 'ConfigMap' };

async function propagate(name: string, spec: object = {}): Promise<void> {
  await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation(name, spec)));
}

async function propagateInFleet(name: string, spec: object = {}): Promise<void> {
  const selector = { ...MAPS, namespace: 'shop' };
  const object = propagation(name, { resourceSelectors: [selector], ...spec });
  const { namespace: _namespace, ...metadata } = object.metadata;
  await fleet.run(
    fleet.hub.client.create(CLUSTER_PROPAGATIONS, { ...object, kind: 'ClusterPropagation', metadata }),
  );
}

/** Who says that the object on a spoke is theirs: the dispatches that ask for it. */
function senders(spoke = 'a', name = 'settings'): string[] {
  return dispatchesOn(fleet.spoke(spoke)).flatMap(({ spec }: KubeObject & { spec?: unknown }) => {
    const { source, objects } = spec as { source: { name: string }; objects: { name: string }[] };
    return objects.some((ref) => ref.name === name) ? [source.name] : [];
  });
}

const uidOf = (): string | undefined =>
  stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.uid;

describe('several that select the same object', () => {
  it('the one that goes before the others has it; the others name it; over a restart of the hub too', async () => {
    fleet = await simulateFleet(5, ['a']);
    await openShop(fleet, [], null);
    await propagate('by-kind');
    await propagate('by-name', { resourceSelectors: [{ ...MAPS, name: 'settings' }] });
    await propagate('first', { priority: 7 });
    await fleet.rest(5_000);
    await fleet.run(fleet.hub.client.create(configMaps, configMap('settings', 'red')));
    await fleet.until(() => senders().join() === 'first', 'the largest priority has it');
    for (const name of ['by-kind', 'by-name']) {
      await fleet.until(() => conditionOf(shop(fleet, name), 'Selected') === 'False/ClaimedByAnother', name);
      expect(conditionMessage(shop(fleet, name), 'Selected')).toContain(
        'Propagation shop/first has the larger priority',
      );
    }
    await fleet.rest(10_000);
    const before = everything(fleet.spoke('a'));
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(30_000);
    expect(senders()).toEqual(['first']);
    expect(everything(fleet.spoke('a'))).toEqual(before);
    const uid = uidOf();
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'first'));
    await fleet.until(() => senders().join() === 'by-name', 'the next one has it');
    await fleet.rest(5_000);
    expect(uidOf()).toBe(uid);
    expect(colour(fleet.spoke('a'))).toBe('red');
  });

  it('[A2] a Propagation never has objects of another namespace', async () => {
    fleet = await simulateFleet(5, ['a']);
    await openShop(fleet, [], null);
    await propagate('shop', { resourceSelectors: [{ ...MAPS, name: 'kube-root-ca.crt' }, MAPS] });
    await fleet.run(
      fleet.hub.client.create(configMaps, { ...MAPS, metadata: { name: 'other', namespace: 'default' } }),
    );
    await fleet.rest(10_000);
    expect(stored(fleet.spoke('a'), 'core/configmaps/default/other')).toBeUndefined();
  });

  it('[A5] both orders end alike: the object before the propagation, and after it', async () => {
    for (const first of ['object', 'propagation']) {
      fleet = await simulateFleet(5, ['a']);
      await openShop(fleet, [], null);
      const object = (): Promise<unknown> =>
        fleet.run(fleet.hub.client.create(configMaps, configMap('settings', 'red')));
      if (first === 'object') await object();
      else await propagate('shop');
      await fleet.rest(5_000);
      if (first === 'object') await propagate('shop');
      else await object();
      await fleet.until(() => colour(fleet.spoke('a')) === 'red', first);
      await ready(fleet, 1);
      if (first === 'object') await fleet.stop();
    }
  });
});

describe('preemption', () => {
  async function held(late: object, holder: object = {}): Promise<string | undefined> {
    fleet = await simulateFleet(5, ['a']);
    await openShop(fleet, [configMap('settings', 'red')], null);
    await propagate('holder', holder);
    await ready(fleet, 1, 'holder');
    const uid = uidOf();
    await propagate('late', late);
    await fleet.rest(10_000);
    return uid;
  }

  it('[A4] takes an object over as it is, and not without Always', async () => {
    const uid = await held({ priority: 5 });
    expect(senders()).toEqual(['holder']);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'late', { spec: { preemption: 'Always' } });
    await fleet.until(() => senders().join() === 'late', 'taken over');
    await fleet.rest(5_000);
    expect(uidOf()).toBe(uid);
    expect(conditionMessage(shop(fleet, 'holder'), 'Selected')).toContain(
      'shop/late has the larger priority (5, not 0)',
    );
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the new one keeps it');
  });

  it('[A4] takes nothing from one with a larger priority, until that is lowered', async () => {
    const uid = await held({ priority: 5, preemption: 'Always' }, { priority: 9 });
    expect(senders()).toEqual(['holder']);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'holder', { spec: { priority: 1 } });
    await fleet.until(() => senders().join() === 'late', 'taken over');
    await fleet.rest(5_000);
    expect(uidOf()).toBe(uid);
  });

  it('[A4] of a namespace takes from the whole fleet, and not the other way', async () => {
    fleet = await simulateFleet(5, ['a']);
    await openShop(fleet, [configMap('settings', 'red')], null);
    await propagateInFleet('everywhere', { priority: 9, preemption: 'Always' });
    await fleet.until(() => senders().join() === 'everywhere', 'placed');
    await propagate('late');
    await fleet.rest(5_000);
    expect(senders()).toEqual(['everywhere']);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'late', { spec: { preemption: 'Always' } });
    await fleet.until(() => senders().join() === 'late', 'taken over');
    await merge(fleet, fleet.hub, CLUSTER_PROPAGATIONS, '', 'everywhere', { spec: { priority: 10 } });
    await fleet.rest(5_000);
    expect(senders()).toEqual(['late']);
  });

  it('[A4] within the fleet goes by priority', async () => {
    fleet = await simulateFleet(5, ['a']);
    await openShop(fleet, [configMap('settings', 'red')], null);
    await propagateInFleet('holder');
    await fleet.until(() => senders().join() === 'holder', 'placed');
    await propagateInFleet('late', { priority: 1, preemption: 'Always' });
    await fleet.until(() => senders().join() === 'late', 'taken over');
  });

  it('[A4] lets the loser have it back when the winner goes', async () => {
    const uid = await held({ priority: 5, preemption: 'Always' });
    await fleet.until(() => senders().join() === 'late', 'taken over');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'late'));
    await fleet.until(() => senders().join() === 'holder' && shop(fleet, 'late') === undefined, 'given back');
    await fleet.rest(5_000);
    expect(uidOf()).toBe(uid);
    await ready(fleet, 1, 'holder');
  });

  it('holds nothing up for one that selects an object and cannot send it', async () => {
    fleet = await simulateFleet(5, ['a']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'red')], null);
    await propagate('holder');
    await ready(fleet, 1, 'holder');
    await propagate('late', { priority: 5 });
    await fleet.rest(5_000);
    // From now on it is a controller's: what that makes it makes on each cluster.
    const uid = stored(fleet.hub, 'core/configmaps/shop/prices')?.metadata.uid;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'prices', uid, controller: true };
    await merge(fleet, fleet.hub, configMaps, 'shop', 'settings', { metadata: { ownerReferences: [owner] } });
    await paint(fleet, fleet.hub, 'blue', 'prices');
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === 'blue', 'the rest goes on');
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'it goes');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'holder'));
    await fleet.until(() => shop(fleet, 'holder') === undefined, 'gone');
  });
});

describe('holding back', () => {
  it('[A6] a lazy propagation carries an edit out with the next change of its objects', async () => {
    fleet = await simulateFleet(5, ['a', 'b']);
    await openShop(fleet, [], { activationPreference: 'Lazy', placement: { clusterNames: ['a'] } });
    await fleet.rest(2_000);
    await fleet.run(fleet.hub.client.create(configMaps, configMap('settings', 'red')));
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'the first content');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { clusterNames: ['a', 'b'] } },
    });
    await fleet.rest(10_000);
    expect(colour(fleet.spoke('b'))).toBe('');
    expect(conditionOf(shop(fleet), 'Selected')).toBe('True/Waiting');
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(20_000);
    expect(colour(fleet.spoke('b'))).toBe('');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(
      () => colour(fleet.spoke('b')) === 'blue' && colour(fleet.spoke('a')) === 'blue',
      'the edit',
    );
  });

  it('[A7] sends nothing before what it waits for is there', async () => {
    fleet = await simulateFleet(5, ['a']);
    const gate = { ...MAPS, name: 'gate' };
    await openShop(fleet, [configMap('settings', 'red')], {
      resourceSelectors: [{ ...MAPS, name: 'settings' }],
      waitFor: [gate],
    });
    await fleet.until(
      () => conditionOf(shop(fleet), 'Selected') === 'False/WaitingForObjects',
      'the wait told',
    );
    expect(conditionMessage(shop(fleet), 'Selected')).toContain('ConfigMap shop/gate');
    await fleet.rest(10_000);
    expect(dispatchesOn(fleet.spoke('a'))).toEqual([]);
    await fleet.run(fleet.hub.client.create(configMaps, configMap('gate', 'open')));
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'sent');
    expect(colour(fleet.spoke('a'), 'gate')).toBe('');
  });

  it('[A8] suspends some clusters, all of them, and placing', async () => {
    fleet = await simulateFleet(5, ['a', 'b']);
    await openShop(fleet);
    await ready(fleet, 2);
    const suspend = (suspension: object | null): Promise<KubeObject> =>
      merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { suspension } });
    await suspend({ dispatchingOnClusters: { clusterNames: ['b'] } });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the others go on');
    await fleet.rest(10_000);
    expect(colour(fleet.spoke('b'))).toBe('red');
    expect(JSON.stringify(shopStatus(fleet)['notReady'])).toContain('spec.suspension');
    // What is there is kept up all the same.
    await paint(fleet, fleet.spoke('b'), 'green');
    await fleet.until(() => colour(fleet.spoke('b')) === 'red', 'kept up');
    await suspend({ dispatchingOnClusters: null, dispatching: true });
    await fleet.rest(5_000);
    await paint(fleet, fleet.hub, 'white');
    await fleet.rest(10_000);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('b'))]).not.toContain('white');
    expect(conditionOf(shop(fleet), 'Dispatched')).toBe('False/Suspended');
    await suspend({ dispatching: null, scheduling: true });
    await fleet.until(() => colour(fleet.spoke('b')) === 'white', 'sent again');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { clusterNames: ['a'] } },
    });
    await fleet.rest(10_000);
    expect(colour(fleet.spoke('b'))).toBe('white');
    await suspend(null);
    await fleet.until(() => colour(fleet.spoke('b')) === '', 'placed anew');
  });
});
