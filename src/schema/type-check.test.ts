import { describe, expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { typeCheck } from './type-check.ts';

const definitions: Record<string, OpenApiSchema> = {
  'io.k8s.api.apps.v1.Deployment': {
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'apps', version: 'v1', kind: 'Deployment' }],
    properties: {
      kind: { type: 'string' },
      metadata: {
        type: 'object',
        properties: { creationTimestamp: { $ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.Time' } },
      },
      spec: { $ref: '#/definitions/io.k8s.api.apps.v1.DeploymentSpec' },
    },
  },
  'io.k8s.api.apps.v1.DeploymentSpec': {
    type: 'object',
    properties: {
      replicas: { type: 'integer', format: 'int32' },
      paused: { type: 'boolean' },
      maxSurge: { 'x-kubernetes-int-or-string': true },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      limits: {
        type: 'object',
        additionalProperties: { $ref: 'io.k8s.apimachinery.pkg.api.resource.Quantity' },
      },
      containers: { type: 'array', items: { $ref: '#/definitions/io.k8s.api.core.v1.Container' } },
      data: { type: 'string', format: 'byte' },
      ratio: { type: 'number', format: 'double' },
      free: { 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
  'io.k8s.api.core.v1.Container': {
    type: 'object',
    properties: { name: { type: 'string' }, imagePullPolicy: { type: 'string' } },
  },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': { type: 'string', format: 'date-time' },
};
const type = {
  schema: definitions['io.k8s.api.apps.v1.Deployment'] as OpenApiSchema,
  resolve: (name: string): OpenApiSchema | undefined => definitions[name],
};
const messages = (spec: JsonValue): string[] => typeCheck({ spec }, type).map((issue) => issue.message);

describe('typeCheck', () => {
  it('[V38] words a wrong type as the decoder does', () => {
    expect(typeCheck({ spec: { replicas: 'x' } }, type)).toEqual([
      {
        path: 'spec.replicas',
        expected: 'int32',
        found: 'string',
        struct: 'DeploymentSpec',
        message:
          'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
      },
    ]);
  });

  it.each<[JsonValue, string]>([
    [
      { containers: [{ imagePullPolicy: 1 }] },
      'json: cannot unmarshal number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy',
    ],
    [
      { replicas: 1.5 },
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      { replicas: 3e9 },
      'json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      { paused: 'true' },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool',
    ],
    [
      { labels: { a: 1 } },
      'json: cannot unmarshal number into Go struct field DeploymentSpec.spec.labels of type string',
    ],
    [
      { labels: ['a'] },
      'json: cannot unmarshal array into Go struct field DeploymentSpec.spec.labels of type map[string]string',
    ],
    [
      { containers: {} },
      'json: cannot unmarshal object into Go struct field DeploymentSpec.spec.containers of type []v1.Container',
    ],
    [
      { containers: [{}, { name: true }] },
      'json: cannot unmarshal bool into Go struct field Container.spec.containers.name of type string',
    ],
    [
      { maxSurge: true },
      'json: cannot unmarshal bool into Go struct field DeploymentSpec.spec.maxSurge of type int32',
    ],
    [
      { ratio: 'x' },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.ratio of type float64',
    ],
    [{ data: 'a*b=' }, 'illegal base64 data at input byte 1'],
    [[], 'json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec'],
  ])('[V38] %j', (spec, message) => {
    expect(messages(spec)).toEqual([message]);
  });

  it('[V38] checks quantities and times, and tells the path with indices', () => {
    expect(messages({ limits: { cpu: 'much' } })[0]).toMatch(/^quantities must match/);
    expect(typeCheck({ metadata: { creationTimestamp: 'now' } }, type)[0]?.message).toMatch(
      /^parsing time "now"/,
    );
    expect(typeCheck({ spec: { containers: [{}, { name: 1 }] } }, type)[0]?.path).toBe(
      'spec.containers[1].name',
    );
  });

  it('[V38] has nothing against good objects, nulls and free-form parts', () => {
    const spec = {
      replicas: 3,
      paused: null,
      maxSurge: '25%',
      labels: { a: 'b' },
      limits: { cpu: 1, memory: '1Gi' },
      containers: [{ name: 'a' }],
      data: 'aGk=',
      free: { x: [1] },
    };
    expect(typeCheck({ kind: 'Deployment', metadata: { creationTimestamp: null }, spec }, type)).toEqual([]);
  });
});
