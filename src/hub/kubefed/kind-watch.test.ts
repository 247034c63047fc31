import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../apiserver/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { createClient } from '../../kube/rest-client.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import { type KindWatch, watchKind } from './kind-watch.ts';

let runtime: VirtualRuntime;
let server: ApiServer;
let client: Client;
let definitions: Informer;
let watch: KindWatch;
let told: string[];

async function run<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  await runtime.clock.advance(2_000);
  return work;
}

function definition(...served: string[]): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
      versions: ['v1', 'v2'].map((name) => ({
        name,
        served: served.includes(name),
        storage: name === 'v1',
        schema: { openAPIV3Schema: { type: 'object' } },
        ...(name === 'v2' ? { subresources: { status: {} } } : {}),
      })),
    },
  };
}

const apply = (object: KubeObject) =>
  run(client.apply(customResourceDefinitions, object, { fieldManager: 'test', force: true }));

function widgets(version: string): ResourceId {
  return { group: 'example.com', version, resource: 'widgets', kind: 'Widget', namespaced: true };
}

beforeEach(async () => {
  runtime = virtualRuntime(1);
  server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  client = createClient(server.as({ name: 'engine', groups: ['system:masters'] }), { clock: runtime.clock });
  definitions = startInformer(runtime, client, customResourceDefinitions);
  await run(definitions.whenSynced());
  told = [];
  watch = watchKind(runtime, client, definitions, {
    definition: 'widgets.example.com',
    version: 'v2',
    onChange: ({ type, object }) => told.push(`${type} ${object.metadata.name}`),
  });
});
afterEach(async () => {
  watch.stop();
  definitions.stop();
  await run(server.close());
});

describe('a watch of a kind', () => {
  it('waits for its definition, and is complete without one', async () => {
    expect([watch.synced, watch.resource, watch.list()]).toEqual([true, undefined, []]);
    await apply(definition('v2'));
    expect([watch.synced, watch.resource, watch.hasStatus]).toEqual([true, widgets('v2'), true]);
    const widget = {
      apiVersion: 'example.com/v2',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'default' },
    };
    await run(client.create(widgets('v2'), widget));
    expect(watch.get('default', 'w')?.apiVersion).toBe('example.com/v2');
    expect(told).toEqual(['added w']);
  });

  it('reads another version where its own is not served, and forgets nothing when that changes', async () => {
    await apply(definition('v1'));
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'default' },
    };
    await run(client.create(widgets('v1'), widget));
    expect([watch.resource, watch.hasStatus]).toEqual([widgets('v1'), false]);
    await apply(definition('v1', 'v2'));
    expect([watch.resource, watch.list().map(({ apiVersion }) => apiVersion)]).toEqual([
      widgets('v2'),
      ['example.com/v2'],
    ]);
  });

  it('ends with its definition, and begins again with the next', async () => {
    await apply(definition('v2'));
    const widget = {
      apiVersion: 'example.com/v2',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'default' },
    };
    await run(client.create(widgets('v2'), widget));
    await run(client.delete(customResourceDefinitions, '', 'widgets.example.com'));
    expect([watch.synced, watch.resource, watch.list()]).toEqual([true, undefined, []]);
    await apply(definition('v2'));
    expect([watch.resource, watch.list()]).toEqual([widgets('v2'), []]);
  });
});
