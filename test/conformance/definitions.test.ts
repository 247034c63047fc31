import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Definition } from '../../src/apiserver/crd/definition.ts';
import { startServer } from '../../src/apiserver/server.fixture.ts';
import type { OpenApiSchema } from '../../src/schema/open-api-schema.ts';
import { parseYamlDocuments } from '../../src/schema/yaml-body.ts';
import { sampleOf } from './sample.ts';

/** Definitions that projects publish. Not ours. */
const directory = fileURLToPath(new URL('../../../shared/data/crds/', import.meta.url));
const present = existsSync(directory);
if (!present) console.warn(`SKIPPED: there are no published definitions at ${directory}`);

function definitions(): Definition[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ya?ml$/.test(file))
    .sort();
  return files.flatMap((file) =>
    parseYamlDocuments(readFileSync(join(directory, file), 'utf8')).flatMap(({ result }) => {
      if (!result.ok) throw new Error(`${file}: ${result.message}`);
      const object = result.value as unknown as Definition;
      return object.kind === 'CustomResourceDefinition' ? [object] : [];
    }),
  );
}

describe.skipIf(!present)('definitions that projects publish', () => {
  it('are installed, served and explained', async () => {
    const all = definitions();
    expect(all.length).toBeGreaterThan(10);
    const api = await startServer();
    for (const definition of all) {
      const created = await api.post(
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict',
        definition,
      );
      expect([definition.metadata.name, created.status, created.status === 201 ? '' : created.text]).toEqual([
        definition.metadata.name,
        201,
        '',
      ]);
    }
    for (const { spec } of all)
      for (const version of spec.versions.filter(({ served }) => served)) {
        const path = `/apis/${spec.group}/${version.name}`;
        const list = await api.get(`${path}/${spec.names.plural}`);
        expect([path, spec.names.plural, list.status]).toEqual([path, spec.names.plural, 200]);
        const openapi = await api.get(`/openapi/v3${path}`);
        const schemas = Object.values(
          (openapi.body as { components: { schemas: Record<string, Record<string, unknown>> } }).components
            .schemas,
        );
        const own = schemas.find((schema) =>
          ((schema['x-kubernetes-group-version-kind'] ?? []) as { kind: string; version: string }[]).some(
            ({ kind, version: named }) => kind === spec.names.kind && named === version.name,
          ),
        );
        expect(own, `${path} ${spec.names.kind}`).toBeDefined();
        const fields = Object.keys(version.schema?.openAPIV3Schema?.properties ?? {});
        expect(Object.keys(own?.properties ?? {})).toEqual(expect.arrayContaining(fields));
      }
  }, 60_000);

  it('take the smallest sample of each kind in each version, and refuse one that breaks the schema', async () => {
    const api = await startServer();
    const all = definitions();
    for (const definition of all)
      await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    for (const { spec } of all)
      for (const version of spec.versions.filter(({ served }) => served)) {
        const schema = (version.schema?.openAPIV3Schema ?? {}) as OpenApiSchema;
        const name = `sample-${version.name}`;
        const apiVersion = `${spec.group}/${version.name}`;
        const where = spec.scope === 'Namespaced' ? '/namespaces/default' : '';
        const path = `/apis/${apiVersion}${where}/${spec.names.plural}`;
        const sample = {
          ...(sampleOf(schema) as object),
          apiVersion,
          kind: spec.names.kind,
          metadata: { name },
        };
        const kind = `${apiVersion} ${spec.names.kind}`;
        const created = await api.post(`${path}?fieldValidation=Strict`, sample);
        expect([kind, created.status, created.status === 201 ? '' : created.text]).toEqual([kind, 201, '']);
        const read = await api.get(`${path}/${name}`);
        expect(read.body).toMatchObject(sample);
        expect(
          (await api.get(path, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })).body,
        ).toMatchObject({
          kind: 'Table',
          rows: [{ object: { metadata: { name } } }],
        });
        const unknown = await api.post(`${path}?fieldValidation=Strict`, {
          ...sample,
          metadata: { name: 'unknown' },
          nonsense: 1,
        });
        expect([kind, unknown.status]).toEqual([kind, 400]);
        const wrong = { ...sample, metadata: { name: 'wrong' }, spec: 'of another type' };
        if (schema.properties?.spec?.type === 'object')
          expect([kind, (await api.post(path, wrong)).status]).toEqual([kind, 422]);
        await api.delete(`${path}/${name}`);
      }
  }, 60_000);
});
