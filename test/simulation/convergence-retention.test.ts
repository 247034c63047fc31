import { afterEach, describe, expect, it } from 'vitest';
import type { ResourceId } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, deployments, services } from '../../src/kube/well-known.ts';
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
  fleet = await simulateFleet(5, ['a']);
  orders = ordersFor(fleet, 'a');
}

const a = (): SimulatedSpoke => fleet.spoke('a');
/** What a person does on the cluster. */
const edit = (resource: ResourceId, namespace: string, name: string, patch: object): Promise<KubeObject> =>
  fleet.run(a().client.patch(resource, namespace, name, 'merge', patch, { fieldManager: 'kubectl-edit' }));
const at = (path: string): KubeObject | undefined => stored(a(), path);

function web(replicas: number, image: string, annotations?: Record<string, string>): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', ...(annotations ? { annotations } : {}) },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image }] },
      },
    },
  };
}

function service(port: number, type: string = 'NodePort'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { type, selector: { app: 'web' }, ports: [{ name: 'http', port, protocol: 'TCP' }] },
  };
}

function settings(data: Record<string, string>, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'shop', ...metadata },
    data,
  };
}

const spec = (path: string): Record<string, unknown> => (at(path)?.['spec'] ?? {}) as Record<string, unknown>;
const data = (): Record<string, string> =>
  (at('core/configmaps/shop/settings')?.['data'] ?? {}) as Record<string, string>;
const replicas = (): unknown => spec('apps/deployments/shop/web')['replicas'];
const image = (): string =>
  JSON.stringify(spec('apps/deployments/shop/web')).match(/"image":"([^"]*)"/)?.[1] ?? '';
const scaleTo = (count: number): Promise<unknown> =>
  edit(deployments, 'shop', 'web', { spec: { replicas: count } });

const AUTOSCALER: KubeObject = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    minReplicas: 1,
    maxReplicas: 9,
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
  },
};
const autoscalers = {
  group: 'autoscaling',
  version: 'v2',
  resource: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  namespaced: true,
};

describe.each([['ServerSideApply'], ['Update']] as const)('what a cluster owns, by %s', (strategy) => {
  it('[F20] keeps a service its addresses and ports over ten updates', async () => {
    await open();
    await orders.fulfil('shop', [service(80)], { apply: { strategy } });
    const { clusterIP, clusterIPs, ports } = spec('core/services/shop/web');
    const nodePort = (ports as { nodePort: number }[])[0]?.nodePort;
    expect(clusterIP).toMatch(/\d/);
    expect(nodePort).toBeGreaterThan(0);
    for (let i = 0; i < 10; i++) {
      const next = service(80);
      (next['spec'] as Record<string, unknown>)['sessionAffinity'] = i % 2 === 0 ? 'ClientIP' : 'None';
      await orders.fulfil('shop', [next], { apply: { strategy } });
      expect(spec('core/services/shop/web')).toMatchObject({
        clusterIP,
        clusterIPs,
        sessionAffinity: i % 2 === 0 ? 'ClientIP' : 'None',
        ports: [{ nodePort }],
      });
    }
  });

  it('[F19] leaves annotations, labels and finalizers of others on an object', async () => {
    await open();
    await orders.fulfil('shop', [settings({ a: '1' })], { apply: { strategy } });
    await edit(configMaps, 'shop', 'settings', {
      metadata: {
        annotations: { 'team/note': 'x' },
        labels: { 'team/label': 'y' },
        finalizers: ['team/hold'],
      },
    });
    await orders.fulfil('shop', [settings({ a: '2' })], { apply: { strategy } });
    expect(at('core/configmaps/shop/settings')).toMatchObject({
      data: { a: '2' },
      metadata: {
        annotations: { 'team/note': 'x' },
        labels: { 'team/label': 'y' },
        finalizers: ['team/hold'],
      },
    });
  });

  it('[A36] takes away labels and annotations that the source no longer has, and no others', async () => {
    await open();
    const first = { labels: { one: '1', two: '2' }, annotations: { three: '3', four: '4' } };
    await orders.fulfil('shop', [settings({}, first)], { apply: { strategy } });
    await edit(configMaps, 'shop', 'settings', { metadata: { labels: { own: 'x' } } });
    await orders.fulfil('shop', [settings({}, { labels: { one: '1' }, annotations: { four: '4' } })], {
      apply: { strategy },
    });
    const { labels, annotations } = at('core/configmaps/shop/settings')?.metadata ?? {};
    expect(labels).toMatchObject({ one: '1', own: 'x' });
    expect(annotations).toMatchObject({ four: '4' });
    expect(labels).not.toHaveProperty('two');
    expect(annotations).not.toHaveProperty('three');
  });

  it('[F22] keeps the replicas of a cluster where it was asked to, and puts them back where not', async () => {
    await open();
    await orders.fulfil('shop', [web(3, 'web:1')], { apply: { strategy, retainReplicas: true } });
    expect(replicas()).toBe(3);
    await scaleTo(7);
    await fleet.rest(5_000);
    expect(replicas()).toBe(7);
    await orders.fulfil('shop', [web(3, 'web:2')], { apply: { strategy, retainReplicas: true } });
    expect([replicas(), image()]).toEqual([7, 'web:2']);
    await orders.fulfil('shop', [web(3, 'web:2')], { apply: { strategy } });
    expect(replicas()).toBe(3);
    await scaleTo(7);
    await fleet.until(() => replicas() === 3, 'the replicas put back');
  });

  it('[F18] lets an override of the replicas win over replicas that are kept', async () => {
    await open();
    const target = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' };
    const patches = [
      { target, override: 0, operations: [{ op: 'replace' as const, path: '/spec/replicas', value: 5 }] },
    ];
    await orders.fulfil('shop', [web(3, 'web:1')], { apply: { strategy, retainReplicas: true }, patches });
    await scaleTo(7);
    await fleet.until(() => replicas() === 5, 'the override put back');
  });

  it('[S67] lets an autoscaler of the cluster set the replicas, while images still go down', async () => {
    await open();
    await orders.fulfil('shop', [web(2, 'web:1')], { apply: { strategy } });
    await fleet.run(a().client.create(autoscalers, AUTOSCALER));
    await fleet.rest(1_000);
    await scaleTo(7);
    await fleet.rest(10_000);
    expect(replicas()).toBe(7);
    await orders.fulfil('shop', [web(2, 'web:2')], { apply: { strategy } });
    expect([replicas(), image()]).toEqual([7, 'web:2']);
    await fleet.kill('a');
    await fleet.start('a');
    await fleet.rest(10_000);
    expect(replicas()).toBe(7);
    await fleet.run(a().client.delete(autoscalers, 'shop', 'web'));
    await fleet.until(() => replicas() === 2, 'the replicas of the source, without an autoscaler');
  });

  it('[S50] ignores fields once the object is there, or once another writer changed them', async () => {
    await open();
    const apply = {
      strategy,
      ignoreFields: [
        { condition: 'OnPresent' as const, paths: ['data.first'] },
        { condition: 'OnChange' as const, paths: ['/data/second'] },
      ],
    };
    await orders.fulfil('shop', [settings({ first: '1', second: '1', third: '1' })], { apply });
    await orders.fulfil('shop', [settings({ first: '2', second: '2', third: '2' })], { apply });
    expect(at('core/configmaps/shop/settings')?.['data']).toEqual({ first: '1', second: '2', third: '2' });
    await edit(configMaps, 'shop', 'settings', {
      data: { first: 'x', second: 'x', third: 'x' },
    });
    await fleet.until(() => data()['third'] === '2', 'the field that is not ignored');
    await orders.fulfil('shop', [settings({ first: '3', second: '3', third: '3' })], { apply });
    expect(at('core/configmaps/shop/settings')?.['data']).toEqual({ first: 'x', second: 'x', third: '3' });
  });
});

describe('a rule of the owner of a cluster', () => {
  const RULES = {
    group: 'atoll.dev',
    version: 'v1alpha1',
    resource: 'resourcerules',
    kind: 'ResourceRule',
    namespaced: false,
  };
  const rule = (spec: object): KubeObject => ({
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'ResourceRule',
    metadata: { name: 'maps' },
    spec: { target: { kind: 'ConfigMap' }, ...spec },
  });

  it('[S67] says which way a field goes', async () => {
    await open();
    await fleet.run(
      a().client.create(
        RULES,
        rule({
          fields: [
            { path: 'data.up', direction: 'Up' },
            { path: 'data.neither', direction: 'Neither' },
            { path: 'data.initial', direction: 'InitialOnly' },
            { path: 'data.down', direction: 'Down' },
          ],
        }),
      ),
    );
    await fleet.rest(500);
    await orders.fulfil('shop', [settings({ up: '1', neither: '1', initial: '1', down: '1' })]);
    expect(at('core/configmaps/shop/settings')?.['data']).toEqual({ initial: '1', down: '1' });
    await edit(configMaps, 'shop', 'settings', {
      data: { up: 'x', neither: 'x', initial: 'x', down: 'x' },
    });
    await fleet.rest(5_000);
    expect(at('core/configmaps/shop/settings')?.['data']).toEqual({
      up: 'x',
      neither: 'x',
      initial: 'x',
      down: '1',
    });
  });

  it('[A38] tells the health of a kind in an expression, and what is wrong with it', async () => {
    await open();
    await orders.fulfil('shop', [settings({ phase: 'Broken' })]);
    await fleet.run(
      a().client.create(
        RULES,
        rule({
          health: [
            {
              state: 'Degraded',
              reason: 'Phase',
              expression: "object.data.phase == 'Broken'",
              message: "'phase is ' + object.data.phase",
            },
          ],
        }),
      ),
    );
    await fleet.until(() => conditionOf(orders.dispatch('shop'), 'Healthy') === 'False/Phase', 'the verdict');
    expect(conditionMessage(orders.dispatch('shop'), 'Healthy')).toBe('ConfigMap settings: phase is Broken');
    await orders.fulfil('shop', [settings({ phase: 'Fine' })]);
    await fleet.until(() => conditionOf(orders.dispatch('shop'), 'Healthy') === 'True/Healthy', 'well again');
    await edit(RULES, '', 'maps', {
      spec: { health: [{ state: 'Healthy', expression: 'nonsense +' }] },
    });
    await fleet.until(
      () => conditionOf(at('atoll.dev/resourcerules/-/maps'), 'Valid') === 'False/Invalid',
      'the complaint',
    );
    expect(conditionMessage(at('atoll.dev/resourcerules/-/maps'), 'Valid')).toContain(
      'spec.health[0].expression',
    );
  });
});

it('keeps what the services of a cluster were given when they change their port', async () => {
  await open();
  await orders.fulfil('shop', [service(80)]);
  const before = spec('core/services/shop/web');
  await edit(services, 'shop', 'web', { spec: { ports: null } }).catch(() => undefined);
  await orders.fulfil('shop', [service(81)]);
  expect(spec('core/services/shop/web')['clusterIP']).toBe(before['clusterIP']);
});
