import { isObject, type JsonValue } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { prune } from './prune.ts';
import { compileRegularExpression } from './regular-expression.ts';
import { propertyOf } from './schema-lookup.ts';
import { validateValue } from './validate.ts';

/** One rule that a schema breaks. */
export interface StructuralIssue {
  /** In the schema, for example `properties[spec].items.type`; the caller puts its own path before it. */
  readonly path: string;
  /** With Kubernetes' words in front: `Required value: …`, `Forbidden: …`, `Invalid value: …`. */
  readonly message: string;
}

/** Keywords that JSON Schema has and structural schemas have not. */
const FORBIDDEN_KEYWORDS = [
  '$ref',
  'additionalItems',
  'definitions',
  'dependencies',
  'deprecated',
  'discriminator',
  'id',
  'patternProperties',
  'readOnly',
  'writeOnly',
  'xml',
] as const;

/** What a junctor may not say, since the structural core says it. */
const CORE_ONLY = [
  'type',
  'title',
  'description',
  'default',
  'nullable',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const;

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);
const MAX_ISSUES = 100;

type Role = 'root' | 'field' | 'item';

interface Walk {
  readonly issues: StructuralIssue[];
}

/**
 * Checks that a schema of a CustomResourceDefinition is structural: that every value it admits has one type that can be read
 * off the schema without trying alternatives. Pruning, defaulting and server-side apply need that. Empty for a good schema.
 */
export function validateStructural(schema: OpenApiSchema): StructuralIssue[] {
  const walk: Walk = { issues: [] };
  checkNode(walk, schema, '', 'root');
  return walk.issues.slice(0, MAX_ISSUES);
}

function report(walk: Walk, path: string, message: string): void {
  walk.issues.push({ path, message });
}

function join(path: string, keyword: string): string {
  return path === '' ? keyword : `${path}.${keyword}`;
}

function checkNode(walk: Walk, schema: OpenApiSchema, path: string, role: Role): void {
  if (walk.issues.length >= MAX_ISSUES) return;
  checkType(walk, schema, path, role);
  checkKeywords(walk, schema, path, role);
  if (schema['x-kubernetes-embedded-resource'] || role === 'root') checkResource(walk, schema, path, role);
  checkListType(walk, schema, path);
  checkJunctors(walk, schema, path);
  if (schema.pattern !== undefined) {
    const expression = compileRegularExpression(schema.pattern);
    if ('error' in expression) {
      const value = JSON.stringify(schema.pattern);
      report(
        walk,
        join(path, 'pattern'),
        `Invalid value: ${value}: must be a valid regular expression, but isn't: ${expression.error}`,
      );
    }
  }
  if (schema.default !== undefined) checkDefault(walk, schema, schema.default, path, role);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checkNode(walk, property, join(path, `properties[${name}]`), 'field');
  }
  if (typeof schema.additionalProperties === 'object') {
    checkNode(walk, schema.additionalProperties, join(path, 'additionalProperties'), 'field');
  }
  if (isObject(schema.items)) checkNode(walk, schema.items as OpenApiSchema, join(path, 'items'), 'item');
}

function checkType(walk: Walk, schema: OpenApiSchema, path: string, role: Role): void {
  const { type } = schema;
  const at = join(path, 'type');
  if (schema['x-kubernetes-int-or-string']) {
    if (type !== undefined)
      report(walk, at, 'Forbidden: must be empty if x-kubernetes-int-or-string is true');
    if (schema.properties || schema.items || schema.additionalProperties !== undefined) {
      report(
        walk,
        path,
        'Forbidden: x-kubernetes-int-or-string has no properties, additionalProperties or items',
      );
    }
  } else if (type === undefined || (type as string) === '') {
    if (role === 'root') report(walk, at, 'Required value: must not be empty at the root');
    else if (!schema['x-kubernetes-preserve-unknown-fields']) {
      report(
        walk,
        at,
        `Required value: must not be empty for specified ${role === 'item' ? 'array items' : 'object fields'}`,
      );
    }
  } else if (!TYPES.has(type)) {
    report(
      walk,
      at,
      `Unsupported value: ${JSON.stringify(type)}: supported values: ${[...TYPES].map((item) => JSON.stringify(item)).join(', ')}`,
    );
  } else if (role === 'root' && type !== 'object') {
    report(walk, at, `Invalid value: ${JSON.stringify(type)}: must be object at the root`);
  }
  if (type === 'array' && !schema.items)
    report(walk, join(path, 'items'), 'Required value: must be specified');
  if (Array.isArray(schema.items)) {
    report(walk, join(path, 'items'), 'Forbidden: items must be a schema object and not an array');
  }
}

function checkKeywords(walk: Walk, schema: OpenApiSchema, path: string, role: Role): void {
  for (const keyword of FORBIDDEN_KEYWORDS) {
    if (Object.hasOwn(schema, keyword))
      report(walk, join(path, keyword), `Forbidden: ${keyword} is not supported`);
  }
  if (schema.uniqueItems) {
    report(
      walk,
      join(path, 'uniqueItems'),
      'Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    );
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    report(
      walk,
      join(path, 'x-kubernetes-preserve-unknown-fields'),
      'Invalid value: false: must be true or undefined',
    );
  }
  const additional = join(path, 'additionalProperties');
  if (schema.additionalProperties !== undefined) {
    if (schema.properties)
      report(walk, additional, 'Forbidden: additionalProperties and properties are mutual exclusive');
    else if (role === 'root') report(walk, additional, 'Forbidden: must not be used at the root');
    if (schema.additionalProperties === false) {
      report(walk, additional, 'Forbidden: additionalProperties cannot be set to false');
    }
  }
  if (role === 'root' && schema.nullable) {
    report(walk, join(path, 'nullable'), 'Forbidden: nullable cannot be true at the root');
  }
}

/** Resources have type object; what their schema says of metadata may only restrict names. */
function checkResource(walk: Walk, schema: OpenApiSchema, path: string, role: Role): void {
  if (schema['x-kubernetes-embedded-resource']) {
    if (schema.type !== 'object') {
      report(
        walk,
        join(path, 'type'),
        'Invalid value: must be object if x-kubernetes-embedded-resource is true',
      );
    }
    if (role !== 'root' && !schema.properties && !schema['x-kubernetes-preserve-unknown-fields']) {
      report(
        walk,
        join(path, 'properties'),
        'Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      );
    }
  }
  for (const key of ['apiVersion', 'kind'] as const) {
    const type = propertyOf(schema, key)?.type;
    if (type !== undefined && type !== 'string') {
      report(
        walk,
        join(path, `properties[${key}].type`),
        `Invalid value: ${JSON.stringify(type)}: must be string`,
      );
    }
  }
  const metadata = propertyOf(schema, 'metadata');
  if (!metadata) return;
  const at = join(path, 'properties[metadata]');
  if (metadata.type !== undefined && metadata.type !== 'object') {
    report(walk, join(at, 'type'), `Invalid value: ${JSON.stringify(metadata.type)}: must be object`);
  }
  for (const keyword of Object.keys(metadata)) {
    if (keyword !== 'type' && keyword !== 'properties' && keyword !== 'description' && keyword !== 'title') {
      report(
        walk,
        join(at, keyword),
        'Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
      );
    }
  }
  for (const name of Object.keys(metadata.properties ?? {})) {
    if (name === 'name' || name === 'generateName') continue;
    report(
      walk,
      join(at, `properties[${name}]`),
      'Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    );
  }
}

function checkListType(walk: Walk, schema: OpenApiSchema, path: string): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  const atKeys = join(path, 'x-kubernetes-list-map-keys');
  if (schema['x-kubernetes-map-type'] !== undefined && schema.type !== 'object') {
    report(walk, join(path, 'type'), 'Invalid value: must be object if x-kubernetes-map-type is specified');
  }
  if (listType === undefined) {
    if (keys)
      report(
        walk,
        join(path, 'x-kubernetes-list-type'),
        'Required value: must be map if x-kubernetes-list-map-keys is non-empty',
      );
    return;
  }
  const at = join(path, 'x-kubernetes-list-type');
  if (listType !== 'atomic' && listType !== 'set' && listType !== 'map') {
    report(
      walk,
      at,
      `Unsupported value: ${JSON.stringify(listType)}: supported values: "atomic", "map", "set"`,
    );
  }
  if (schema.type !== 'array')
    report(walk, join(path, 'type'), 'Invalid value: must be array if x-kubernetes-list-type is specified');
  if (listType === 'set' && schema.items) checkSetItems(walk, schema.items, join(path, 'items'));
  if (listType === 'map') {
    if (!keys || keys.length === 0) {
      report(walk, atKeys, 'Required value: must not be empty if x-kubernetes-list-type is map');
    }
    if (schema.items && schema.items.type !== 'object') {
      report(
        walk,
        join(path, 'items.type'),
        'Invalid value: must be object if parent array x-kubernetes-list-type is map',
      );
    }
    for (const [index, key] of (keys ?? []).entries())
      checkMapKey(walk, schema.items, key, path, `${atKeys}[${index}]`);
    if (new Set(keys).size < (keys ?? []).length)
      report(walk, atKeys, 'Invalid value: must not contain duplicates');
  } else if (keys) {
    report(walk, at, 'Invalid value: must be map if x-kubernetes-list-map-keys is non-empty');
  }
}

/** Elements of a set are compared as wholes, so they cannot be merged inside. */
function checkSetItems(walk: Walk, items: OpenApiSchema, path: string): void {
  if (items.nullable)
    report(walk, join(path, 'nullable'), 'Forbidden: cannot be nullable when x-kubernetes-list-type is set');
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    report(
      walk,
      join(path, 'x-kubernetes-map-type'),
      'Invalid value: must be atomic as item of a list with x-kubernetes-list-type=set',
    );
  }
  if (
    items.type === 'array' &&
    items['x-kubernetes-list-type'] !== 'atomic' &&
    items['x-kubernetes-list-type'] !== undefined
  ) {
    report(
      walk,
      join(path, 'x-kubernetes-list-type'),
      'Invalid value: must be atomic as item of a list with x-kubernetes-list-type=set',
    );
  }
}

function checkMapKey(
  walk: Walk,
  items: OpenApiSchema | undefined,
  key: string,
  path: string,
  at: string,
): void {
  const property = items && propertyOf(items, key);
  if (!property) {
    report(walk, at, `Invalid value: ${JSON.stringify(key)}: entries must all be names of item properties`);
    return;
  }
  const where = join(path, `items.properties[${key}]`);
  if (property.type === 'object' || property.type === 'array') {
    report(
      walk,
      join(where, 'type'),
      'Invalid value: must be a scalar type if parent array x-kubernetes-list-type is map',
    );
  }
  if (property.nullable)
    report(
      walk,
      join(where, 'nullable'),
      'Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
    );
  if (property.default === undefined && !items.required?.includes(key)) {
    report(
      walk,
      join(where, 'default'),
      'Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    );
  }
}

/** Branches of junctors may restrict what the core has, and nothing else. */
function checkJunctors(walk: Walk, schema: OpenApiSchema, path: string): void {
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  for (const junctor of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [index, branch] of (schema[junctor] ?? []).entries()) {
      if (intOrString && isIntOrStringPattern(schema, junctor, index)) continue;
      checkBranch(walk, branch, schema, join(path, `${junctor}[${index}]`));
    }
  }
  if (schema.not) checkBranch(walk, schema.not, schema, join(path, 'not'));
}

/** `anyOf: [{type: integer}, {type: string}]`, directly or as the first of `allOf`, may stand with x-kubernetes-int-or-string. */
function isIntOrStringPattern(
  schema: OpenApiSchema,
  junctor: 'allOf' | 'anyOf' | 'oneOf',
  index: number,
): boolean {
  const isPattern = (branches: OpenApiSchema[] | undefined): boolean =>
    branches?.length === 2 &&
    branches.every((branch) => Object.keys(branch).length === 1) &&
    branches[0]?.type === 'integer' &&
    branches[1]?.type === 'string';
  if (junctor === 'anyOf') return isPattern(schema.anyOf);
  const first = schema.allOf?.[0];
  return (
    junctor === 'allOf' &&
    index === 0 &&
    first !== undefined &&
    Object.keys(first).length === 1 &&
    isPattern(first.anyOf)
  );
}

function checkBranch(walk: Walk, branch: OpenApiSchema, core: OpenApiSchema | undefined, path: string): void {
  if (walk.issues.length >= MAX_ISSUES) return;
  for (const keyword of CORE_ONLY) {
    if (branch[keyword] !== undefined)
      report(
        walk,
        join(path, keyword),
        'Forbidden: must not be set inside of a logical junctor (allOf, anyOf, oneOf, not)',
      );
  }
  for (const keyword of FORBIDDEN_KEYWORDS) {
    if (Object.hasOwn(branch, keyword))
      report(walk, join(path, keyword), `Forbidden: ${keyword} is not supported`);
  }
  for (const [name, property] of Object.entries(branch.properties ?? {})) {
    const at = join(path, `properties[${name}]`);
    const counterpart =
      core &&
      (propertyOf(core, name) ??
        (typeof core.additionalProperties === 'object' ? core.additionalProperties : undefined));
    if (core && !counterpart && !core['x-kubernetes-preserve-unknown-fields']) {
      report(
        walk,
        at,
        `Required value: the property ${JSON.stringify(name)} must be specified outside of the logical junctor as well`,
      );
    }
    checkBranch(walk, property, counterpart, at);
  }
  if (branch.items) {
    if (core && !core.items)
      report(
        walk,
        join(path, 'items'),
        'Required value: items must be specified outside of the logical junctor as well',
      );
    checkBranch(walk, branch.items, core?.items, join(path, 'items'));
  }
  for (const junctor of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [index, inner] of (branch[junctor] ?? []).entries()) {
      checkBranch(walk, inner, core, join(path, `${junctor}[${index}]`));
    }
  }
  if (branch.not) checkBranch(walk, branch.not, core, join(path, 'not'));
}

/** A default must be what the schema itself would admit, with nothing to prune. */
function checkDefault(walk: Walk, schema: OpenApiSchema, value: JsonValue, path: string, role: Role): void {
  const at = join(path, 'default');
  if (role === 'root') {
    report(walk, at, 'Forbidden: must not be set at the root');
    return;
  }
  const type = { schema, resolve: () => undefined };
  const unknown = prune(structuredClone(value), type);
  if (unknown.length > 0) {
    report(
      walk,
      at,
      `Invalid value: ${JSON.stringify(value)}: must not have unknown fields: ${unknown.join(', ')}`,
    );
  }
  for (const issue of validateValue(value, type, 'default')) {
    const where = join(path, issue.path);
    report(
      walk,
      where,
      issue.type === 'Required'
        ? 'Required value'
        : `Invalid value: ${JSON.stringify(issue.value)}${issue.detail === '' ? '' : `: ${issue.detail}`}`,
    );
  }
}
