import { describe, expect, it } from 'vitest';
import type { Response } from '../../kube/exchange.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { loadCatalogue } from '../catalogue/index.ts';
import { createOpenApi, type PublishedResource } from './openapi.ts';

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const catalogue = loadCatalogue();

const WIDGET_SCHEMA: OpenApiSchema = {
  type: 'object',
  required: ['spec'],
  properties: {
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, description: 'How big.' },
        color: { type: 'string', nullable: true, default: 'red', enum: ['red', 'blue'] },
        extra: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { a: { type: 'string' } },
        },
        port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          properties: { data: { type: 'string' } },
        },
        map: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
};

function widget(schema: OpenApiSchema = WIDGET_SCHEMA): PublishedResource {
  return {
    group: 'example.com',
    version: 'v1',
    storageVersion: 'v1',
    resource: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    listKind: 'WidgetList',
    namespaced: true,
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    shortNames: [],
    categories: [],
    subresources: [{ name: 'status', verbs: ['get', 'patch', 'update'] }],
    custom: true,
    type: { schema, resolve: () => undefined },
  };
}

const openApi = createOpenApi([...catalogue.resources, widget()], catalogue);
const none = new URLSearchParams();

function respond(path: string, accept?: string, etag?: string): Response | undefined {
  const url = new URL(path, 'http://x');
  return openApi.respond(url.pathname, url.searchParams, accept, etag);
}

interface Operation {
  operationId: string;
  parameters?: { name: string }[];
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
  'x-kubernetes-action'?: string;
  'x-kubernetes-group-version-kind'?: object;
}
interface Document {
  openapi?: string;
  info: object;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, OpenApiSchema> };
  definitions: Record<string, OpenApiSchema>;
  parameters: Record<string, object>;
}

function json<T = Document>(response: Response | undefined): T {
  return JSON.parse(Buffer.from(response!.body as Uint8Array).toString('utf8')) as T;
}

function everyReference(value: unknown, visit: (ref: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  const ref = (value as { $ref?: unknown }).$ref;
  if (typeof ref === 'string') visit(ref);
  for (const item of Object.values(value)) everyReference(item, visit);
}

describe('OpenAPI v3', () => {
  it('has the paths of watches and of what is proxied, and says once what all operations of a path take', () => {
    const { paths } = json(respond('/openapi/v3/api/v1'));
    const CLAIMS = '/api/v1/namespaces/{namespace}/persistentvolumeclaims';
    const namesOf = (item: unknown): string[] =>
      ((item as { parameters?: { name: string }[] } | undefined)?.parameters ?? []).map(({ name }) => name);
    expect(namesOf(paths[CLAIMS])).toEqual(['namespace', 'pretty']);
    expect(namesOf(paths[CLAIMS]?.post)).toEqual(['dryRun', 'fieldManager', 'fieldValidation']);
    expect(paths['/api/v1/watch/persistentvolumeclaims']?.get).toMatchObject({
      operationId: 'watchCoreV1PersistentVolumeClaimListForAllNamespaces',
      'x-kubernetes-action': 'watchlist',
    });
    const proxied = paths['/api/v1/namespaces/{namespace}/services/{name}/proxy/{path}'];
    expect(namesOf(proxied)).toEqual(['name', 'namespace', 'path', 'path']);
    expect(proxied?.options?.operationId).toBe('connectCoreV1OptionsNamespacedServiceProxyWithPath');
    const custom = json(respond('/openapi/v3/apis/example.com/v1')).paths;
    expect(Object.keys(custom).filter((path) => path.endsWith('/') || path.includes('/watch/'))).toEqual([]);
  });

  it('tells of no fields that came after the release', () => {
    const older = loadCatalogue('1.32');
    const fieldsOf = (which: typeof older, name: string) =>
      Object.keys(which.definition(name)?.properties ?? {});
    expect(fieldsOf(catalogue, 'io.k8s.api.core.v1.PodSpec')).toContain('hostnameOverride');
    expect(fieldsOf(older, 'io.k8s.api.core.v1.PodSpec')).not.toContain('hostnameOverride');
    const document = createOpenApi(older.resources, older, undefined, '1.32');
    const { info, definitions } = json(document.respond('/openapi/v2', none, undefined, undefined));
    expect(info).toEqual({ title: 'Kubernetes', version: '1.32' });
    expect(definitions).not.toHaveProperty(['io.k8s.api.core.v1.FileKeySelector']);
  });

  const index = () =>
    json<{ paths: Record<string, { serverRelativeURL: string }> }>(respond('/openapi/v3')).paths;

  it('[V7] has an index of every group version with the hash of its document', () => {
    const paths = index();
    expect(Object.keys(paths)).toEqual([...Object.keys(paths)].sort());
    for (const key of [
      'api',
      'api/v1',
      'apis',
      'apis/apps',
      'apis/apps/v1',
      'apis/example.com/v1',
      'version',
    ]) {
      expect(paths[key]?.serverRelativeURL).toMatch(new RegExp(`^/openapi/v3/${key}\\?hash=[0-9A-F]{128}$`));
    }
    expect(Object.keys(paths)).not.toContain('apis/example.com');
    expect(openApi.paths).toEqual(['/openapi/v2', '/openapi/v3', '/openapi/v3/']);
  });

  it('[V7] answers the right hash for good, a wrong one with 301, none with an ETag', () => {
    const url = index()['apis/apps/v1']!.serverRelativeURL;
    const right = respond(url);
    expect(right?.status).toBe(200);
    expect(right?.headers['cache-control']).toMatch(/^public, immutable/);
    const wrong = respond('/openapi/v3/apis/apps/v1?hash=00');
    expect(wrong?.status).toBe(301);
    // Relative, so that it is right below the prefix of a logical cluster as well.
    expect(
      new URL(wrong!.headers.location!, 'http://x/clusters/a/openapi/v3/apis/apps/v1?hash=00').href,
    ).toBe(`http://x/clusters/a${url}`);
    const plain = respond('/openapi/v3/apis/apps/v1');
    expect(plain?.headers['cache-control']).toBe('no-cache, private');
    expect(respond('/openapi/v3/apis/apps/v1', undefined, plain!.headers.etag)?.status).toBe(304);
    expect(respond('/openapi/v3/apis/nope/v1')).toMatchObject({ status: 404, headers: {} });
    expect(respond('/openapi/v3/apis/apps/v1', 'text/html')?.status).toBe(406);
  });

  it('[V7] tells kubectl that patches know dryRun and fieldValidation', () => {
    for (const [path, kind] of [
      ['/apis/apps/v1', 'Deployment'],
      ['/apis/example.com/v1', 'Widget'],
    ]) {
      const document = json(respond(`/openapi/v3${path}`));
      const plural = kind === 'Widget' ? 'widgets' : 'deployments';
      const { patch } = document.paths[`${path}/namespaces/{namespace}/${plural}/{name}`]!;
      const names = patch!.parameters!.map((parameter) => parameter.name);
      expect(names).toEqual(expect.arrayContaining(['dryRun', 'fieldValidation', 'fieldManager', 'force']));
      expect(patch!['x-kubernetes-action']).toBe('patch');
      expect(patch!['x-kubernetes-group-version-kind']).toMatchObject({ kind });
      const types = Object.keys(patch!.requestBody!.content);
      expect(types.includes('application/strategic-merge-patch+json')).toBe(kind === 'Deployment');
    }
  });

  it('[V7] has no reference that leads nowhere, in any document', () => {
    for (const { serverRelativeURL } of Object.values(index())) {
      const document = json(respond(serverRelativeURL));
      expect(document.openapi).toBe('3.0.0');
      const nowhere = new Set<string>();
      everyReference(document, (ref) => {
        if (!document.components.schemas[ref.replace('#/components/schemas/', '')]) nowhere.add(ref);
      });
      expect([...nowhere], serverRelativeURL).toEqual([]);
    }
  });

  it('[V7] keeps merge keys beside references', () => {
    const { schemas } = json(respond('/openapi/v3/apis/apps/v1')).components;
    expect(schemas['io.k8s.api.apps.v1.DeploymentSpec']?.properties?.strategy).toEqual({
      default: {},
      'x-kubernetes-patch-strategy': 'retainKeys',
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy' }],
    });
    expect(schemas['io.k8s.apimachinery.pkg.util.intstr.IntOrString']).toEqual({
      format: 'int-or-string',
      oneOf: [{ type: 'integer' }, { type: 'string' }],
    });
  });

  it('[V9] publishes custom resources whole, with type fields and metadata', () => {
    const document = json(respond('/openapi/v3/apis/example.com/v1'));
    expect(document.info).toEqual({ title: 'Kubernetes CRD Swagger', version: 'v0.1.0' });
    const schema = document.components.schemas['com.example.v1.Widget']!;
    expect(schema['x-kubernetes-group-version-kind']).toEqual([
      { group: 'example.com', kind: 'Widget', version: 'v1' },
    ]);
    const objectMeta = {
      allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }],
    };
    expect(schema.properties).toMatchObject({
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: objectMeta,
      spec: {
        required: ['size'],
        properties: {
          size: { type: 'integer', minimum: 1, description: 'How big.' },
          color: { type: 'string', nullable: true, default: 'red' },
          port: { 'x-kubernetes-int-or-string': true },
          template: { properties: { data: { type: 'string' }, metadata: objectMeta } },
        },
      },
    });
    expect(document.components.schemas['com.example.v1.WidgetList']?.required).toEqual(['items']);
    const item = document.paths['/apis/example.com/v1/namespaces/{namespace}/widgets']!;
    expect(item.get!.operationId).toBe('listExampleComV1NamespacedWidget');
  });

  it('[V9] gives a changed schema another hash, and others the same', () => {
    const before = index();
    const changed = createOpenApi([...catalogue.resources, widget({ type: 'object' })], catalogue);
    const after = json<{ paths: typeof before }>(
      changed.respond('/openapi/v3', none, undefined, undefined),
    ).paths;
    const differing = Object.keys(before).filter(
      (key) => before[key]!.serverRelativeURL !== after[key]!.serverRelativeURL,
    );
    expect(differing).toEqual(['apis/example.com/v1']);
  });
});

describe('descriptions', () => {
  const texts = {
    digest: 'texts',
    open: () => (definition: string) =>
      definition === 'io.k8s.api.apps.v1.DeploymentSpec'
        ? {
            own: 'What is wanted.',
            field: (name: string) => (name === 'template' ? 'What pods are like.' : undefined),
          }
        : undefined,
  };
  const documents = createOpenApi(catalogue.resources, catalogue, texts);
  const of = (api: typeof openApi, path: string): string => {
    const { body } = api.respond(path, none, 'application/json', undefined) ?? {};
    return Buffer.from(body as Uint8Array).toString();
  };

  it('[V7 V8] are beside what they describe, references too', () => {
    const v3 = JSON.parse(of(documents, '/openapi/v3/apis/apps/v1'));
    const v2 = JSON.parse(of(documents, '/openapi/v2'));
    for (const definitions of [v3.components.schemas, v2.definitions]) {
      const spec = definitions['io.k8s.api.apps.v1.DeploymentSpec'];
      expect(spec.description).toBe('What is wanted.');
      expect(spec.properties.template.description).toBe('What pods are like.');
      expect(spec.properties.replicas).not.toHaveProperty('description');
    }
  });

  it('[V7] are part of what hashes stand for', () => {
    expect(of(documents, '/openapi/v3')).not.toBe(
      of(createOpenApi(catalogue.resources, catalogue), '/openapi/v3'),
    );
  });
});

describe('OpenAPI v2', () => {
  const document = () => json(respond('/openapi/v2', 'application/json'));

  it('[V8] is JSON by default, protobuf when asked for, and has an ETag', () => {
    const plain = respond('/openapi/v2');
    expect(plain?.headers['content-type']).toBe('application/json');
    const binary = respond('/openapi/v2', PROTOBUF);
    // The media type with an `@` is asked for, but no Go client could parse it in an answer.
    expect(binary?.headers['content-type']).toBe(
      'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
    );
    expect(binary?.headers.etag).not.toBe(plain?.headers.etag);
    expect(respond('/openapi/v2', PROTOBUF, binary!.headers.etag)?.status).toBe(304);
    expect(respond('/openapi/v2', 'constructor')?.status).toBe(406);
    expect(respond('/openapi/v2', PROTOBUF)?.body).toEqual(binary?.body);
    expect(respond('/openapi/v2', 'text/html')?.status).toBe(406);
  });

  it('[V8] has no reference that leads nowhere: kubectl gives up at the first', () => {
    const whole = document();
    const nowhere = new Set<string>();
    everyReference(whole, (ref) => {
      const [, part, name = ''] = ref.split('/');
      if (!whole[part === 'parameters' ? part : 'definitions'][name]) nowhere.add(ref);
    });
    expect([...nowhere]).toEqual([]);
  });

  it('[V9] leaves out of custom schemas what v2 cannot say', () => {
    const spec = document().definitions['com.example.v1.Widget']!.properties!.spec!.properties!;
    expect(spec.color).toEqual({ default: 'red', enum: ['red', 'blue'] });
    expect(spec.extra).toEqual({ 'x-kubernetes-preserve-unknown-fields': true });
    expect(spec.port).toEqual({ 'x-kubernetes-int-or-string': true });
    expect(spec.map).toEqual({ type: 'object', additionalProperties: { type: 'string' } });
    const open = createOpenApi(
      [widget({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: {} } })],
      catalogue,
    );
    const published = json(open.respond('/openapi/v2', none, undefined, undefined)).definitions[
      'com.example.v1.Widget'
    ];
    expect(published?.properties).toBeUndefined();
    expect(published?.type).toBe('object');
  });
});

describe('the protobuf form of OpenAPI v2', () => {
  type Field = { number: number; bytes: Buffer };

  /** Splits a message into its fields: enough of a reader to find things again. */
  function fields(bytes: Buffer): Field[] {
    const out: Field[] = [];
    let at = 0;
    const varint = (): number => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++]!;
        value += (byte & 0x7f) * 2 ** shift;
        if (byte < 0x80) return value;
      }
    };
    while (at < bytes.length) {
      const tag = varint();
      const start = at;
      if (tag % 8 === 0) varint();
      else if (tag % 8 === 1) at += 8;
      else {
        const size = varint();
        out.push({ number: Math.floor(tag / 8), bytes: bytes.subarray(at, at + size) });
        at += size;
        continue;
      }
      out.push({ number: Math.floor(tag / 8), bytes: bytes.subarray(start, at) });
    }
    expect(at).toBe(bytes.length);
    return out;
  }
  const one = (bytes: Buffer, ...path: number[]): Buffer =>
    path.reduce((current, number) => fields(current).find((field) => field.number === number)!.bytes, bytes);
  const named = (bytes: Buffer, number: number, name: string): Buffer =>
    one(
      fields(bytes).find((field) => field.number === number && one(field.bytes, 1).toString() === name)!
        .bytes,
      2,
    );

  const body = Buffer.from(respond('/openapi/v2', PROTOBUF)!.body as Uint8Array);

  it('[V8] has definitions with their kinds as YAML', () => {
    expect(one(body, 1).toString()).toBe('2.0');
    const deployment = named(one(body, 9), 1, 'io.k8s.api.apps.v1.Deployment');
    expect(one(deployment, 22, 1).toString()).toBe('object');
    const kinds = named(deployment, 31, 'x-kubernetes-group-version-kind');
    expect(JSON.parse(one(kinds, 2).toString())).toEqual([
      { group: 'apps', version: 'v1', kind: 'Deployment' },
    ]);
    const spec = named(one(deployment, 25), 1, 'spec');
    expect(one(spec, 1).toString()).toBe('#/definitions/io.k8s.api.apps.v1.DeploymentSpec');
    const widgetSpec = named(one(named(one(body, 9), 1, 'com.example.v1.Widget'), 25), 1, 'spec');
    expect(one(widgetSpec, 19).toString()).toBe('size');
  });

  it('[V8] has patches with their query parameters', () => {
    const path = named(one(body, 8), 2, '/apis/apps/v1/namespaces/{namespace}/deployments/{name}');
    const patch = one(path, 8);
    expect(JSON.parse(one(named(patch, 13, 'x-kubernetes-group-version-kind'), 2).toString())).toEqual({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
    });
    const items = fields(patch)
      .filter((field) => field.number === 8)
      .map((field) => fields(field.bytes)[0]!);
    const inPlace = items.filter(({ number }) => number === 1);
    // Old clients look for these two, and follow no reference.
    expect(inPlace.map(({ bytes }) => one(bytes, 2, 3, 4).toString())).toEqual(['dryRun', 'fieldValidation']);
    const shared = items
      .filter(({ number }) => number === 2)
      .map(({ bytes }) => one(bytes, 1).toString().replace('#/parameters/', ''));
    expect(shared.map((name) => name.slice(0, -'-12345678'.length))).toEqual([
      'body',
      'fieldManager',
      'force',
    ]);
    expect(one(named(one(body, 10), 1, shared[1]!), 2, 3, 4).toString()).toBe('fieldManager');
  });
});
