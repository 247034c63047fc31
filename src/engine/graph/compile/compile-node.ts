// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { DYN, type Environment, type Type } from '../../../cel/index.ts';
import { isObject, type JsonObject } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { labelSelectorSchema, record, text } from '../../../schema/schema-of.ts';
import {
  article,
  type Expression,
  type ExpressionScope,
  expressionScope,
  graphEnvironment,
  graphLibraries,
  isWild,
  type Names,
  templateLibraries,
  unwrapped,
} from '../expression/index.ts';
import type { GraphIssue, Place } from '../issue.ts';
import {
  compileCondition,
  compileStandalone,
  compileTemplate,
  type FieldPath,
  type Template,
} from '../template/index.ts';
import type { DeclaredNode } from './declare-node.ts';
import { CONTRIBUTE, isOwnKey, nameProblem, TARGET_CLUSTER } from './names.ts';
import { type ForEachDimension, type GraphNode, isExternal, isList } from './node.ts';
import { type Frame, type Use, usesOf } from './uses.ts';

export const MAX_DIMENSIONS = 10;

export interface NodeContext {
  /** The types of `schema` and of every node, by the names of the scope. */
  readonly variables: Readonly<Record<string, Type>>;
  /** Of these variables alone, shared by all nodes. */
  readonly environment: Environment;
  readonly templateEnvironment: Environment;
  /** What the names stand for. */
  readonly frame: Frame;
  /** Scopes are nested. */
  readonly nested: boolean;
  /** Nodes of which others see nothing. */
  readonly silent: ReadonlySet<string>;
  readonly instanceNamespaced: boolean;
  readonly omit: boolean;
  readonly dynamicKeys: boolean;
  readonly maxDimensions: number;
  readonly issues: GraphIssue[];
}

/** A node whose expressions are compiled; its place in the order is not known yet. */
export type CompiledNode = Omit<GraphNode, 'wave' | 'returns' | 'returnsStatus'>;

export function compileNode(node: DeclaredNode, context: NodeContext): CompiledNode {
  const { id, path, resource, issues } = { ...node, issues: context.issues };
  const { frame } = context;
  const others = visibleTo(context, [id]);
  const place = (at: string): Place => ({ node: id, path: `${path}${at}` });
  const dimensions = compileForEach(node, context, others);
  const iterated = Object.fromEntries(dimensions.map(({ variable, type }) => [variable, type]));
  const plain = context.environment;
  const template =
    node.kind === 'Value'
      ? compileValue(node, context, iterated)
      : isExternal(node.kind)
        ? compileExternal(node, expressionScope('externalRef', plain, others), context)
        : compileResource(node, context, iterated);
  const include = expressionScope('includeWhen', plain, others);
  const includeWhen = (resource.includeWhen ?? []).flatMap((item, index) =>
    given(compileCondition(item, include, place(`.includeWhen[${index}]`), issues)),
  );
  const ready = readyScope(node, context);
  const readyWhen = (resource.readyWhen ?? []).flatMap((item, index) =>
    given(compileCondition(item, ready, place(`.readyWhen[${index}]`), issues)),
  );
  // An object that is there says of itself whether it may be changed now.
  const propagate = expressionScope(
    'propagateWhen',
    plain,
    isList(node.kind) ? others : visibleTo(context, [], [id]),
  );
  const propagateWhen = (resource.propagateWhen ?? []).flatMap((item, index) =>
    given(compileCondition(item, propagate, place(`.propagateWhen[${index}]`), issues)),
  );
  const forEach = dimensions.flatMap(({ variable, expression }): ForEachDimension[] =>
    expression ? [{ variable, expression }] : [],
  );
  const expressions = [
    ...template.fields.flatMap((field) => field.parts.filter((part) => typeof part !== 'string')),
    ...forEach.map((dimension) => dimension.expression),
    ...includeWhen,
    ...propagateWhen,
  ];
  const hidden = new Set([id, ...forEach.map((dimension) => dimension.variable)]);
  const { hard, partial, soft } = dependenciesOf(template, expressions, frame, hidden);
  const defined = node.definedBy === undefined ? [] : [node.definedBy];
  return {
    id: node.key,
    local: id,
    ...(context.nested && { frame }),
    kind: node.kind,
    position: node.position,
    of: node.of,
    apiVersion: node.apiVersion,
    namespaced: node.schema.namespaced,
    dependencies: [...new Set([...hard, ...partial, ...defined])].sort(),
    partial: partial.filter((name) => !defined.includes(name)),
    branching: expressions.filter(({ program }) =>
      usesOf(program.ast.expr, frame, hidden).some((use) => use.optional && partial.includes(use.node)),
    ),
    soft,
    template,
    forEach,
    includeWhen,
    readyWhen,
    propagateWhen,
    contributes: resource.patches !== undefined || annotationsOf(resource.template)[CONTRIBUTE] === 'true',
    patches: resource.patches,
    dynamic: node.dynamic,
    targeted: resource.target !== undefined,
    bySecret: resource.target !== undefined && 'kubeconfigSecretName' in resource.target.cluster,
    reads: resource.target !== undefined && resource.reads === true,
    onHub: resource.hub !== undefined,
  };
}

/** The names of a scope that something may use, but for some, and with `more`. Each place has a view of them, not a copy. */
function visibleTo(
  { variables, silent }: Pick<NodeContext, 'variables' | 'silent'>,
  hidden: readonly string[],
  more: readonly string[] = [],
): Names {
  const has = (name: string): boolean =>
    more.includes(name) || (Object.hasOwn(variables, name) && !hidden.includes(name) && !silent.has(name));
  return { has, all: () => new Set([...Object.keys(variables).filter(has), ...more]) };
}

/** The nodes that come before a node, those of them that only a condition may ask for, and those that it does not wait for. */
function dependenciesOf(
  { fields }: Template<JsonObject>,
  expressions: readonly Expression[],
  frame: Frame,
  hidden: ReadonlySet<string>,
): {
  readonly hard: readonly string[];
  readonly partial: readonly string[];
  readonly soft: readonly string[];
} {
  const deferred = new Set(
    fields.flatMap((field) => (field.deferred ? field.parts.filter((part) => typeof part !== 'string') : [])),
  );
  const uses = (of: readonly Expression[]): Use[] =>
    of.flatMap(({ program }) => usesOf(program.ast.expr, frame, hidden));
  const all = uses(expressions.filter((expression) => !deferred.has(expression)));
  const hard = new Set(all.filter(({ optional }) => !optional).map(({ node }) => node));
  const partial = new Set(all.map(({ node }) => node).filter((node) => !hard.has(node)));
  const soft = new Set(uses([...deferred]).map(({ node }) => node));
  return {
    hard: [...hard],
    partial: [...partial].sort(),
    soft: [...soft].filter((node) => !hard.has(node) && !partial.has(node)).sort(),
  };
}

function annotationsOf(template: JsonObject | undefined): JsonObject {
  const metadata = template?.['metadata'];
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  return isObject(annotations) ? annotations : {};
}

/** What expressions of a template may use: with variables of forEach these as well. */
function templateScope(
  what: string,
  context: NodeContext,
  iterated: Readonly<Record<string, Type>>,
  id: string,
): ExpressionScope {
  const names = Object.keys(iterated);
  const environment =
    names.length === 0
      ? context.templateEnvironment
      : graphEnvironment({ ...iterated, ...context.variables }, templateLibraries);
  return expressionScope(what, environment, visibleTo(context, [id], names));
}

function compileValue(
  node: DeclaredNode,
  context: NodeContext,
  iterated: Readonly<Record<string, Type>>,
): Template<JsonObject> {
  const { issues } = context;
  const scope = templateScope('def', context, iterated, node.id);
  const { fields } = compileTemplate(node.resource.def ?? null, undefined, {
    scope,
    place: { node: node.id, path: `${node.path}.def` },
    issues,
    resolve: () => undefined,
    omit: 'refused',
    defers: true,
    keys: context.dynamicKeys,
  });
  const value = { value: node.resource.def ?? null };
  return { value, fields: fields.map((field) => ({ ...field, path: ['value', ...field.path] })) };
}

function given<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

/** A node that is one object is ready by itself; of a list each element is. */
function readyScope(node: DeclaredNode, context: NodeContext): ExpressionScope {
  if (isList(node.kind)) {
    const environment = graphEnvironment({ ...context.variables, each: node.type }, graphLibraries);
    return expressionScope('readyWhen of a collection', environment, ['each']);
  }
  return expressionScope('readyWhen', context.environment, [node.id]);
}

interface Dimension {
  readonly variable: string;
  readonly type: Type;
  readonly expression: Expression | undefined;
}

function compileForEach(node: DeclaredNode, context: NodeContext, others: Names): Dimension[] {
  const { issues, maxDimensions } = context;
  const written = node.resource.forEach ?? [];
  const path = `${node.path}.forEach`;
  if (written.length > maxDimensions)
    issues.push({
      node: node.id,
      path,
      message: `there are ${written.length} dimensions`,
      expected: `at most ${maxDimensions}`,
    });
  const names = new Map<string, Type>();
  const entries = written.slice(0, maxDimensions).map((entry, index) => {
    const place = { node: node.id, path: `${path}[${index}]` };
    const [variable, ...more] = isObject(entry) ? Object.keys(entry) : [];
    if (variable === undefined || more.length > 0) {
      issues.push({
        ...place,
        message: 'it names no variable or several',
        expected: 'one entry, name: ${list}',
      });
      return undefined;
    }
    const naming = nameProblem(variable);
    if (naming) issues.push({ ...place, ...naming });
    else if (variable === node.id || others.has(variable))
      issues.push({ ...place, message: `"${variable}" is a node already`, expected: 'another name' });
    else if (names.has(variable))
      issues.push({
        ...place,
        message: `"${variable}" is another dimension already`,
        expected: 'another name',
      });
    else names.set(variable, DYN);
    return { variable, text: entry[variable], place };
  });
  // The other dimensions are known, so that using one is told as what it is.
  const environment =
    names.size < 2
      ? context.environment
      : graphEnvironment({ ...Object.fromEntries(names), ...context.variables }, graphLibraries);
  const scope = expressionScope('forEach', environment, others);
  return entries.flatMap((entry): Dimension[] => {
    if (!entry) return [];
    const { variable, text: source, place } = entry;
    const expression = compileStandalone(source, scope, place, issues);
    const type = expression && unwrapped(expression.type);
    if (!expression || !type || isWild(type)) return [{ variable, type: DYN, expression }];
    if (type.kind === 'list') return [{ variable, type: type.element, expression }];
    issues.push({
      ...place,
      expression: expression.source,
      message: `the expression gives ${article(type)}`,
      expected: 'a list',
    });
    return [{ variable, type: DYN, expression: undefined }];
  });
}

const EXTERNAL_METADATA: OpenApiSchema = record({
  apiVersion: text(),
  kind: text(),
  metadata: record({ name: text(), namespace: text(), selector: labelSelectorSchema }),
});

function compileExternal(
  node: DeclaredNode,
  scope: ExpressionScope,
  { issues, instanceNamespaced }: NodeContext,
): Template<JsonObject> {
  const path = `${node.path}.${node.resource.word ?? 'externalRef'}`;
  const value = node.resource.externalRef as unknown as JsonObject;
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  if (!node.schema.namespaced && metadata['namespace'] !== undefined) issues.push(clusterScoped(node, path));
  // A selector without a namespace is for all of them.
  if (metadata['selector'] === undefined && lacksNamespace(node, metadata, instanceNamespaced))
    issues.push(namespaceLacking(node, path));
  return compileTemplate(value, EXTERNAL_METADATA, {
    scope,
    place: { node: node.id, path },
    issues,
    resolve: () => undefined,
    omit: 'refused',
  });
}

function clusterScoped(node: DeclaredNode, path: string): GraphIssue {
  return {
    node: node.id,
    path: `${path}.metadata.namespace`,
    message: `${node.of.kind} is cluster-scoped`,
    expected: 'no namespace',
  };
}

function lacksNamespace(node: DeclaredNode, metadata: JsonObject, instanceNamespaced: boolean): boolean {
  const { namespace } = metadata;
  const given = typeof namespace === 'string' ? namespace.trim() !== '' : namespace !== undefined;
  return node.schema.namespaced && !instanceNamespaced && !given;
}

function namespaceLacking(node: DeclaredNode, path: string): GraphIssue {
  return {
    node: node.id,
    path: `${path}.metadata.namespace`,
    message: `${node.of.kind} is namespaced and the instance is cluster-scoped`,
    expected: 'a namespace',
  };
}

function compileResource(
  node: DeclaredNode,
  context: NodeContext,
  iterated: Readonly<Record<string, Type>>,
): Template<JsonObject> {
  const { issues } = context;
  const path = `${node.path}.${node.resource.word ?? 'template'}`;
  const value = node.resource.template ?? {};
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  checkMetadata(node, metadata, path, context);
  const scope = templateScope('templates', context, iterated, node.id);
  const definesKind = node.of.group === 'apiextensions.k8s.io' && node.of.kind === 'CustomResourceDefinition';
  const template = compileTemplate(value, node.schema.type.schema, {
    scope,
    place: { node: node.id, path },
    issues,
    resolve: node.schema.type.resolve,
    omit: context.omit ? 'allowed' : 'refused',
    defers: true,
    keys: context.dynamicKeys,
    needed: (at) => isNeeded(at, node.schema.namespaced && !context.instanceNamespaced),
    ...(definesKind && {
      refuses: (at: FieldPath) =>
        at[0] === 'metadata'
          ? undefined
          : 'of a CustomResourceDefinition only the metadata may hold expressions',
    }),
  });
  checkIdentity(node, template, Object.keys(iterated), issues);
  return template;
}

function isNeeded(path: FieldPath, namespaceNeeded: boolean): boolean {
  if (path.length === 1) return path[0] === 'apiVersion' || path[0] === 'kind';
  if (path.length !== 2 || path[0] !== 'metadata') return false;
  return path[1] === 'name' || (path[1] === 'namespace' && namespaceNeeded);
}

function checkMetadata(
  node: DeclaredNode,
  metadata: JsonObject,
  path: string,
  { issues, instanceNamespaced }: NodeContext,
): void {
  const report = (at: string, message: string, expected: string): void => {
    issues.push({ node: node.id, path: `${path}.metadata${at}`, message, expected });
  };
  if (metadata['name'] === undefined) report('.name', 'the object has no name', 'a name');
  if (!node.schema.namespaced && metadata['namespace'] !== undefined) issues.push(clusterScoped(node, path));
  if (lacksNamespace(node, metadata, instanceNamespaced)) issues.push(namespaceLacking(node, path));
  for (const field of ['labels', 'annotations']) {
    const entries = metadata[field];
    if (!isObject(entries)) continue;
    for (const key of Object.keys(entries).filter(isOwnKey))
      report(`.${field}["${key}"]`, `"${key}" is written by the engine`, 'a key with another prefix');
  }
}

/** Each variable must be in what tells the objects of a collection apart. */
function checkIdentity(
  node: DeclaredNode,
  template: Template<JsonObject>,
  variables: readonly string[],
  issues: GraphIssue[],
): void {
  const telling = new Set<string>();
  for (const { path, parts } of template.fields) {
    if (path[0] !== 'metadata') continue;
    // Objects of one name may be on different clusters.
    const onCluster =
      node.resource.target !== undefined && path[1] === 'annotations' && path[2] === TARGET_CLUSTER;
    const isName = path.length === 2 && path[1] === 'name';
    const isNamespace = path.length === 2 && path[1] === 'namespace' && node.schema.namespaced;
    if (!onCluster && !isName && !isNamespace) continue;
    for (const part of parts)
      if (typeof part !== 'string') for (const name of part.references) telling.add(name);
  }
  for (const variable of variables) {
    if (telling.has(variable)) continue;
    issues.push({
      node: node.id,
      path: `${node.path}.${node.resource.word ?? 'template'}.metadata.name`,
      message: `the variable "${variable}" of forEach is not in it, so objects would have the same name`,
      expected: node.schema.namespaced
        ? 'every variable of forEach in name or namespace'
        : 'every variable of forEach in the name',
    });
  }
}
