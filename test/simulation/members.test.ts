import { afterEach, describe, expect, it } from 'vitest';
import { DISPATCH_LABEL } from '../../src/engine/dispatch/index.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import { configMaps, customResourceDefinitions, namespaces } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const relabel = (name: string, labels: object): Promise<unknown> =>
  merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels } });
const settings = (name: string) => stored(fleet.spoke(name), 'core/configmaps/shop/settings');

describe('members by their labels', () => {
  it('[F6] a new label moves the object within one pass', async () => {
    fleet = await simulateFleet(41, ['a', 'b']);
    await relabel('a', { tier: 'gold' });
    await openShop(fleet, undefined, { placement: { clusterSelector: { matchLabels: { tier: 'gold' } } } });
    await ready(fleet, 1);
    const generation = shopStatus(fleet)['dispatchGeneration'] as number;
    await relabel('b', { tier: 'gold' });
    await fleet.until(() => colour(fleet.spoke('b')) === 'red', 'the object on b', 5_000);
    await relabel('a', { tier: null });
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the object gone from a', 5_000);
    await ready(fleet, 1);
    expect(shopStatus(fleet)['dispatchGeneration']).toBe(generation + 2);
  });

  it('[F27] a cluster that leaves the placement loses the object, all others keep theirs', async () => {
    fleet = await simulateFleet(42, ['a', 'b', 'c']);
    await openShop(fleet, undefined, { placement: { clusterNames: ['a', 'b', 'c'] } });
    await ready(fleet, 3);
    const uids = ['a', 'c'].map((name) => settings(name)?.metadata.uid);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { clusterNames: ['a', 'c'] } },
    });
    await fleet.until(() => colour(fleet.spoke('b')) === '', 'the object gone from b');
    await ready(fleet, 2);
    expect(['a', 'c'].map((name) => settings(name)?.metadata.uid)).toEqual(uids);
    await fleet.until(() => dispatchesOn(fleet.spoke('b')).length === 0, 'the order gone from b');
  });
});

describe('the end of a propagation', () => {
  it('[F34] comes only after all members confirmed that its objects are gone', async () => {
    fleet = await simulateFleet(43, ['a', 'b']);
    await openShop(fleet);
    await ready(fleet, 2);
    await merge(fleet, fleet.spoke('b'), configMaps, 'shop', 'settings', {
      metadata: { finalizers: ['team/hold'] },
    });
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the removal on a');
    await fleet.rest(300_000);
    expect(shop(fleet)?.metadata.deletionTimestamp).toBeDefined();
    expect(shopStatus(fleet)['dispatchedTo']).toEqual(['b']);
    await merge(fleet, fleet.spoke('b'), configMaps, 'shop', 'settings', { metadata: { finalizers: null } });
    await fleet.until(() => shop(fleet) === undefined, 'the end of the propagation');
    expect(colour(fleet.spoke('b'))).toBe('');
  });

  it('[A9] where resources are preserved, a deleted template leaves its copies, unlabelled', async () => {
    fleet = await simulateFleet(44, ['a']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')], {
      apply: { preserveOnDeletion: true },
    });
    await ready(fleet, 1);
    expect(settings('a')?.metadata.labels).toHaveProperty([DISPATCH_LABEL]);
    const uid = settings('a')?.metadata.uid;
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'settings'));
    await fleet.until(() => settings('a')?.metadata.labels?.[DISPATCH_LABEL] === undefined, 'the mark gone');
    await fleet.rest(60_000);
    expect(settings('a')?.metadata.uid).toBe(uid);
    expect(settings('a')?.metadata.labels ?? {}).toEqual({});
    expect(colour(fleet.spoke('a'), 'prices')).toBe('gold');
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.rest(60_000);
    expect(colour(fleet.spoke('a'))).toBe('green');
  });
});

describe('a conflict with what is there', () => {
  /** What is on the cluster in the end: the stranger's object, or the hub's. */
  async function outcome(policy: string | undefined, annotation: string | undefined): Promise<string> {
    fleet = await simulateFleet(45, ['a']);
    const { client } = fleet.spoke('a');
    await fleet.run(
      client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    await fleet.run(client.create(configMaps, configMap('settings', 'theirs')));
    const annotations = annotation === undefined ? {} : { 'atoll.dev/adopt': annotation };
    const source = configMap('settings', 'ours');
    await openShop(
      fleet,
      [{ ...source, metadata: { ...source.metadata, annotations } }],
      policy === undefined ? {} : { apply: { adopt: policy } },
    );
    await fleet.until(
      () =>
        ['True', 'False'].includes(
          conditionOf(dispatchesOn(fleet.spoke('a'))[0], 'Applied').split('/')[0] ?? '',
        ),
      'a result',
    );
    await fleet.rest(5_000);
    const word = conditionOf(shop(fleet), 'Ready').startsWith('True') ? 'overwritten' : 'aborted';
    expect(colour(fleet.spoke('a'))).toBe(word === 'overwritten' ? 'ours' : 'theirs');
    if (word === 'aborted') expect(conditionMessage(shop(fleet), 'Ready')).toContain('was not made by Atoll');
    return word;
  }

  it.each([
    [undefined, undefined, 'aborted'],
    [undefined, 'false', 'aborted'],
    [undefined, 'true', 'overwritten'],
    [undefined, 'perhaps', 'aborted'],
    ['Never', undefined, 'aborted'],
    ['Never', 'false', 'aborted'],
    ['Never', 'true', 'overwritten'],
    ['Never', 'perhaps', 'aborted'],
    ['Always', undefined, 'overwritten'],
    ['Always', 'false', 'aborted'],
    ['Always', 'true', 'overwritten'],
    ['Always', 'perhaps', 'aborted'],
  ])('[A10] policy %s, annotation %s of the template: %s', async (policy, annotation, expected) => {
    expect(await outcome(policy, annotation)).toBe(expected);
  });

  it('[A10] a policy that is not known is refused', async () => {
    fleet = await simulateFleet(46, []);
    await openShop(fleet, [], null);
    const attempt = fleet.run(
      fleet.hub.client.create(PROPAGATIONS, propagation('shop', { apply: { adopt: 'Perhaps' } })),
    );
    await expect(attempt).rejects.toThrow(/adopt/);
  });
});

const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
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

describe('members that differ', () => {
  it('[F63] one that lacks a version of an API fails alone, and only in its own status', async () => {
    fleet = await simulateFleet(47, ['old', 'new']);
    for (const target of [fleet.hub, fleet.spoke('new')])
      await fleet.run(target.client.create(customResourceDefinitions, WIDGETS));
    await fleet.rest(2_000);
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop' },
      size: 1,
    };
    await openShop(fleet, [configMap('settings', 'red'), widget], {
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'ConfigMap' },
        { apiVersion: 'example.com/v1', kind: 'Widget' },
      ],
    });
    await fleet.until(() => shopStatus(fleet)['ready'] === 1, 'the new member ready');
    expect(stored(fleet.spoke('new'), 'example.com/widgets/shop/w')).toBeDefined();
    expect(shopStatus(fleet)['notReady']).toMatchObject([{ cluster: 'old', state: 'Degraded' }]);
    expect(conditionMessage(shop(fleet), 'Ready')).toContain('Widget');
    // The rest of the same order is on the old member, and is kept up there.
    expect(colour(fleet.spoke('old'))).toBe('red');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(
      () => ['old', 'new'].every((name) => colour(fleet.spoke(name)) === 'blue'),
      'a change on both',
    );
  });

  it('[F30] one that hangs times out alone; the others are done in less than a second', async () => {
    let hanging = false;
    const hang: Handler = ({ signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    fleet = await simulateFleet(48, ['a', 'b', 'slow'], {
      network: (spoke, handler) => (request) =>
        hanging && spoke === 'slow' && request.method !== 'GET' ? hang(request) : handler(request),
    });
    await openShop(fleet);
    await ready(fleet, 3);
    hanging = true;
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(
      () => ['a', 'b'].every((name) => colour(fleet.spoke(name)) === 'blue'),
      'the others',
      1_000,
    );
    await fleet.until(
      () => JSON.stringify(shopStatus(fleet)['notReady']).includes('did not answer'),
      'the result of the one that hangs',
      30_000,
    );
    expect(shopStatus(fleet)).toMatchObject({
      ready: 2,
      notReady: [{ cluster: 'slow', reason: 'DispatchTimedOut' }],
    });
    hanging = false;
    await ready(fleet, 3);
  });
});
