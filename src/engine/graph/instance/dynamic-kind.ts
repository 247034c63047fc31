import { formatApiVersion, type GroupVersionKind, parseApiVersion } from '../../../kube/object.ts';
import { type JsonObject, stringAt } from '../../../schema/json.ts';
import type { GraphNode } from '../compile/index.ts';
import type { Reason } from './reason.ts';
import type { Walk } from './walk.ts';

/** Of which kind an object is. */
export interface KindOfObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** The kind of a node's object, which an expression may have said; or why it is not known. */
export function kindOfObject(
  { observed, reads }: Walk,
  node: GraphNode,
  value: JsonObject,
): KindOfObject | { readonly reason: Reason } {
  if (!node.dynamic) return { apiVersion: node.apiVersion, kind: node.of.kind, namespaced: node.namespaced };
  const written = { apiVersion: stringAt(value, 'apiVersion') ?? '', kind: stringAt(value, 'kind') ?? '' };
  for (const path of ['apiVersion', 'kind'] as const)
    if (written[path] === '') return { reason: { kind: 'Failed', path, message: `the ${path} is empty` } };
  const { group, version } = parseApiVersion(written.apiVersion);
  const of: GroupVersionKind = { group, version, kind: written.kind };
  const namespaced = observed.namespaced ? observed.namespaced(of) : true;
  if (namespaced === undefined) {
    reads.push({ kind: 'Kind', node: node.id, of });
    return { reason: { kind: 'Unread', what: `the kind ${formatApiVersion(group, version)} ${of.kind}` } };
  }
  if (namespaced === null) return { reason: { kind: 'Unserved', of } };
  return { ...written, namespaced };
}
