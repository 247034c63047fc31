import { createHash } from 'node:crypto';
import type { KubeObject } from '../../kube/object.ts';
import { type OpenApiSchema, refName, type TypeSchema } from '../../schema/open-api-schema.ts';
import type { Column, Resource, Subresource, Verb } from '../resource.ts';
import { bootstrapRbac } from './bootstrap-rbac.ts';
import { readData, readDataFile } from './data-file.ts';
import { lacksFields, withoutLaterFields } from './later-fields.ts';
import { NEWEST_RELEASE, type Release } from './release.ts';

/** A built-in resource in one version, without behaviour. */
export interface CatalogueResource extends Omit<Resource, 'strategy' | 'cells' | 'subresources'>, Introduced {
  readonly subresources: readonly (Subresource & Introduced)[];
}

export interface Introduced {
  /** The minor release of Kubernetes that first served it by default, where it is a newer one than any that is emulated. */
  readonly since?: number;
}

export interface Catalogue {
  /** By group, version and name. */
  readonly resources: readonly CatalogueResource[];
  /** The schema of a kind, also of bodies such as `DeleteOptions`, `Scale` and lists; `undefined` when unknown. */
  typeOf(group: string, version: string, kind: string): TypeSchema | undefined;
  /** For example `io.k8s.api.core.v1.PodSpec`. `$ref`s in it are bare names of definitions. */
  definition(name: string): OpenApiSchema | undefined;
  /** The name of a kind's definition. */
  definitionName(group: string, version: string, kind: string): string | undefined;
  /** Names of all definitions, sorted. */
  definitionNames(): readonly string[];
  /** Printer columns of a resource, whatever its version; `undefined` when it is not built in. */
  columns(group: string, resource: string): readonly Column[] | undefined;
  /** Fresh copies of the RBAC objects that a new cluster starts with. */
  bootstrapRbac(release?: Release): KubeObject[];
  /** Tells catalogues of different content apart. */
  readonly digest: string;
}

/** One resource in the form of `data/resources.json.gz`; what is absent is empty or as usual. */
interface Row {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly since?: number;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: Verb[];
  readonly shortNames?: string[];
  readonly categories?: string[];
  readonly subresources?: (Subresource & Introduced)[];
  readonly storageVersion?: string;
  readonly storageGroup?: string;
  readonly storageVersionHash?: string;
  readonly columns: string[];
}

const NONE: readonly never[] = [];

/** Kinds without a printer show these two. */
const DEFAULT_COLUMNS: readonly Column[] = [
  { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 },
  { name: 'Created At', type: 'date', format: '', description: '', priority: 0 },
];

/** Paths in the parent that `scale` reads and writes: the same for every built-in workload. */
const SCALE_PATHS: NonNullable<Subresource['scale']> = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
};

function parseColumn(text: string): Column {
  const [name = '', type = '', format = ''] = text.replace(/^\*+/, '').split(':');
  const priority = text.length - text.replace(/^\*+/, '').length;
  return { name, type, format, description: '', priority };
}

function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function gvkKey(group: string, version: string, kind: string): string {
  return `${group}/${version}/${kind}`;
}

function makeCatalogue(isOlder: boolean): Catalogue {
  const definitions = lazy(() => {
    const all = readData<Record<string, OpenApiSchema>>('definitions.json.gz');
    return isOlder ? withoutLaterFields(all) : all;
  });
  const names = lazy(() => Object.keys(definitions()));
  const namesOfKinds = lazy(() => {
    const index = new Map<string, string>();
    for (const [name, schema] of Object.entries(definitions())) {
      for (const gvk of schema['x-kubernetes-group-version-kind'] ?? []) {
        index.set(gvkKey(gvk.group, gvk.version, gvk.kind), name);
      }
    }
    return index;
  });
  const definition = (name: string): OpenApiSchema | undefined => {
    const all = definitions();
    const key = refName(name);
    return Object.hasOwn(all, key) ? all[key] : undefined;
  };
  /** Looks its definition up when first asked for the schema, so that a list of resources costs nothing. */
  const lazyType = (group: string, version: string, kind: string): TypeSchema => {
    const schema = lazy(() => definition(namesOfKinds().get(gvkKey(group, version, kind)) ?? '') ?? {});
    return {
      get schema(): OpenApiSchema {
        return schema();
      },
      resolve: definition,
    };
  };
  const resources = readData<Row[]>('resources.json.gz').map(
    (row): CatalogueResource => ({
      ...(row.since === undefined ? {} : { since: row.since }),
      group: row.group,
      version: row.version,
      storageVersion: row.storageVersion ?? row.version,
      ...(row.storageGroup === undefined ? {} : { storageGroup: row.storageGroup }),
      ...(row.storageVersionHash === undefined ? {} : { storageVersionHash: row.storageVersionHash }),
      resource: row.resource,
      singular: row.singular,
      kind: row.kind,
      listKind: `${row.kind}List`,
      namespaced: row.namespaced,
      verbs: row.verbs,
      shortNames: row.shortNames ?? NONE,
      categories: row.categories ?? NONE,
      subresources:
        row.subresources?.map((sub) => (sub.name === 'scale' ? { ...sub, scale: SCALE_PATHS } : sub)) ?? NONE,
      custom: false,
      type: lazyType(row.group, row.version, row.kind),
      columns: row.columns.length > 0 ? row.columns.map(parseColumn) : DEFAULT_COLUMNS,
      hasPrinter: row.columns.length > 0 && !row.columns.some((column) => /^Created At:/.test(column)),
    }),
  );
  const columns = new Map(resources.map((item) => [`${item.group}/${item.resource}`, item.columns]));
  const digest = lazy(() =>
    createHash('sha256')
      .update(readDataFile('definitions.json.gz'))
      .update(readDataFile('resources.json.gz'))
      .update(isOlder ? 'older' : '')
      .digest('hex'),
  );
  return {
    resources,
    definition,
    definitionNames: names,
    definitionName: (group, version, kind) => namesOfKinds().get(gvkKey(group, version, kind)),
    typeOf: (group, version, kind) => {
      const name = namesOfKinds().get(gvkKey(group, version, kind));
      const schema = name === undefined ? undefined : definition(name);
      return schema === undefined ? undefined : { schema, resolve: definition };
    },
    columns: (group, resource) => columns.get(`${group}/${resource}`),
    bootstrapRbac,
    get digest(): string {
      return digest();
    },
  };
}

const newest = lazy(() => makeCatalogue(false));
const older = lazy(() => makeCatalogue(true));

/**
 * The catalogue of this build, with the fields that kinds have in a release. It is immutable, so every caller of a process shares
 * one.
 */
export function loadCatalogue(release: Release = NEWEST_RELEASE): Catalogue {
  return lacksFields(release) ? older() : newest();
}
