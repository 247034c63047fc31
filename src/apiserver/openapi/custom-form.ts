import type { JsonObject, JsonValue } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { META } from './published-resource.ts';
import { MAX_DEPTH, mapValues, picked } from './schema-form.ts';

/** Keywords of a CustomResourceDefinition's schema whose value is published as it is in both versions. */
const KEYS = [
  'type',
  'format',
  'title',
  'description',
  'default',
  'enum',
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const;

/** Keywords that are published where they are true: `false` is what they are anyway. */
const FLAGS = [
  'exclusiveMinimum',
  'exclusiveMaximum',
  'uniqueItems',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-int-or-string',
  'x-kubernetes-embedded-resource',
] as const;

export const TYPE_META: Readonly<Record<'apiVersion' | 'kind', JsonObject>> = {
  apiVersion: {
    type: 'string',
    description: 'Group and version of the schema of this object, for example apps/v1.',
  },
  kind: { type: 'string', description: 'Kind of this object, in CamelCase. It cannot be changed.' },
};

/** The schema of a custom kind, or of a part of it, in one of the two versions. */
type Form = (schema: OpenApiSchema, depth?: number) => JsonObject;

function keywords(schema: OpenApiSchema): JsonObject {
  const out = picked(schema, KEYS);
  if (out.default === null) delete out.default;
  for (const key of ['format', 'title', 'description', 'pattern']) if (out[key] === '') delete out[key];
  for (const key of FLAGS) if (schema[key] === true) out[key] = true;
  if (schema.required && schema.required.length > 0) out.required = [...schema.required];
  const rules = schema['x-kubernetes-validations'];
  if (rules && rules.length > 0) out['x-kubernetes-validations'] = rules;
  const first = schema['x-kubernetes-list-map-keys']?.[0];
  // By which clients merge, who look for the keyword of built-in kinds.
  if (first !== undefined) out['x-kubernetes-patch-merge-key'] = first;
  return out;
}

/** A whole object within another has the fields of one. */
function embedded(out: JsonObject, metadata: JsonObject): JsonObject {
  if (out['x-kubernetes-embedded-resource'] !== true) return out;
  const required = Array.isArray(out.required) ? out.required : [];
  return {
    ...out,
    properties: { ...(out.properties as JsonObject | undefined), ...TYPE_META, metadata },
    required: [...required, ...['kind', 'apiVersion'].filter((name) => !required.includes(name))],
  };
}

/** The metadata of an object, as version 3 refers to it. */
export const METADATA_V3: JsonObject = {
  description:
    'What names the object, and what is known of it whatever its kind: labels, annotations, owners.',
  allOf: [{ $ref: `#/components/schemas/${META.objectMeta}` }],
};

export const METADATA_V2: JsonObject = {
  description: METADATA_V3.description ?? '',
  $ref: `#/definitions/${META.objectMeta}`,
};

const INT_OR_STRING: JsonValue[] = [{ type: 'integer' }, { type: 'string' }];

/** `anyOf: [{type: integer}, {type: string}]`, which says of an int-or-string what it is. */
function saysIntOrString(alternatives: readonly OpenApiSchema[] | undefined): boolean {
  return (
    alternatives?.length === 2 && alternatives[0]?.type === 'integer' && alternatives[1]?.type === 'string'
  );
}

export const customSchemaV3: Form = (schema, depth = 0) => {
  if (depth > MAX_DEPTH) return {};
  const form = (child: OpenApiSchema): JsonObject => customSchemaV3(child, depth + 1);
  const out = keywords(schema);
  if (schema.nullable) out.nullable = true;
  if (schema.properties) out.properties = mapValues(schema.properties, form);
  if (schema.items) out.items = form(schema.items);
  if (schema.additionalProperties !== undefined)
    out.additionalProperties =
      typeof schema.additionalProperties === 'boolean'
        ? schema.additionalProperties
        : form(schema.additionalProperties);
  if (schema.allOf) out.allOf = schema.allOf.map(form);
  if (schema.anyOf) out.anyOf = schema.anyOf.map(form);
  if (schema.oneOf) out.oneOf = schema.oneOf.map(form);
  if (schema.not) out.not = form(schema.not);
  // The keyword is Kubernetes' own: others read the same from alternatives.
  if (
    schema['x-kubernetes-int-or-string'] &&
    !saysIntOrString(schema.anyOf) &&
    !saysIntOrString(schema.allOf?.[0]?.anyOf)
  ) {
    if (schema.anyOf) out.allOf = [{ anyOf: INT_OR_STRING }, ...(schema.allOf ?? []).map(form)];
    else out.anyOf = INT_OR_STRING;
  }
  return embedded(out, METADATA_V3);
};

/** What version 2 cannot say is left out, so that clients that validate by it accept rather than refuse. */
export const customSchemaV2: Form = (schema, depth = 0) => {
  if (depth > MAX_DEPTH) return {};
  const form = (child: OpenApiSchema): JsonObject => customSchemaV2(child, depth + 1);
  const out = keywords(schema);
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const { nullable = false, properties, items, additionalProperties } = schema;
  // There is no null in version 2, and of what has no type clients want to hear of no members either.
  const memberless = nullable || open;
  if (nullable || (open && schema.type === 'object')) delete out.type;
  if (items && !memberless) out.items = form(items);
  else if (out.type === 'array') delete out.type;
  if (properties && !memberless) {
    out.properties = mapValues(properties, form);
    const required = schema.required?.filter((name) => properties[name]?.nullable !== true) ?? [];
    if (required.length > 0) out.required = required;
    else delete out.required;
  }
  if (typeof additionalProperties === 'object') {
    out.additionalProperties = form(additionalProperties);
    if (additionalProperties.nullable) delete out.required;
  } else if (additionalProperties !== undefined) out.additionalProperties = additionalProperties;
  return open ? out : embedded(out, METADATA_V2);
};
