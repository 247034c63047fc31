import type { OpenApiSchema } from '../open-api-schema.ts';

const text: OpenApiSchema = { type: 'string' };
const time: OpenApiSchema = { type: 'string', format: 'date-time' };
const whole: OpenApiSchema = { type: 'integer', format: 'int64' };
const texts: OpenApiSchema = { type: 'object', additionalProperties: text };

/** What merging needs to know of `metadata` when the definitions at hand do not hold ObjectMeta. */
export const objectMetaSchema: OpenApiSchema = {
  type: 'object',
  properties: {
    annotations: texts,
    creationTimestamp: time,
    deletionGracePeriodSeconds: whole,
    deletionTimestamp: time,
    finalizers: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    generateName: text,
    generation: whole,
    labels: texts,
    managedFields: {
      type: 'array',
      items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      'x-kubernetes-list-type': 'atomic',
    },
    name: text,
    namespace: text,
    ownerReferences: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          apiVersion: text,
          blockOwnerDeletion: { type: 'boolean' },
          controller: { type: 'boolean' },
          kind: text,
          name: text,
          uid: text,
        },
        required: ['apiVersion', 'kind', 'name', 'uid'],
        'x-kubernetes-map-type': 'atomic',
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
    },
    resourceVersion: text,
    selfLink: text,
    uid: text,
  },
};
