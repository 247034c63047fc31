import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { PROPAGATIONS, type SimulatedFleet, simulateFleet, stored, storedBelow } from './fleet.ts';
import { observes } from './rig/oracle.ts';
import { colour, merge, openShop, paint, propagation, ready, shop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const at = (spoke: string): KubeObject | undefined =>
  stored(fleet.spoke(spoke), 'core/configmaps/shop/settings');
const marksAt = (spoke: string): string[] =>
  Object.keys(at(spoke)?.metadata.labels ?? {}).filter((name) => name.startsWith('atoll.dev/'));
const retractions = (): KubeObject[] => storedBelow(fleet.hub, 'atoll.dev/retractions/-');

async function open(spec: object = {}): Promise<void> {
  fleet = await simulateFleet(71, ['a', 'b']);
  await openShop(fleet, undefined, spec);
  await ready(fleet, 2);
}

async function tearOut(): Promise<void> {
  await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { metadata: { finalizers: null } });
  await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
}

describe('a Propagation that is gone and ordered nothing away, its finalizer being taken off by force', () => {
  it('stops no hub: what it brought stays, without marks, also where clusters were away', async () => {
    await open();
    const uid = at('a')?.metadata.uid;
    fleet.cut('b');
    await fleet.rest(60_000);
    await tearOut();
    await fleet.until(() => marksAt('a').length === 0, 'no marks at a');
    fleet.heal('b');
    await fleet.until(() => marksAt('b').length === 0, 'no marks at b', 120_000);
    await fleet.rest(60_000);
    expect(observes(fleet.hub)).toBe(false);
    expect([at('a')?.metadata.uid, colour(fleet.spoke('b'))]).toEqual([uid, 'red']);
    expect(storedBelow(fleet.spoke('b'), 'atoll.dev/dispatches/atoll-system')).toEqual([]);
  });

  it('yields to another one of its name, and leaves nothing of its revisions', async () => {
    await open({ revisionHistoryLimit: 3 });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'another revision');
    await ready(fleet, 2);
    const revisions = (): KubeObject[] => storedBelow(fleet.hub, 'atoll.dev/intentrevisions/atoll-system');
    expect(revisions()).toHaveLength(2);
    await tearOut();
    const uid = at('a')?.metadata.uid;
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('shop')));
    await fleet.rest(60_000);
    expect(observes(fleet.hub)).toBe(false);
    expect([revisions().length, retractions().length]).toEqual([0, 1]);
    await paint(fleet, fleet.hub, 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'the other one has it');
    expect(at('a')?.metadata.uid).toBe(uid);
  });

  it('gets its finalizer back while it stays', async () => {
    await open();
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { metadata: { finalizers: null } });
    await fleet.until(() => shop(fleet)?.metadata.finalizers?.length === 1, 'its finalizer');
  });
});
