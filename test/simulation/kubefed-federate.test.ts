import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  carryOut,
  disableType,
  enableTypes,
  type FederateOptions,
  planFederation,
  planFiles,
  planManifests,
} from '../../src/cli/federate/index.ts';
import { DEFAULT_NAMESPACE, DEFAULT_TYPES } from '../../src/dialects/kubefed/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { refOf, refText } from '../../src/kube/object.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { at, stringAt } from '../../src/schema/json.ts';
import { applyAll, federatedAt, makeNamespace, propagation, typeConfig } from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored, storedBelow } from './fleet.ts';

let fleet: SimulatedFleet;
beforeEach(async () => {
  fleet = await simulateFleet(8, ['a', 'b']);
});
afterEach(async () => fleet.stop());

const types = { kubefedNamespace: DEFAULT_NAMESPACE };
const options: FederateOptions = {
  ...types,
  namespace: 'shop',
  enableType: false,
  contents: false,
  skipApiResources: [],
};
const enable = (...names: string[]) =>
  fleet.run(enableTypes(fleet.runtime.clock, fleet.hub.client, names, types));
const plan = (type: string, name: string, more: Partial<FederateOptions> = {}) =>
  fleet.run(planFederation(fleet.hub.client, type, name, { ...options, ...more }));
const act = async (done: Awaited<ReturnType<typeof plan>>, more: Partial<FederateOptions> = {}) =>
  fleet.run(carryOut(fleet.runtime.clock, fleet.hub.client, done, { ...options, ...more }));

const settings: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop', labels: { app: 'shop' }, annotations: { mine: 'yes' } },
  data: { colour: 'red' },
};
const service: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, nodePort: 30080 }], type: 'NodePort' },
};

describe('enabling types', () => {
  it('[F8] of any kind propagates them until they are disabled, and lets what is there stay', async () => {
    const widgets: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: {
          kind: 'Widget',
          listKind: 'WidgetList',
          plural: 'widgets',
          singular: 'widget',
          shortNames: ['wd'],
        },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
              },
            },
          },
        ],
      },
    };
    await applyAll(fleet, fleet.hub, [widgets]);
    await applyAll(fleet, fleet.spoke('a'), [widgets]);
    await fleet.rest(2_000);
    expect(await enable('namespaces', 'wd')).toEqual([
      { name: 'namespaces', kind: 'FederatedNamespace', running: true },
      { name: 'widgets.example.com', kind: 'FederatedWidget', running: true },
    ]);
    await makeNamespace(fleet, 'shop');
    const widget = (size: number): KubeObject => ({
      apiVersion: 'types.kubefed.io/v1beta1',
      kind: 'FederatedWidget',
      metadata: { name: 'w', namespace: 'shop' },
      spec: { template: { spec: { size } }, placement: { clusters: [{ name: 'a' }] } },
    });
    await applyAll(fleet, fleet.hub, [
      {
        apiVersion: 'types.kubefed.io/v1beta1',
        kind: 'FederatedNamespace',
        metadata: { name: 'shop', namespace: 'shop' },
        spec: { placement: { clusterSelector: {} } },
      },
      widget(1),
    ]);
    const size = (): unknown => at(stored(fleet.spoke('a'), 'example.com/widgets/shop/w'), 'spec', 'size');
    await fleet.until(() => size() === 1, 'the widget');
    const done = await fleet.run(
      disableType(fleet.runtime.clock, fleet.hub.client, 'widget', { ...types, deleteCrd: false }),
    );
    expect(done).toEqual({ name: 'widgets.example.com', kind: 'FederatedWidget', deletedKind: false });
    expect(typeConfig(fleet, 'widgets.example.com')).toBeUndefined();
    await applyAll(fleet, fleet.hub, [widget(2)]);
    await fleet.rest(60_000);
    expect(size()).toBe(1);
    // The hub knows what it brought, also after a restart; it neither takes it away nor takes it for somebody else's.
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(size()).toBe(1);
    expect(stored(fleet.hub, 'core/configmaps/atoll-system/hub-mode')).toBeUndefined();
    await enable('widgets');
    await fleet.until(() => size() === 2, 'what was changed meanwhile');
  });

  it('makes the usual ten where none is named, and refuses another form of one that is there', async () => {
    const all = await enable();
    expect(all.map(({ name }) => name)).toEqual(DEFAULT_TYPES);
    expect(all.every(({ running }) => running)).toBe(true);
    const other = enableTypes(fleet.runtime.clock, fleet.hub.client, ['deploy'], {
      ...types,
      federatedGroup: 'other.example.com',
    });
    await expect(fleet.run(other)).rejects.toThrow('disable it before');
    const crd = stored(
      fleet.hub,
      'apiextensions.k8s.io/customresourcedefinitions/-/federateddeployments.types.kubefed.io',
    );
    expect(JSON.stringify(crd)).toContain('retainReplicas');
    expect(at(crd, 'spec', 'names', 'shortNames')).toEqual(['fdeploy']);
  });
});

describe('federating', () => {
  it('[F43] wraps an object of the hub without what its cluster owns, and brings it to every cluster', async () => {
    await makeNamespace(fleet, 'shop');
    await applyAll(fleet, fleet.hub, [settings, service]);
    await expect(plan('cm', 'settings')).rejects.toThrow('the type configmaps is not enabled');
    await enable('namespaces', 'configmaps', 'services');
    await act(await plan('namespace', 'shop'));
    await act(await plan('cm', 'settings'));
    await act(await plan('Service', 'web'));
    await fleet.until(
      () => propagation(federatedAt(fleet, 'ConfigMap', 'settings')).is === 'True',
      'settings',
    );
    await fleet.until(() => propagation(federatedAt(fleet, 'Service', 'web')).is === 'True', 'web');
    expect(federatedAt(fleet, 'ConfigMap', 'settings')?.['spec']).toEqual({
      template: { metadata: { labels: { app: 'shop' } }, data: { colour: 'red' } },
      placement: { clusterSelector: { matchLabels: {} } },
    });
    const template = at(federatedAt(fleet, 'Service', 'web'), 'spec', 'template', 'spec');
    expect(Object.keys(template as object)).not.toContain('clusterIP');
    expect(JSON.stringify(template)).not.toContain('nodePort');
    for (const spoke of fleet.spokes)
      expect(at(stored(spoke, 'core/configmaps/shop/settings'), 'data', 'colour')).toBe('red');
    await expect(act(await plan('cm', 'settings'))).rejects.toThrow('already exists');
    // Of a file, and of standard input, nothing needs to be at the hub.
    const read = await fleet.run(
      planFiles(fleet.hub.client, [{ ...settings, metadata: { name: 'late' } }], options),
    );
    expect(read.objects[0]?.object.metadata).toEqual({ name: 'late', namespace: 'shop' });
  });

  it('[F45] prints what applies as it is, makes types on the way, and changes nothing in a dry run', async () => {
    await makeNamespace(fleet, 'shop');
    await applyAll(fleet, fleet.hub, [settings]);
    const more = { enableType: true };
    const dry = { ...more, dryRun: true };
    await act(await plan('cm', 'settings', dry), dry);
    expect(typeConfig(fleet, 'configmaps')).toBeUndefined();
    const first = await plan('namespaces', 'shop', more);
    await act(first, more);
    const printed = await fleet.run(
      planManifests(fleet.hub.client, await plan('cm', 'settings', more), { ...options, ...more }),
    );
    expect(printed.map(({ kind }) => kind)).toEqual([
      'CustomResourceDefinition',
      'FederatedTypeConfig',
      'FederatedConfigMap',
    ]);
    const [crd, config, object] = printed;
    await applyAll(
      fleet,
      fleet.hub,
      [crd, config].filter((item) => item !== undefined),
    );
    await fleet.rest(3_000);
    await applyAll(fleet, fleet.hub, object ? [object] : []);
    await fleet.until(
      () => propagation(federatedAt(fleet, 'ConfigMap', 'settings')).is === 'True',
      'settings',
    );
    await act(await plan('cm', 'settings', more), dry).then(
      () => expect.unreachable('it is there already'),
      (error: Error) => expect(error.message).toContain('already exists'),
    );
  });

  it('[F44] a namespace with its contents leaves out what each cluster makes itself', async () => {
    await makeNamespace(fleet, 'shop');
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: 'shop' },
      involvedObject: { kind: 'ConfigMap', name: 'settings', namespace: 'shop' },
    };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'shop' } };
    await applyAll(fleet, fleet.hub, [settings, service, event, secret]);
    await fleet.rest(5_000);
    const how = { contents: true, enableType: true, skipApiResources: ['secrets'] };
    const all = await plan('ns', 'shop', how);
    expect(all.objects.map(({ object }) => refText(refOf(object)))).toEqual([
      'FederatedNamespace shop/shop',
      'FederatedConfigMap shop/settings',
      'FederatedService shop/web',
    ]);
    expect(all.skipped.map(({ ref }) => ref.name)).toContain('kube-root-ca.crt');
    await act(all, how);
    await fleet.until(() => propagation(federatedAt(fleet, 'Service', 'web')).is === 'True', 'web');
    await fleet.until(
      () => propagation(federatedAt(fleet, 'ConfigMap', 'settings')).is === 'True',
      'settings',
    );
    expect(storedBelow(fleet.spoke('b'), 'core/secrets/shop')).toEqual([]);
    await expect(plan('ns', 'kube-system', how)).rejects.toThrow('cannot be federated');
    // A change at the hub's own object changes nothing: what is wished is in the federated one.
    await fleet.run(
      fleet.hub.client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'blue' } }),
    );
    await fleet.rest(20_000);
    expect(stringAt(stored(fleet.spoke('a'), 'core/configmaps/shop/settings'), 'data', 'colour')).toBe('red');
  });
});
