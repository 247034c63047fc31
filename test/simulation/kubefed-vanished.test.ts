import { afterEach, describe, expect, it } from 'vitest';
import { INTENT_RECORD } from '../../src/hub/intents/records.ts';
import type { ResourceId } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { applyAll, enable, federated, federatedAt, openFederatedShop, propagation } from './federation.ts';
import { dispatchesOn, type SimulatedFleet, simulateFleet, stored, storedBelow } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const RECORDS = resourceIdOf(INTENT_RECORD);
const records = () => storedBelow(fleet.hub, 'atoll.dev/intentrecords/atoll-system');
const retractions = () => storedBelow(fleet.hub, 'atoll.dev/retractions/-');
const at = (spoke: string) => stored(fleet.spoke(spoke), 'core/configmaps/shop/c');
const marksAt = (spoke: string) =>
  Object.keys(at(spoke)?.metadata.labels ?? {}).filter((name) => name.startsWith('atoll.dev/'));

async function open(): Promise<ResourceId> {
  fleet = await simulateFleet(61, ['a', 'b']);
  await enable(fleet, ['Namespace', 'ConfigMap']);
  await openFederatedShop(fleet, ['a', 'b']);
  const clusters = [{ name: 'a' }, { name: 'b' }];
  await applyAll(fleet, fleet.hub, [
    federated('ConfigMap', 'c', { template: { data: { colour: 'red' } }, placement: { clusters } }),
  ]);
  await fleet.until(() => propagation(federatedAt(fleet, 'ConfigMap', 'c')).is === 'True', 'True');
  return fleet.run(fleet.hub.client.resourceFor('types.kubefed.io/v1beta1', 'FederatedConfigMap'));
}

/** Deletes the object, and takes its finalizer off by force. */
async function tearOut(resource: ResourceId): Promise<void> {
  const { client } = fleet.hub;
  await fleet.run(client.patch(resource, 'shop', 'c', 'merge', { metadata: { finalizers: null } }));
  if (federatedAt(fleet, 'ConfigMap', 'c')) await fleet.run(client.delete(resource, 'shop', 'c'));
}

describe('an object that is gone and ordered nothing away', () => {
  it('[F26] while the hub was down leaves what it brought, without marks', async () => {
    const resource = await open();
    await fleet.run(fleet.hub.engine?.stop() ?? Promise.resolve());
    await tearOut(resource);
    expect(federatedAt(fleet, 'ConfigMap', 'c')).toBeUndefined();
    await fleet.kill('hub');
    fleet.cut('b');
    await fleet.start('hub');
    await fleet.until(() => marksAt('a').length === 0, 'no marks at a');
    expect(at('a')?.['data']).toEqual({ colour: 'red' });
    expect(marksAt('b')).not.toEqual([]);
    fleet.heal('b');
    await fleet.until(() => marksAt('b').length === 0, 'no marks at b', 120_000);
    expect(at('b')?.['data']).toEqual({ colour: 'red' });
    await fleet.rest(60_000);
    expect(fleet.spokes.map((spoke) => dispatchesOn(spoke).length)).toEqual([1, 1]);
    expect(records()).toHaveLength(1);
    // The namespace and what else is federated stay as they were.
    expect(stored(fleet.spoke('a'), 'core/namespaces/-/shop')).toBeDefined();
  });

  it('while the hub runs does so as well, and another one of its name takes what it left over', async () => {
    const resource = await open();
    const before = at('a')?.metadata.uid;
    await tearOut(resource);
    await fleet.until(() => [...marksAt('a'), ...marksAt('b')].length === 0, 'no marks');
    expect(at('a')?.metadata.uid).toBe(before);
    await applyAll(fleet, fleet.hub, [
      federated('ConfigMap', 'c', {
        template: { data: { colour: 'green' } },
        placement: { clusters: [{ name: 'a' }] },
      }),
    ]);
    await fleet.until(() => JSON.stringify(at('a')?.['data']) === '{"colour":"green"}', 'green');
    expect(at('a')?.metadata.uid).toBe(before);
    expect(at('b')?.['data']).toEqual({ colour: 'red' });
  });
});

describe('a record whose object is gone', () => {
  it('goes, where the hub ended between its last two writes', async () => {
    const resource = await open();
    const record = records().find((item) => JSON.stringify(item).includes('FederatedConfigMap'));
    await fleet.run(fleet.hub.client.delete(resource, 'shop', 'c'));
    await fleet.until(() => federatedAt(fleet, 'ConfigMap', 'c') === undefined, 'gone');
    await fleet.rest(10_000);
    expect(records()).toHaveLength(1);
    expect(retractions()).toHaveLength(1);
    // As a crash would have left it.
    await fleet.run(fleet.hub.engine?.stop() ?? Promise.resolve());
    if (!record) throw new Error('there was no record');
    const { resourceVersion: _version, uid: _uid, ...metadata } = record.metadata;
    const spec = { ...(record['spec'] as object), dispatchDigest: 'retracted', dispatchGeneration: 2 };
    await fleet.run(fleet.hub.client.create(RECORDS, { ...record, metadata, spec } as typeof record));
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.until(() => records().length === 1, 'the record is swept');
    await fleet.rest(10_000);
    expect(retractions()).toHaveLength(1);
    expect([at('a'), at('b')]).toEqual([undefined, undefined]);
  });

  it('stays as long as its kind is not served: that says nothing of its objects', async () => {
    await open();
    const record = records().find((item) => JSON.stringify(item).includes('FederatedConfigMap'));
    if (!record) throw new Error('there was no record');
    const { resourceVersion: _version, uid: _uid, ...metadata } = record.metadata;
    const { source } = record['spec'] as { source: object };
    const other = {
      ...record,
      metadata: { ...metadata, name: 'shop-x-00000000' },
      spec: {
        ...(record['spec'] as object),
        source: { ...source, kind: 'FederatedUnknown', name: 'x', uid: '00000000-x' },
      },
    };
    await fleet.run(fleet.hub.client.create(RECORDS, other as typeof record));
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(60_000);
    expect(records()).toHaveLength(3);
    expect(marksAt('a')).not.toEqual([]);
  });
});
