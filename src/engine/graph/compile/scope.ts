import type { Type } from '../../../cel/index.ts';
import { asObject } from '../../../kube/object.ts';
import { isObject, stringAt } from '../../../schema/json.ts';
import type { GraphResource } from '../definition.ts';
import { graphEnvironment, graphLibraries, templateLibraries } from '../expression/index.ts';
import type { GraphIssue } from '../issue.ts';
import { type SchemaSource, schemaSourceOf, schemaSources } from '../schema-source.ts';
import { type CompiledNode, compileNode, MAX_DIMENSIONS } from './compile-node.ts';
import { type DeclaredNode, declareNode } from './declare-node.ts';
import { nameProblem } from './names.ts';
import type { Frame } from './uses.ts';

/** Where nodes stand. */
interface Standing {
  /** `resources`, `nodes[1].graph.nodes`. */
  readonly path: string;
  /** Before their ids: `backend.`. */
  readonly prefix: string;
  readonly ofGraph: boolean;
  readonly depth: number;
  /** Kinds that nodes around make, and which make them. */
  readonly source?: SchemaSource;
  readonly makers?: ReadonlyMap<string, string>;
}

export const OF_DEFINITION: Standing = { path: 'resources', prefix: '', ofGraph: false, depth: 0 };
export const OF_GRAPH: Standing = { path: 'nodes', prefix: '', ofGraph: true, depth: 0 };

/** Graphs within graphs. */
const MAX_NESTING = 16;

/** Nodes that see each other, with the graphs among them. */
export interface Scope {
  readonly nodes: readonly DeclaredNode[];
  readonly inner: ReadonlyMap<string, Scope>;
  readonly variables: Readonly<Record<string, Type>>;
  readonly frame: Frame;
  /** Names that nothing is to be seen of. */
  readonly silent: ReadonlySet<string>;
}

export interface DeclareScopeOptions {
  readonly schemas: SchemaSource;
  readonly allowUnknownKinds?: boolean;
}

/** Declares the nodes of a graph; `undefined` where one is wrong, since everything that uses it would be reported as well. */
export function declareScope(
  resources: readonly GraphResource[],
  standing: Standing,
  options: DeclareScopeOptions,
  issues: GraphIssue[],
): Scope | undefined {
  const { path, prefix, ofGraph, depth } = standing;
  if (depth > MAX_NESTING) {
    issues.push({ path, message: `graphs nest more than ${MAX_NESTING} levels deep` });
    return undefined;
  }
  const own = ownKinds(resources, prefix);
  const source = standing.source ? schemaSources(own.source, standing.source) : own.source;
  const makers = new Map([...(standing.makers ?? []), ...own.makers]);
  const declaring = {
    schemas: schemaSources(source, options.schemas),
    allowUnknownKinds: options.allowUnknownKinds === true,
    ...{ makers, path, prefix, ofGraph },
  };
  const seen = new Map<string, number>();
  const nodes: DeclaredNode[] = [];
  const inner = new Map<string, Scope>();
  const variables: Record<string, Type> = {};
  const frame: Record<string, string | Frame> = {};
  for (const [position, resource] of resources.entries()) {
    const { id, graph } = resource;
    const at = `${path}[${position}]`;
    const other = seen.get(id);
    if (other !== undefined) {
      const message = `${path}[${other}] is called "${id}", too`;
      issues.push({ node: id, path: `${at}.id`, message, expected: 'another id' });
      continue;
    }
    seen.set(id, position);
    if (!graph) {
      const node = declareNode(resource, position, declaring, issues);
      if (!node) continue;
      nodes.push(node);
      variables[id] = node.variable;
      frame[id] = node.key;
      continue;
    }
    const naming = nameProblem(id, ofGraph);
    if (naming) issues.push({ node: id, path: `${at}.id`, ...naming });
    const below = { path: `${at}.graph.nodes`, prefix: `${prefix}${id}.`, depth: depth + 1 };
    const within = declareScope(graph.nodes, { ...below, ofGraph, source, makers }, options, issues);
    if (!within || naming) continue;
    inner.set(id, within);
    variables[id] = scopeType(id, within);
    frame[id] = within.frame;
  }
  if (nodes.length + inner.size < resources.length) return undefined;
  const silent = nodes.filter(({ resource }) => resource.patches !== undefined).map(({ id }) => id);
  return { nodes, inner, variables, frame, silent: new Set(silent) };
}

/** What expressions around a graph see of it: its nodes. */
function scopeType(id: string, { variables, silent }: Scope): Type {
  const types = new Map(Object.entries(variables).filter(([name]) => !silent.has(name)));
  return {
    kind: 'object',
    name: `__graph_${id}`,
    fieldNames: () => [...types.keys()],
    field(name) {
      const type = types.get(name);
      return type && { type };
    },
  };
}

export interface CompileScopeOptions {
  readonly omit?: boolean;
  readonly dynamicKeys?: boolean;
  readonly maxDimensions?: number;
  /** Whether what they are brought about for is in a namespace. */
  readonly namespaced: boolean;
  /** All that expressions of the scope may use. */
  readonly around: Readonly<Record<string, Type>>;
  /** What names of the scopes around stand for. */
  readonly frame?: Frame;
  readonly silent?: ReadonlySet<string>;
}

/** Compiles the nodes of a scope and of those within it, which see what is around them where they have nothing of that name. */
export function compileScope(
  scope: Scope,
  options: CompileScopeOptions,
  issues: GraphIssue[],
): CompiledNode[] {
  const { around, namespaced } = options;
  const frame = { ...options.frame, ...scope.frame };
  const silentAround = [...(options.silent ?? [])].filter((name) => !Object.hasOwn(scope.variables, name));
  const silent = new Set([...silentAround, ...scope.silent]);
  const nested = options.frame !== undefined || scope.inner.size > 0;
  const context = {
    ...{ variables: around, frame, nested, silent, issues },
    environment: graphEnvironment(around, graphLibraries),
    templateEnvironment: graphEnvironment(around, templateLibraries),
    instanceNamespaced: namespaced,
    omit: options.omit === true,
    dynamicKeys: options.dynamicKeys === true,
    maxDimensions: options.maxDimensions ?? MAX_DIMENSIONS,
  };
  const nodes = new Map(scope.nodes.map((node) => [node.id, node]));
  // As they are written, which is what the order follows where nothing else says.
  return Object.keys(scope.frame).flatMap((id) => {
    const [node, inner] = [nodes.get(id), scope.inner.get(id)];
    if (node) return [compileNode(node, context)];
    if (!inner) return [];
    const within = { ...options, around: { ...around, ...inner.variables }, frame, silent };
    return compileScope(inner, within, issues);
  });
}

/** The kinds that nodes of the graph itself define: an operator and what it works on may come as one. */
function ownKinds(
  resources: readonly GraphResource[],
  prefix: string,
): { source: SchemaSource; makers: ReadonlyMap<string, string> } {
  const makers = new Map<string, string>();
  const definitions = resources.flatMap(({ id, template, patches }) => {
    const isKind =
      patches === undefined &&
      template?.['apiVersion'] === 'apiextensions.k8s.io/v1' &&
      template['kind'] === 'CustomResourceDefinition' &&
      isObject(template['metadata']);
    if (!isKind) return [];
    const kind = `${stringAt(template, 'spec', 'group')}/${stringAt(template, 'spec', 'names', 'kind')}`;
    makers.set(kind, `${prefix}${id}`);
    return [asObject(template)];
  });
  return { source: schemaSourceOf(definitions), makers };
}
