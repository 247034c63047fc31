import type { JsonObject, JsonValue } from '../../schema/json.ts';
import { type OpenApiSchema, refName } from '../../schema/open-api-schema.ts';
import { type DefinitionTexts, minorOf, type Release } from '../catalogue/index.ts';
import type { GroupVersionKind } from './published-resource.ts';

/** How deep a schema may be nested: deeper ones are published as anything. */
export const MAX_DEPTH = 64;

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';

/** Keywords of built-in kinds whose value is published as it is in both versions. */
const SHARED_KEYS = [
  'type',
  'format',
  'description',
  'enum',
  'required',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-unions',
] as const;

/** What differs between the documents that a built-in definition is in. */
export interface DocumentForm {
  readonly release: Release;
  /** Those kinds of a definition that has several (`DeleteOptions` is one of every group) that a document tells of. */
  kindsOf(kinds: readonly GroupVersionKind[]): readonly GroupVersionKind[];
}

/** Until then the elements of lists and maps were told with a default. */
const PLAIN_ELEMENTS_SINCE = 36;

export function picked(schema: OpenApiSchema, keys: readonly (keyof OpenApiSchema)[]): JsonObject {
  const out: JsonObject = {};
  for (const key of keys) if (schema[key] !== undefined) out[key] = schema[key] as JsonValue;
  return out;
}

export function mapValues(
  record: Record<string, OpenApiSchema>,
  form: (schema: OpenApiSchema) => JsonObject,
): JsonObject {
  return Object.fromEntries(Object.entries(record).map(([key, schema]) => [key, form(schema)]));
}

function describing({ description }: OpenApiSchema): JsonObject {
  return description === undefined ? {} : { description };
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

function withKinds(out: JsonObject, schema: OpenApiSchema, form: DocumentForm): JsonObject {
  const kinds = schema['x-kubernetes-group-version-kind'];
  if (kinds) out['x-kubernetes-group-version-kind'] = form.kindsOf(kinds).map((kind) => ({ ...kind }));
  return out;
}

/** A built-in definition as OpenAPI v3 publishes it. */
export function definitionV3(schema: OpenApiSchema, form: DocumentForm): JsonObject {
  if (schema.format === 'int-or-string') {
    return {
      ...describing(schema),
      format: 'int-or-string',
      oneOf: [{ type: 'integer' }, { type: 'string' }],
    };
  }
  return withKinds(schemaV3(schema, minorOf(form.release) < PLAIN_ELEMENTS_SINCE), schema, form);
}

/** Definitions that are values of several types: there is no empty one. */
const ANY_VALUE: ReadonlySet<string> = new Set([
  QUANTITY,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON',
]);

/** What lists and maps hold: Go has a value where there is none, which was told as its default. */
function elementWithDefault(schema: OpenApiSchema): JsonObject {
  const out = schemaV3(schema, true);
  if (out.default !== undefined) return out;
  if (schema.$ref !== undefined)
    return ANY_VALUE.has(refName(schema.$ref)) ? out : { default: {}, allOf: [{ ...out }] };
  if (out.type === 'string' && out.format === undefined) return { ...out, default: '' };
  return out.type === 'integer' ? { ...out, default: 0 } : out;
}

/** A reference as beside a description, which upstream has of nearly every field, whether it is known here or not. */
function besides(out: JsonObject): JsonObject {
  return out.$ref === undefined ? out : { allOf: [out] };
}

const ZEROS: Readonly<Record<string, JsonValue>> = { string: '', integer: 0, number: 0, boolean: false };

function schemaV3(schema: OpenApiSchema, defaultElements: boolean): JsonObject {
  const form = (child: OpenApiSchema): JsonObject => schemaV3(child, defaultElements);
  const element = defaultElements ? elementWithDefault : form;
  const out = picked(schema, SHARED_KEYS);
  const zero = schema.zeroDefault === true ? ZEROS[schema.type ?? ''] : undefined;
  if (schema.default !== undefined || zero !== undefined) out.default = schema.default ?? zero ?? null;
  if (hasProperties(schema))
    out.properties = mapValues(schema.properties, (property) => besides(form(property)));
  if (schema.items) out.items = element(schema.items);
  if (typeof schema.additionalProperties === 'object')
    out.additionalProperties = element(schema.additionalProperties);
  if (schema.oneOf) out.oneOf = schema.oneOf.map(form);
  if (schema.$ref === undefined) return out;
  const reference = { $ref: `#/components/schemas/${refName(schema.$ref)}` };
  // In v3 nothing may stand beside a reference.
  return Object.keys(out).length === 0 ? reference : { ...out, allOf: [reference] };
}

function hasProperties(
  schema: OpenApiSchema,
): schema is OpenApiSchema & { properties: Record<string, OpenApiSchema> } {
  return schema.properties !== undefined && Object.keys(schema.properties).length > 0;
}

/** A built-in definition as OpenAPI v2 publishes it, which tells no defaults and knows no alternatives. */
export function definitionV2(name: string, schema: OpenApiSchema, form: DocumentForm): JsonObject {
  if (name === QUANTITY) return { ...describing(schema), type: 'string' };
  if (schema.format === 'int-or-string')
    return { ...describing(schema), type: 'string', format: 'int-or-string' };
  return withKinds(schemaV2(schema), schema, form);
}

function schemaV2(schema: OpenApiSchema): JsonObject {
  const out = picked(schema, SHARED_KEYS);
  if (schema.$ref !== undefined) out.$ref = `#/definitions/${refName(schema.$ref)}`;
  if (hasProperties(schema)) {
    const sorted = Object.entries(schema.properties).sort(([a], [b]) => (a < b ? -1 : 1));
    out.properties = mapValues(Object.fromEntries(sorted), schemaV2);
  }
  if (schema.items) out.items = schemaV2(schema.items);
  if (typeof schema.additionalProperties === 'object')
    out.additionalProperties = schemaV2(schema.additionalProperties);
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
