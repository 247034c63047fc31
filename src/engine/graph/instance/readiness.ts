import { type KubeObject, type ObjectRef, refOf } from '../../../kube/object.ts';
import { type GraphNode, isList } from '../compile/index.ts';
import { CLOCK, type Expression, evaluateExpression } from '../expression/index.ts';
import type { Reason } from './reason.ts';
import type { NodeReport, Walk } from './walk.ts';

/** Whether what is there is ready. */
export function concluded(
  walk: Walk,
  node: GraphNode,
  objects: readonly KubeObject[],
  refs: readonly ObjectRef[],
  value: unknown,
): NodeReport {
  const reasons: Reason[] = [];
  // To be there is enough for those that use it.
  if (walk.gating === 'Scope') walk.bindings[node.id] = value;
  if (walk.options.assumeReady !== true) {
    for (const object of objects) {
      const bindings = { [CLOCK]: walk.clock, [isList(node.kind) ? 'each' : node.local]: object };
      for (const expression of node.readyWhen) {
        const reason = unreadiness(walk, expression, bindings, refOf(object));
        if (reason) reasons.push(reason);
      }
    }
  }
  const { meter } = walk.options;
  if (node.readyWhen.length > 0) meter?.count('readyCheck');
  if (reasons.length > 0) meter?.count('notReady');
  const failed = reasons.some(({ kind }) => kind === 'Failed');
  if (reasons.length > 0)
    return { id: node.id, state: failed ? 'ERROR' : 'WAITING_FOR_READINESS', reasons, refs };
  walk.bindings[node.id] = value;
  return { id: node.id, state: 'SYNCED', reasons: [], refs };
}

function unreadiness(
  walk: Walk,
  expression: Expression,
  bindings: Readonly<Record<string, unknown>>,
  ref: ObjectRef,
): Reason | undefined {
  const { value, unresolved } = evaluateExpression(expression, bindings, walk.options.costLimit);
  const { source } = expression;
  if (unresolved?.kind === 'Failed')
    return { kind: 'Failed', path: 'readyWhen', expression: source, message: unresolved.message };
  if (unresolved)
    return { kind: 'NotReady', ref, expression: source, message: `not known (${unresolved.message})` };
  if (value === true) return undefined;
  if (value === false) return { kind: 'NotReady', ref, expression: source };
  return { kind: 'Failed', path: 'readyWhen', expression: source, message: 'the value is no bool' };
}
