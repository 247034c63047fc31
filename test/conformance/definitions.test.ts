import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Definition } from '../../src/apiserver/crd/definition.ts';
import { startServer } from '../../src/apiserver/server.fixture.ts';
import { parseYamlDocuments } from '../../src/schema/yaml-body.ts';

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
});
