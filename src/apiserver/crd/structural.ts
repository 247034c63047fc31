import type { FieldError } from '../../kube/status-error.ts';
import { isObject } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';

const FORBIDDEN_KEYWORDS: readonly string[] = [
  'definitions',
  'dependencies',
  'deprecated',
  'discriminator',
  'id',
  'patternProperties',
  '$ref',
  '$schema',
  'readOnly',
  'writeOnly',
  'xml',
  'additionalItems',
];
const TYPES: ReadonlySet<string> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);
/** What only the structural core may say, never `allOf`, `anyOf`, `oneOf` and `not`. */
const CORE_KEYWORDS: readonly (keyof OpenApiSchema)[] = [
  'type',
  'description',
  'default',
  'nullable',
  'additionalProperties',
  'title',
];
const MAX_DEPTH = 128;

/** What keeps a schema from being structural, at the given path (`spec.versions[0].schema.openAPIV3Schema`). */
export function structuralErrors(schema: OpenApiSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.type !== undefined && schema.type !== 'object')
    errors.push({
      type: 'Invalid',
      path: `${path}.type`,
      value: schema.type,
      detail: 'must be object at the root',
    });
  core(schema, path, 0, errors, true);
  const metadata = schema.properties?.metadata;
  if (metadata) {
    for (const name of Object.keys(metadata.properties ?? {}))
      if (name !== 'name' && name !== 'generateName')
        errors.push({
          type: 'Forbidden',
          path: `${path}.properties[metadata].properties[${name}]`,
          detail:
            'must not specify anything other than name and generateName, but metadata is implicitly specified',
        });
  }
  return errors;
}

function core(schema: OpenApiSchema, path: string, depth: number, errors: FieldError[], root: boolean): void {
  if (depth > MAX_DEPTH) {
    errors.push({ type: 'Forbidden', path, detail: `nested more than ${MAX_DEPTH} levels deep` });
    return;
  }
  const free =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema['x-kubernetes-int-or-string'] === true;
  if (schema.type === undefined || (schema.type as string) === '') {
    if (!free)
      errors.push({
        type: 'Required',
        path: `${path}.type`,
        detail: root ? 'must not be empty at the root' : 'must not be empty for specified object fields',
      });
  } else if (!TYPES.has(schema.type))
    errors.push({
      type: 'NotSupported',
      path: `${path}.type`,
      value: schema.type,
      detail: '',
      supported: [...TYPES].sort(),
    });
  if (schema['x-kubernetes-int-or-string'] === true && schema.type !== undefined)
    errors.push({
      type: 'Invalid',
      path: `${path}.type`,
      value: schema.type,
      detail: 'must be empty if x-kubernetes-int-or-string is true',
    });
  forbidden(schema, path, errors);
  if (schema.uniqueItems === true)
    errors.push({
      type: 'Forbidden',
      path: `${path}.uniqueItems`,
      detail: 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    });
  if (schema.additionalProperties === false)
    errors.push({
      type: 'Forbidden',
      path: `${path}.additionalProperties`,
      detail: 'additionalProperties cannot be set to false',
    });
  if (schema.properties !== undefined && isObject(schema.additionalProperties))
    errors.push({
      type: 'Forbidden',
      path: `${path}.additionalProperties`,
      detail: 'additionalProperties and properties are mutual exclusive',
    });
  if (schema['x-kubernetes-embedded-resource'] === true) {
    if (schema.type !== 'object')
      errors.push({
        type: 'Invalid',
        path: `${path}.type`,
        value: schema.type ?? '',
        detail: 'must be object if x-kubernetes-embedded-resource is true',
      });
    if (
      schema['x-kubernetes-preserve-unknown-fields'] !== true &&
      Object.keys(schema.properties ?? {}).length === 0
    )
      errors.push({
        type: 'Required',
        path: `${path}.properties`,
        detail:
          'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      });
  }
  if (schema.type === 'array' && schema.items === undefined)
    errors.push({ type: 'Required', path: `${path}.items`, detail: 'must be specified' });
  if (Array.isArray(schema.items))
    errors.push({
      type: 'Forbidden',
      path: `${path}.items`,
      detail: 'items must be a schema object and not an array',
    });
  listType(schema, path, errors);

  for (const [name, child] of Object.entries(schema.properties ?? {}))
    core(child, `${path}.properties[${name}]`, depth + 1, errors, false);
  if (isObject(schema.additionalProperties))
    core(
      schema.additionalProperties as OpenApiSchema,
      `${path}.additionalProperties`,
      depth + 1,
      errors,
      false,
    );
  if (schema.items !== undefined && !Array.isArray(schema.items))
    core(schema.items, `${path}.items`, depth + 1, errors, false);
  if (schema['x-kubernetes-int-or-string'] !== true) junctors(schema, schema, path, depth, errors);
}

function forbidden(schema: OpenApiSchema, path: string, errors: FieldError[]): void {
  for (const keyword of FORBIDDEN_KEYWORDS)
    if ((schema as Record<string, unknown>)[keyword] !== undefined)
      errors.push({ type: 'Forbidden', path: `${path}.${keyword}`, detail: `${keyword} is not supported` });
}

function listType(schema: OpenApiSchema, path: string, errors: FieldError[]): void {
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  if (type === undefined) {
    if (keys !== undefined)
      errors.push({
        type: 'Forbidden',
        path: `${path}.x-kubernetes-list-map-keys`,
        detail: 'requires x-kubernetes-list-type: map',
      });
    return;
  }
  if (schema.type !== 'array')
    errors.push({
      type: 'Invalid',
      path: `${path}.type`,
      value: schema.type ?? '',
      detail: 'must be array if x-kubernetes-list-type is specified',
    });
  if (type !== 'atomic' && type !== 'set' && type !== 'map')
    errors.push({
      type: 'NotSupported',
      path: `${path}.x-kubernetes-list-type`,
      value: type,
      detail: '',
      supported: ['atomic', 'map', 'set'],
    });
  if (type !== 'map') {
    if (keys !== undefined)
      errors.push({
        type: 'Forbidden',
        path: `${path}.x-kubernetes-list-map-keys`,
        detail: 'requires x-kubernetes-list-type: map',
      });
    return;
  }
  if (keys === undefined || keys.length === 0) {
    errors.push({
      type: 'Required',
      path: `${path}.x-kubernetes-list-map-keys`,
      detail: 'must not be empty if x-kubernetes-list-type is map',
    });
    return;
  }
  const { items } = schema;
  if (items?.type !== 'object')
    errors.push({
      type: 'Invalid',
      path: `${path}.items.type`,
      value: items?.type ?? '',
      detail: "must be object if parent array's x-kubernetes-list-type is map",
    });
  keys.forEach((key, index) => {
    const property = items?.properties?.[key];
    if (!property)
      errors.push({
        type: 'Invalid',
        path: `${path}.x-kubernetes-list-map-keys[${index}]`,
        value: key,
        detail: 'entries must all be names of item properties',
      });
    else if (property.default === undefined && !(items?.required ?? []).includes(key))
      errors.push({
        type: 'Required',
        path: `${path}.items.properties[${key}].default`,
        detail: `this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
      });
  });
}

/** Below `allOf` and the like: no core keywords, and nothing named that the core does not name. */
function junctors(
  schema: OpenApiSchema,
  structural: OpenApiSchema,
  path: string,
  depth: number,
  errors: FieldError[],
): void {
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const)
    (schema[keyword] ?? []).forEach((child, index) => {
      insideJunctor(child, structural, `${path}.${keyword}[${index}]`, depth + 1, errors);
    });
  if (schema.not) insideJunctor(schema.not, structural, `${path}.not`, depth + 1, errors);
}

function insideJunctor(
  schema: OpenApiSchema,
  structural: OpenApiSchema | undefined,
  path: string,
  depth: number,
  errors: FieldError[],
): void {
  if (depth > MAX_DEPTH) return;
  for (const keyword of CORE_KEYWORDS)
    if (schema[keyword] !== undefined)
      errors.push({
        type: 'Forbidden',
        path: `${path}.${keyword}`,
        detail: 'must be undefined to be structural',
      });
  forbidden(schema, path, errors);
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const counterpart = structural?.properties?.[name];
    if (
      !counterpart &&
      structural?.['x-kubernetes-preserve-unknown-fields'] !== true &&
      !isObject(structural?.additionalProperties)
    )
      errors.push({
        type: 'Required',
        path: `${path}.properties[${name}]`,
        detail: 'because it is defined in a logical junctor, it must be in the structural schema too',
      });
    insideJunctor(child, counterpart, `${path}.properties[${name}]`, depth + 1, errors);
  }
  if (schema.items && !Array.isArray(schema.items))
    insideJunctor(schema.items, structural?.items, `${path}.items`, depth + 1, errors);
  junctors(schema, structural ?? {}, path, depth, errors);
}
