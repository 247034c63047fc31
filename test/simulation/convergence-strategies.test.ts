import { afterEach, describe, expect, it } from 'vitest';
import type { ResourceId } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, namespaces } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  type SimulatedFleet,
  type SimulatedSpoke,
  simulateFleet,
  stored,
} from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';

let fleet: SimulatedFleet;
let orders: Orders;
afterEach(async () => fleet.stop());

async function open(): Promise<void> {
  fleet = await simulateFleet(6, ['a']);
  orders = ordersFor(fleet, 'a');
}

const a = (): SimulatedSpoke => fleet.spoke('a');
const edit = (patch: object, resource: ResourceId = configMaps): Promise<KubeObject> =>
  fleet.run(a().client.patch(resource, 'shop', 'settings', 'merge', patch, { fieldManager: 'kubectl-edit' }));

function settings(colour: string, annotations?: Record<string, string>): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'shop', ...(annotations ? { annotations } : {}) },
    data: { colour },
  };
}

const map = (): KubeObject | undefined => stored(a(), 'core/configmaps/shop/settings');
const data = (): Record<string, string> => (map()?.['data'] ?? {}) as Record<string, string>;
const condition = (type: string): string => conditionOf(orders.dispatch('shop'), type);
const writers = (): string[] =>
  (map()?.metadata.managedFields ?? []).map(({ manager, operation }) => `${manager} ${operation}`);

/** An object that somebody made before. */
async function stranger(): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  await fleet.run(a().client.create(namespaces, namespace));
  const object = { ...settings('green'), data: { colour: 'green', own: 'yes' } };
  await fleet.run(a().client.create(configMaps, object, { fieldManager: 'kubectl-create' }));
}

describe('a strategy', () => {
  it('[A79] ServerSideApply owns what is stated, and leaves the rest to its owners', async () => {
    await open();
    await orders.fulfil('shop', [settings('red')]);
    await edit({ data: { own: 'yes' } });
    await fleet.rest(2_000);
    expect(data()).toEqual({ colour: 'red', own: 'yes' });
    expect(writers()).toEqual(['atoll Apply', 'kubectl-edit Update']);
  });

  it('[A79] ServerSideApply without force reports a conflict with the name of the other manager', async () => {
    await open();
    const apply = { force: false };
    await orders.fulfil('shop', [settings('red')], { apply });
    await edit({ data: { colour: 'green' } });
    await fleet.rest(2_000);
    expect(data()).toEqual({ colour: 'green' });
    expect(condition('Applied')).toBe('False/ApplyFailed');
    expect(conditionMessage(orders.dispatch('shop'), 'Applied')).toContain('kubectl-edit');
    const asked = a().audit.length;
    await fleet.rest(60_000);
    expect(
      a()
        .audit.slice(asked)
        .filter((event) => event.verb === 'patch').length,
    ).toBeLessThan(20);
    await orders.fulfil('shop', [settings('red')]);
    expect(data()).toEqual({ colour: 'red' });
  });

  it('[A79] Update replaces the whole object', async () => {
    await open();
    const apply = { strategy: 'Update' as const };
    await orders.fulfil('shop', [settings('red')], { apply });
    await edit({ data: { own: 'yes' } });
    await fleet.until(() => !('own' in data()), 'the field that nobody stated taken away');
    expect(writers()).toContain('atoll Update');
  });

  it('[A79] may change: what was put there by one is taken away by the other', async () => {
    await open();
    const more = { ...settings('red'), data: { colour: 'red', size: 'big' } };
    await orders.fulfil('shop', [more], { apply: { strategy: 'Update' } });
    await orders.fulfil('shop', [settings('red')]);
    expect(data()).toEqual({ colour: 'red' });
    expect(Object.keys(map()?.metadata.annotations ?? {})).toEqual(['atoll.dev/managed-by']);
    await orders.fulfil('shop', [more]);
    await orders.fulfil('shop', [settings('blue')], { apply: { strategy: 'Update' } });
    expect(data()).toEqual({ colour: 'blue' });
  });

  it('[A79] CreateOnly makes an object and leaves it to the cluster from then on', async () => {
    await open();
    const apply = { strategy: 'CreateOnly' as const };
    await orders.fulfil('shop', [settings('red')], { apply });
    await edit({ data: { colour: 'green' } });
    await orders.fulfil('shop', [settings('blue')], { apply });
    await fleet.rest(5_000);
    expect(data()).toEqual({ colour: 'green' });
    await fleet.run(a().client.delete(configMaps, 'shop', 'settings'));
    await fleet.until(() => data()['colour'] === 'blue', 'made again where it is not there');
  });

  it('[A79] ReadOnly writes nothing and tells how the object is', async () => {
    await open();
    await orders.fulfil('shop', [settings('red')], { apply: { strategy: 'ReadOnly' } });
    expect(map()).toBeUndefined();
    expect(condition('Healthy')).toBe('False/Missing');
    await stranger();
    await fleet.until(() => condition('Healthy') === 'True/Healthy', 'seen');
    expect(data()).toEqual({ colour: 'green', own: 'yes' });
    expect(map()?.metadata.labels).toBeUndefined();
    await fleet.run(a().client.delete(configMaps, 'shop', 'settings'));
    await fleet.until(() => condition('Healthy') === 'False/Missing', 'seen going');
    await orders.fulfil('shop', []);
  });

  it('[A79] is chosen for some objects, by the first strategy that means them', async () => {
    await open();
    const other = { ...settings('red'), metadata: { name: 'prices', namespace: 'shop' } };
    await orders.fulfil('shop', [settings('red'), other], {
      objectApply: [
        { target: { kind: 'ConfigMap', name: 'prices' }, strategy: 'CreateOnly' },
        { target: { kind: 'ConfigMap' }, strategy: 'Update' },
      ],
    });
    await fleet.run(a().client.patch(configMaps, 'shop', 'prices', 'merge', { data: { own: 'yes' } }));
    await edit({ data: { own: 'yes' } });
    await fleet.until(() => !('own' in data()), 'the replaced one');
    expect(stored(a(), 'core/configmaps/shop/prices')?.['data']).toEqual({ colour: 'red', own: 'yes' });
  });
});

describe('an object that is there already', () => {
  it.each([
    ['Never', undefined, false],
    [undefined, undefined, false],
    ['Always', undefined, true],
    ['Never', 'true', true],
    ['Always', 'false', false],
  ] as const)(
    '[F24] with adopt %s and the annotation %s is taken over: %s',
    async (adopt, annotation, taken) => {
      await open();
      await stranger();
      await orders.give(
        'shop',
        [settings('red', annotation === undefined ? undefined : { 'atoll.dev/adopt': annotation })],
        adopt === undefined ? {} : { apply: { adopt } },
      );
      await fleet.rest(5_000);
      expect(data()).toEqual({ colour: taken ? 'red' : 'green', own: 'yes' });
      expect(condition('Applied')).toBe(taken ? 'True/Applied' : 'False/ApplyFailed');
      const [object] = orders.dispatch('shop')?.status?.objects ?? [];
      expect(object?.word).toBe(taken ? undefined : 'AlreadyExists');
    },
  );

  it('[S51] that was not taken over survives the order to remove it', async () => {
    await open();
    await stranger();
    await orders.give('shop', [settings('red')]);
    await fleet.rest(2_000);
    await orders.fulfil('shop', []);
    expect(data()).toEqual({ colour: 'green', own: 'yes' });
  });

  it('[S49] is left as it is by CreateOnly, also in the end', async () => {
    await open();
    await stranger();
    await orders.fulfil('shop', [settings('red')], { apply: { strategy: 'CreateOnly' } });
    expect(data()).toEqual({ colour: 'green', own: 'yes' });
    await orders.fulfil('shop', []);
    expect(data()).toEqual({ colour: 'green', own: 'yes' });
  });
});

describe('an object that CreateOnly made', () => {
  it.each([
    [false, false],
    [true, true],
  ])('[S49] with preserveOnDeletion %s stays when it is no longer wanted: %s', async (preserve, stays) => {
    await open();
    await orders.fulfil('shop', [settings('red')], {
      apply: { strategy: 'CreateOnly', preserveOnDeletion: preserve },
    });
    await orders.fulfil('shop', []);
    expect(map() !== undefined).toBe(stays);
  });
});

describe('an object that its cluster keeps from us', () => {
  it('[F23] is left alone and reported until it is given back', async () => {
    await open();
    await orders.fulfil('shop', [settings('red')]);
    await edit({ metadata: { labels: { 'atoll.dev/managed': 'false' } }, data: { colour: 'green' } });
    await fleet.until(
      () => orders.dispatch('shop')?.status?.objects?.[0]?.word === 'ManagedLabelFalse',
      'the report',
    );
    await orders.give('shop', [settings('blue')]);
    await fleet.rest(30_000);
    expect(data()).toEqual({ colour: 'green' });
    await edit({ metadata: { labels: { 'atoll.dev/managed': null } } });
    await fleet.until(() => data()['colour'] === 'blue', 'taken back', 5_000);
    await fleet.until(() => condition('Applied') === 'True/Applied', 'all well');
  });
});

describe('an object that the API server refuses', () => {
  it('[A35] is reported with the words of the server', async () => {
    await open();
    await orders.fulfil('shop', [settings('red')]);
    const immutable = { ...settings('red'), immutable: true };
    await orders.fulfil('shop', [immutable]);
    const bad = { ...settings('red'), metadata: { name: 'Not a name', namespace: 'shop' } };
    await orders.give('shop', [{ ...immutable, data: { colour: 'blue' } }, bad]);
    await fleet.rest(3_000);
    expect(condition('Applied')).toBe('False/ApplyFailed');
    const said = (orders.dispatch('shop')?.status?.objects ?? []).map(({ ref, word, message }) => [
      ref.name,
      word,
      message,
    ]);
    expect(said).toEqual([
      ['Not a name', 'CreationFailed', expect.stringContaining('RFC 1123 subdomain')],
      ['settings', 'UpdateFailed', expect.stringContaining('immutable')],
    ]);
    expect(orders.dispatch('shop')?.status?.summary).toEqual({ total: 2, applied: 0, healthy: 0 });
  });
});

it('refuses what would change the spoke itself or the namespaces of its cluster', async () => {
  await open();
  const inside = { ...settings('red'), metadata: { name: 'hub-trust', namespace: 'atoll-system' } };
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'kube-system', labels: { mine: 'now' } },
  };
  await orders.give('shop', [namespace, inside, settings('red')]);
  await fleet.until(() => data()['colour'] === 'red', 'the object that may be applied');
  await fleet.rest(5_000);
  expect(stored(a(), 'core/namespaces/-/kube-system')?.metadata.labels).not.toHaveProperty('mine');
  const reasons = (orders.dispatch('shop')?.status?.objects ?? []).map(({ reason }) => reason);
  expect(reasons).toEqual(['Protected', 'Protected']);
  await orders.fulfil('shop', []);
  expect(stored(a(), 'core/namespaces/-/kube-system')).toBeDefined();
  expect(stored(a(), 'core/configmaps/atoll-system/hub-trust')).toBeDefined();
});
