import type { GraphNode } from '../compile/index.ts';
import { evaluateExpression } from '../expression/index.ts';
import { bindingsFor, nodesNamed } from './node-scope.ts';
import type { Reason } from './reason.ts';
import { isReady, reasonOf, type Walk } from './walk.ts';
import type { NodeState } from './words.ts';

/** Why a node is left out, or why that cannot be said yet. */
export function inclusion(walk: Walk, node: GraphNode): { state: NodeState; reason: Reason } | undefined {
  let waiting: { state: NodeState; reason: Reason } | undefined;
  for (const [index, expression] of node.includeWhen.entries()) {
    const wait = expression.references
      .flatMap((name) => nodesNamed(node, name))
      .find((id) => !isReady(walk, id));
    if (wait !== undefined) {
      waiting ??= { state: 'IN_PROGRESS', reason: { kind: 'Dependency', node: wait } };
      continue;
    }
    const { value, unresolved } = evaluateExpression(
      expression,
      bindingsFor(walk, node),
      walk.options.costLimit,
    );
    if (unresolved) {
      const reason = reasonOf({ ...unresolved, path: `includeWhen[${index}]` });
      waiting ??= { state: reason.kind === 'Failed' ? 'ERROR' : 'IN_PROGRESS', reason };
    } else if (value === false) {
      // One that is false is enough, whatever the others come to.
      return { state: 'SKIPPED', reason: { kind: 'Excluded', expression: expression.source } };
    } else if (value !== true) {
      const reason: Reason = {
        kind: 'Failed',
        expression: expression.source,
        message: 'the value is no bool',
      };
      waiting ??= { state: 'ERROR', reason };
    }
  }
  return waiting;
}
