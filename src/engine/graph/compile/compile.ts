import { DYN, schemaType, type Type } from '../../../cel/index.ts';
import { asObject, type KubeObject } from '../../../kube/object.ts';
import { clone, isObject, stringAt } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import type { GraphDefinition, GraphSchema } from '../definition.ts';
import { type Expression, graphEnvironment, graphLibraries, templateLibraries } from '../expression/index.ts';
import type { GraphIssue } from '../issue.ts';
import { type RevisionDigest, revisionDigest } from '../revision/digest.ts';
import { OBJECT_META, type SchemaSource, schemaSourceOf, schemaSources } from '../schema-source.ts';
import { openApiOfSimpleSchema } from '../simple-schema/index.ts';
import { checkFields, checkGraphSchema } from './check-schema.ts';
import { type CompiledNode, compileNode, MAX_DIMENSIONS } from './compile-node.ts';
import { type AuthorCondition, type CompiledStatus, compileStatus } from './compile-status.ts';
import {
  type InstanceKind,
  instanceDefinition,
  instanceKindOf,
  instanceSchema,
  listsResources,
} from './crd.ts';
import { orderNodes } from './dag.ts';
import { type DeclaredNode, declareNode } from './declare-node.ts';
import type { GraphNode } from './node.ts';
import { returnedFields } from './returned-fields.ts';

export interface CompileOptions {
  readonly schemas: SchemaSource;
  /** A kind that no source knows is taken as it comes. Off by default. */
  readonly allowUnknownKinds?: boolean;
  /** `omit()`, which kro has behind the gate CELOmitFunction. Off by default. */
  readonly omit?: boolean;
  /** 10 by default, as in kro. */
  readonly maxDimensions?: number;
}

/** A graph that was found to be right. Immutable, so that all its instances share it. */
export interface CompiledGraph {
  readonly name: string;
  readonly instance: InstanceKind;
  /** In the order in which they are made. */
  readonly nodes: readonly GraphNode[];
  readonly status: CompiledStatus['template'];
  readonly conditions: readonly AuthorCondition[];
  /** The status of instances lists their objects. */
  readonly listsResources: boolean;
  /** The OpenAPI schema of instances. */
  readonly schema: OpenApiSchema;
  /** The CustomResourceDefinition of instances, without labels of an owner. */
  readonly definition: KubeObject;
  /** Tells revisions apart. */
  readonly digest: RevisionDigest;
}

export type Compilation =
  | { readonly graph: CompiledGraph; readonly issues?: undefined; readonly warnings: readonly GraphIssue[] }
  | {
      readonly graph?: undefined;
      readonly issues: readonly GraphIssue[];
      readonly warnings: readonly GraphIssue[];
    };

/** Issues that are told of one definition. */
const MAX_ISSUES = 100;

/**
 * Compiles a definition: its API, and all nodes with their expressions, types and order. Everything that can be known to be wrong
 * before there is an instance is an issue.
 */
export function compileGraph(definition: GraphDefinition, options: CompileOptions): Compilation {
  const issues: GraphIssue[] = [];
  const warnings: GraphIssue[] = [];
  const { schema } = definition;
  checkGraphSchema(schema, issues);
  const { schema: spec, issues: fieldIssues } = openApiOfSimpleSchema(schema.spec ?? {}, schema.types ?? {});
  issues.push(...fieldIssues);
  if (fieldIssues.length === 0) checkFields(spec, issues);
  const instance = instanceKindOf(schema);
  const declared = declareNodes(definition, options, issues);
  const variables: Record<string, Type> = { schema: instanceType(schema, spec, instance) };
  for (const node of declared) variables[node.id] = node.variable;
  // Without one of the nodes, or of the fields, everything that uses it would be reported as well.
  const complete = declared.length === definition.resources.length && fieldIssues.length === 0;
  if (!complete) return { issues: issues.slice(0, MAX_ISSUES), warnings };
  const environment = graphEnvironment(variables, graphLibraries);
  const context = {
    variables,
    environment,
    templateEnvironment: graphEnvironment(variables, templateLibraries),
    instanceNamespaced: instance.namespaced,
    omit: options.omit === true,
    maxDimensions: options.maxDimensions ?? MAX_DIMENSIONS,
    issues,
  };
  const compiled = declared.map((node) => compileNode(node, context));
  const nodes = ordered(compiled, declared, issues);
  const status = compileStatus(schema.status ?? {}, variables, issues);
  if (schema.status?.['state'] !== undefined)
    warnings.push({
      path: 'schema.status.state',
      message: 'it is ignored: the state is what the engine says',
    });
  if (issues.length > 0 || !nodes) return { issues: issues.slice(0, MAX_ISSUES), warnings };
  const listed = listsResources(schema);
  const openApi = instanceSchema(spec, status.schema, listed);
  return {
    graph: {
      name: definition.name,
      instance,
      nodes: withReturns(nodes, status),
      status: status.template,
      conditions: status.conditions,
      listsResources: listed,
      schema: openApi,
      definition: instanceDefinition(schema, openApi),
      digest: revisionDigest(definition),
    },
    warnings,
  };
}

function declareNodes(
  definition: GraphDefinition,
  options: CompileOptions,
  issues: GraphIssue[],
): DeclaredNode[] {
  const seen = new Map<string, number>();
  const { source, makers } = ownKinds(definition);
  return definition.resources.flatMap((resource, position) => {
    const other = seen.get(resource.id);
    if (other !== undefined) {
      issues.push({
        node: resource.id,
        path: `resources[${position}].id`,
        message: `resources[${other}] is called "${resource.id}", too`,
        expected: 'another id',
      });
      return [];
    }
    seen.set(resource.id, position);
    const node = declareNode(
      resource,
      position,
      {
        schemas: schemaSources(source, options.schemas),
        allowUnknownKinds: options.allowUnknownKinds === true,
        makers,
      },
      issues,
    );
    return node ? [node] : [];
  });
}

/** The kinds that nodes of the graph itself define: an operator and what it works on may come as one. */
function ownKinds({ resources }: GraphDefinition): {
  source: SchemaSource;
  makers: ReadonlyMap<string, string>;
} {
  const makers = new Map<string, string>();
  const definitions = resources.flatMap(({ id, template }) => {
    const isKind =
      template?.['apiVersion'] === 'apiextensions.k8s.io/v1' &&
      template['kind'] === 'CustomResourceDefinition' &&
      isObject(template['metadata']);
    if (!isKind) return [];
    makers.set(`${stringAt(template, 'spec', 'group')}/${stringAt(template, 'spec', 'names', 'kind')}`, id);
    return [asObject(template)];
  });
  return { source: schemaSourceOf(definitions), makers };
}

/** What comes back of the objects on other clusters, by what is asked of them. */
function withReturns(
  nodes: readonly Omit<GraphNode, 'returns'>[],
  { template, conditions }: CompiledStatus,
): GraphNode[] {
  const expressionsOf = ({ fields }: GraphNode['template']): Expression[] =>
    fields.flatMap(({ parts }) => parts.filter((part) => typeof part !== 'string'));
  const all = [
    ...nodes.flatMap((node) => [
      ...expressionsOf(node.template),
      ...node.forEach.map(({ expression }) => expression),
      ...node.includeWhen,
      ...node.propagateWhen,
    ]),
    ...expressionsOf(template),
    ...conditions.map(({ expression }) => expression),
  ];
  return nodes.map((node) => ({ ...node, returns: node.targeted ? returnedFields(node, all) : [] }));
}

/** What expressions see of an instance: all but its status, and no namespace where it has none. */
function instanceType(schema: GraphSchema, spec: OpenApiSchema, instance: InstanceKind): Type {
  const metadata = clone(OBJECT_META);
  if (!instance.namespaced) delete metadata.properties?.['namespace'];
  const type = schemaType(
    {
      schema: {
        type: 'object',
        properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata, spec },
      },
      resolve: () => undefined,
    },
    { name: `__type_schema_${schema.kind}`, unknownFields: 'dyn', plainNames: true },
  );
  return type ?? DYN;
}

function ordered(
  compiled: readonly CompiledNode[],
  declared: readonly DeclaredNode[],
  issues: GraphIssue[],
): Omit<GraphNode, 'returns'>[] | undefined {
  const dependencies = new Map(compiled.map((node) => [node.id, new Set(node.dependencies)]));
  const result = orderNodes(
    declared.map((node) => node.id),
    dependencies,
  );
  if (result.cycle) {
    const first = declared.find((node) => node.id === result.cycle[0]);
    issues.push({
      ...(first && { node: first.id }),
      path: first?.path ?? 'resources',
      message: `nodes depend on each other in a cycle: ${result.cycle.join(' -> ')}`,
      expected: 'an order in which each node comes after those it uses',
    });
    return undefined;
  }
  const byId = new Map(compiled.map((node) => [node.id, node]));
  return result.order.flatMap((id) => {
    const node = byId.get(id);
    return node ? [{ ...node, wave: result.waves.get(id) ?? 1 }] : [];
  });
}
