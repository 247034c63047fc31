#!/usr/bin/env node
/**
 * Derives the catalogue of built-in kinds from published Kubernetes API documents:
 *
 *   node scripts/generate-catalogue.ts --from <directory with swagger.json, api-resources.json, …>
 *
 * Writes compact tables of facts (no descriptions) to `data/`. The same input gives the same output.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { OpenApiSchema } from '../src/schema/open-api-schema.ts';

type Json = Record<string, unknown>;

export interface SourceDocuments {
  readonly swagger: { definitions: Record<string, SourceSchema> };
  /** Schemas of OpenAPI v3: the only document that has defaults. */
  readonly schemasV3: Record<string, SourceSchema>;
  readonly resources: readonly SourceResource[];
  readonly columns: readonly SourceColumns[];
  readonly rbac: Record<string, readonly Json[]>;
  /** The same of 1.32. */
  readonly olderRbac: Record<string, readonly Json[]>;
  /** Fields of messages, which tell what upstream's own types write even when it is empty. */
  readonly messages: Record<string, Record<string, SourceMessageField>>;
}

interface SourceMessageField {
  readonly type: string;
  readonly json?: string;
  readonly repeated: boolean;
  readonly pointer?: boolean;
  readonly inline?: boolean;
  readonly emitEmpty?: boolean;
  readonly omitZero?: boolean;
}

interface SourceSchema {
  [key: string]: unknown;
  $ref?: string;
  properties?: Record<string, SourceSchema>;
  items?: SourceSchema;
  additionalProperties?: SourceSchema | boolean;
  default?: unknown;
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

interface SourceResource {
  group: string;
  version: string;
  resource: string;
  singular: string;
  kind: string;
  namespaced: boolean;
  verbs: string[];
  shortNames: string[];
  categories: string[];
  subresources: { name: string; group: string; version: string; kind: string; verbs: string[] }[];
  storageVersion: string | null;
  storageGroup?: string;
  storageVersionHash?: string;
  preferredVersion: string;
  enabledByDefault: boolean;
  /** Which of the releases that the facts were taken from have it. */
  in: string[];
}

interface SourceColumns {
  group: string;
  version: string;
  resource?: string;
  columns: SourceColumn[];
  columns136?: SourceColumn[];
}

interface SourceColumn {
  name: string;
  type: string;
  format: string;
  priority: number;
}

/** Groups that are on by default upstream but not served here: nothing in an embedded cluster has devices. */
const GROUPS_LEFT_OUT = new Set(['resource.k8s.io']);

/**
 * The release, a minor of 1, that first served by default what 1.28 did not. The source knows what 1.32 and 1.36 have; what
 * lies between, and before, is from the release notes of Kubernetes.
 */
const SINCE: Readonly<Record<string, number>> = {
  '/v1/pods/resize': 33,
  'admissionregistration.k8s.io/v1/mutatingadmissionpolicies': 36,
  'admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings': 36,
  'admissionregistration.k8s.io/v1/validatingadmissionpolicies': 30,
  'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings': 30,
  'flowcontrol.apiserver.k8s.io/v1/flowschemas': 29,
  'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations': 29,
  'networking.k8s.io/v1/ipaddresses': 33,
  'networking.k8s.io/v1/servicecidrs': 33,
  'storage.k8s.io/v1/volumeattributesclasses': 34,
};

function sinceOf(key: string): { since?: number } {
  const since = SINCE[key];
  return since === undefined ? {} : { since };
}

/** Refuses a table of releases that the source contradicts. */
function checkSince(key: string, releases: readonly string[]): void {
  const since = SINCE[key] ?? 0;
  for (const release of ['1.32', '1.36'])
    if (releases.includes(release) !== since <= Number(release.slice(2)))
      throw new Error(`${key} is said to be served since 1.${since}, but the source has it in ${releases}`);
}

/** Kinds of bodies that no resource lists, but that requests or documents refer to. */
const META_DEFINITIONS = [
  'io.k8s.api.autoscaling.v1.Scale',
  'io.k8s.api.authentication.v1.TokenRequest',
  'io.k8s.api.core.v1.Binding',
  'io.k8s.api.policy.v1.Eviction',
  'io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup',
  'io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList',
  'io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList',
  'io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions',
  'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta',
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Patch',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
  'io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent',
  'io.k8s.apimachinery.pkg.version.Info',
];

/** Types with a JSON form of their own, which neither document describes in full. */
const OWN_FORM: Record<string, OpenApiSchema> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': {
    format: 'int-or-string',
    'x-kubernetes-int-or-string': true,
  },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
  'io.k8s.apimachinery.pkg.runtime.RawExtension': freeForm('object'),
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': freeForm('object'),
  'io.k8s.apimachinery.pkg.apis.meta.v1.Patch': freeForm('object'),
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': freeForm(),
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray': freeForm(),
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool': freeForm(),
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray': freeForm(),
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus': {
    type: 'object',
    properties: {},
  },
};

function freeForm(type?: 'object'): OpenApiSchema {
  return { ...(type === undefined ? {} : { type }), 'x-kubernetes-preserve-unknown-fields': true };
}

const SCHEMA_KEYS = [
  'type',
  'format',
  'required',
  'enum',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-unions',
] as const;

function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

/** Messages whose empty form is `null`. */
const TIMES = new Set(['Time', 'MicroTime'].map((name) => `k8s.io.apimachinery.pkg.apis.meta.v1.${name}`));

/** How upstream's types write a definition: its fields in their order, and what becomes of those that are unset. */
interface Encoding {
  readonly order: readonly string[];
  /** Fields that are written as `null` when they are unset: lists, maps and times. */
  readonly nulls: ReadonlySet<string>;
  /** Fields whose zero is written, because unset is something else. */
  readonly keepsZero: ReadonlySet<string>;
  /** Fields that are written even when they are unset. */
  readonly emitted: ReadonlySet<string>;
}

/** `undefined` for types that no message describes. */
function encodingOf(name: string, messages: SourceDocuments['messages']): Encoding | undefined {
  const message = messages[name.replace(/^io\.k8s\./, 'k8s.io.').replaceAll('-', '_')];
  if (message === undefined) return undefined;
  const order: string[] = [];
  const nulls = new Set<string>();
  const keepsZero = new Set<string>();
  const emitted = new Set<string>();
  for (const [key, field] of Object.entries(message)) {
    const { type, repeated, pointer, emitEmpty, omitZero, inline } = field;
    if (inline) order.push(...(encodingOf(type.replace(/^k8s\.io\./, 'io.k8s.'), messages)?.order ?? []));
    else order.push(field.json ?? key);
    if (pointer) keepsZero.add(field.json ?? key);
    if (emitEmpty) emitted.add(field.json ?? key);
    // A time that is left out when zero was written as null before; clients know both.
    if (inline || !(emitEmpty || omitZero)) continue;
    if (repeated || pointer || type === 'map' || type === 'bytes' || TIMES.has(type))
      nulls.add(field.json ?? key);
  }
  return { order, nulls, keepsZero, emitted };
}

const SCALARS: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean']);

function withMarks(name: string, schema: OpenApiSchema, encoding: Encoding | undefined): OpenApiSchema {
  const keeps = encoding === undefined || encoding.keepsZero.has(name);
  const { default: zero, ...bare } = schema;
  // A declared default of zero says nothing where unset is zero and is not written.
  const silent = (zero === '' || zero === 0 || zero === false) && !keeps && !encoding.emitted.has(name);
  return {
    ...(silent ? { ...bare, zeroDefault: true } : schema),
    ...(encoding?.nulls.has(name) ? { emitsNull: true } : {}),
    ...(keeps && SCALARS.has(schema.type) && schema.default === undefined ? { keepsZero: true } : {}),
  };
}

/** Fields in the order in which upstream's types write them, the others (`apiVersion`, `kind`) before. */
function inOrder<T>(properties: Record<string, T>, encoding: Encoding | undefined): [string, T][] {
  const rank = (key: string): number => encoding?.order.indexOf(key) ?? -1;
  return sortedEntries(properties).sort(([a], [b]) => rank(a) - rank(b));
}

function sortedEntries<T>(record: Record<string, T>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

function reduceSchema(
  source: SourceSchema,
  v3: SourceSchema | undefined,
  encoding?: Encoding,
): OpenApiSchema {
  const out: Json = {};
  if (source.$ref !== undefined) out.$ref = refName(source.$ref);
  for (const key of SCHEMA_KEYS) if (source[key] !== undefined) out[key] = source[key];
  if (v3?.default !== undefined) out.default = v3.default;
  if (source.properties) {
    out.properties = Object.fromEntries(
      inOrder(source.properties, encoding).map(([name, schema]) => [
        name,
        withMarks(name, reduceSchema(schema, v3?.properties?.[name]), encoding),
      ]),
    );
  }
  if (source.items) out.items = reduceSchema(source.items, v3?.items);
  if (typeof source.additionalProperties === 'object') {
    out.additionalProperties = reduceSchema(source.additionalProperties, undefined);
  } else if (source.additionalProperties !== undefined) {
    out.additionalProperties = source.additionalProperties;
  }
  return out as OpenApiSchema;
}

function references(schema: OpenApiSchema, found: Set<string>): void {
  if (schema.$ref !== undefined) found.add(schema.$ref);
  for (const property of Object.values(schema.properties ?? {})) references(property, found);
  if (schema.items) references(schema.items, found);
  if (typeof schema.additionalProperties === 'object') references(schema.additionalProperties, found);
}

function servedResources(source: readonly SourceResource[]): SourceResource[] {
  const served = source.filter((row) => row.enabledByDefault && !GROUPS_LEFT_OUT.has(row.group));
  const key = (row: SourceResource): string => `${row.group}/${row.version}/${row.resource}`;
  return served.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

export function deriveDefinitions(source: SourceDocuments): Record<string, OpenApiSchema> {
  const resources = servedResources(source.resources);
  const kinds = new Set<string>();
  for (const row of resources) {
    kinds.add(`${row.group}/${row.version}/${row.kind}`).add(`${row.group}/${row.version}/${row.kind}List`);
    for (const sub of row.subresources) kinds.add(`${sub.group}/${sub.version}/${sub.kind}`);
  }
  const definitions: Record<string, OpenApiSchema> = {};
  const pending = new Set(META_DEFINITIONS);
  for (const [name, schema] of Object.entries(source.swagger.definitions)) {
    const gvks = schema['x-kubernetes-group-version-kind'] ?? [];
    if (gvks.some((gvk) => kinds.has(`${gvk.group}/${gvk.version}/${gvk.kind}`))) pending.add(name);
  }
  for (const name of pending) {
    const schema = source.swagger.definitions[name];
    if (schema === undefined) throw new Error(`swagger.json has no definition ${name}`);
    const reduced =
      OWN_FORM[name] ?? reduceSchema(schema, source.schemasV3[name], encodingOf(name, source.messages));
    const gvks = schema['x-kubernetes-group-version-kind'];
    definitions[name] =
      gvks === undefined ? reduced : { ...reduced, 'x-kubernetes-group-version-kind': gvks };
    // Deleting from and adding to a Set while iterating over it is well defined: additions are visited.
    references(reduced, pending);
  }
  return Object.fromEntries(sortedEntries(definitions));
}

export function deriveResources(source: SourceDocuments): Json[] {
  const columns = new Map(
    source.columns.map((row) => [`${row.group}/${row.version}/${row.resource}`, row.columns]),
  );
  const resources = servedResources(source.resources);
  const served = new Set(resources.map((row) => `${row.group}/${row.version}/${row.resource}`));
  return resources.map((row) => {
    const key = `${row.group}/${row.version}/${row.resource}`;
    checkSince(key, row.in);
    const storageGroup = row.storageGroup ?? row.group;
    const storageVersion = row.storageVersion ?? row.version;
    const stored = served.has(`${storageGroup}/${storageVersion}/${row.resource}`)
      ? storageVersion
      : row.preferredVersion;
    return {
      group: row.group,
      version: row.version,
      resource: row.resource,
      ...sinceOf(key),
      singular: row.singular,
      kind: row.kind,
      namespaced: row.namespaced,
      verbs: row.verbs,
      ...(row.shortNames.length > 0 ? { shortNames: row.shortNames } : {}),
      ...(row.categories.length > 0 ? { categories: row.categories } : {}),
      ...(row.subresources.length > 0
        ? {
            subresources: row.subresources.map((sub) => ({
              name: sub.name,
              ...sinceOf(`${key}/${sub.name}`),
              verbs: sub.verbs,
              ...(sub.group !== row.group || sub.version !== row.version
                ? { group: sub.group, version: sub.version }
                : {}),
              ...(sub.kind !== row.kind ? { kind: sub.kind } : {}),
            })),
          }
        : {}),
      ...(stored === row.version ? {} : { storageVersion: stored }),
      ...(storageGroup === row.group ? {} : { storageGroup }),
      ...(row.storageVersionHash === undefined ? {} : { storageVersionHash: row.storageVersionHash }),
      columns: (columns.get(key) ?? []).map(compactColumn),
    };
  });
}

/** `Name:string:name`, with `*` in front for priority 1. */
function compactColumn(column: SourceColumn): string {
  return `${'*'.repeat(column.priority)}${column.name}:${column.type}:${column.format}`;
}

interface SourceRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

const BOOTSTRAP_LABEL = 'kubernetes.io/bootstrapping';
const BOOTSTRAP_ANNOTATION = 'rbac.authorization.kubernetes.io/autoupdate';

/** What the source of 1.32 has that a server of that release makes only with features that are off. */
const OFF_IN_OLDER = {
  object: 'system:controller:service-ca-cert-publisher',
  resource: 'endpointslices/restricted',
};

/**
 * One row an object; rules as text `verbs|groups|resources|names|urls`, subjects as `kind|namespace|name`. `older` holds what was
 * otherwise until 1.32, and the names of what was not there.
 */
export function deriveRbac(source: SourceDocuments): Json {
  const rows = (name: string, from: Record<string, readonly Json[]>): Json[] =>
    [...(from[name] ?? [])]
      .map((object) => compactRbac(object))
      .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
  const tableOf = (from: Record<string, readonly Json[]>): Record<string, Json[]> => ({
    clusterRoles: rows('clusterroles', from),
    clusterRoleBindings: rows('clusterrolebindings', from),
    roles: rows('roles', from),
    roleBindings: rows('rolebindings', from),
  });
  const newest = tableOf(source.rbac);
  const older = tableOf(source.olderRbac);
  const changed: Record<string, Json[]> = {};
  const later = new Set<unknown>();
  for (const [kind, list] of Object.entries(newest)) {
    const before = new Map((older[kind] ?? []).map((row) => [`${row.namespace}/${row.name}`, row]));
    changed[kind] = [];
    for (const row of list) {
      const was = before.get(`${row.namespace}/${row.name}`);
      if (was === undefined || row.name === OFF_IN_OLDER.object) later.add(row.name);
      else {
        const rules = (was.rules as string[] | undefined)?.filter(
          (rule) => rule.split('|')[2] !== OFF_IN_OLDER.resource,
        );
        const kept = rules ? { ...was, rules } : was;
        if (JSON.stringify(kept) !== JSON.stringify(row)) changed[kind].push(kept);
      }
    }
  }
  return { ...newest, older: { until: 32, later: [...later], changed } };
}

function compactRbac(object: Json): Json {
  const metadata = object.metadata as Json & {
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  const { [BOOTSTRAP_LABEL]: bootstrapping, ...labels } = metadata.labels;
  const { [BOOTSTRAP_ANNOTATION]: autoupdate, ...annotations } = metadata.annotations;
  if (bootstrapping !== 'rbac-defaults' || autoupdate !== 'true' || Object.keys(annotations).length > 0) {
    throw new Error(`unexpected metadata of bootstrap object ${String(metadata.name)}`);
  }
  const aggregation = object.aggregationRule as
    | { clusterRoleSelectors: { matchLabels: Record<string, string> }[] }
    | undefined;
  const roleRef = object.roleRef as { kind: string; name: string } | undefined;
  const subjects = object.subjects as { kind: string; name: string; namespace?: string }[] | undefined;
  return {
    name: metadata.name,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(aggregation ? { aggregate: aggregation.clusterRoleSelectors.map((s) => s.matchLabels) } : {}),
    ...(Array.isArray(object.rules) ? { rules: (object.rules as SourceRule[]).map(compactRule) } : {}),
    ...(roleRef ? { roleRef: `${roleRef.kind}|${roleRef.name}` } : {}),
    ...(subjects ? { subjects: subjects.map((s) => `${s.kind}|${s.namespace ?? ''}|${s.name}`) } : {}),
  };
}

function compactRule(rule: SourceRule): string {
  // The core group is the empty string, which a joined list cannot tell from "no groups".
  const groups = rule.apiGroups?.map((group) => (group === '' ? 'core' : group));
  return [rule.verbs, groups, rule.resources, rule.resourceNames, rule.nonResourceURLs]
    .map((list) => (list ?? []).join(','))
    .join('|');
}

export function readSource(directory: string): SourceDocuments {
  const read = <T>(...path: string[]): T => JSON.parse(readFileSync(join(directory, ...path), 'utf8')) as T;
  const schemasV3: Record<string, SourceSchema> = {};
  for (const file of readdirSync(join(directory, 'openapi-v3')).sort()) {
    const document = read<{ components?: { schemas?: Record<string, SourceSchema> } }>('openapi-v3', file);
    Object.assign(schemasV3, document.components?.schemas);
  }
  return {
    swagger: read('swagger.json'),
    schemasV3,
    resources: read('api-resources.json'),
    columns: read('table-columns.json'),
    rbac: read('bootstrap-rbac-1.36.json'),
    olderRbac: read('bootstrap-rbac.json'),
    messages: read('protobuf-fields.json'),
  };
}

/** The files of `data/` with their JSON text. */
export function deriveFiles(source: SourceDocuments): Record<string, string> {
  return {
    'definitions.json.gz': JSON.stringify(deriveDefinitions(source)),
    'resources.json.gz': JSON.stringify(deriveResources(source)),
    'bootstrap-rbac.json.gz': JSON.stringify(deriveRbac(source)),
  };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { from: { type: 'string' } } });
  if (values.from === undefined) {
    process.stderr.write('usage: generate-catalogue.ts --from <directory of Kubernetes API documents>\n');
    process.exit(2);
  }
  const target = new URL('../data/', import.meta.url);
  mkdirSync(target, { recursive: true });
  for (const [name, text] of Object.entries(deriveFiles(readSource(values.from)))) {
    const bytes = gzipSync(text, { level: 9 });
    // The header's operating system byte is the only part that depends on the machine.
    bytes[9] = 255;
    writeFileSync(new URL(name, target), bytes);
    process.stdout.write(`data/${name}: ${text.length} characters, ${bytes.length} bytes\n`);
  }
}
