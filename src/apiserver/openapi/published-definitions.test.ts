import { describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../server.fixture.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Version {
  readonly name: string;
  readonly schema?: object;
  readonly served?: boolean;
}

function definition(group: string, kind: string, versions: readonly Version[]): object {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: versions.map(({ name, schema, served = true }, index) => ({
        name,
        served,
        storage: index === 0,
        schema: { openAPIV3Schema: schema ?? { type: 'object' } },
      })),
    },
  };
}

const described = (text: string): object => ({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: { size: { type: 'integer', description: text } },
    },
  },
});

type Definitions = Record<string, { description?: string; properties?: Record<string, object> }>;

/** What is published of custom kinds, in version 2 and in the documents of version 3. */
async function published(api: Fixture, ...groupVersions: string[]): Promise<[Definitions, Definitions]> {
  const v2: Definitions = (await api.get('/openapi/v2')).body.definitions;
  const v3: Definitions = {};
  for (const groupVersion of groupVersions) {
    const { status, body } = await api.get(`/openapi/v3/apis/${groupVersion}`);
    if (status === 200) Object.assign(v3, body.components.schemas);
  }
  return [v2, v3];
}

describe('definitions in the OpenAPI documents', () => {
  it('[V9] of several groups stand side by side', async () => {
    const api = await startServer();
    await api.post(
      DEFINITIONS,
      definition('a.example.com', 'Boat', [{ name: 'v1', schema: described('In a.') }]),
    );
    await api.post(
      DEFINITIONS,
      definition('b.example.com', 'Boat', [{ name: 'v1', schema: described('In b.') }]),
    );
    for (const names of await published(api, 'a.example.com/v1', 'b.example.com/v1')) {
      expect(names['com.example.a.v1.Boat']?.properties?.spec).toMatchObject({
        properties: { size: { description: 'In a.' } },
        required: ['size'],
      });
      expect(names['com.example.b.v1.Boat']?.properties?.spec).toMatchObject({
        properties: { size: { description: 'In b.' } },
      });
    }
  });

  it('[V9] of one group have each version and each kind', async () => {
    const api = await startServer();
    const versions = ['v1', 'v2'].map((name) => ({ name, schema: described(`In ${name}.`) }));
    await api.post(DEFINITIONS, definition('example.com', 'Boat', versions));
    await api.post(DEFINITIONS, definition('example.com', 'Crew', [{ name: 'v1' }]));
    for (const names of await published(api, 'example.com/v1', 'example.com/v2')) {
      expect(Object.keys(names)).toEqual(
        expect.arrayContaining([
          'com.example.v1.Boat',
          'com.example.v1.BoatList',
          'com.example.v1.Crew',
          'com.example.v2.Boat',
        ]),
      );
      expect(names['com.example.v2.Boat']?.properties?.spec).toMatchObject({
        properties: { size: { description: 'In v2.' } },
      });
      expect(names).not.toHaveProperty('com.example.v2.Crew');
    }
  });

  it('[V9] follow when a version is renamed, is served no longer, or the kind goes', async () => {
    const api = await startServer();
    const at = `${DEFINITIONS}/boats.example.com`;
    const put = async (versions: readonly Version[]): Promise<void> => {
      const { resourceVersion } = (await api.get(at)).body.metadata;
      const next = definition('example.com', 'Boat', versions) as { metadata: object };
      const answer = await api.put(at, { ...next, metadata: { ...next.metadata, resourceVersion } });
      expect(answer.status, answer.text).toBe(200);
    };
    const names = async (): Promise<string[][]> =>
      (await published(api, 'example.com/v1', 'example.com/v2', 'example.com/v3')).map((definitions) =>
        Object.keys(definitions).filter((name) => name.endsWith('.Boat')),
      );
    await api.post(DEFINITIONS, definition('example.com', 'Boat', [{ name: 'v1' }, { name: 'v2' }]));
    expect(await names()).toEqual(Array(2).fill(['com.example.v1.Boat', 'com.example.v2.Boat']));
    await put([{ name: 'v1' }, { name: 'v3' }]);
    expect(await names()).toEqual(Array(2).fill(['com.example.v1.Boat', 'com.example.v3.Boat']));
    await put([{ name: 'v1' }, { name: 'v3', served: false }]);
    expect(await names()).toEqual(Array(2).fill(['com.example.v1.Boat']));
    await api.delete(at);
    expect(await names()).toEqual([[], []]);
  });

  it('[V9] let clients send what their schemas preserve, at the root and below', async () => {
    const api = await startServer();
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    await api.post(DEFINITIONS, definition('example.com', 'Boat', [{ name: 'v1', schema: open }]));
    await api.post(
      DEFINITIONS,
      definition('example.com', 'Crew', [
        { name: 'v1', schema: { type: 'object', properties: { spec: open, free: { type: 'object' } } } },
      ]),
    );
    const [v2, v3] = await published(api, 'example.com/v1');
    // Whatever properties version 2 names, clients that validate by it refuse the others.
    expect(v2['com.example.v1.Boat']).not.toHaveProperty('properties');
    expect(v2['com.example.v1.Crew']?.properties?.spec).not.toHaveProperty('properties');
    expect(v3['com.example.v1.Boat']).toHaveProperty('x-kubernetes-preserve-unknown-fields', true);
    expect(v3['com.example.v1.Crew']?.properties?.spec).toMatchObject(open);
  });
});
