import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, customResourceDefinitions, deployments } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  DISPATCHES,
  type SimulatedFleet,
  type SimulatedSpoke,
  type SimulationOptions,
  simulateFleet,
  stored,
} from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';

let fleet: SimulatedFleet;
let orders: Orders;
afterEach(async () => fleet.stop());

async function open(options: SimulationOptions = {}): Promise<void> {
  fleet = await simulateFleet(8, ['a'], options);
  orders = ordersFor(fleet, 'a');
}

const a = (): SimulatedSpoke => fleet.spoke('a');

const SETTINGS: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop' },
  data: { colour: 'red' },
};
const colour = (): unknown =>
  (stored(a(), 'core/configmaps/shop/settings')?.['data'] as Record<string, string> | undefined)?.['colour'];

function podTemplate(image: string, more: object = {}): object {
  return { metadata: { labels: { app: image } }, spec: { containers: [{ name: 'main', image }], ...more } };
}

/** Objects whose clusters add much to them: defaults, addresses, selectors, tokens, bindings. */
const WORKLOADS: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'shop' } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: podTemplate('web') },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop' },
    spec: { backoffLimit: 3, template: podTemplate('migrate', { restartPolicy: 'Never' }) },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'report', namespace: 'shop' },
    spec: {
      schedule: '*/5 * * * *',
      jobTemplate: { spec: { template: podTemplate('report', { restartPolicy: 'Never' }) } },
    },
  },
];

/** Rewrites what is written: another writer that no correction ever beats. */
const DEFAULTING_POLICY: readonly KubeObject[] = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'images' },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['apps'],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['deployments'],
          },
        ],
      },
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: {
            expression:
              "[JSONPatch{op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'mirror.example/web'}]",
          },
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: 'images' },
    spec: { policyName: 'images' },
  },
];

/** Writes of the engine by object, the spoke's own records aside. */
function engineWrites(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { user, verb, objectRef, responseStatus } of a().audit) {
    if (user.username !== 'atoll:engine' || ['get', 'list', 'watch'].includes(verb)) continue;
    if ((responseStatus?.code ?? 0) >= 300 || objectRef?.namespace !== 'shop') continue;
    const key = `${objectRef.resource}/${objectRef.name}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

describe('a spoke at work', () => {
  it('[S70] writes each object once in half an hour, whatever its cluster makes of it', async () => {
    await open({ workloads: true });
    for (const object of DEFAULTING_POLICY)
      await fleet.run(
        a().client.create(await fleet.run(a().client.resourceFor(object.apiVersion, object.kind)), object),
      );
    await orders.fulfil('shop', WORKLOADS);
    await fleet.rest(1_800_000);
    const writes = engineWrites();
    expect(writes.size).toBe(WORKLOADS.length);
    expect([...writes].filter(([, count]) => count > 1)).toEqual([]);
    const web = JSON.stringify(stored(a(), 'apps/deployments/shop/web')?.['spec']);
    expect(web).toContain('mirror.example/web');
  });

  it('[F25] puts back at once what someone edits or deletes', async () => {
    await open();
    await orders.fulfil('shop', [SETTINGS]);
    await fleet.run(a().client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'green' } }));
    await fleet.until(() => colour() === 'red', 'the edit undone', 1_000);
    await fleet.run(a().client.delete(configMaps, 'shop', 'settings'));
    await fleet.until(() => colour() === 'red', 'the deletion undone', 1_000);
  });
});

describe('a fight', () => {
  it('is slowed down, and reported with the name of the other writer until it is over', async () => {
    await open();
    await orders.fulfil('shop', [WORKLOADS[3] as KubeObject]);
    const image = (): string =>
      JSON.stringify(stored(a(), 'apps/deployments/shop/web')?.['spec']).match(/"image":"(\w+)"/)?.[1] ?? '';
    const patch = { spec: { template: { spec: { containers: [{ name: 'main', image: 'other' }] } } } };
    let edits = 0;
    for (let second = 0; second < 120; second += 1) {
      if (image() === 'web') {
        edits += 1;
        await fleet.run(
          a().client.patch(deployments, 'shop', 'web', 'strategic', patch, { fieldManager: 'image-bot' }),
        );
      }
      await fleet.rest(1_000);
    }
    // At every second it would be 120.
    expect(edits).toBeGreaterThan(5);
    expect(edits).toBeLessThan(20);
    const dispatch = orders.dispatch('shop');
    expect(conditionOf(dispatch, 'Contested')).toBe('True/OtherWriter');
    expect(conditionMessage(dispatch, 'Contested')).toContain(
      'Deployment shop/web: field manager image-bot keeps changing it',
    );
    await fleet.rest(300_000);
    expect(image()).toBe('web');
    expect(conditionOf(orders.dispatch('shop'), 'Contested')).toBe('False/Settled');
  });
});

describe('a kind of two versions', () => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const definition = (served: readonly string[]): KubeObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.shop.io' },
    spec: {
      group: 'shop.io',
      scope: 'Namespaced',
      names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
      versions: ['v1alpha1', 'v1'].map((name) => ({
        name,
        served: served.includes(name),
        storage: name === 'v1',
        schema,
      })),
    },
  });
  const widget = (name: string, version: string, size = 1): KubeObject => ({
    apiVersion: `shop.io/${version}`,
    kind: 'Widget',
    metadata: { name, namespace: 'shop' },
    spec: { size },
  });
  const widgets = { group: 'shop.io', version: 'v1', resource: 'widgets', kind: 'Widget', namespaced: true };
  const there = (name: string): KubeObject | undefined => stored(a(), `shop.io/widgets/shop/${name}`);
  const sizeOf = (name: string): unknown => (there(name)?.['spec'] as { size: number } | undefined)?.size;
  const edit = (name: string, patch: object): Promise<KubeObject> =>
    fleet.run(a().client.patch(widgets, 'shop', name, 'merge', patch, { fieldManager: 'kubectl' }));

  it('is no drift where objects of it are stated in either', async () => {
    await open();
    await fleet.run(a().client.create(customResourceDefinitions, definition(['v1alpha1', 'v1'])));
    await orders.fulfil('old', [widget('x', 'v1alpha1')]);
    await orders.fulfil('new', [widget('y', 'v1')]);
    for (let turn = 0; turn < 8; turn++)
      for (const name of ['x', 'y']) {
        await edit(name, { metadata: { annotations: { turn: `${turn}` } } });
        await fleet.rest(500);
      }
    expect(conditionOf(orders.dispatch('old'), 'Contested')).toBe('');
    expect(conditionOf(orders.dispatch('new'), 'Contested')).toBe('');
    for (const name of ['x', 'y']) {
      await edit(name, { spec: { size: 2 } });
      await fleet.until(() => sizeOf(name) === 1, `the edit of ${name} undone`, 1_000);
    }
  });

  it('is watched in the one that is left, and goes when it is ordered away', async () => {
    await open();
    await orders.fulfil('kinds', [definition(['v1alpha1', 'v1'])]);
    await orders.fulfil('shop', [widget('x', 'v1alpha1'), widget('y', 'v1alpha1')], {
      removeWhenLostSeconds: 10,
    });
    await orders.fulfil('shop', [widget('x', 'v1'), widget('y', 'v1')], { removeWhenLostSeconds: 10 });
    await orders.fulfil('kinds', [definition(['v1'])]);
    await fleet.rest(30_000);
    await edit('x', { spec: { size: 2 } });
    await fleet.until(() => sizeOf('x') === 1, 'the edit undone', 10_000);
    await fleet.run(a().client.delete(DISPATCHES, 'atoll-system', 'shop'));
    await fleet.until(
      () => there('x') === undefined && there('y') === undefined,
      'that they are gone',
      60_000,
    );
  });
});
