import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { carryOut, PlanMoved } from '../../src/cli/plan/apply-plan.ts';
import { type Asked, computePlan, type FleetPlan } from '../../src/cli/plan/compute-plan.ts';
import type { Client } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { failure } from '../../src/kube/status-error.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { everything, PROPAGATIONS, type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet } from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

/** A spoke that the hub cannot reach. */
let away = '';
const spokeClient = (name: string): Client => {
  const { client } = fleet.spoke(name);
  return name === away ? { ...client, getJson: () => Promise.reject(new Error('not connected')) } : client;
};
const namespace = { name: 'shop', explicit: false };
const files = (...objects: KubeObject[]): Asked => ({
  manifests: objects.map((object, index) => ({ object, at: `file.yaml:${index + 1}` })),
  namespace,
});
const planOf = (asked: Asked): Promise<FleetPlan> =>
  fleet.run(computePlan(fleet.hub.client, spokeClient, asked));
const apply = (asked: Asked, plan: FleetPlan): Promise<unknown> =>
  fleet.run(carryOut(fleet.hub.client, spokeClient, asked, plan, fleet.runtime.clock));

/** `a: change ConfigMap/settings` for all that is not left as it is. */
function brief({ clusters }: FleetPlan): string[] {
  return clusters.flatMap(({ cluster, changes }) =>
    changes.flatMap(({ change, ref }) =>
      change === 'none' ? [] : [`${cluster}: ${change} ${ref.kind}/${ref.name}`],
    ),
  );
}

const settled = async (): Promise<void> => {
  await fleet.until(
    () =>
      shop(fleet)?.metadata.generation ===
      (shop(fleet)?.status as { observedGeneration?: number })?.observedGeneration,
    'the hub has seen it',
  );
  await fleet.rest(5_000);
};

/** Config maps on a spoke, by name: which object it is, and its content. */
function mapsOn(name: string): Map<string, { uid: string; version: string; data: unknown }> {
  const out = new Map<string, { uid: string; version: string; data: unknown }>();
  for (const { object } of fleet
    .spoke(name)
    .server.store.list('/core/configmaps/root/shop/')
    .records.map((record) => ({ object: record.object }))) {
    const { name: own = '', uid = '', resourceVersion: version = '', labels } = object.metadata;
    if (labels?.['atoll.dev/dispatch'] !== undefined) out.set(own, { uid, version, data: object['data'] });
  }
  return out;
}

describe('a plan', () => {
  it('says what a file would do on every cluster, and that is what applying it does', async () => {
    fleet = await simulateFleet(81, ['a', 'b']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await ready(fleet, 2);
    await fleet.rest(1_000);
    const before = ['a', 'b'].map((name) => everything(fleet.spoke(name)));
    const asked = files(
      configMap('settings', 'blue'),
      configMap('fresh', 'new'),
      propagation('shop', {
        overrides: [
          {
            name: 'b-is-green',
            clusterNames: ['b'],
            target: { kind: 'ConfigMap', name: 'settings' },
            patch: [{ op: 'replace', path: '/data/colour', value: 'green' }],
          },
        ],
      }),
    );
    const plan = await planOf(asked);
    expect(brief(plan)).toEqual([
      'a: create ConfigMap/fresh',
      'a: change ConfigMap/settings',
      'b: create ConfigMap/fresh',
      'b: change ConfigMap/settings',
    ]);
    expect(plan.clusters[1]?.changes.find(({ change }) => change === 'change')).toMatchObject({
      by: 'dry run',
      overrides: ['b-is-green'],
      fields: [{ path: 'data.colour', from: 'red', to: 'green' }],
    });
    expect(plan.radius).toMatchObject({ clusters: 2, ofClusters: 2, create: 2, change: 2, delete: 0 });
    await fleet.rest(5_000);
    expect(['a', 'b'].map((name) => everything(fleet.spoke(name)))).toEqual(before);
    expect((await planOf(asked)).hash).toBe(plan.hash);
    await apply(asked, plan);
    await settled();
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('b'))]).toEqual(['blue', 'green']);
    expect((await planOf(asked)).radius.clusters).toBe(0);
  });

  it('is refused when anything moved: at the hub, on a cluster, in the files', async () => {
    fleet = await simulateFleet(82, ['a', 'b']);
    await openShop(fleet);
    await ready(fleet, 2);
    const asked = files(configMap('settings', 'blue'));
    const refusal = async (plan: FleetPlan, now: Asked = asked): Promise<string> => {
      const error: unknown = await apply(now, plan).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PlanMoved);
      return error instanceof Error ? error.message : '';
    };
    let plan = await planOf(asked);
    await paint(fleet, fleet.hub, 'pink');
    await settled();
    expect(await refusal(plan)).toMatch(/the hub has something else/);
    plan = await planOf(asked);
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'b', { metadata: { labels: { gone: 'yes' } } });
    const otherFile = await refusal(plan, files(configMap('settings', 'black')));
    expect(otherFile).toMatch(/what is asked for/);
    expect(otherFile).not.toMatch(/the hub/);
    // Its own answer is part of the plan, wherever that comes from.
    away = 'b';
    expect(await refusal(plan)).toMatch(/on b/);
    away = '';
    expect(colour(fleet.hub)).toBe('pink');
    await apply(asked, await planOf(asked));
    await settled();
    expect(colour(fleet.spoke('a'))).toBe('blue');
  });

  it('tells what cannot be changed in place, and what was made by others', async () => {
    fleet = await simulateFleet(83, ['a']);
    const fixed = { ...configMap('fixed', 'red'), immutable: true };
    await openShop(fleet, [fixed]);
    await ready(fleet, 1);
    await fleet.run(fleet.spoke('a').client.create(configMaps, configMap('theirs', 'own')));
    const hub = fleet.hub.client;
    // At the hub it is made anew; on the clusters it would have to be changed.
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { suspend: true } });
    await fleet.run(hub.delete(configMaps, 'shop', 'fixed'));
    await fleet.run(hub.create(configMaps, { ...configMap('fixed', 'blue'), immutable: true }));
    await fleet.run(hub.create(configMaps, configMap('theirs', 'ours')));
    await fleet.rest(1_000);
    const plan = await planOf({
      propagation: { apiVersion: 'atoll.dev/v1alpha1', kind: 'Propagation', namespace: 'shop', name: 'shop' },
    });
    expect(brief(plan)).toEqual(['a: replace ConfigMap/fixed', 'a: refuse ConfigMap/theirs']);
  });

  it('of a suspended propagation is what lifting the suspension does, deletions included', async () => {
    fleet = await simulateFleet(84, ['a', 'b']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')], { deletionBudget: 5 });
    await ready(fleet, 2);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { suspend: true } });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.rest(2_000);
    const asked: Asked = {
      propagation: { apiVersion: 'atoll.dev/v1alpha1', kind: 'Propagation', namespace: 'shop', name: 'shop' },
    };
    const plan = await planOf(asked);
    expect(brief(plan).sort()).toEqual(
      ['a', 'b']
        .flatMap((name) => [`${name}: delete ConfigMap/prices`, `${name}: change ConfigMap/settings`])
        .sort(),
    );
    expect(colour(fleet.spoke('a'))).toBe('red');
    await apply(asked, plan);
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'carried out');
    await fleet.until(() => colour(fleet.spoke('b'), 'prices') === '', 'the deletion');
  });

  it('of a suspended propagation needs no right to write on the clusters', async () => {
    fleet = await simulateFleet(84, ['a']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await ready(fleet, 1);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { suspend: true } });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.run(fleet.hub.client.create(configMaps, configMap('news', 'green')));
    await fleet.rest(2_000);
    const refuse = () =>
      Promise.reject(failure(403, 'Forbidden', 'configmaps is forbidden: User cannot patch'));
    const reading = (name: string): Client => ({
      ...fleet.spoke(name).client,
      apply: refuse,
      update: refuse,
    });
    const plan = await fleet.run(
      computePlan(fleet.hub.client, reading, {
        propagation: {
          apiVersion: 'atoll.dev/v1alpha1',
          kind: 'Propagation',
          namespace: 'shop',
          name: 'shop',
        },
      }),
    );
    expect(brief(plan).sort()).toEqual(['a: change ConfigMap/settings', 'a: create ConfigMap/news']);
    const [settings] = plan.clusters[0]?.changes.filter(({ ref }) => ref.name === 'settings') ?? [];
    expect(settings).toMatchObject({
      by: 'hub',
      fields: [expect.objectContaining({ from: 'red', to: 'blue' })],
    });
  });

  it('says what a cluster budget would hold back, of files and of what is suspended', async () => {
    fleet = await simulateFleet(84, ['a', 'b', 'c']);
    await openShop(fleet, [configMap('settings', 'red')], { clusterBudget: 1 });
    await ready(fleet, 3);
    const only = { clusterSelector: { matchLabels: { site: 'a' } } };
    const held = {
      clusters: ['b', 'c'],
      message: expect.stringContaining('2 of 3 clusters would be left by no longer being chosen'),
    };
    const wish = files(
      propagation('shop', { clusterBudget: 1, placement: only }),
      configMap('settings', 'blue'),
    );
    const plan = await planOf(wish);
    expect(brief(plan)).toEqual(['a: change ConfigMap/settings']);
    expect(plan.notes).toEqual([held]);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { suspend: true, placement: only } });
    await fleet.rest(2_000);
    const asked: Asked = {
      propagation: { apiVersion: 'atoll.dev/v1alpha1', kind: 'Propagation', namespace: 'shop', name: 'shop' },
    };
    const lifting = await planOf(asked);
    expect(brief(lifting)).toEqual([]);
    expect(lifting.notes).toContainEqual(held);
    await fleet.run(
      fleet.hub.client.patch(PROPAGATIONS, 'shop', 'shop', 'merge', { spec: { suspend: false } }),
    );
    await fleet.rest(10_000);
    expect(['a', 'b', 'c'].map((name) => colour(fleet.spoke(name)))).toEqual(['red', 'red', 'red']);
  });

  it('shows no value of a Secret, and saves none', async () => {
    fleet = await simulateFleet(85, ['a']);
    const secret = (value: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys', namespace: 'shop' },
      data: { key: Buffer.from(value).toString('base64') },
    });
    await openShop(fleet, [secret('first-value')], {
      resourceSelectors: [{ apiVersion: 'v1', kind: 'Secret' }],
    });
    await ready(fleet, 1);
    const plan = await planOf(files(secret('second-value')));
    expect(brief(plan)).toEqual(['a: change Secret/keys']);
    const text = JSON.stringify(plan);
    for (const value of ['first-value', 'second-value'])
      for (const form of [value, Buffer.from(value).toString('base64')]) expect(text).not.toContain(form);
  });

  it('is what applying then does, for random changes', async () => {
    fleet = await simulateFleet(86, ['a', 'b', 'c']);
    await openShop(fleet, [configMap('m0', 'red'), configMap('m1', 'red', { app: 'x' })], {
      deletionBudget: 100,
    });
    await ready(fleet, 3);
    const colours = fc.constantFrom('red', 'blue', 'green');
    const map = fc
      .record({ index: fc.nat(3), colour: colours, app: fc.option(fc.constant('x')) })
      .map((item) => configMap(`m${item.index}`, item.colour, item.app === null ? {} : { app: item.app }));
    const spec = fc.record(
      {
        deletionBudget: fc.constant(100),
        placement: fc.constantFrom(
          { clusterSelector: {} },
          { clusterNames: ['a', 'b'] },
          { clusterNames: ['c'] },
        ),
        resourceSelectors: fc.constantFrom(
          [{ apiVersion: 'v1', kind: 'ConfigMap' }],
          [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { app: 'x' } } }],
        ),
        overrides: fc.array(
          fc.record({
            clusterNames: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
            annotations: fc.record({ add: fc.dictionary(fc.constant('note'), colours) }),
          }),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: ['deletionBudget', 'placement', 'resourceSelectors', 'overrides'] },
    );
    const change = fc.tuple(
      fc.uniqueArray(map, { maxLength: 3, selector: (item) => item.metadata.name ?? '' }),
      fc.option(spec, { freq: 1 }),
    );
    let applied = 0;
    await fc.assert(
      fc.asyncProperty(change, async ([maps, wanted]) => {
        const objects = [...maps, ...(wanted ? [propagation('shop', wanted)] : [])];
        if (objects.length === 0) return;
        const asked = files(...objects);
        const plan = await planOf(asked);
        const names = ['a', 'b', 'c'];
        const before = new Map(names.map((name) => [name, mapsOn(name)]));
        await apply(asked, plan);
        applied += 1;
        await settled();
        await fleet.rest(3_000);
        const done = names.flatMap((name) => {
          const old = before.get(name) ?? new Map<string, never>();
          const now = mapsOn(name);
          return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((key) => {
            const [was, is] = [old.get(key), now.get(key)];
            if (!was) return [`${name}: create ConfigMap/${key}`];
            if (!is) return [`${name}: delete ConfigMap/${key}`];
            return was.version === is.version ? [] : [`${name}: change ConfigMap/${key}`];
          });
        });
        expect(brief(plan).sort()).toEqual(done.sort());
        // And then there is nothing left to do.
        expect((await planOf(asked)).radius.clusters).toBe(0);
      }),
      { numRuns: 40, seed: 7 },
    );
    expect(applied).toBeGreaterThan(25);
  });
});
