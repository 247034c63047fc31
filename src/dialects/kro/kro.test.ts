import { beforeAll, describe, expect, it } from 'vitest';
import { loadCatalogue } from '../../apiserver/catalogue/index.ts';
import { type Fixture, startServer } from '../../apiserver/server.fixture.ts';
import {
  type CompiledGraph,
  compileGraph,
  LABELS,
  ownerLabels,
  type SchemaSource,
} from '../../engine/graph/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import {
  type DefinitionFindings,
  definitionOf,
  definitionOfRevision,
  definitionStatus,
  graphRevisionDefinition,
  graphRevisionOf,
  ownershipOf,
  type ResourceGraphDefinition,
  resourceGraphDefinitionDefinition,
} from './index.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const RGDS = '/apis/kro.run/v1alpha1/resourcegraphdefinitions';
const REVISIONS = '/apis/internal.kro.run/v1alpha1/graphrevisions';

const builtIn: SchemaSource = {
  find: ({ group, version, kind }) => {
    const type = loadCatalogue().typeOf(group, version, kind);
    return type && { type, namespaced: true };
  },
};

function rgd(yaml: string, name = 'test'): ResourceGraphDefinition {
  const parsed = parseYamlBody(yaml);
  if (!parsed.ok) throw new Error(parsed.message);
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name },
    spec: parsed.value as unknown as ResourceGraphDefinition['spec'],
  };
}

function compiled(object: KubeObject): CompiledGraph {
  const { definition } = definitionOf(object);
  const { graph, issues } = compileGraph(
    definition ?? { name: '', schema: { kind: '', apiVersion: '' }, resources: [] },
    { schemas: builtIn },
  );
  if (!graph) throw new Error(JSON.stringify(issues));
  return graph;
}

const SIMPLE = 'schema: {kind: Shop, apiVersion: v1alpha1, spec: {name: string}}\nresources: []';

let server: Fixture;
beforeAll(async () => {
  server = await startServer({ controllers: false });
  for (const definition of [resourceGraphDefinitionDefinition(), graphRevisionDefinition()])
    expect((await server.post(CRDS, definition)).status).toBe(201);
});

describe('ResourceGraphDefinitions', () => {
  it('are served with their columns and short name', async () => {
    await server.post(RGDS, rgd(SIMPLE, 'columns'));
    const table = await server.get(RGDS, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(
      table.body.columnDefinitions.map(({ name, priority }: { name: string; priority: number }) => [
        name,
        priority,
      ]),
    ).toEqual([
      ['Name', 0],
      ['APIVERSION', 0],
      ['KIND', 0],
      ['STATE', 0],
      ['READY', 0],
      ['TOPOLOGICALORDER', 1],
      ['AGE', 0],
    ]);
    const { body } = await server.get('/apis/kro.run/v1alpha1');
    expect(body.resources[0]).toMatchObject({
      name: 'resourcegraphdefinitions',
      shortNames: ['rgd'],
      namespaced: false,
    });
  });

  it('[R2] keep kind, version, group and scope, which follow patterns', async () => {
    expect((await server.post(RGDS, rgd(SIMPLE.replace('Shop', 'foo'), 'bad'))).status).toBe(422);
    expect((await server.post(RGDS, rgd(SIMPLE.replace('v1alpha1', 'a/v1'), 'bad'))).status).toBe(422);
    const { body } = await server.post(RGDS, rgd(SIMPLE, 'fixed'));
    expect(body.spec.schema).toMatchObject({ group: 'kro.run', scope: 'Namespaced' });
    for (const change of [
      { kind: 'Other' },
      { apiVersion: 'v2' },
      { group: 'a.example' },
      { scope: 'Cluster' },
    ]) {
      const refused = await server.merge(`${RGDS}/fixed`, { spec: { schema: change } });
      expect([refused.status, refused.body.message], JSON.stringify(change)).toEqual([
        422,
        expect.stringContaining('is immutable'),
      ]);
    }
    expect(
      (await server.merge(`${RGDS}/fixed`, { spec: { schema: { spec: { more: 'string' } } } })).status,
    ).toBe(200);
  });

  it('have exactly one of template and externalRef', async () => {
    const refused = async (resource: string): Promise<string> =>
      (await server.post(RGDS, rgd(SIMPLE.replace('[]', `[${resource}]`), 'bad'))).body.message;
    expect(await refused('{id: a}')).toContain('exactly one of template, externalRef and def must be given');
    expect(
      await refused(
        '{id: a, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, selector: {}}}}',
      ),
    ).toContain('exactly one of name and selector must be given');
    expect(
      await refused(
        '{id: a, forEach: [{x: z}], externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}',
      ),
    ).toContain('forEach cannot be used with externalRef');
  });

  it('name one variable with each entry of forEach', async () => {
    const template = '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}';
    const answer = async (entry: string): Promise<string> =>
      (
        await server.post(
          RGDS,
          rgd(SIMPLE.replace('[]', `[{id: a, forEach: [${entry}], template: ${template}}]`), 'each'),
        )
      ).body.message;
    expect(await answer('{x: a, y: b}')).toContain('must have at most 1 items');
    expect(await answer('{}')).toContain('should have at least 1 properties');
    expect(await answer('{x: a}')).toBeUndefined();
  });

  it('are read for their outline where no API server did', () => {
    const issues = (yaml: string): string[] => (definitionOf(rgd(yaml)).issues ?? []).map(({ path }) => path);
    expect(issues('{}')).toEqual(['schema']);
    expect(
      issues(
        '{schema: {spec: [], shortNames: x, scope: Here}, resources: [1, {template: x, readyWhen: {}}]}',
      ),
    ).toEqual([
      'schema.kind',
      'schema.apiVersion',
      'schema.spec',
      'schema.shortNames',
      'schema.scope',
      'resources[0]',
      'resources[1].readyWhen',
      'resources[1].template',
    ]);
    expect(issues('{schema: {kind: A, apiVersion: v1}, resources: {}}')).toEqual(['resources']);
  });
});

describe('instances', () => {
  const INSTANCES = '/apis/kro.run/v1alpha1/namespaces/default/shops';
  const object = rgd(`
schema:
  kind: Shop
  apiVersion: v1alpha1
  shortNames: [sh]
  categories: [web]
  metadata: {labels: {team: red}}
  types: {Port: {name: "string | required=true", number: integer}}
  spec:
    name: "string | immutable=true"
    size: "integer | default=3 minimum=1"
    nested: {inner: {flag: "boolean | default=true"}}
    ports: "[]Port | listType=map listMapKey=name"
    tags: "[]string | uniqueItems=true"
    free: object
    even: 'integer | validation="self % 2 == 0"'
resources: []
`);

  beforeAll(async () => {
    expect((await server.post(CRDS, compiled(object).definition)).body).toMatchObject({
      kind: 'CustomResourceDefinition',
      metadata: { name: 'shops.kro.run' },
    });
  });

  const shop = (name: string, spec: object): object => ({
    apiVersion: 'kro.run/v1alpha1',
    kind: 'Shop',
    metadata: { name },
    spec,
  });

  it('[R3] are of the group kro.run unless another one is given', () => {
    expect(compiled(rgd(SIMPLE)).definition.metadata.name).toBe('shops.kro.run');
    expect(compiled(rgd(SIMPLE.replace('kind:', 'group: a.example, kind:'))).definition.metadata.name).toBe(
      'shops.a.example',
    );
  });

  it('get defaults, also nested ones, and keep free objects', async () => {
    const { body } = await server.post(
      INSTANCES,
      shop('defaults', { free: { any: { thing: [1] } }, unknown: 1 }),
    );
    expect(body.spec).toEqual({ size: 3, nested: { inner: { flag: true } }, free: { any: { thing: [1] } } });
  });

  it('[R15] keep whatever stands in a field of the type object, and nothing that is unknown elsewhere', async () => {
    const free = { text: 'a', list: [1, { deep: [true] }], map: { 'a/b': { c: 1 } } };
    const { body } = await server.post(
      INSTANCES,
      shop('free', { free, other: 1, nested: { inner: { x: 1 } } }),
    );
    expect(body.spec).toEqual({ size: 3, free, nested: { inner: { flag: true } } });
    const { body: merged } = await server.merge(`${INSTANCES}/free`, { spec: { free: { more: [] } } });
    expect(merged.spec.free).toEqual({ ...free, more: [] });
    const strict = await server.post(`${INSTANCES}?fieldValidation=Strict`, shop('strict', { other: 1 }));
    expect([strict.status, strict.body.message]).toEqual([400, expect.stringContaining('spec.other')]);
    const allowed = await server.post(`${INSTANCES}?fieldValidation=Strict`, shop('strict', { free }));
    expect(allowed.status).toBe(201);
  });

  it('[R19] want what is required, unless a default gives it', async () => {
    const kind = compiled(
      rgd(`
schema:
  kind: Stall
  apiVersion: v1alpha1
  spec:
    must: "string | required=true"
    both: "string | required=true default=given"
    optional: {inner: {flag: "boolean | default=true", text: string}}
    strict: {flag: "boolean | default=true", name: "string | required=true"}
resources: []
`),
    );
    expect((await server.post(CRDS, kind.definition)).status).toBe(201);
    const post = async (spec: object): Promise<[number, unknown]> => {
      const stall = { ...shop('s', spec), kind: 'Stall' };
      const path = '/apis/kro.run/v1alpha1/namespaces/default/stalls?dryRun=All';
      const { status, body } = await server.post(path, stall);
      return [status, body.spec ?? body.message];
    };
    expect(await post({})).toEqual([422, expect.stringContaining('spec.must')]);
    expect(await post({ must: 'a' })).toEqual([
      201,
      { must: 'a', both: 'given', optional: { inner: { flag: true } } },
    ]);
    expect(await post({ must: 'a', strict: {} })).toEqual([422, expect.stringContaining('spec.strict.name')]);
    expect((await post({ must: 'a', strict: { name: 'b' } }))[1]).toMatchObject({
      strict: { flag: true, name: 'b' },
    });
  });

  it('are held to the markers of their fields', async () => {
    const status = async (spec: object): Promise<number> =>
      (await server.post(INSTANCES, shop('marked', spec))).status;
    expect(await status({ size: 0 })).toBe(422);
    expect(await status({ tags: ['a', 'a'] })).toBe(422);
    expect(await status({ ports: [{ name: 'a' }, { name: 'a' }] })).toBe(422);
    expect(await status({ ports: [{ number: 1 }] })).toBe(422);
    expect(await status({ even: 3 })).toBe(422);
    expect(await status({ even: 4, tags: ['a', 'b'], ports: [{ name: 'a' }, { name: 'b' }] })).toBe(201);
  });

  it('[R20] keep immutable fields', async () => {
    await server.post(INSTANCES, shop('kept', { name: 'a' }));
    const refused = await server.merge(`${INSTANCES}/kept`, { spec: { name: 'b' } });
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('field is immutable'),
    ]);
    expect((await server.merge(`${INSTANCES}/kept`, { spec: { size: 5 } })).status).toBe(200);
  });

  it('[R21] merge lists by their keys where they are applied', async () => {
    const apply = (manager: string, port: string) =>
      server.apply(
        `${INSTANCES}/merged`,
        shop('merged', { ports: [{ name: port, number: 1 }] }),
        `fieldManager=${manager}`,
      );
    await apply('one', 'a');
    expect((await apply('two', 'b')).body.spec.ports.map(({ name }: { name: string }) => name)).toEqual([
      'a',
      'b',
    ]);
    expect((await server.post(INSTANCES, shop('twice', { tags: ['a', 'a'] }))).status).toBe(422);
  });

  it('have state, readiness and age as columns', async () => {
    const table = await server.get(INSTANCES, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(table.body.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual([
      'Name',
      'State',
      'Ready',
      'Age',
    ]);
  });
});

describe('GraphRevisions', () => {
  it('[R56] are immutable, listed by definition, and say what it said', async () => {
    const definition = {
      ...rgd(SIMPLE, 'shop'),
      metadata: { name: 'shop', uid: '6a4a3ed4-0000-4000-8000-000000000001', generation: 4 },
    };
    const revision = graphRevisionOf(definition, 7);
    expect(revision.metadata).toMatchObject({
      name: 'shop-r00007',
      labels: { [LABELS.revisionHash]: compiled(definition).digest.hash },
    });
    expect((await server.post(REVISIONS, revision)).status).toBe(201);
    expect(
      (
        await server.post(
          REVISIONS,
          graphRevisionOf({ ...definition, metadata: { ...definition.metadata, name: 'other' } }, 1),
        )
      ).status,
    ).toBe(201);
    const found = await server.get(`${REVISIONS}?fieldSelector=spec.snapshot.name%3Dshop`);
    expect(found.body.items.map(({ metadata }: KubeObject) => metadata.name)).toEqual(['shop-r00007']);
    expect((await server.merge(`${REVISIONS}/shop-r00007`, { spec: { revision: 8 } })).status).toBe(422);
    expect(definitionOfRevision(found.body.items[0]).definition).toEqual(definitionOf(definition).definition);
  });
});

describe('the status of a definition', () => {
  const good: DefinitionFindings = {
    revisions: { status: 'True', reason: 'Resolved', message: '' },
    accepted: { status: 'True', reason: 'Valid', message: '' },
    kind: { status: 'True', reason: 'Ready', message: '' },
    controller: { status: 'True', reason: 'Running', message: '' },
    lastIssuedRevision: 3,
  };
  const graph = compiled(
    rgd(`${SIMPLE.replace('[]', '')}
- id: a
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- id: b
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${a.metadata.name}b"}}
- id: c
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${a.metadata.name}\${b.metadata.name}"}}
`),
  );

  it('[R8] shows order, edges and the last number', () => {
    expect(definitionStatus(rgd(SIMPLE), { ...good, graph }, 0)).toMatchObject({
      state: 'Active',
      topologicalOrder: ['a', 'b', 'c'],
      resources: [
        { id: 'b', dependencies: [{ id: 'a' }] },
        { id: 'c', dependencies: [{ id: 'a' }, { id: 'b' }] },
      ],
      lastIssuedRevision: 3,
    });
  });

  it('stays Active, and keeps order and number, where only the newest revision is not resolved', () => {
    const before = definitionStatus(rgd(SIMPLE), { ...good, graph }, 0);
    const failing: DefinitionFindings = {
      ...good,
      revisions: { status: 'False', reason: 'Failed', message: 'resources[0]: no' },
      lastIssuedRevision: 1,
    };
    const after = definitionStatus({ ...rgd(SIMPLE), status: before }, failing, 1000);
    expect(after).toMatchObject({
      state: 'Active',
      topologicalOrder: ['a', 'b', 'c'],
      lastIssuedRevision: 3,
    });
    expect(after.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'Failed',
    });
    const refused = definitionStatus(
      rgd(SIMPLE),
      { ...good, accepted: { status: 'False', reason: 'InvalidResourceGraph', message: 'no' } },
      0,
    );
    expect(refused.state).toBe('Inactive');
  });

  it('says whose the definition of instances is', () => {
    const made = (labels: Record<string, string>): KubeObject => ({
      ...graph.definition,
      metadata: { name: 'shops.kro.run', labels },
    });
    const own = { name: 'shop', uid: 'u1' };
    expect(ownershipOf(made(ownerLabels({ ...own, version: '1' })), own)).toEqual({ kind: 'Own' });
    expect(ownershipOf(made(ownerLabels({ name: 'shop', uid: 'u0', version: '1' })), own)).toEqual({
      kind: 'Adopt',
    });
    expect(ownershipOf(made(ownerLabels({ name: 'other', uid: 'u2', version: '1' })), own)).toMatchObject({
      kind: 'Foreign',
      message: expect.stringContaining('other'),
    });
    expect(ownershipOf(made({}), own)).toMatchObject({ kind: 'Foreign' });
  });
});
