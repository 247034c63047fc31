import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { compareDefinitions } from './compatibility.ts';
import { supersetDefinition } from './superset.ts';

function crd(spec: OpenApiSchema): KubeObject {
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', ...spec } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'shops.kro.run' },
    spec: {
      scope: 'Namespaced',
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  } as unknown as KubeObject;
}

function both(a: OpenApiSchema, b: OpenApiSchema): OpenApiSchema {
  const { definition } = supersetDefinition(crd(a), [crd(b)]);
  const { versions } = definition!['spec'] as {
    versions: { schema: { openAPIV3Schema: OpenApiSchema } }[];
  };
  return versions[0]!.schema.openAPIV3Schema.properties!['spec']!;
}

describe('a definition for several revisions', () => {
  it('has the fields of all of them, and requires what all require', () => {
    const a: OpenApiSchema = {
      properties: { name: { type: 'string' }, size: { type: 'integer' } },
      required: ['name', 'size'],
    };
    const b: OpenApiSchema = {
      properties: { name: { type: 'string' }, colour: { type: 'string', default: 'red' } },
      required: ['name'],
    };
    expect(both(a, b)).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string' },
        size: { type: 'integer' },
        colour: { type: 'string', default: 'red' },
      },
      required: ['name'],
    });
  });

  it('has the widest bounds, values and types, and rules that all have', () => {
    const rule = { rule: 'self > 0' };
    const a: OpenApiSchema = {
      properties: {
        count: { type: 'integer', minimum: 2, maximum: 5, 'x-kubernetes-validations': [rule, { rule: 'a' }] },
        tier: { type: 'string', enum: ['small', 'large'], pattern: '^s' },
        tags: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
      },
    };
    const b: OpenApiSchema = {
      properties: {
        count: { type: 'number', minimum: 1, 'x-kubernetes-validations': [rule] },
        tier: { type: 'string', enum: ['small', 'huge'] },
        tags: { type: 'array', items: { type: 'number' }, maxItems: 8 },
      },
    };
    expect(both(a, b).properties).toEqual({
      count: { type: 'number', minimum: 1, 'x-kubernetes-validations': [rule] },
      tier: { type: 'string', enum: ['small', 'large', 'huge'] },
      tags: { type: 'array', items: { type: 'number' }, maxItems: 8 },
    });
  });

  it('breaks no instance of any of them', () => {
    const a = crd({ properties: { name: { type: 'string', maxLength: 5 } }, required: ['name'] });
    const b = crd({ properties: { size: { type: 'integer', minimum: 3 } }, required: ['size'] });
    const { definition } = supersetDefinition(a, [b]);
    for (const one of [a, b]) expect(compareDefinitions(one, definition!).breaking).toEqual([]);
  });

  it('says where there is none', () => {
    const a = crd({ properties: { deep: { type: 'object', properties: { size: { type: 'string' } } } } });
    const b = crd({ properties: { deep: { type: 'object', properties: { size: { type: 'integer' } } } } });
    expect(supersetDefinition(a, [b])).toEqual({
      conflicts: ['spec.deep.size is string in one and integer in another'],
    });
  });

  it('is the one that it is of where there are no others', () => {
    const a = crd({ properties: { name: { type: 'string' } } });
    expect(supersetDefinition(a, [])).toEqual({ definition: a });
  });
});
