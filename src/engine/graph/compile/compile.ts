import { DYN, schemaType, type Type } from '../../../cel/index.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { clone } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import {
  DEFAULT_GROUP,
  type GraphDefinition,
  type GraphObjectDefinition,
  type GraphSchema,
} from '../definition.ts';
import type { Expression } from '../expression/index.ts';
import type { GraphIssue } from '../issue.ts';
import { type RevisionDigest, revisionDigest } from '../revision/digest.ts';
import { OBJECT_META, type SchemaSource } from '../schema-source.ts';
import { openApiOfSimpleSchema } from '../simple-schema/index.ts';
import { checkFields, checkGraphSchema } from './check-schema.ts';
import type { CompiledNode } from './compile-node.ts';
import { type AuthorCondition, type CompiledStatus, compileStatus } from './compile-status.ts';
import {
  type InstanceKind,
  instanceDefinition,
  instanceKindOf,
  instanceSchema,
  listsResources,
} from './crd.ts';
import { orderNodes } from './dag.ts';
import type { GraphNode } from './node.ts';
import { returnedFields, returnedStatus } from './returned-fields.ts';
import { compileScope, declareScope, OF_DEFINITION, OF_GRAPH } from './scope.ts';

export interface CompileOptions {
  readonly schemas: SchemaSource;
  /** A kind that no source knows is taken as it comes. Off by default. */
  readonly allowUnknownKinds?: boolean;
  /** `omit()`, which kro has behind the gate CELOmitFunction. Off by default. */
  readonly omit?: boolean;
  /** Expressions in the keys of maps, behind the gate DynamicTemplateKeys. Off by default. */
  readonly dynamicKeys?: boolean;
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
  /** When nodes begin that use others: those are ready, or they are there. */
  readonly gating: 'Readiness' | 'Scope';
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
  const scope = declareScope(definition.resources, OF_DEFINITION, options, issues);
  // Without one of the nodes, or of the fields, everything that uses it would be reported as well.
  if (!scope || fieldIssues.length > 0) return { issues: issues.slice(0, MAX_ISSUES), warnings };
  const variables: Readonly<Record<string, Type>> = {
    schema: instanceType(schema, spec, instance),
    ...scope.variables,
  };
  const compiled = compileScope(
    scope,
    { ...options, namespaced: instance.namespaced, around: variables },
    issues,
  );
  const nodes = ordered(compiled, 'resources', issues);
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
      gating: 'Readiness',
    },
    warnings,
  };
}

/** As objects of the kind Graph are called, each of which is the instance of its own nodes. */
const GRAPH_OBJECT: InstanceKind = {
  group: DEFAULT_GROUP,
  version: 'v1alpha1',
  kind: 'Graph',
  plural: 'graphs',
  namespaced: true,
};

/** Compiles the nodes of a Graph. There is no API and no `schema`; nodes that use others begin as soon as those are there. */
export function compileGraphObject(definition: GraphObjectDefinition, options: CompileOptions): Compilation {
  const issues: GraphIssue[] = [];
  const { name, nodes: written } = definition;
  if (written.length === 0)
    issues.push({ path: 'nodes', message: 'there is no node', expected: 'at least one' });
  const scope = declareScope(written, OF_GRAPH, options, issues);
  const compiled =
    scope && compileScope(scope, { ...options, namespaced: true, around: scope.variables }, issues);
  const nodes = compiled && ordered(compiled, 'nodes', issues);
  if (issues.length > 0 || !nodes) return { issues: issues.slice(0, MAX_ISSUES), warnings: [] };
  const status: CompiledStatus = { template: { value: {}, fields: [] }, conditions: [], schema: {} };
  return {
    graph: {
      name,
      instance: GRAPH_OBJECT,
      nodes: withReturns(nodes, status),
      status: status.template,
      conditions: [],
      listsResources: true,
      schema: {},
      definition: { apiVersion: '', kind: '', metadata: {} },
      digest: revisionDigest({
        name,
        schema: { kind: GRAPH_OBJECT.kind, apiVersion: GRAPH_OBJECT.version },
        resources: written,
      }),
      gating: 'Scope',
    },
    warnings: [],
  };
}

/** What comes back of the objects on other clusters, by what is asked of them. */
function withReturns(
  nodes: readonly Omit<GraphNode, 'returns' | 'returnsStatus'>[],
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
  const byName = Map.groupBy(
    all.flatMap((expression) => expression.references.map((name) => ({ name, expression }))),
    ({ name }) => name,
  );
  const using = (id: string): Expression[] => (byName.get(id) ?? []).map(({ expression }) => expression);
  // Also of those that are here for most instances: one that comes from another cluster has them there.
  return nodes.map((node) => ({
    ...node,
    returns:
      node.kind === 'Resource' || node.kind === 'Collection' || node.targeted
        ? returnedFields(node, using(node.id))
        : [],
    returnsStatus: node.onHub ? returnedStatus(node, using(node.id)) : [],
  }));
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
  path: string,
  issues: GraphIssue[],
): Omit<GraphNode, 'returns' | 'returnsStatus'>[] | undefined {
  const dependencies = new Map(compiled.map((node) => [node.id, new Set(node.dependencies)]));
  const result = orderNodes(
    compiled.map((node) => node.id),
    dependencies,
  );
  if (result.cycle) {
    const first = compiled.find((node) => node.id === result.cycle[0]);
    issues.push({
      ...(first && { node: first.id }),
      path: first && first.local === first.id ? `${path}[${first.position}]` : path,
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
