import { childrenOf, type Expr } from '../../../cel/index.ts';
import type { Expression } from '../expression/index.ts';
import { isList } from './node.ts';

/** Of an object on another cluster: all fields that are not named, but for its metadata. */
export const ALL_FIELDS = '*';

/** What is known of an object before it is sent anywhere. */
const SENT = new Set(['name', 'namespace']);
const ALWAYS = new Set(['apiVersion', 'kind', 'status']);

interface Used {
  readonly id: string;
  readonly kind: Parameters<typeof isList>[0];
  readonly readyWhen: readonly Expression[];
}

/**
 * The top-level fields of a node's objects that expressions look at, beside their status: no more of an object comes back from its
 * cluster than is asked for. Where that cannot be told (the object is used as a whole, or within a list) it is all of them.
 * `using` are the expressions that refer to the node.
 */
export function returnedFields(node: Used, using: readonly Expression[]): string[] {
  const found = new Set<string>();
  for (const { program } of using) visit(program.ast.expr, node.id, isList(node.kind), found);
  const own = isList(node.kind) ? 'each' : node.id;
  for (const { program } of node.readyWhen) visit(program.ast.expr, own, false, found);
  return [...found].sort();
}

/** The fields of the status of a node's objects that the expressions that refer to it look at; all of them where that cannot be told. */
export function returnedStatus(node: Used, using: readonly Expression[]): string[] {
  const found = new Set<string>();
  for (const { program } of using) visitStatus(program.ast.expr, node.id, isList(node.kind), found);
  const own = isList(node.kind) ? 'each' : node.id;
  for (const { program } of node.readyWhen) visitStatus(program.ast.expr, own, false, found);
  return [...found].sort();
}

function visitStatus(expr: Expr, name: string, list: boolean, found: Set<string>): void {
  if (expr.kind === 'ident' && expr.name.replace(/^\./, '') === name) {
    found.add(ALL_FIELDS);
    return;
  }
  if (!list && expr.kind === 'select') {
    const { operand } = expr;
    if (operand.kind === 'select' && operand.field === 'status' && isNamed(operand.operand, name)) {
      found.add(expr.field);
      return;
    }
    if (isNamed(operand, name)) {
      if (expr.field === 'status') found.add(ALL_FIELDS);
      return;
    }
  }
  for (const child of childrenOf(expr)) visitStatus(child, name, list, found);
}

function visit(expr: Expr, name: string, list: boolean, found: Set<string>): void {
  if (expr.kind === 'ident' && expr.name.replace(/^\./, '') === name) {
    found.add(ALL_FIELDS);
    return;
  }
  if (!list && expr.kind === 'select' && isNamed(expr.operand, name)) {
    if (!ALWAYS.has(expr.field)) found.add(expr.field);
    return;
  }
  if (!list && expr.kind === 'select' && SENT.has(expr.field) && isMetadata(expr.operand, name)) return;
  for (const child of childrenOf(expr)) visit(child, name, list, found);
}

function isNamed(expr: Expr, name: string): boolean {
  return expr.kind === 'ident' && expr.name.replace(/^\./, '') === name;
}

function isMetadata(expr: Expr, name: string): boolean {
  return expr.kind === 'select' && expr.field === 'metadata' && isNamed(expr.operand, name);
}
