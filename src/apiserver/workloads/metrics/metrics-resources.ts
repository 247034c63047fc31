import type { KubeObject } from '../../../kube/object.ts';
import { asJson } from '../../../kube/object.ts';
import { listAt, stringAt } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { formatQuantity, sumQuantities } from '../../../schema/quantity.ts';
import type { Column, Resource } from '../../resource.ts';

export const METRICS_GROUP = 'metrics.k8s.io';
const VERSION = 'v1beta1';
export const METRICS_API_VERSION: string = `${METRICS_GROUP}/${VERSION}`;

const USAGE: OpenApiSchema = {
  type: 'object',
  additionalProperties: { type: 'string', format: 'quantity' },
};
const COMMON: Record<string, OpenApiSchema> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
  timestamp: { type: 'string', format: 'date-time' },
  window: { type: 'string' },
};

const COLUMNS: readonly Column[] = ['Name', 'Cpu', 'Memory', 'Window'].map((name) => ({
  name,
  type: 'string',
  format: name === 'Name' ? 'name' : '',
  description: '',
  priority: 0,
}));

function total(object: KubeObject, amount: 'cpu' | 'memory'): string {
  const json = asJson(object);
  const own = stringAt(json, 'usage', amount);
  const parts = listAt(json, 'containers').map((each) => stringAt(each, 'usage', amount) ?? '0');
  return formatQuantity(sumQuantities(own === undefined ? parts : [own]));
}

function metricsResource(
  resource: string,
  kind: string,
  namespaced: boolean,
  properties: Record<string, OpenApiSchema>,
): Resource {
  return {
    group: METRICS_GROUP,
    version: VERSION,
    storageVersion: VERSION,
    resource,
    singular: '',
    kind,
    listKind: `${kind}List`,
    namespaced,
    verbs: ['get', 'list'],
    shortNames: [],
    categories: [],
    subresources: [],
    custom: false,
    type: { schema: { type: 'object', properties: { ...COMMON, ...properties } }, resolve: () => undefined },
    strategy: {
      generation: 'none',
      allowUnconditionalUpdate: false,
      allowCreateOnUpdate: false,
      returnsDeleted: false,
      defaultPropagation: 'Background',
      fieldLabelNames: [],
      resetFields: { main: {}, status: {} },
    },
    columns: COLUMNS,
    cells: (object) => [
      object.metadata.name ?? '',
      total(object, 'cpu'),
      total(object, 'memory'),
      stringAt(asJson(object), 'window') ?? '',
    ],
  };
}

/** The resources of `metrics.k8s.io`, which `kubectl top` and autoscalers read. */
export function metricsResources(): Resource[] {
  return [
    metricsResource('nodes', 'NodeMetrics', false, { usage: USAGE }),
    metricsResource('pods', 'PodMetrics', true, {
      containers: {
        type: 'array',
        items: { type: 'object', properties: { name: { type: 'string' }, usage: USAGE } },
      },
    }),
  ];
}
