import { afterEach, describe, expect, it } from 'vitest';
import type { ApplyStrategy } from '../../src/engine/intent.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { everything, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { ordersFor } from './orders.ts';
import { colour, configMap, paint } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const metadata = { name: 'cart', namespace: 'shop' };
const OBJECTS: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  configMap('settings', 'red', { tier: 'front' }),
  configMap('prices', 'gold'),
  { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: { token: 'eA==' } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: {
      selector: { app: 'cart' },
      ports: [
        { name: 'web', port: 80 },
        { name: 'more', port: 81, targetPort: 8081 },
      ],
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'cart' } },
      template: {
        metadata: { labels: { app: 'cart' } },
        spec: {
          containers: [
            {
              name: 'web',
              image: 'cart:1',
              ports: [{ containerPort: 8080 }],
              env: [{ name: 'A', value: 'b' }],
            },
            { name: 'side', image: 'side:1', volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }] },
          ],
          volumes: [{ name: 'tmp', emptyDir: {} }],
        },
      },
    },
  },
  {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata,
    spec: {
      minReplicas: 2,
      maxReplicas: 4,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'cart' },
    },
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.shop.io' },
    spec: {
      group: 'shop.io',
      scope: 'Namespaced',
      names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  },
  { apiVersion: 'shop.io/v1', kind: 'Widget', metadata, spec: { size: 2, sides: ['a', 'b'] } },
];

/** Writes on the spoke that were done since a position of its audit log, those that changed nothing included. */
function writesSince(position: number): string[] {
  return fleet
    .spoke('a')
    .audit.slice(position)
    .filter(
      ({ verb, responseStatus, objectRef }) =>
        !['get', 'list', 'watch'].includes(verb) &&
        (responseStatus?.code ?? 0) < 300 &&
        objectRef?.name?.endsWith('.atoll.dev') !== true &&
        objectRef?.resource !== 'customresourcedefinitions',
    )
    .map(
      ({ verb, objectRef }) =>
        `${verb} ${objectRef?.resource}/${objectRef?.name}/${objectRef?.subresource ?? ''}`,
    );
}

describe('a spoke that starts again', () => {
  it.each([
    ['applied, at once', {}, 0],
    ['applied, on a slow cluster', {}, 40],
    ['made once', { strategy: 'CreateOnly' }, 0],
    ['only looked at', { strategy: 'ReadOnly' }, 0],
  ] as [string, ApplyStrategy, number][])(
    'writes nothing of what is %s',
    async (_what, apply, engineLatencyMs) => {
      fleet = await simulateFleet(71, ['a'], { engineLatencyMs });
      const orders = ordersFor(fleet, 'a');
      // Whose kind nobody serves cannot be looked at.
      const objects = OBJECTS.filter(({ kind }) => apply.strategy !== 'ReadOnly' || kind !== 'Widget');
      await orders.fulfil('shop', objects, { apply });
      await fleet.rest(60_000);
      const before = everything(fleet.spoke('a'));
      const told = orders.dispatch('shop')?.status;
      await fleet.kill('a');
      const from = fleet.spoke('a').audit.length;
      await fleet.start('a');
      await fleet.rest(60_000);
      expect(writesSince(from)).toEqual([]);
      expect(everything(fleet.spoke('a'))).toEqual(before);
      expect(orders.dispatch('shop')?.status).toEqual(told);
      await fleet.rest(600_000);
      expect(everything(fleet.spoke('a'))).toEqual(before);
    },
  );

  it('writes what was changed while it was away, and nothing else', async () => {
    fleet = await simulateFleet(72, ['a']);
    const orders = ordersFor(fleet, 'a');
    await orders.fulfil('shop', OBJECTS);
    await fleet.rest(60_000);
    await fleet.run(fleet.spoke('a').engine?.stop() ?? Promise.resolve());
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.kill('a');
    const from = fleet.spoke('a').audit.length;
    await fleet.start('a');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'the change undone');
    await fleet.rest(60_000);
    expect(writesSince(from)).toEqual(['patch configmaps/settings/']);
  });
});
