import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions, deployments } from '../../src/kube/well-known.ts';
import { isObject, type JsonObject, numberAt, objectAt, stringAt } from '../../src/schema/json.ts';
import { everything, PROPAGATIONS, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { merge, openShop, ready } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const SELECT = { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }] };

function web(replicas: number, annotations: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' }, annotations },
        spec: { containers: [{ name: 'main', image: 'shop/web:1' }] },
      },
    },
  };
}

const hubWeb = (): KubeObject | undefined => stored(fleet.hub, 'apps/deployments/shop/web');
const statusAtHub = (): JsonObject => objectAt(hubWeb(), 'status') ?? {};

/** What `kubectl rollout status` says of a Deployment: whether the rollout is over. */
function isRolledOut(object: KubeObject | undefined): boolean {
  const count = (field: string): number => numberAt(object, 'status', field) ?? 0;
  return (
    (object?.metadata.generation ?? 0) <= count('observedGeneration') &&
    count('updatedReplicas') >= (numberAt(object, 'spec', 'replicas') ?? 1) &&
    count('replicas') <= count('updatedReplicas') &&
    count('availableReplicas') >= count('updatedReplicas')
  );
}

function memberIsRolledOut(name: string, image: string): boolean {
  const object = stored(fleet.spoke(name), 'apps/deployments/shop/web');
  return JSON.stringify(object?.['spec'] ?? '').includes(image) && isRolledOut(object);
}

/** Runs until the hub calls the rollout of an image done, and gives the clusters for which that was not so. */
async function tooEarlyFor(image: string, names: readonly string[]): Promise<string[]> {
  let early: string[] = [];
  await fleet.until(
    () => {
      if (!isRolledOut(hubWeb())) return false;
      early = names.filter((name) => !memberIsRolledOut(name, image));
      return true;
    },
    'the rollout, as the hub tells it',
    300_000,
  );
  return early;
}

const setImage = (image: string): Promise<unknown> =>
  merge(fleet, fleet.hub, deployments, 'shop', 'web', {
    spec: { template: { spec: { containers: [{ name: 'main', image }] } } },
  });

describe('the status of an object at the hub', () => {
  it('[A43] makes a rollout at the hub wait for the slowest cluster, with whole copies and with shares', async () => {
    for (const [seed, replicas] of [
      [61, undefined],
      [62, { strategy: 'Balanced' }],
    ] as const) {
      fleet = await simulateFleet(seed, ['a', 'b', 'c'], { workloads: true });
      await openShop(fleet, [web(6)], {
        ...SELECT,
        ...(replicas && { replicas }),
        overrides: [
          {
            clusterNames: ['c'],
            patch: [
              {
                op: 'add',
                path: '/spec/template/metadata/annotations',
                value: { 'sim.atoll.dev/start-delay': '40s' },
              },
            ],
          },
        ],
      });
      expect(await tooEarlyFor('shop/web:1', ['a', 'b', 'c'])).toEqual([]);
      const total = replicas ? 6 : 18;
      expect(statusAtHub()).toMatchObject({
        replicas: total,
        availableReplicas: total,
        readyReplicas: total,
      });
      const before = hubWeb()?.metadata.generation ?? 0;
      await setImage('shop/web:2');
      expect(isRolledOut(hubWeb())).toBe(false);
      expect(await tooEarlyFor('shop/web:2', ['a', 'b', 'c'])).toEqual([]);
      expect(numberAt(hubWeb(), 'status', 'observedGeneration')).toBe(before + 1);
      await fleet.stop();
    }
    fleet = await simulateFleet(1, []);
  });

  it('does not follow a generation that a cluster out of sight has not got', async () => {
    fleet = await simulateFleet(63, ['a', 'b'], { workloads: true });
    await openShop(fleet, [web(2)], SELECT);
    await fleet.until(() => isRolledOut(hubWeb()), 'the first rollout');
    await fleet.cut('b');
    await setImage('shop/web:2');
    await fleet.until(() => memberIsRolledOut('a', 'shop/web:2'), 'the rollout on a');
    await fleet.rest(120_000);
    expect(isRolledOut(hubWeb())).toBe(false);
    // A stale number is no number.
    expect(statusAtHub()).toMatchObject({ replicas: 2, availableReplicas: 2 });
    await fleet.heal('b');
    expect(await tooEarlyFor('shop/web:2', ['a', 'b'])).toEqual([]);
    expect(statusAtHub()).toMatchObject({ replicas: 4, availableReplicas: 4 });
  });

  it('says that a rollout is stuck, and where', async () => {
    fleet = await simulateFleet(64, ['a', 'b'], { workloads: true });
    const object = web(1);
    (object['spec'] as Record<string, unknown>)['progressDeadlineSeconds'] = 20;
    await openShop(fleet, [object], {
      ...SELECT,
      overrides: [
        {
          clusterNames: ['b'],
          patch: [
            {
              op: 'add',
              path: '/spec/template/metadata/annotations',
              value: { 'sim.atoll.dev/fail': 'crash-loop' },
            },
          ],
        },
      ],
    });
    const stuck = (): JsonObject | undefined => {
      const { conditions } = statusAtHub();
      return (Array.isArray(conditions) ? conditions : [])
        .filter(isObject)
        .find((condition) => condition['type'] === 'Progressing');
    };
    await fleet.until(() => stuck() !== undefined, 'the condition', 120_000);
    expect(stringAt(stuck(), 'reason')).toBe('ProgressDeadlineExceeded');
    expect(stringAt(stuck(), 'message')).toMatch(/^b: /);
  });

  it('is written on change only, and a hub that starts again writes nothing', async () => {
    fleet = await simulateFleet(65, ['a', 'b'], { workloads: true });
    await openShop(fleet, [web(2)], SELECT);
    await fleet.until(() => isRolledOut(hubWeb()), 'the rollout');
    await ready(fleet, 2);
    await fleet.rest(5_000);
    const version = hubWeb()?.metadata.resourceVersion;
    const spokes = ['a', 'b'].map((name) => everything(fleet.spoke(name)));
    await fleet.rest(60_000);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await ready(fleet, 2);
    await fleet.rest(120_000);
    expect(hubWeb()?.metadata.resourceVersion).toBe(version);
    expect(['a', 'b'].map((name) => Object.keys(everything(fleet.spoke(name))))).toEqual(
      spokes.map((keys) => Object.keys(keys)),
    );
  });

  it('is left to the controllers of the hub where those tell it', async () => {
    fleet = await simulateFleet(66, ['a'], { workloads: true });
    await openShop(fleet, [web(2)], null);
    const { client } = fleet.hub;
    const own = { observedGeneration: 1, replicas: 7 };
    await fleet.run(
      client.patch(
        deployments,
        'shop',
        'web',
        'merge',
        { status: own },
        {
          subresource: 'status',
          fieldManager: 'kube-controller-manager',
        },
      ),
    );
    await fleet.run(
      client.create(PROPAGATIONS, {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'Propagation',
        metadata: { name: 'shop', namespace: 'shop' },
        spec: { ...SELECT, placement: { clusterSelector: {} } },
      }),
    );
    await ready(fleet, 1);
    await fleet.rest(30_000);
    expect(statusAtHub()).toEqual(own);
  });

  it('goes when the propagation does', async () => {
    fleet = await simulateFleet(67, ['a'], { workloads: true });
    await openShop(fleet, [web(2)], SELECT);
    await fleet.until(() => isRolledOut(hubWeb()), 'the rollout');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => (numberAt(hubWeb(), 'status', 'replicas') ?? 0) === 0, 'no replicas');
    expect(numberAt(hubWeb(), 'status', 'availableReplicas') ?? 0).toBe(0);
  });

  it('is made by a rule for a kind that nobody knows', async () => {
    fleet = await simulateFleet(68, ['a', 'b']);
    const definition: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    const rule: KubeObject = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'ResourceRule',
      metadata: { name: 'widgets' },
      spec: {
        target: { group: 'example.com', kind: 'Widget' },
        status:
          "{'done': members.filter(m, has(m.status.done) && m.status.done).size(), 'of': members.size()}",
      },
    };
    const rules = {
      group: 'atoll.dev',
      version: 'v1alpha1',
      resource: 'resourcerules',
      kind: 'ResourceRule',
      namespaced: false,
    };
    for (const cluster of [fleet.hub, fleet.spoke('a'), fleet.spoke('b')]) {
      await fleet.run(cluster.client.create(customResourceDefinitions, structuredClone(definition)));
      await fleet.run(cluster.client.create(rules, structuredClone(rule)));
    }
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop' },
    };
    await openShop(fleet, [widget], {
      resourceSelectors: [{ apiVersion: 'example.com/v1', kind: 'Widget' }],
    });
    await ready(fleet, 2);
    const widgets = await fleet.run(fleet.hub.client.resourceFor('example.com/v1', 'Widget'));
    await fleet.run(
      fleet
        .spoke('a')
        .client.patch(widgets, 'shop', 'w', 'merge', { status: { done: true } }, { subresource: 'status' }),
    );
    const atHub = (): JsonObject => objectAt(stored(fleet.hub, 'example.com/widgets/shop/w'), 'status') ?? {};
    await fleet.until(() => atHub()['done'] === 1, 'the status by the rule');
    expect(atHub()).toEqual({ done: 1, of: 2 });
  });
});
