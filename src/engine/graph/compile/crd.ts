import type { KubeObject } from '../../../kube/object.ts';
import { clone, type JsonObject } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { DEFAULT_GROUP, type GraphSchema } from '../definition.ts';
import { pluralOf } from './plural.ts';

/** How instances of a graph are called. */
export interface InstanceKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export function instanceKindOf(schema: GraphSchema): InstanceKind {
  return {
    group: schema.group ?? DEFAULT_GROUP,
    version: schema.apiVersion,
    kind: schema.kind,
    plural: pluralOf(schema.kind.toLowerCase()),
    namespaced: schema.scope !== 'Cluster',
  };
}

const CONDITIONS: OpenApiSchema = {
  type: 'array',
  description: 'What is known of the instance, one entry a type.',
  items: {
    type: 'object',
    properties: {
      type: { type: 'string' },
      status: { type: 'string' },
      reason: { type: 'string' },
      message: { type: 'string' },
      lastTransitionTime: { type: 'string' },
      observedGeneration: { type: 'integer', format: 'int64' },
    },
  },
};

const DEFAULT_COLUMNS: readonly JsonObject[] = [
  { name: 'State', type: 'string', description: 'State of the instance', jsonPath: '.status.state' },
  {
    name: 'Ready',
    type: 'string',
    description: 'Whether all resources of the instance are ready',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

/** On a schema, `"true"`: the status lists the objects of the instance. */
const MANAGED_RESOURCES = 'atoll.dev/managed-resources';

export function listsResources(schema: GraphSchema): boolean {
  return schema.metadata?.annotations?.[MANAGED_RESOURCES] === 'true';
}

const RESOURCES: OpenApiSchema = {
  type: 'array',
  description: 'The objects that the instance is made of.',
  items: {
    type: 'object',
    properties: Object.fromEntries(
      ['nodeID', 'apiVersion', 'kind', 'namespace', 'name', 'uid'].map((name) => [name, { type: 'string' }]),
    ),
  },
};

/** The OpenAPI schema of instances. */
export function instanceSchema(spec: OpenApiSchema, status: OpenApiSchema, listed: boolean): OpenApiSchema {
  return {
    type: 'object',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec,
      status: {
        ...status,
        properties: {
          ...status.properties,
          state: { type: 'string', description: 'IN_PROGRESS, ACTIVE, DELETING or ERROR.' },
          conditions: CONDITIONS,
          ...(listed && { managedResources: RESOURCES }),
        },
      },
    },
  };
}

/** The CustomResourceDefinition that serves instances; whose it is, is added by whoever writes it. */
export function instanceDefinition(schema: GraphSchema, openAPIV3Schema: OpenApiSchema): KubeObject {
  const { group, version, kind, plural, namespaced } = instanceKindOf(schema);
  const { labels, annotations } = schema.metadata ?? {};
  const { shortNames = [], categories = [], additionalPrinterColumns = [] } = schema;
  const columns = additionalPrinterColumns.length > 0 ? additionalPrinterColumns : DEFAULT_COLUMNS;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ...(labels && { labels: { ...labels } }),
      ...(annotations && { annotations: { ...annotations } }),
    },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
        ...(categories.length > 0 && { categories: [...categories] }),
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: clone(openAPIV3Schema) },
          subresources: {
            status: {},
            ...(schema.subresources?.scale && { scale: { ...schema.subresources.scale } }),
          },
          additionalPrinterColumns: clone([...columns]),
        },
      ],
    },
  };
}
