import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import type { Catalogue } from '../catalogue/index.ts';
import type { DiscoveredResource } from '../discovery/index.ts';
import type { Resource } from '../resource.ts';

/** What the documents need to know of a resource. */
export type PublishedResource = DiscoveredResource &
  Pick<Resource, 'custom' | 'type' | 'listKind'> & {
    readonly strategy?: Pick<Resource['strategy'], 'returnsDeleted'>;
  };

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Names of definitions that every document leans on. */
export const META = {
  apiGroup: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup',
  apiGroupList: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList',
  apiResourceList: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList',
  apiVersions: 'io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions',
  deleteOptions: 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  listMeta: 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta',
  objectMeta: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  patch: 'io.k8s.apimachinery.pkg.apis.meta.v1.Patch',
  status: 'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
  version: 'io.k8s.apimachinery.pkg.version.Info',
  watchEvent: 'io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent',
} as const;

/** The definition of a custom kind: its group reversed, version, kind (`com.example.v1.Widget`). */
export function customDefinitionName(group: string, version: string, kind: string): string {
  return [...group.split('.').reverse(), version, kind].join('.');
}

/** The definition of a body's kind, or `undefined` when it has none (options of streaming subresources). */
export function definitionNameOf(
  resource: PublishedResource,
  gvk: GroupVersionKind,
  catalogue: Catalogue,
): string | undefined {
  const own = gvk.group === resource.group && gvk.version === resource.version;
  if (resource.custom && own) return customDefinitionName(gvk.group, gvk.version, gvk.kind);
  return catalogue.definitionName(gvk.group, gvk.version, gvk.kind);
}

const TYPE_META: Record<string, OpenApiSchema> = {
  apiVersion: {
    type: 'string',
    description: 'Group and version of the schema of this object, for example apps/v1.',
  },
  kind: { type: 'string', description: 'Kind of this object, in CamelCase. It cannot be changed.' },
};

/**
 * Definitions of a custom kind and its list. References are bare names. What the CustomResourceDefinition says of
 * `metadata` gives way to the full ObjectMeta.
 */
export function customDefinitions(resource: PublishedResource): Record<string, OpenApiSchema> {
  const { group, version, kind, listKind } = resource;
  const name = customDefinitionName(group, version, kind);
  const schema = resource.type.schema;
  return {
    [name]: {
      ...schema,
      type: 'object',
      properties: {
        ...embedResources(schema).properties,
        ...pick(TYPE_META, schema.properties),
        metadata: { $ref: META.objectMeta },
      },
      'x-kubernetes-group-version-kind': [{ group, kind, version }],
    },
    [customDefinitionName(group, version, listKind)]: {
      type: 'object',
      required: ['items'],
      properties: {
        ...TYPE_META,
        items: { type: 'array', items: { $ref: name } },
        metadata: { $ref: META.listMeta },
      },
      'x-kubernetes-group-version-kind': [{ group, kind: listKind, version }],
    },
  };
}

/** The type fields with the descriptions of the CustomResourceDefinition where it has them. */
function pick(
  typeMeta: Record<string, OpenApiSchema>,
  own: Record<string, OpenApiSchema> | undefined,
): Record<string, OpenApiSchema> {
  return Object.fromEntries(
    Object.entries(typeMeta).map(([key, schema]) => [
      key,
      own?.[key]?.description === undefined ? schema : { ...schema, description: own[key].description },
    ]),
  );
}

/** Gives nested objects that are whole resources their type fields and ObjectMeta. */
function embedResources(schema: OpenApiSchema, root: boolean = true): OpenApiSchema {
  const out: OpenApiSchema = { ...schema };
  if (schema.properties) {
    out.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, child]) => [key, embedResources(child, false)]),
    );
  }
  if (schema.items) out.items = embedResources(schema.items, false);
  if (typeof schema.additionalProperties === 'object') {
    out.additionalProperties = embedResources(schema.additionalProperties, false);
  }
  if (!root && schema['x-kubernetes-embedded-resource']) {
    out.properties = {
      ...out.properties,
      ...pick(TYPE_META, schema.properties),
      metadata: { $ref: META.objectMeta },
    };
  }
  return out;
}
