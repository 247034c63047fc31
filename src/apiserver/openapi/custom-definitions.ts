import type { JsonObject } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { customSchemaV2, customSchemaV3, METADATA_V2, METADATA_V3, TYPE_META } from './custom-form.ts';
import { customDefinitionName, META, type PublishedResource } from './published-resource.ts';

export type CustomForm = 'v2' | 'v3';

/** Definitions that those of every custom kind lean on. */
export const CUSTOM_REFERENCES: readonly string[] = [META.objectMeta, META.listMeta];

/**
 * Definitions of a custom kind and of its list, by name. What the CustomResourceDefinition says of `apiVersion`, `kind` and
 * `metadata` gives way to what they are of every object.
 */
export function customDefinitions(resource: PublishedResource, form: CustomForm): Record<string, JsonObject> {
  const { group, version, kind, listKind } = resource;
  const name = customDefinitionName(group, version, kind);
  const fields = resource.strategy?.fieldLabelNames ?? [];
  const facts = (kind: string): JsonObject => ({
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
    ...(fields.length > 0
      ? { 'x-kubernetes-selectable-fields': fields.map((fieldPath) => ({ fieldPath })) }
      : {}),
  });
  return {
    [name]: { ...objectSchema(resource.type.schema, form), ...facts(kind) },
    [customDefinitionName(group, version, listKind)]: {
      description: `Objects of kind ${kind}.`,
      type: 'object',
      required: ['items'],
      properties: {
        ...TYPE_META,
        items: {
          description: `The ${resource.resource} themselves.`,
          type: 'array',
          items: { $ref: `${PREFIX[form]}${name}` },
        },
        metadata: listMetadata(form),
      },
      ...facts(listKind),
    },
  };
}

const PREFIX: Readonly<Record<CustomForm, string>> = { v2: '#/definitions/', v3: '#/components/schemas/' };

function objectSchema(schema: OpenApiSchema, form: CustomForm): JsonObject {
  // With any property named, even these three, clients that validate by version 2 would refuse all others.
  if (form === 'v2' && schema['x-kubernetes-preserve-unknown-fields']) return { type: 'object' };
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...properties } = schema.properties ?? {};
  const own = { ...schema, type: 'object' as const, properties };
  const out = form === 'v2' ? customSchemaV2(own) : customSchemaV3(own);
  const metadata = form === 'v2' ? METADATA_V2 : METADATA_V3;
  return { ...out, properties: { ...(out.properties as JsonObject | undefined), ...TYPE_META, metadata } };
}

function listMetadata(form: CustomForm): JsonObject {
  const $ref = `${PREFIX[form]}${META.listMeta}`;
  const description = 'Of which state the list is, and where it goes on.';
  return form === 'v2' ? { description, $ref } : { description, allOf: [{ $ref }] };
}
