import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { deriveFiles, readSource } from '../../../scripts/generate-catalogue.ts';
import { dereference } from '../../schema/open-api-schema.ts';
import { readDataFile } from './data-file.ts';
import { loadCatalogue } from './index.ts';

const SOURCE = new URL('../../../../shared/data/kubernetes/', import.meta.url);
const hasSource = existsSync(SOURCE);
if (!hasSource) console.warn(`SKIPPED: Kubernetes API documents are not at ${SOURCE.pathname}`);

describe('catalogue', () => {
  const catalogue = loadCatalogue();

  it('lists each resource once per version, with a schema', () => {
    const keys = catalogue.resources.map((item) => `${item.group}/${item.version}/${item.resource}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toContain('apps/v1/deployments');
    expect(keys).toContain('autoscaling/v2/horizontalpodautoscalers');
    for (const item of catalogue.resources) {
      expect(item.type.schema.properties, item.kind).toHaveProperty('metadata');
      if (item.verbs.includes('list')) {
        expect(catalogue.typeOf(item.group, item.version, item.listKind), item.listKind).toBeDefined();
      }
    }
  });

  it('knows where two APIs share a storage', () => {
    const of = (group: string, version: string, resource: string) =>
      catalogue.resources.find(
        (item) => item.group === group && item.version === version && item.resource === resource,
      );
    expect(of('autoscaling', 'v1', 'horizontalpodautoscalers')).toMatchObject({ storageVersion: 'v2' });
    expect(of('events.k8s.io', 'v1', 'events')).toMatchObject({ storageGroup: '', storageVersion: 'v1' });
    expect(of('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')).toMatchObject({
      storageVersion: 'v1',
    });
  });

  it('has the facts that decoding and merging need', () => {
    const pod = catalogue.typeOf('', 'v1', 'Pod');
    const containers = dereference(pod!.schema.properties!.spec!, pod!.resolve).properties!.containers!;
    expect(containers).toMatchObject({
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-list-type': 'map',
    });
    const container = dereference(containers.items!, pod!.resolve);
    const port = dereference(container.properties!.ports!.items!, pod!.resolve);
    expect(port.properties!.protocol!.default).toBe('TCP');
    expect(port.required).toEqual(['containerPort']);
    expect(catalogue.definition('io.k8s.apimachinery.pkg.util.intstr.IntOrString')).toHaveProperty(
      'x-kubernetes-int-or-string',
      true,
    );
    expect(catalogue.typeOf('', 'v1', 'DeleteOptions')).toBeDefined();
    expect(catalogue.typeOf('autoscaling', 'v1', 'Scale')).toBeDefined();
    expect(catalogue.typeOf('', 'v1', 'Nope')).toBeUndefined();
  });

  it('has no reference that leads nowhere', () => {
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      const ref = (value as { $ref?: unknown }).$ref;
      if (typeof ref === 'string') expect(catalogue.definition(ref), ref).toBeDefined();
      for (const item of Object.values(value)) walk(item);
    };
    for (const name of catalogue.definitionNames()) walk(catalogue.definition(name)?.properties);
  });

  it('says nothing in words: no descriptions', () => {
    expect(readDataFile('definitions.json.gz')).not.toContain('"description":"');
  });

  it.skipIf(!hasSource)('is what the generator derives from the API documents', () => {
    const files = deriveFiles(readSource(SOURCE.pathname));
    for (const [name, text] of Object.entries(files)) {
      expect(readDataFile(name as Parameters<typeof readDataFile>[0]) === text, name).toBe(true);
    }
  });

  it.skipIf(!hasSource)('gives the bootstrap RBAC objects of a new cluster', () => {
    const source = JSON.parse(readFileSync(new URL('bootstrap-rbac-1.36.json', SOURCE), 'utf8')) as Record<
      string,
      { kind: string; metadata: { name: string; namespace?: string } }[]
    >;
    const key = (object: { kind: string; metadata: { name?: string; namespace?: string } }) =>
      `${object.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    const expected = new Map(Object.values(source).flatMap((list) => list.map((item) => [key(item), item])));
    const actual = catalogue.bootstrapRbac();
    expect(actual).toHaveLength(expected.size);
    for (const object of actual) expect(object).toEqual(expected.get(key(object)));
  });

  it('has the roles of the release', () => {
    const rolesOf = (release?: '1.32') => catalogue.bootstrapRbac(release);
    const find = (objects: ReturnType<typeof rolesOf>, kind: string, name: string) =>
      objects.find((object) => object.kind === kind && object.metadata.name === name);
    const LATER = 'system:controller:service-cidrs-controller';
    expect(find(rolesOf(), 'ClusterRole', LATER)).toBeDefined();
    for (const kind of ['ClusterRole', 'ClusterRoleBinding'])
      expect(find(rolesOf('1.32'), kind, LATER)).toBeUndefined();
    expect(find(rolesOf('1.32'), 'Role', 'system::leader-locking-kube-scheduler')?.rules).not.toEqual(
      find(rolesOf(), 'Role', 'system::leader-locking-kube-scheduler')?.rules,
    );
  });
});
