import type { GroupVersionKind, KubeObject } from '../../kube/object.ts';
import { listAt, objectAt, stringAt } from '../../schema/json.ts';
import type { OpenApiSchema, TypeSchema } from '../../schema/open-api-schema.ts';
import { mapOf, record, text } from '../../schema/schema-of.ts';

/** What is known of a kind. */
export interface KindSchema {
  readonly type: TypeSchema;
  readonly namespaced: boolean;
}

/** Where the schemas of kinds come from: a cluster, a directory, what is built in. */
export interface SchemaSource {
  /** `undefined`: there is no such kind. */
  readonly find: (kind: GroupVersionKind) => KindSchema | undefined;
  /** Kinds that are written similarly, for messages. */
  readonly similar?: (kind: GroupVersionKind) => readonly string[];
}

/** The first of several sources that knows a kind. */
export function schemaSources(...sources: readonly SchemaSource[]): SchemaSource {
  return {
    find: (kind) => {
      for (const source of sources) {
        const found = source.find(kind);
        if (found) return found;
      }
      return undefined;
    },
    similar: (kind) => [...new Set(sources.flatMap((source) => source.similar?.(kind) ?? []))],
  };
}

const time: OpenApiSchema = { type: 'string', format: 'date-time' };
const count: OpenApiSchema = { type: 'integer', format: 'int64' };

/** `metav1.ObjectMeta`, for kinds whose own schema does not spell it out. */
export const OBJECT_META: OpenApiSchema = record({
  name: text(),
  generateName: text(),
  namespace: text(),
  selfLink: text(),
  uid: text(),
  resourceVersion: text(),
  generation: count,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: count,
  labels: mapOf(text()),
  annotations: mapOf(text()),
  finalizers: { type: 'array', items: text() },
  ownerReferences: {
    type: 'array',
    items: record({
      apiVersion: text(),
      kind: text(),
      name: text(),
      uid: text(),
      controller: { type: 'boolean' },
      blockOwnerDeletion: { type: 'boolean' },
    }),
  },
  managedFields: {
    type: 'array',
    items: record({
      manager: text(),
      operation: text(),
      apiVersion: text(),
      time,
      fieldsType: text(),
      fieldsV1: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      subresource: text(),
    }),
  },
});

/** The schema of a resource with all that every resource has. */
export function resourceSchema({ schema, resolve }: TypeSchema): TypeSchema {
  const { metadata } = schema.properties ?? {};
  const described =
    metadata?.$ref !== undefined || metadata?.allOf !== undefined || metadata?.properties?.['labels'];
  if (described) return { schema, resolve };
  return {
    schema: {
      ...schema,
      type: 'object',
      properties: { apiVersion: text(), kind: text(), ...schema.properties, metadata: OBJECT_META },
      ...(!schema.properties && { 'x-kubernetes-preserve-unknown-fields': true }),
    },
    resolve,
  };
}

/** Of a kind that nothing is known of. */
export function unknownKind(namespaced: boolean): KindSchema {
  return {
    type: resourceSchema({
      schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      resolve: () => undefined,
    }),
    namespaced,
  };
}

/** The kinds that CustomResourceDefinitions define, in all their versions. */
export function definedKinds(
  definitions: readonly KubeObject[],
): { readonly kind: GroupVersionKind; readonly schema: KindSchema }[] {
  return definitions.flatMap((definition) => {
    const group = stringAt(definition, 'spec', 'group') ?? '';
    const kind = stringAt(definition, 'spec', 'names', 'kind') ?? '';
    const namespaced = stringAt(definition, 'spec', 'scope') !== 'Cluster';
    return listAt(definition, 'spec', 'versions').map((version) => {
      const schema: OpenApiSchema = objectAt(version, 'schema', 'openAPIV3Schema') ?? {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
      };
      return {
        kind: { group, version: stringAt(version, 'name') ?? '', kind },
        schema: { type: resourceSchema({ schema, resolve: () => undefined }), namespaced },
      };
    });
  });
}

export function schemaSourceOf(definitions: readonly KubeObject[]): SchemaSource {
  const key = (kind: GroupVersionKind): string => `${kind.group}/${kind.version}/${kind.kind}`;
  const kinds = new Map(definedKinds(definitions).map(({ kind, schema }) => [key(kind), schema]));
  return {
    find: (kind) => kinds.get(key(kind)),
    similar: (kind) =>
      [...kinds.keys()].filter((known) => known.toLowerCase().endsWith(`/${kind.kind.toLowerCase()}`)),
  };
}
