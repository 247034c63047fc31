import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import { type CompiledGraph, type CompileOptions, compileGraph } from './compile/index.ts';
import type { GraphDefinition } from './definition.ts';
import { issueText } from './issue.ts';
import { resourceSchema, type SchemaSource } from './schema-source.ts';

const text: OpenApiSchema = { type: 'string' };
const texts: OpenApiSchema = { type: 'object', additionalProperties: text };
const container: OpenApiSchema = {
  type: 'object',
  properties: {
    name: text,
    image: text,
    env: { type: 'array', items: { type: 'object', properties: { name: text, value: text } } },
  },
};

const KINDS: Readonly<Record<string, { properties: Record<string, OpenApiSchema>; cluster?: true }>> = {
  '/v1/ConfigMap': { properties: { data: texts, immutable: { type: 'boolean' } } },
  '/v1/Secret': {
    properties: {
      data: { type: 'object', additionalProperties: { type: 'string', format: 'byte' } },
      stringData: texts,
    },
  },
  '/v1/Namespace': { properties: {}, cluster: true },
  '/v1/Service': {
    properties: {
      spec: {
        type: 'object',
        properties: {
          selector: texts,
          clusterIP: text,
          ports: {
            type: 'array',
            items: {
              type: 'object',
              properties: { port: { type: 'integer' }, targetPort: { 'x-kubernetes-int-or-string': true } },
            },
          },
        },
      },
    },
  },
  'apps/v1/Deployment': {
    properties: {
      spec: {
        type: 'object',
        properties: {
          replicas: { type: 'integer' },
          paused: { type: 'boolean' },
          template: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { containers: { type: 'array', items: container } } },
            },
          },
        },
      },
      status: {
        type: 'object',
        properties: {
          availableReplicas: { type: 'integer' },
          conditions: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                type: text,
                status: text,
                lastTransitionTime: { type: 'string', format: 'date-time' },
              },
            },
          },
        },
      },
    },
  },
  'example.com/v1/Free': {
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
  'apiextensions.k8s.io/v1/CustomResourceDefinition': {
    properties: { spec: { type: 'object', properties: { group: text } } },
    cluster: true,
  },
};

export const someKinds: SchemaSource = {
  find: ({ group, version, kind }) => {
    const found = KINDS[`${group}/${version}/${kind}`];
    return (
      found && {
        type: resourceSchema({
          schema: { type: 'object', properties: found.properties },
          resolve: () => undefined,
        }),
        namespaced: found.cluster !== true,
      }
    );
  },
};

/** A definition written as the `spec` of a ResourceGraphDefinition. */
export function definitionIn(yaml: string, name = 'test'): GraphDefinition {
  const parsed = parseYamlBody(yaml);
  if (!parsed.ok) throw new Error(parsed.message);
  const { schema, resources } = parsed.value as unknown as Partial<GraphDefinition>;
  return { name, schema: { ...{ kind: 'Test', apiVersion: 'v1' }, ...schema }, resources: resources ?? [] };
}

export function compiled(yaml: string, options: Partial<CompileOptions> = {}): CompiledGraph {
  const { graph, issues } = compileGraph(definitionIn(yaml), { schemas: someKinds, ...options });
  if (!graph) throw new Error(issues.map(issueText).join('\n'));
  return graph;
}

/** What is wrong with a definition, a line each. */
export function wrong(yaml: string, options: Partial<CompileOptions> = {}): string {
  const { issues = [] } = compileGraph(definitionIn(yaml), { schemas: someKinds, ...options });
  return issues.map(issueText).join('\n');
}
