import { afterEach, describe, expect, it } from 'vitest';
import { BINDING_POLICY, EDGE_PLACEMENT } from '../../src/dialects/kubestellar/index.ts';
import { customResourceDefinition } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions, namespaces } from '../../src/kube/well-known.ts';
import { listAt } from '../../src/schema/json.ts';
import { applyAll, established, makeNamespace } from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { colour, configMap, merge, paint } from './shop.ts';

let fleet: SimulatedFleet;
let engineApi: ((handler: Handler) => Handler) | undefined;
afterEach(async () => {
  engineApi = undefined;
  await fleet.stop();
});

async function open(kind: Parameters<typeof customResourceDefinition>[0], until: string): Promise<void> {
  fleet = await simulateFleet(11, ['a', 'b'], {
    engineLatencyMs: 300,
    engineApi: (cluster, handler) => (request) =>
      (cluster === 'hub' && engineApi ? engineApi(handler) : handler)(request),
  });
  await applyAll(fleet, fleet.hub, [customResourceDefinition(kind)]);
  await fleet.until(() => established(fleet.hub, until), 'its kinds');
  await makeNamespace(fleet, 'shop');
}

const held = (): string => ['a', 'b'].filter((cluster) => colour(fleet.spoke(cluster)) !== '').join();
const removals = (): number =>
  fleet.spokes.flatMap(({ audit }) =>
    audit.filter(({ verb, objectRef }) => verb === 'delete' && objectRef?.resource === 'configmaps'),
  ).length;
const downsync = (more: object): object[] => [{ apiGroup: '', resources: ['configmaps'], ...more }];

describe('what a hub cannot see', () => {
  it('is not taken for gone: namespaces that cannot be read by a hub that starts again', async () => {
    await open(BINDING_POLICY, 'bindings.control.kubestellar.io');
    await merge(fleet, fleet.hub, namespaces, '', 'shop', { metadata: { labels: { team: 'x' } } });
    const policy: KubeObject = {
      apiVersion: 'control.kubestellar.io/v1alpha1',
      kind: 'BindingPolicy',
      metadata: { name: 'p' },
      spec: {
        clusterSelectors: [{}],
        downsync: downsync({ namespaceSelectors: [{ matchLabels: { team: 'x' } }] }),
      },
    };
    await applyAll(fleet, fleet.hub, [configMap('settings', 'red'), policy]);
    await fleet.until(() => held() === 'a,b', 'it is brought');
    const refused = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'not you' };
    engineApi = (handler) => async (request) =>
      /^\/api\/v1\/namespaces(\?|$)/.test(request.path)
        ? { status: 403, headers: {}, body: Buffer.from(JSON.stringify(refused)) }
        : handler(request);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(120_000);
    expect([held(), removals()]).toEqual(['a,b', 0]);
    const errors = (): string =>
      listAt(stored(fleet.hub, 'control.kubestellar.io/bindingpolicies/-/p'), 'status', 'errors').join();
    expect(errors()).toContain('namespaces cannot be read');
    engineApi = undefined;
    await fleet.until(() => errors() === '', 'they can be read', 300_000);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'it goes on');
    expect(removals()).toBe(0);
  });

  it('is not taken for gone: a kind that is there and that discovery does not show yet', async () => {
    await open(BINDING_POLICY, 'bindings.control.kubestellar.io');
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const widgets: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    } as unknown as KubeObject;
    await applyAll(fleet, fleet.hub, [widgets]);
    await fleet.until(() => established(fleet.hub, 'widgets.example.com'), 'the kind');
    const widget = (size: number): KubeObject => ({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop' },
      spec: { size },
    });
    const binding: KubeObject = {
      apiVersion: 'control.kubestellar.io/v1alpha1',
      kind: 'Binding',
      metadata: { name: 'by-hand' },
      spec: {
        workload: {
          namespaceScope: [
            {
              group: 'example.com',
              version: 'v1',
              resource: 'widgets',
              namespace: 'shop',
              name: 'w',
              resourceVersion: '1',
            },
          ],
        },
        destinations: [{ clusterId: 'a' }, { clusterId: 'b' }],
      },
    };
    await applyAll(fleet, fleet.hub, [widget(1), binding]);
    const sizes = (): unknown[] =>
      ['a', 'b'].map((name) => {
        const found = stored(fleet.spoke(name), 'example.com/widgets/shop/w')?.['spec'];
        return (found as { size?: number } | undefined)?.size;
      });
    await fleet.until(() => sizes().join() === '1,1', 'it is brought');
    engineApi = (handler) => async (request) =>
      /^\/apis\/example\.com\/v1(\?|$)/.test(request.path)
        ? { status: 404, headers: {}, body: Buffer.from('404 page not found') }
        : handler(request);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(sizes()).toEqual([1, 1]);
    engineApi = undefined;
    await applyAll(fleet, fleet.hub, [widget(2)]);
    await fleet.until(() => sizes().join() === '2,2', 'it goes on', 300_000);
  });

  it.each([
    ['the kind Location', 'crd', 'locations.edge.kubestellar.io'],
    ['the kind SyncTarget', 'crd', 'synctargets.edge.kubestellar.io'],
    ['the Location of a cluster', 'Location', 'a'],
    ['the SyncTarget of a cluster', 'SyncTarget', 'a'],
  ])('is not taken for gone where it is only a view of its clusters: %s', async (_what, kind, name) => {
    await open(EDGE_PLACEMENT, 'locations.edge.kubestellar.io');
    const placement: KubeObject = {
      apiVersion: 'edge.kubestellar.io/v2alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'p' },
      spec: { locationSelectors: [{}], downsync: downsync({ namespaces: ['shop'] }) },
    };
    await applyAll(fleet, fleet.hub, [configMap('settings', 'red'), placement]);
    await fleet.until(() => held() === 'a,b', 'it is brought');
    const resource =
      kind === 'crd'
        ? customResourceDefinitions
        : await fleet.run(fleet.hub.client.resourceFor('edge.kubestellar.io/v2alpha1', kind));
    await fleet.run(fleet.hub.client.delete(resource, '', name));
    await fleet.rest(120_000);
    expect([held(), removals()]).toEqual(['a,b', 0]);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'it goes on');
  });
});
