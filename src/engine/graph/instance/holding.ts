import { type KubeObject, type ObjectRef, refKey } from '../../../kube/object.ts';
import { shortDigest } from '../../digest.ts';
import { type GraphNode, isList } from '../compile/index.ts';
import { type Bindings, evaluateExpression } from '../expression/index.ts';
import type { DesiredObject } from './desired-object.ts';
import type { Observed } from './observed.ts';
import type { Reason } from './reason.ts';
import { ANNOTATIONS } from './words.ts';

export interface Holding {
  readonly objects: readonly DesiredObject[];
  /** By {@link refKey}. */
  readonly reasons: ReadonlyMap<string, Reason>;
}

const NOTHING_HELD: ReadonlyMap<string, Reason> = new Map();

/**
 * Which changes of objects that are there wait for `propagateWhen`. What was applied is told by a mark on the object, so that
 * another process holds the same changes back.
 */
export function heldBack(
  node: GraphNode,
  desired: readonly DesiredObject[],
  observed: Observed,
  bindings: Bindings,
  costLimit: number | undefined,
): Holding | { readonly reason: Reason } {
  if (node.propagateWhen.length === 0) return { objects: desired, reasons: NOTHING_HELD };
  const reasons = new Map<string, Reason>();
  const objects: DesiredObject[] = [];
  for (const item of desired) {
    const mark = shortDigest(item.digest);
    const { metadata } = item.object;
    const annotations = { ...metadata.annotations, [ANNOTATIONS.applied]: mark };
    const object = { ...item.object, metadata: { ...metadata, annotations } };
    const live = observed.object(item.ref);
    const changed = live && live.metadata.annotations?.[ANNOTATIONS.applied] !== mark;
    const reason = changed ? holdingReason(node, live, item.ref, bindings, costLimit) : undefined;
    if (reason?.kind === 'Failed') return { reason };
    if (reason) reasons.set(refKey(item.ref), reason);
    objects.push({ ...item, object, ...(reason && { held: true }) });
  }
  return { objects, reasons };
}

function holdingReason(
  node: GraphNode,
  live: KubeObject,
  ref: ObjectRef,
  others: Bindings,
  costLimit: number | undefined,
): Reason | undefined {
  const bindings = isList(node.kind) ? others : { ...others, [node.local]: live };
  for (const expression of node.propagateWhen) {
    const { source } = expression;
    const { value, unresolved } = evaluateExpression(expression, bindings, costLimit);
    if (unresolved?.kind === 'Failed')
      return { kind: 'Failed', path: 'propagateWhen', expression: source, message: unresolved.message };
    if (unresolved)
      return { kind: 'Held', ref, expression: source, message: `not known (${unresolved.message})` };
    if (value !== true) return { kind: 'Held', ref, expression: source };
  }
  return undefined;
}
