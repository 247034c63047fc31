// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GRAPH_REVISION, GRAPH_ROLLOUT, RESOURCE_GRAPH_DEFINITION } from '../../../src/dialects/kro/index.ts';
import type { Client, ResourceId } from '../../../src/kube/client.ts';
import { installKinds } from '../../../src/kube/custom-resource.ts';
import { readBody } from '../../../src/kube/exchange.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { createClient } from '../../../src/kube/rest-client.ts';
import { configMaps, customResourceDefinitions, leases, namespaces } from '../../../src/kube/well-known.ts';
import { systemRuntime } from '../../../src/runtime/index.ts';
import { startGraphs } from '../../../src/spoke/graphs/index.ts';
import { hasRealServer, type Subject, startEmbedded, startReal } from './servers.ts';

const GROUP = 'platform.example.org';
const WIDGETS: ResourceId = {
  group: GROUP,
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const WIDGET_KIND = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        selectableFields: [{ jsonPath: '.spec.colour' }],
        additionalPrinterColumns: [{ name: 'Colour', type: 'string', jsonPath: '.spec.colour' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  colour: { type: 'string', default: 'red' },
                  size: {
                    type: 'integer',
                    'x-kubernetes-validations': [
                      { rule: 'self <= 10', message: 'too big' },
                      { rule: 'self >= oldSelf', message: 'it cannot shrink' },
                    ],
                  },
                  anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
} as unknown as KubeObject;

type Json = Record<string, unknown>;

const widget = (name: string, spec: Json = {}, metadata: Json = {}): KubeObject =>
  ({
    apiVersion: `${GROUP}/v1`,
    kind: 'Widget',
    metadata: { name, namespace: 'default', ...metadata },
    spec,
  }) as unknown as KubeObject;

function platform(start: () => Promise<Subject>): void {
  let subject: Subject;
  let client: Client;

  /** An exchange as it is on the wire. */
  async function call(
    method: string,
    path: string,
    {
      body,
      type = 'application/json',
      accept = 'application/json',
    }: { body?: Json; type?: string; accept?: string } = {},
  ): Promise<{ status: number; json: Json }> {
    const response = await subject.handler({
      method,
      path,
      headers: { accept, ...(body && { 'content-type': type }) },
      ...(body && { body: new TextEncoder().encode(JSON.stringify(body)) }),
    });
    const text = new TextDecoder().decode(await readBody(response));
    return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : { text } };
  }

  async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + 30_000;
    while (!(await holds())) {
      if (performance.now() > end) throw new Error(`waited for ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const path = (name = ''): string =>
    `/apis/${GROUP}/v1/namespaces/default/widgets${name === '' ? '' : `/${name}`}`;

  beforeAll(async () => {
    subject = await start();
    client = createClient(subject.handler);
    await until('the namespace default', async () => {
      const { items } = await client.list(namespaces, '');
      return items.some(({ metadata }) => metadata.name === 'default');
    });
    await client.create(customResourceDefinitions, WIDGET_KIND);
    await until('the kind to be served', async () => (await call('GET', path())).status === 200);
  }, 90_000);
  afterAll(() => subject?.stop());

  it('[R172] kinds are established, discovered and described without a restart', async () => {
    const { status } = (await client.get(customResourceDefinitions, '', `widgets.${GROUP}`)) as unknown as {
      status: { conditions: { type: string; status: string }[] };
    };
    expect(status.conditions.find(({ type }) => type === 'Established')?.status).toBe('True');
    await until('discovery', async () => JSON.stringify((await call('GET', '/apis')).json).includes(GROUP));
    const listed = await call('GET', `/apis/${GROUP}/v1`);
    expect((listed.json['resources'] as { name: string }[]).map(({ name }) => name).sort()).toEqual([
      'widgets',
      'widgets/status',
    ]);
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    await until('aggregated discovery', async () =>
      JSON.stringify((await call('GET', '/apis', { accept: aggregated })).json).includes('"widgets"'),
    );
    await until('OpenAPI', async () => {
      const { json } = await call('GET', '/openapi/v3');
      return (json['paths'] as Json)[`apis/${GROUP}/v1`] !== undefined;
    });
    const { json } = await call('GET', `/openapi/v3/apis/${GROUP}/v1`);
    expect(JSON.stringify(json)).toContain('"x-kubernetes-group-version-kind"');
  });

  it('[R172] objects are defaulted, pruned where nothing else is said, and validated by rules, also of transitions', async () => {
    const made = await client.create(
      WIDGETS,
      widget('shaped', { size: 3, unknown: 1, anything: { deep: 1 } }),
    );
    expect(made['spec']).toEqual({ colour: 'red', size: 3, anything: { deep: 1 } });
    const tooBig = await call('POST', path(), { body: widget('big', { size: 11 }) as unknown as Json });
    expect([tooBig.status, JSON.stringify(tooBig.json)]).toEqual([422, expect.stringContaining('too big')]);
    const merge = 'application/merge-patch+json';
    const shrunk = await call('PATCH', path('shaped'), { body: { spec: { size: 2 } }, type: merge });
    expect([shrunk.status, JSON.stringify(shrunk.json)]).toEqual([
      422,
      expect.stringContaining('it cannot shrink'),
    ]);
    expect((await call('PATCH', path('shaped'), { body: { spec: { size: 4 } }, type: merge })).status).toBe(
      200,
    );
  });

  it('[R172] the status has its own way, and generation tells of the spec alone', async () => {
    const { metadata } = await client.create(WIDGETS, widget('counted'));
    expect(metadata.generation).toBe(1);
    const labelled = await client.patch(WIDGETS, 'default', 'counted', 'merge', {
      metadata: { labels: { a: 'b' } },
      status: { ignored: true },
    });
    expect([labelled.metadata.generation, labelled['status']]).toEqual([1, undefined]);
    const told = await client.patch(
      WIDGETS,
      'default',
      'counted',
      'merge',
      { status: { state: 'ACTIVE' }, spec: { colour: 'ignored' } },
      { subresource: 'status' },
    );
    expect([told.metadata.generation, told['status'], told['spec']]).toEqual([
      1,
      { state: 'ACTIVE' },
      { colour: 'red' },
    ]);
    const changed = await client.patch(WIDGETS, 'default', 'counted', 'merge', { spec: { colour: 'blue' } });
    expect(changed.metadata.generation).toBe(2);
  });

  it('[R172] fields belong to those who apply them; what another has is a conflict unless it is forced', async () => {
    const one = { fieldManager: 'one' };
    await client.apply(WIDGETS, widget('shared', { colour: 'blue', size: 1 }), one);
    await expect(
      client.apply(WIDGETS, widget('shared', { colour: 'green' }), { fieldManager: 'two' }),
    ).rejects.toMatchObject({ code: 409 });
    const forced = await client.apply(WIDGETS, widget('shared', { colour: 'green' }), {
      fieldManager: 'two',
      force: true,
    });
    const owners = (forced.metadata as unknown as { managedFields: { manager: string; fieldsV1: unknown }[] })
      .managedFields;
    const fields = owners.map(({ manager, fieldsV1 }) => [manager, JSON.stringify(fieldsV1)]);
    expect(fields.toSorted()).toEqual([
      ['one', '{"f:spec":{"f:size":{}}}'],
      ['two', '{"f:spec":{"f:colour":{}}}'],
    ]);
    // What its one owner applies no longer goes; of what is left the default is.
    const left = await client.apply(WIDGETS, widget('shared'), { fieldManager: 'two', force: true });
    expect(left['spec']).toEqual({ colour: 'red', size: 1 });
  });

  it('[R172] patches over what was read and deletions by UID happen to nothing else; finalizers hold objects', async () => {
    const first = await client.create(WIDGETS, widget('held', {}, { finalizers: ['example.org/hold'] }));
    await client.patch(WIDGETS, 'default', 'held', 'merge', { metadata: { labels: { a: '1' } } });
    const stale = { metadata: { resourceVersion: first.metadata.resourceVersion, labels: { a: '2' } } };
    await expect(client.patch(WIDGETS, 'default', 'held', 'merge', stale)).rejects.toMatchObject({
      code: 409,
    });
    const other = { preconditions: { uid: '00000000-0000-0000-0000-000000000000' } };
    await expect(client.delete(WIDGETS, 'default', 'held', other)).rejects.toMatchObject({ code: 409 });
    await client.delete(WIDGETS, 'default', 'held', { preconditions: { uid: first.metadata.uid ?? '' } });
    const leaving = await client.get(WIDGETS, 'default', 'held');
    expect(leaving.metadata.deletionTimestamp).toBeDefined();
    await client.patch(WIDGETS, 'default', 'held', 'merge', { metadata: { finalizers: null } });
    await expect(client.get(WIDGETS, 'default', 'held')).rejects.toMatchObject({ code: 404 });
  });

  it('[R172] lists are selected by labels and fields, come as tables, and as metadata alone', async () => {
    await client.create(WIDGETS, widget('left', { colour: 'white' }, { labels: { side: 'left' } }));
    await client.create(WIDGETS, widget('right', { colour: 'black' }, { labels: { side: 'right' } }));
    const names = async (query: string): Promise<string[]> =>
      ((await call('GET', `${path()}?${query}`)).json['items'] as KubeObject[]).map(
        ({ metadata }) => metadata.name ?? '',
      );
    expect(await names('labelSelector=side%3Dleft')).toEqual(['left']);
    expect(await names('fieldSelector=spec.colour%3Dblack')).toEqual(['right']);
    expect(await names('fieldSelector=metadata.name%3Dleft')).toEqual(['left']);
    const table = await call('GET', path('left'), { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect([
      (table.json['columnDefinitions'] as { name: string }[]).map(({ name }) => name),
      (table.json['rows'] as { cells: unknown[] }[]).map(({ cells }) => cells),
    ]).toEqual([['Name', 'Colour'], [['left', 'white']]]);
    const metadata = await call('GET', `${path()}?labelSelector=side`, {
      accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    });
    expect(metadata.json['kind']).toBe('PartialObjectMetadataList');
    expect((metadata.json['items'] as Json[]).map((item) => [item['kind'], item['spec']])).toEqual([
      ['PartialObjectMetadata', undefined],
      ['PartialObjectMetadata', undefined],
    ]);
  });

  it('[R172] watches tell of metadata alone, and take bookmarks', async () => {
    const { metadata } = await client.list(WIDGETS, 'default');
    await client.create(WIDGETS, widget('middle', {}, { labels: { side: 'middle' } }));
    await client.create(WIDGETS, widget('elsewhere'));
    const since = `resourceVersion=${metadata.resourceVersion}&allowWatchBookmarks=true&timeoutSeconds=4`;
    const response = await subject.handler({
      method: 'GET',
      path: `${path()}?watch=1&${since}&labelSelector=side`,
      headers: { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' },
    });
    const text = new TextDecoder().decode(await readBody(response));
    const told = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { type: string; object: KubeObject });
    const [added, ...bookmarks] = told;
    expect([added?.type, added?.object.kind, added?.object.metadata.name, added?.object['spec']]).toEqual([
      'ADDED',
      'PartialObjectMetadata',
      'middle',
      undefined,
    ]);
    // A kube-apiserver whose etcd tells of no progress sends none in so short a time.
    for (const { type, object } of bookmarks) {
      expect([type, object.kind]).toEqual(['BOOKMARK', 'PartialObjectMetadata']);
      const [now, then] = [object, added?.object].map((item) => Number(item?.metadata.resourceVersion));
      expect(now).toBeGreaterThan(then ?? Number.NaN);
    }
  }, 20_000);

  it('[R172] there are Leases, Events and admission policies', async () => {
    const lease = await client.create(leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'leader', namespace: 'default' },
      spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
    } as unknown as KubeObject);
    await client.update(leases, { ...lease, spec: { holderIdentity: 'b' } } as unknown as KubeObject);
    await expect(
      client.update(leases, { ...lease, spec: { holderIdentity: 'c' } } as unknown as KubeObject),
    ).rejects.toMatchObject({ code: 409 });
    const event = await call('POST', '/api/v1/namespaces/default/events', {
      body: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'ready', namespace: 'default' },
        involvedObject: { apiVersion: `${GROUP}/v1`, kind: 'Widget', name: 'left', namespace: 'default' },
        reason: 'Ready',
        type: 'Normal',
      },
    });
    expect(event.status).toBe(201);
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'no-pink' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [GROUP], apiVersions: ['v1'], operations: ['CREATE'], resources: ['widgets'] },
          ],
        },
        validations: [{ expression: 'object.spec.colour != "pink"', message: 'nothing pink' }],
      },
    };
    expect((await call('POST', policies, { body: policy })).status).toBe(201);
    const binding = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'no-pink' },
      spec: { policyName: 'no-pink', validationActions: ['Deny'] },
    };
    expect(
      (await call('POST', `${policies.replace(/policies$/, 'policybindings')}`, { body: binding })).status,
    ).toBe(201);
    const pink = widget('pink', { colour: 'pink' }) as unknown as Json;
    // It is in force a moment after it was made.
    await until('the policy', async () => {
      const { status } = await call('POST', `${path()}?dryRun=All`, { body: pink });
      return status === 422;
    });
  });

  it('[R172] the engine brings a graph about on it, follows an edit, and takes everything away', async () => {
    const runtime = systemRuntime();
    await installKinds(runtime.clock, client, [RESOURCE_GRAPH_DEFINITION, GRAPH_REVISION, GRAPH_ROLLOUT]);
    const graphs = startGraphs(runtime, { client, version: 'conformance' });
    try {
      const definitions = await client.resourceFor('kro.run/v1alpha1', 'ResourceGraphDefinition');
      await client.create(definitions, {
        apiVersion: 'kro.run/v1alpha1',
        kind: 'ResourceGraphDefinition',
        metadata: { name: 'shelf' },
        spec: {
          schema: {
            apiVersion: 'v1alpha1',
            kind: 'Shelf',
            spec: { colour: 'string | default=red' },
            status: { seen: '${word.data.colour}' },
          },
          resources: [
            {
              id: 'widget',
              template: {
                apiVersion: `${GROUP}/v1`,
                kind: 'Widget',
                metadata: { name: '${schema.metadata.name}-widget' },
                spec: { colour: '${schema.spec.colour}' },
              },
            },
            {
              id: 'word',
              template: {
                apiVersion: 'v1',
                kind: 'ConfigMap',
                metadata: { name: '${schema.metadata.name}-word' },
                data: { colour: '${widget.spec.colour}' },
              },
            },
          ],
        },
      } as unknown as KubeObject);
      await until('the definition', async () => {
        const { status } = (await client.get(definitions, '', 'shelf')) as unknown as {
          status?: { state?: string };
        };
        return status?.state === 'Active';
      });
      const shelves = await client.resourceFor('kro.run/v1alpha1', 'Shelf');
      const shelf = async (): Promise<Json> =>
        ((await client.get(shelves, 'default', 'one')) as unknown as { status?: Json }).status ?? {};
      await client.create(shelves, {
        apiVersion: 'kro.run/v1alpha1',
        kind: 'Shelf',
        metadata: { name: 'one', namespace: 'default' },
        spec: {},
      } as unknown as KubeObject);
      await until('the instance', async () => (await shelf())['state'] === 'ACTIVE');
      await client.patch(shelves, 'default', 'one', 'merge', { spec: { colour: 'green' } });
      await until('the edit', async () => (await shelf())['seen'] === 'green');
      const word = (await client.get(configMaps, 'default', 'one-word')) as unknown as {
        data: Json;
        metadata: { labels: Json; managedFields: { manager: string }[] };
      };
      expect(word.data).toEqual({ colour: 'green' });
      expect(word.metadata.labels).toMatchObject({
        'kro.run/node-id': 'word',
        'kro.run/instance-name': 'one',
      });
      expect(word.metadata.managedFields.map(({ manager }) => manager)).toEqual(['kro.run/applyset']);
      await client.delete(shelves, 'default', 'one');
      await until('the end', async () => (await client.list(shelves, 'default')).items.length === 0);
      await expect(client.get(configMaps, 'default', 'one-word')).rejects.toMatchObject({ code: 404 });
      await expect(client.get(WIDGETS, 'default', 'one-widget')).rejects.toMatchObject({ code: 404 });
    } finally {
      await graphs.stop();
    }
  });
}

describe('what graphs need of an API server: the embedded one', () => platform(startEmbedded));
describe.skipIf(!hasRealServer)('what graphs need of an API server: kube-apiserver', () =>
  platform(startReal),
);
