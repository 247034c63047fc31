import { afterEach, describe, expect, it } from 'vitest';
import type { OwnershipRecord } from '../../src/engine/dispatch/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, customResourceDefinitions } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  everything,
  type SimulatedFleet,
  type SimulatedSpoke,
  type SimulationOptions,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';

let fleet: SimulatedFleet;
let orders: Orders;
afterEach(async () => fleet.stop());

async function open(options: SimulationOptions = {}): Promise<void> {
  fleet = await simulateFleet(7, ['a'], options);
  orders = ordersFor(fleet, 'a');
}

const a = (): SimulatedSpoke => fleet.spoke('a');
const at = (path: string): KubeObject | undefined => stored(a(), path);
const edit = (name: string, patch: object): Promise<KubeObject> =>
  fleet.run(a().client.patch(configMaps, 'shop', name, 'merge', patch, { fieldManager: 'kubectl-edit' }));
const message = (): string => conditionMessage(orders.dispatch('shop'), 'Applied');

function map(name: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', ...metadata },
    data: {},
  };
}

const WEB: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    },
  },
};

const DEFINITION: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
const WIDGET: KubeObject = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'shop' },
  spec: { size: 1 },
};
const NAMESPACE: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const WIDGETS = {
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

describe('objects that need each other', () => {
  it('[S54] come in one word without an error, whatever their order in it', async () => {
    await open();
    const failed: string[] = [];
    const started = a().audit.length;
    await orders.give('shop', [WIDGET, map('settings'), DEFINITION, NAMESPACE]);
    await fleet.until(() => {
      for (const object of orders.dispatch('shop')?.status?.objects ?? [])
        if (object.word !== undefined) failed.push(`${object.ref.kind}: ${object.message}`);
      return conditionOf(orders.dispatch('shop'), 'Applied') === 'True/Applied';
    }, 'all applied');
    expect(failed).toEqual([]);
    const refused = a()
      .audit.slice(started)
      .filter(
        ({ user, verb, responseStatus }) =>
          user.username === 'atoll:engine' &&
          ['create', 'patch', 'update'].includes(verb) &&
          (responseStatus?.code ?? 0) >= 400,
      );
    // The first contact makes sure of the engine's own namespace, which is there.
    const noise = refused.filter(
      ({ verb, objectRef }) => !(verb === 'create' && objectRef?.resource === 'namespaces'),
    );
    expect(noise.map(({ requestURI, responseStatus }) => `${responseStatus?.code} ${requestURI}`)).toEqual(
      [],
    );
    expect(at('example.com/widgets/shop/w')).toBeDefined();
  });

  it('[S54] wait for a definition that another dispatch brings', async () => {
    await open();
    await orders.give('shop', [WIDGET]);
    await fleet.rest(1_000);
    await orders.fulfil('kinds', [DEFINITION]);
    await fleet.until(() => at('example.com/widgets/shop/w') !== undefined, 'the object');
  });

  it('[S54] say what they wait for while it does not come', async () => {
    await open();
    const broken = { ...DEFINITION, metadata: { name: 'gadgets.example.com' } };
    await orders.give('kinds', [broken]);
    await orders.give('shop', [WIDGET, map('settings')]);
    await fleet.rest(5_000);
    expect(at('core/configmaps/shop/settings')).toBeDefined();
    expect(orders.dispatch('shop')?.status?.objects).toEqual([
      {
        ref: { apiVersion: 'example.com/v1', kind: 'Widget', namespace: 'shop', name: 'w' },
        health: 'Progressing',
        reason: 'WaitingForKind',
        message: 'it waits until CustomResourceDefinition gadgets.example.com is served',
      },
    ]);
    expect(orders.dispatch('shop')?.status?.summary).toEqual({ total: 2, applied: 1, healthy: 1 });
    await orders.give('kinds', [DEFINITION]);
    await fleet.until(() => at('example.com/widgets/shop/w') !== undefined, 'the object', 5_000);
  });

  it('[S54] go in the reverse order, each after what it serves is gone', async () => {
    await open();
    await orders.fulfil('shop', [NAMESPACE, DEFINITION, WIDGET, WEB]);
    await fleet.run(
      a().client.patch(WIDGETS, 'shop', 'w', 'merge', { metadata: { finalizers: ['example.com/clean-up'] } }),
    );
    await orders.give('shop', []);
    await fleet.rest(20_000);
    expect(at('example.com/widgets/shop/w')?.metadata.deletionTimestamp).toBeDefined();
    expect(at('apps/deployments/shop/web')).toBeDefined();
    expect(at('apps/deployments/shop/web')?.metadata.deletionTimestamp).toBeUndefined();
    expect(at('apiextensions.k8s.io/customresourcedefinitions/-/widgets.example.com')).toMatchObject({
      metadata: { name: 'widgets.example.com' },
    });
    expect(message()).toContain(
      'Widget shop/w is still there: it waits for its finalizers: example.com/clean-up',
    );
    const waiting = orders.dispatch('shop')?.status?.objects ?? [];
    expect(waiting.map(({ word }) => word)).toEqual(waiting.map(() => 'WaitingForRemoval'));
    await fleet.run(a().client.patch(WIDGETS, 'shop', 'w', 'merge', { metadata: { finalizers: null } }));
    await fleet.until(() => at('core/namespaces/-/shop') === undefined, 'all gone');
    await expect(
      fleet.run(a().client.get(customResourceDefinitions, '', 'widgets.example.com')),
    ).rejects.toMatchObject({ code: 404 });
  });

  it('are not written again because one of them fails', async () => {
    await open();
    const bad = { ...map('bad'), data: { a: 5 } };
    await orders.give('shop', [map('one'), map('two'), bad]);
    await fleet.rest(3_000);
    const before = a().audit.length;
    await fleet.rest(60_000);
    const written = a()
      .audit.slice(before)
      .filter(({ verb, objectRef }) => verb === 'patch' && objectRef?.resource === 'configmaps');
    expect(new Set(written.map(({ objectRef }) => objectRef?.name))).toEqual(new Set(['bad']));
    await orders.fulfil('shop', [map('one'), map('two'), { ...map('bad'), data: { a: '5' } }]);
    const again = a()
      .audit.slice(before)
      .filter(({ objectRef }) => objectRef?.name === 'one');
    expect(again).toEqual([]);
  });
});

describe('an object that moves between two dispatches', () => {
  it.each([
    ['the new one claims it first', ['new', 'old'], 0],
    ['the old one lets it go first', ['old', 'new'], 500],
  ] as const)('[S55] keeps its UID where %s', async (_text, order, pause) => {
    await open();
    const all = Array.from({ length: 20 }, (_, index) => map(`m${index}`));
    await orders.fulfil('old', all);
    const uids = (): (string | undefined)[] =>
      all.map(({ metadata }) => at(`core/configmaps/shop/${metadata.name}`)?.metadata.uid);
    const before = uids();
    for (const name of order) {
      await orders.give(name, name === 'old' ? all.slice(0, 5) : all.slice(5));
      await fleet.rest(pause);
    }
    const applied = (name: string): boolean =>
      conditionOf(orders.dispatch(name), 'Applied') === 'True/Applied';
    await fleet.until(() => applied('old') && applied('new'), 'both applied');
    await fleet.rest(30_000);
    expect(uids()).toEqual(before);
    expect(at('core/configmaps/shop/m9')?.metadata.labels).toEqual({ 'atoll.dev/dispatch': 'new' });
    await orders.fulfil('old', []);
    await orders.fulfil('new', all.slice(5, 6));
    expect(
      storedBelow(a(), 'core/configmaps/shop').filter(({ metadata }) => metadata.name?.startsWith('m')),
    ).toHaveLength(1);
  });

  it('[S55] keeps its UID over a crash in the middle', async () => {
    await open({ engineLatencyMs: 100 });
    await orders.fulfil('old', [map('m')]);
    const uid = at('core/configmaps/shop/m')?.metadata.uid;
    for (const [turn, pause] of [20, 60, 110, 160, 230, 310, 420, 700, 1_100].entries()) {
      const [to, from] = turn % 2 === 0 ? ['new', 'old'] : ['old', 'new'];
      await orders.give(to ?? '', [map('m')]);
      await orders.give(from ?? '', []);
      await fleet.rest(pause);
      await fleet.kill('a');
      await fleet.start('a');
      await fleet.until(
        () =>
          conditionOf(orders.dispatch(to ?? ''), 'Applied') === 'True/Applied' &&
          at('core/configmaps/shop/m')?.metadata.labels?.['atoll.dev/dispatch'] === to,
        `in turn ${turn} the object with its new dispatch`,
      );
      expect(at('core/configmaps/shop/m')?.metadata.uid).toBe(uid);
    }
  });
});

describe('an object that is ordered away', () => {
  it('[F35] stays without marks where it was to be preserved, and is no longer corrected', async () => {
    await open();
    await orders.fulfil('shop', [map('kept', { labels: { own: 'x' } })], {
      apply: { preserveOnDeletion: true },
    });
    const before = at('core/configmaps/shop/kept')?.metadata;
    expect(before?.annotations?.['atoll.dev/managed-by']).toBe('hub a1b2c3d4, Propagation shop/shop');
    await orders.fulfil('shop', []);
    const { uid, labels, annotations } = at('core/configmaps/shop/kept')?.metadata ?? {};
    expect(uid).toBe(before?.uid);
    expect(labels).toEqual({ own: 'x' });
    expect(annotations ?? {}).toEqual({});
    await edit('kept', { data: { mine: 'now' } });
    await fleet.rest(10_000);
    expect(at('core/configmaps/shop/kept')?.['data']).toEqual({ mine: 'now' });
  });

  it('goes although the spoke died when it had made it anew, before it could note that', async () => {
    await open({ engineLatencyMs: 100 });
    await orders.fulfil('shop', [map('m')]);
    const made = (): string => at('core/configmaps/shop/m')?.metadata.uid ?? '';
    const before = made();
    await fleet.run(a().client.delete(configMaps, 'shop', 'm'));
    await fleet.until(() => made() !== '', 'that it is made anew');
    await orders.give('shop', []);
    await fleet.kill('a');
    const { spec } = at('atoll.dev/ownershiprecords/atoll-system/shop') as OwnershipRecord;
    expect(spec.owned.map(({ uid }) => uid)).toEqual([before]);
    expect(made()).not.toBe(before);
    await fleet.start('a');
    await fleet.until(() => made() === '', 'that it is gone');
  });

  it('[S53] stays where it is a namespace in which somebody else has put something', async () => {
    await open();
    await orders.fulfil('shop', [NAMESPACE, map('ours')]);
    await fleet.run(a().client.create(configMaps, map('theirs')));
    await orders.fulfil('shop', []);
    await fleet.rest(5_000);
    expect(at('core/configmaps/shop/ours')).toBeUndefined();
    expect(at('core/configmaps/shop/theirs')).toBeDefined();
    expect(at('core/namespaces/-/shop')?.metadata.labels).not.toHaveProperty(['atoll.dev/dispatch']);
    await orders.give('shop', [map('ours')]);
    await orders.fulfil('implied', [{ ...map('x'), metadata: { name: 'x', namespace: 'implied' } }]);
    await orders.fulfil('implied', []);
    expect(at('core/namespaces/-/implied')).toBeDefined();
  });

  it('stays where it is a namespace in which its own order keeps something', async () => {
    await open();
    await orders.fulfil('shop', [NAMESPACE, map('ours')]);
    const uid = at('core/configmaps/shop/ours')?.metadata.uid;
    await orders.fulfil('shop', [map('ours')]);
    await fleet.rest(60_000);
    expect(at('core/configmaps/shop/ours')?.metadata.uid).toBe(uid);
    expect(at('core/namespaces/-/shop')?.metadata.labels).not.toHaveProperty(['atoll.dev/dispatch']);
  });

  it('waits where it is a namespace in which another order has something, and goes with that', async () => {
    await open();
    await orders.fulfil('home', [NAMESPACE]);
    await orders.fulfil('shop', [map('ours')]);
    const uid = at('core/configmaps/shop/ours')?.metadata.uid;
    await orders.give('home', []);
    await fleet.rest(10_000);
    expect(at('core/configmaps/shop/ours')?.metadata.uid).toBe(uid);
    expect(conditionMessage(orders.dispatch('home'), 'Applied')).toContain(
      'Namespace shop is still there: dispatch shop has ConfigMap shop/ours in it',
    );
    await orders.give('shop', []);
    await fleet.until(() => at('core/namespaces/-/shop') === undefined, 'that it is gone', 30_000);
  });

  it('stays where it is a namespace that another order does not leave', async () => {
    await open();
    await orders.fulfil('home', [NAMESPACE]);
    await orders.fulfil('shop', [map('ours')]);
    const uid = at('core/configmaps/shop/ours')?.metadata.uid;
    await orders.fulfil('home', []);
    expect(at('core/namespaces/-/shop')?.metadata.labels).not.toHaveProperty(['atoll.dev/dispatch']);
    await fleet.rest(60_000);
    expect(at('core/configmaps/shop/ours')?.metadata.uid).toBe(uid);
  });

  it('stays where it is a namespace with an object of a kind that somebody defined, or a copy of one of its own', async () => {
    await open();
    const inPlace = (name: string, namespace: string): KubeObject => ({
      ...map(name),
      metadata: { name, namespace },
    });
    await fleet.run(a().client.create(customResourceDefinitions, DEFINITION));
    for (const name of ['one', 'two'])
      await orders.fulfil(name, [{ ...NAMESPACE, metadata: { name } }, inPlace('ours', name)]);
    await fleet.run(a().client.create(WIDGETS, { ...WIDGET, metadata: { name: 'w', namespace: 'one' } }));
    const { labels, annotations } = at('core/configmaps/two/ours')?.metadata ?? {};
    await fleet.run(
      a().client.create(configMaps, {
        ...inPlace('copy', 'two'),
        metadata: {
          name: 'copy',
          namespace: 'two',
          ...(labels && { labels }),
          ...(annotations && { annotations }),
        },
      }),
    );
    await orders.fulfil('one', []);
    await orders.fulfil('two', []);
    await fleet.rest(10_000);
    expect(at('example.com/widgets/one/w')).toBeDefined();
    expect(at('core/configmaps/two/copy')).toBeDefined();
    expect(at('core/configmaps/two/ours')).toBeUndefined();
  });

  it('[S52] names its origin until it is released', async () => {
    await open();
    await orders.fulfil('shop', [map('kept', { annotations: { 'atoll.dev/preserve-on-deletion': 'true' } })]);
    const marks = (): unknown =>
      at('core/configmaps/shop/kept')?.metadata.annotations?.['atoll.dev/managed-by'];
    expect(marks()).toBe('hub a1b2c3d4, Propagation shop/shop');
    await orders.fulfil('shop', []);
    expect(at('core/configmaps/shop/kept')).toBeDefined();
    expect(marks()).toBeUndefined();
  });

  it('[A71] is not deleted while it is protected', async () => {
    await open();
    await orders.fulfil('shop', [map('kept')]);
    await edit('kept', { metadata: { labels: { 'atoll.dev/deletion-protected': 'true' } } });
    await orders.give('shop', []);
    await fleet.rest(20_000);
    expect(at('core/configmaps/shop/kept')?.metadata.deletionTimestamp).toBeUndefined();
    expect(orders.dispatch('shop')?.status?.objects?.[0]).toMatchObject({ word: 'DeletionFailed' });
    expect(message()).toContain('kubectl -n shop label configmap kept atoll.dev/deletion-protected-');
    // Unused bundles are collected about a minute after the last change.
    await fleet.rest(90_000);
    const revision = everything(a());
    await fleet.rest(60_000);
    expect(everything(a())).toEqual(revision);
    await edit('kept', { metadata: { labels: { 'atoll.dev/deletion-protected': null } } });
    await fleet.until(() => at('core/configmaps/shop/kept') === undefined, 'deleted');
  });

  it('[F36] is deleted as it was asked to: Orphan keeps the ReplicaSets of a Deployment', async () => {
    await open({ workloads: true });
    const apply = { deletion: { propagationPolicy: 'Orphan' as const } };
    await orders.fulfil('shop', [WEB], { apply });
    const replicaSets = (): KubeObject[] => storedBelow(a(), 'apps/replicasets/shop');
    await fleet.until(() => replicaSets().length === 1, 'the replica set');
    const uid = replicaSets()[0]?.metadata.uid;
    await orders.fulfil('shop', []);
    await fleet.until(() => at('apps/deployments/shop/web') === undefined, 'the deployment gone');
    await fleet.rest(10_000);
    expect(replicaSets()[0]?.metadata).toMatchObject({ uid });
    expect(replicaSets()[0]?.metadata.ownerReferences ?? []).toEqual([]);
  });
});
