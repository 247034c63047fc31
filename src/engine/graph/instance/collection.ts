import type { JsonValue } from '../../../schema/json.ts';
import type { GraphNode } from '../compile/index.ts';
import {
  type Bindings,
  CLOCK,
  evaluateExpression,
  type GraphClock,
  jsonOfResult,
} from '../expression/index.ts';
import type { Reason } from './reason.ts';

export const MAX_COLLECTION_SIZE = 1_000;

export type Dimensions =
  | { readonly items: readonly Readonly<Record<string, JsonValue>>[]; readonly reason?: undefined }
  | { readonly items?: undefined; readonly reason: Reason };

/** Values of the variables for each object of a node, the last dimension varying fastest; one without any for a plain node. */
export function dimensionsOf(
  node: GraphNode,
  bindings: Bindings,
  options: { readonly maxCollectionSize: number; readonly costLimit?: number | undefined },
): Dimensions {
  let items: Readonly<Record<string, JsonValue>>[] = [{}];
  for (const [index, { variable, expression }] of node.forEach.entries()) {
    const path = `forEach[${index}]`;
    const { value, unresolved } = evaluateExpression(expression, bindings, options.costLimit);
    if (unresolved) {
      const { message } = unresolved;
      const { source } = expression;
      return unresolved.kind === 'Pending'
        ? { reason: { kind: 'Value', path, expression: source, message } }
        : { reason: { kind: 'Failed', path, expression: source, message } };
    }
    const { json, problem } = jsonOfResult(value, bindings[CLOCK] as GraphClock | undefined);
    const failed = (message: string): Dimensions => ({
      reason: { kind: 'Failed', path, expression: expression.source, message },
    });
    if (problem !== undefined) return failed(problem);
    if (!Array.isArray(json)) return failed('the value is no list');
    const size = items.length * json.length;
    if (size > options.maxCollectionSize)
      return failed(
        `the collection would have ${size} objects, at most ${options.maxCollectionSize} are allowed`,
      );
    items = items.flatMap((before) => json.map((item) => ({ ...before, [variable]: item })));
  }
  return { items };
}
