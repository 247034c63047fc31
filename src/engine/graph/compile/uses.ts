import { childrenOf, type Expr } from '../../../cel/index.ts';

/** What names stand for in expressions: a node, by its id, or a graph within the graph, by what is in it. */
export interface Frame {
  readonly [name: string]: string | Frame;
}

/** That an expression uses a node. */
export interface Use {
  readonly node: string;
  /** Only where a condition goes that way: in the second or third part of `a ? b : c`. */
  readonly optional: boolean;
}

/** The nodes of a frame, and of those within it. */
export function nodesOf(target: string | Frame): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(nodesOf);
}

/** The nodes that an expression uses, each as often as it does. Names that are `hidden` stand for something else there. */
export function usesOf(expr: Expr, frame: Frame, hidden: ReadonlySet<string>): Use[] {
  const uses: Use[] = [];
  visit(expr, { frame, bound: hidden, optional: false, uses });
  return uses;
}

interface Visit {
  readonly frame: Frame;
  /** Variables of macros such as `map`, which hide nodes. */
  readonly bound: ReadonlySet<string>;
  readonly optional: boolean;
  readonly uses: Use[];
}

function visit(expr: Expr, state: Visit): void {
  const fields = fieldsOf(expr);
  if (fields) {
    use(fields, state);
    return;
  }
  if (expr.kind === 'call' && expr.function === '_?_:_') {
    const [condition, ...branches] = expr.args;
    if (condition) visit(condition, state);
    for (const branch of branches) visit(branch, { ...state, optional: true });
    return;
  }
  if (expr.kind === 'comprehension') {
    visit(expr.range, state);
    visit(expr.init, state);
    const names = [
      expr.variable,
      expr.accumulator,
      ...(expr.variable2 === undefined ? [] : [expr.variable2]),
    ];
    const inner = { ...state, bound: new Set([...state.bound, ...names]) };
    for (const part of [expr.condition, expr.step, expr.result]) visit(part, inner);
    return;
  }
  for (const child of childrenOf(expr)) visit(child, state);
}

/** `a.b.c` as its names; `undefined` where it begins with something else. */
function fieldsOf(expr: Expr): string[] | undefined {
  if (expr.kind === 'ident') return [expr.name.replace(/^\./, '')];
  if (expr.kind !== 'select') return undefined;
  const before = fieldsOf(expr.operand);
  before?.push(expr.field);
  return before;
}

function use([name = '', ...fields]: readonly string[], { frame, bound, optional, uses }: Visit): void {
  if (bound.has(name)) return;
  let target: string | Frame | undefined = Object.hasOwn(frame, name) ? frame[name] : undefined;
  for (const field of fields) {
    if (typeof target !== 'object' || !Object.hasOwn(target, field)) break;
    target = target[field];
  }
  if (target !== undefined) for (const node of nodesOf(target)) uses.push({ node, optional });
}

/** The ways in which a frame leads to a node: `backend.service`. */
export function pathsTo(frame: Frame, node: string): string[][] {
  return Object.entries(frame).flatMap(([name, target]) => {
    if (typeof target === 'string') return target === node ? [[name]] : [];
    return pathsTo(target, node).map((path) => [name, ...path]);
  });
}
