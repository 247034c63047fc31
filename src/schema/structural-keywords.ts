import { childPath, type FieldIssue } from './field-issue.ts';
import { isObject } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { propertyOf } from './schema-lookup.ts';

/** Keywords that JSON Schema has and a definition may write, but no schema of it may use. */
const UNSUPPORTED = [
  '$ref',
  'additionalItems',
  'definitions',
  'dependencies',
  'id',
  'patternProperties',
] as const;

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const LIST_TYPES = ['atomic', 'set', 'map'];
const MAP_TYPES = ['atomic', 'granular'];
/** What every resource has without saying so; defaults for it would never be used. */
const TYPE_AND_OBJECT_META = new Set(['metadata', 'kind', 'apiVersion']);
const MAX_ISSUES = 100;

interface Place {
  readonly root: boolean;
  /** Whether this is below the metadata, apiVersion or kind of a resource. */
  readonly insideResourceMeta: boolean;
  /** Gathers the issues of what structural schemas have no form for. */
  readonly foreign: Set<FieldIssue>;
  /** Why defaults may not be here. */
  readonly noDefaults?: string;
}

/**
 * Keywords that no schema may use, and such as do not fit together, wherever they stand. Issues are added to `issues`. Whether
 * the schema can be read as a structural one at all: what has no form there is told by itself.
 */
export function keywordIssues(schema: OpenApiSchema, path: string, issues: FieldIssue[]): boolean {
  if (schema.nullable)
    issues.push({
      type: 'Forbidden',
      path: childPath(path, 'nullable'),
      detail: 'nullable cannot be true at the root',
    });
  const foreign = new Set<FieldIssue>();
  visit(schema, path, { root: true, insideResourceMeta: false, foreign }, issues);
  return foreign.size === 0;
}

function visit(schema: OpenApiSchema, path: string, place: Place, issues: FieldIssue[]): void {
  if (issues.length >= MAX_ISSUES) return;
  single(schema, path, place, issues);
  const inner: Place = { ...place, root: false };
  const { properties, additionalProperties, items } = schema;
  if (
    properties &&
    Object.keys(properties).length > 0 &&
    additionalProperties !== undefined &&
    additionalProperties !== true
  )
    issues.push({
      type: 'Forbidden',
      path: childPath(path, 'additionalProperties'),
      detail: 'additionalProperties and properties are mutual exclusive',
    });
  if (isObject(additionalProperties))
    visit(additionalProperties as OpenApiSchema, childPath(path, 'additionalProperties'), inner, issues);
  for (const [name, property] of Object.entries(properties ?? {}))
    visit(property, childPath(path, `properties[${name}]`), propertyPlace(schema, name, place), issues);
  if (schema.not) visit(schema.not, childPath(path, 'not'), inner, issues);
  for (const junctor of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [index, branch] of (schema[junctor] ?? []).entries())
      visit(branch, childPath(path, `${junctor}[${index}]`), inner, issues);
  if (isObject(items)) visit(items as OpenApiSchema, childPath(path, 'items'), inner, issues);
  extensions(schema, path, issues);
}

function propertyPlace(schema: OpenApiSchema, name: string, place: Place): Place {
  if ((place.root || schema['x-kubernetes-embedded-resource']) && TYPE_AND_OBJECT_META.has(name))
    return {
      root: false,
      insideResourceMeta: true,
      foreign: place.foreign,
      ...(place.root ? { noDefaults: `in top-level ${name}` } : {}),
    };
  return { ...place, root: false };
}

function single(schema: OpenApiSchema, path: string, place: Place, issues: FieldIssue[]): void {
  const forbid = (keyword: string, detail: string, foreign: boolean = false): void => {
    const issue: FieldIssue = { type: 'Forbidden', path: childPath(path, keyword), detail };
    issues.push(issue);
    if (foreign) place.foreign.add(issue);
  };
  const type: string = schema.type ?? '';
  if (type !== '' && !TYPES.includes(type))
    issues.push({
      type: 'NotSupported',
      path: childPath(path, 'type'),
      value: type,
      detail: '',
      supported: TYPES,
    });
  if (type === 'null') forbid('type', 'type cannot be set to null, use nullable as an alternative', true);
  if (schema.default !== undefined && place.noDefaults)
    forbid('default', `must not be set ${place.noDefaults}`);
  for (const keyword of UNSUPPORTED)
    if (isSet((schema as Readonly<Record<string, unknown>>)[keyword]))
      forbid(keyword, `${keyword} is not supported`, true);
  if (schema.uniqueItems)
    forbid('uniqueItems', 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
  if (Array.isArray(schema.items)) forbid('items', 'items must be a schema object and not an array', true);
  if (place.insideResourceMeta && schema['x-kubernetes-embedded-resource'])
    forbid('x-kubernetes-embedded-resource', 'must not be used inside of resource meta');
}

function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return !isObject(value) || Object.keys(value).length > 0;
}

function extensions(schema: OpenApiSchema, path: string, issues: FieldIssue[]): void {
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    issues.push({
      type: 'Invalid',
      path: childPath(path, 'x-kubernetes-preserve-unknown-fields'),
      value: false,
      detail: 'must be true or undefined',
    });
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType !== undefined) {
    if (schema.type !== 'object')
      wrongType(schema, path, 'must be object if x-kubernetes-map-type is specified', issues);
    oneOf(mapType, childPath(path, 'x-kubernetes-map-type'), MAP_TYPES, issues);
  }
  listType(schema, path, issues);
}

function wrongType(schema: OpenApiSchema, path: string, detail: string, issues: FieldIssue[]): void {
  const at = childPath(path, 'type');
  if (schema.type) issues.push({ type: 'Invalid', path: at, value: schema.type, detail });
  else issues.push({ type: 'Required', path: at, detail });
}

function oneOf(value: string, path: string, supported: readonly string[], issues: FieldIssue[]): void {
  if (!supported.includes(value)) issues.push({ type: 'NotSupported', path, value, detail: '', supported });
}

function listType(schema: OpenApiSchema, path: string, issues: FieldIssue[]): void {
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const at = childPath(path, 'x-kubernetes-list-type');
  const items = isObject(schema.items) ? (schema.items as OpenApiSchema) : undefined;
  if (type !== undefined) {
    if (schema.type !== 'array')
      wrongType(schema, path, 'must be array if x-kubernetes-list-type is specified', issues);
    else if (type === 'set' && items) setItems(items, childPath(path, 'items'), issues);
    oneOf(type, at, LIST_TYPES, issues);
  }
  if (keys.length > 0 && type !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    if (type === undefined) issues.push({ type: 'Required', path: at, detail });
    else issues.push({ type: 'Invalid', path: at, value: type, detail });
  }
  if (type === 'map') mapKeys(schema, keys, items, path, issues);
  if ((type === 'map' || type === 'set') && items?.nullable)
    issues.push({
      type: 'Forbidden',
      path: childPath(path, 'items.nullable'),
      detail: `cannot be nullable when x-kubernetes-list-type is ${type}`,
    });
}

/** Elements of a set are compared as wholes, so they cannot be merged inside. */
function setItems(items: OpenApiSchema, path: string, issues: FieldIssue[]): void {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listOf = items['x-kubernetes-list-type'];
  const mapOf = items['x-kubernetes-map-type'];
  if (items.type === 'array' && listOf !== undefined && listOf !== 'atomic')
    issues.push({ type: 'Invalid', path: `${path}.x-kubernetes-list-type`, value: listOf, detail });
  if (items.type === 'object' && mapOf !== 'atomic')
    issues.push({ type: 'Invalid', path: `${path}.x-kubernetes-map-type`, value: mapOf, detail });
}

function mapKeys(
  schema: OpenApiSchema,
  keys: readonly string[],
  items: OpenApiSchema | undefined,
  path: string,
  issues: FieldIssue[],
): void {
  const at = childPath(path, 'x-kubernetes-list-map-keys');
  const invalid = (where: string, value: unknown, detail: string, valueText?: string): void => {
    issues.push({
      type: 'Invalid',
      path: where,
      value,
      detail,
      ...(valueText === undefined ? {} : { valueText }),
    });
  };
  if (keys.length === 0)
    issues.push({
      type: 'Required',
      path: at,
      detail: 'must not be empty if x-kubernetes-list-type is map',
    });
  if (schema.items === undefined)
    issues.push({
      type: 'Required',
      path: childPath(path, 'items'),
      detail: 'must have a schema if x-kubernetes-list-type is map',
    });
  if (!items) return;
  if (items.type !== 'object') {
    invalid(
      childPath(path, 'items.type'),
      items.type ?? '',
      "must be object if parent array's x-kubernetes-list-type is map",
    );
    return;
  }
  const shown = `[]string{${keys.map((key) => JSON.stringify(key)).join(', ')}}`;
  const seen = new Set<string>();
  for (const key of keys) {
    const property = propertyOf(items, key);
    const where = childPath(path, `items.properties[${key}]`);
    if (!property) invalid(at, keys, 'entries must all be names of item properties', shown);
    if (property?.type === 'array' || property?.type === 'object')
      invalid(
        `${where}.type`,
        items.type,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      );
    if (seen.has(key)) invalid(at, keys, 'must not contain duplicate entries', shown);
    seen.add(key);
    if (property && property.default === undefined && !items.required?.includes(key))
      issues.push({
        type: 'Required',
        path: `${where}.default`,
        detail:
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      });
    if (property?.nullable)
      issues.push({
        type: 'Forbidden',
        path: `${where}.nullable`,
        detail: 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
      });
  }
}
