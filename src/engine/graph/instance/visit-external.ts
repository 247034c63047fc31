import { type ObjectRef, refOf, refText } from '../../../kube/object.ts';
import { isObject, type JsonObject, stringAt } from '../../../schema/json.ts';
import { type LabelSelector, selectorFromObject } from '../../../schema/label-selector.ts';
import type { GraphNode } from '../compile/index.ts';
import { renderTemplate } from '../template/index.ts';
import { type KindOfObject, kindOfObject } from './dynamic-kind.ts';
import { bindingsFor } from './node-scope.ts';
import type { ObjectQuery } from './observed.ts';
import { hubNamespace } from './origin.ts';
import { concluded } from './readiness.ts';
import type { Reason } from './reason.ts';
import { type NodeReport, reasonOf, unread, unresolvedReport, type Walk } from './walk.ts';

/** The metadata of what is external, with its namespace. */
function externalMetadata(
  walk: Walk,
  node: GraphNode,
): { metadata: JsonObject; namespace: string | undefined; of: KindOfObject } | { reason: Reason } {
  const { value, unresolved } = renderTemplate(
    node.template,
    bindingsFor(walk, node),
    walk.options.costLimit,
  );
  if (unresolved) return { reason: reasonOf(unresolved) };
  const of = kindOfObject(walk, node, value);
  if ('reason' in of) return of;
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  return { of, metadata, namespace: stringAt(metadata, 'namespace') };
}

/**
 * What is external is read where the instance is. A namespace that an instance of another cluster has a say in is one of that cluster,
 * never one of the hub that happens to be called so.
 */
function namespaceHere(walk: Walk, node: GraphNode, namespace: string | undefined): string | undefined {
  const { origin } = walk.options;
  const computed = node.template.fields.some(({ path }) => path[0] === 'metadata' && path[1] === 'namespace');
  return origin && computed && namespace !== undefined ? hubNamespace(origin.cluster, namespace) : namespace;
}

export function visitExternal(walk: Walk, node: GraphNode): NodeReport {
  const found = externalMetadata(walk, node);
  if ('reason' in found) return unresolvedReport(node, found.reason);
  const name = stringAt(found.metadata, 'name') ?? '';
  const own = walk.instance.metadata.namespace ?? '';
  const ref: ObjectRef = {
    apiVersion: found.of.apiVersion,
    kind: found.of.kind,
    namespace: found.of.namespaced ? (namespaceHere(walk, node, found.namespace) ?? own) : '',
    name,
  };
  if (name === '')
    return unresolvedReport(node, { kind: 'Failed', message: 'the name of what is external is empty' });
  const object = walk.observed.object(ref);
  if (object === undefined)
    return unread(walk, node, { kind: 'Object', node: node.id, ref }, refText(ref), [ref]);
  if (object === null)
    return { id: node.id, state: 'WAITING_FOR_READINESS', reasons: [{ kind: 'Absent', ref }], refs: [ref] };
  walk.values.set(node.id, object);
  return concluded(walk, node, [object], [ref], object);
}

export function visitSelected(walk: Walk, node: GraphNode): NodeReport {
  const found = externalMetadata(walk, node);
  if ('reason' in found) return unresolvedReport(node, found.reason);
  const selector = (found.metadata['selector'] ?? {}) as LabelSelector;
  const { issues } = selectorFromObject(selector);
  if (issues.length > 0)
    return unresolvedReport(node, {
      kind: 'Failed',
      message: `the selector is none: ${issues.map(({ detail }) => detail).join('; ')}`,
    });
  const query: ObjectQuery = {
    apiVersion: found.of.apiVersion,
    kind: found.of.kind,
    namespace: found.of.namespaced ? (namespaceHere(walk, node, found.namespace) ?? '') : '',
    selector,
  };
  const objects = walk.observed.selected(query);
  if (objects === undefined)
    return unread(walk, node, { kind: 'Selected', node: node.id, query }, `${query.kind} by selector`, []);
  walk.values.set(node.id, objects);
  return concluded(walk, node, objects, objects.map(refOf), objects);
}
