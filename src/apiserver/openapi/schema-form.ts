import type { JsonObject, JsonValue } from '../../schema/json.ts';
import { type OpenApiSchema, refName } from '../../schema/open-api-schema.ts';
import type { DefinitionTexts } from '../catalogue/index.ts';

/** How deep a schema may be nested: deeper ones are published as anything. */
const MAX_DEPTH = 64;

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';

/** Keywords whose value is published as it is in both versions. */
const SHARED_KEYS = [
  'type',
  'format',
  'title',
  'description',
  'default',
  'enum',
  'required',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-int-or-string',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-group-version-kind',
] as const;

function shared(schema: OpenApiSchema): JsonObject {
  const out: JsonObject = {};
  for (const key of SHARED_KEYS) {
    if (schema[key] !== undefined) out[key] = schema[key] as JsonValue;
  }
  return out;
}

/** A built-in definition without the marks that only this server reads. */
function withoutMarks(schema: OpenApiSchema): OpenApiSchema {
  const { 'x-kubernetes-preserve-unknown-fields': _preserve, properties, ...rest } = schema;
  return properties && Object.keys(properties).length > 0 ? { ...rest, properties } : rest;
}

function describing({ description }: OpenApiSchema): JsonObject {
  return description === undefined ? {} : { description };
}

function mapValues(
  record: Record<string, OpenApiSchema>,
  form: (schema: OpenApiSchema) => JsonObject,
): JsonObject {
  return Object.fromEntries(Object.entries(record).map(([key, schema]) => [key, form(schema)]));
}

/** A built-in definition with what is known of it and its fields in words. */
export function described(schema: OpenApiSchema, texts: DefinitionTexts | undefined): OpenApiSchema {
  if (!texts) return schema;
  const out: OpenApiSchema = { ...schema, ...(texts.own === '' ? {} : { description: texts.own }) };
  if (schema.properties) {
    out.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => {
        const description = texts.field(name);
        return [name, description === undefined ? property : { ...property, description }];
      }),
    );
  }
  return out;
}

/** A definition as OpenAPI v3 publishes it. */
export function definitionV3(schema: OpenApiSchema, custom: boolean): JsonObject {
  if (custom) return schemaV3(schema);
  if (schema.format === 'int-or-string') {
    return {
      ...describing(schema),
      format: 'int-or-string',
      oneOf: [{ type: 'integer' }, { type: 'string' }],
    };
  }
  return schemaV3(withoutMarks(schema), 0, false);
}

/** Definitions that are values of several types: there is no empty one. */
const ANY_VALUE: ReadonlySet<string> = new Set([
  QUANTITY,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON',
]);

/** What lists and maps of built-in kinds hold: Go has a value where there is none, which is told as its default. */
function elementV3(schema: OpenApiSchema, depth: number): JsonObject {
  const out = schemaV3(schema, depth, false);
  if (out.default !== undefined) return out;
  if (schema.$ref !== undefined)
    return ANY_VALUE.has(refName(schema.$ref)) ? out : { default: {}, allOf: [{ ...out }] };
  if (out.type === 'string' && out.format === undefined) return { ...out, default: '' };
  return out.type === 'integer' ? { ...out, default: 0 } : out;
}

function schemaV3(schema: OpenApiSchema, depth: number = 0, custom: boolean = true): JsonObject {
  if (depth > MAX_DEPTH) return {};
  const form = (child: OpenApiSchema): JsonObject => schemaV3(child, depth + 1, custom);
  const element = (child: OpenApiSchema): JsonObject => (custom ? form(child) : elementV3(child, depth + 1));
  const out = shared(schema);
  if (schema.nullable) out.nullable = true;
  if (schema['x-kubernetes-validations']) {
    out['x-kubernetes-validations'] = schema['x-kubernetes-validations'];
  }
  if (schema.properties) out.properties = mapValues(schema.properties, form);
  if (schema.items) out.items = element(schema.items);
  if (schema.additionalProperties !== undefined) {
    out.additionalProperties =
      typeof schema.additionalProperties === 'boolean'
        ? schema.additionalProperties
        : element(schema.additionalProperties);
  }
  if (schema.allOf) out.allOf = schema.allOf.map(form);
  if (schema.anyOf) out.anyOf = schema.anyOf.map(form);
  if (schema.oneOf) out.oneOf = schema.oneOf.map(form);
  if (schema.not) out.not = form(schema.not);
  if (schema.$ref !== undefined) {
    const ref = { $ref: `#/components/schemas/${refName(schema.$ref)}` };
    // In v3 nothing may stand beside a reference.
    return Object.keys(out).length === 0 ? ref : { ...out, allOf: [ref] };
  }
  return out;
}

/** A definition as OpenAPI v2 publishes it: what v2 cannot say is left out, so that clients accept rather than refuse. */
export function definitionV2(name: string, schema: OpenApiSchema, custom: boolean): JsonObject {
  if (!custom) {
    if (name === QUANTITY) return { ...describing(schema), type: 'string' };
    if (schema.format === 'int-or-string')
      return { ...describing(schema), type: 'string', format: 'int-or-string' };
    return schemaV2(withoutMarks(schema), 0, false);
  }
  if (schema['x-kubernetes-preserve-unknown-fields']) {
    // With any property named, clients would refuse the others.
    const { properties: _properties, ...rest } = schema;
    return { ...schemaV2(rest), type: 'object' };
  }
  return schemaV2(schema);
}

function schemaV2(schema: OpenApiSchema, depth: number = 0, custom: boolean = true): JsonObject {
  if (depth > MAX_DEPTH) return {};
  const form = (child: OpenApiSchema): JsonObject => schemaV2(child, depth + 1, custom);
  const out = shared(schema);
  // Version 2 tells no defaults of built-in kinds.
  if (!custom) delete out.default;
  if (schema.nullable || schema['x-kubernetes-preserve-unknown-fields']) {
    delete out.type;
    delete out.required;
    return out;
  }
  if (schema['x-kubernetes-int-or-string']) {
    delete out.type;
    return out;
  }
  if (schema.$ref !== undefined) out.$ref = `#/definitions/${refName(schema.$ref)}`;
  if (schema.properties) {
    const sorted = Object.entries(schema.properties).sort(([a], [b]) => (a < b ? -1 : 1));
    out.properties = mapValues(Object.fromEntries(custom ? Object.entries(schema.properties) : sorted), form);
  }
  if (schema.items) out.items = form(schema.items);
  else if (out.type === 'array') out.items = {};
  if (typeof schema.additionalProperties === 'object') {
    out.additionalProperties = form(schema.additionalProperties);
  }
  return out;
}

/** Names of definitions that a schema refers to, added to `found`. */
export function collectReferences(schema: OpenApiSchema, found: Set<string>): void {
  if (schema.$ref !== undefined) found.add(refName(schema.$ref));
  for (const key in schema.properties) {
    const child = schema.properties[key];
    if (child) collectReferences(child, found);
  }
  if (schema.items) collectReferences(schema.items, found);
  if (typeof schema.additionalProperties === 'object') {
    collectReferences(schema.additionalProperties, found);
  }
}
