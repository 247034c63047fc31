import { appendShape } from '../evaluate/fold.ts';
import { resolveFunction, type Scope } from '../evaluate/scope.ts';
import type { ArgumentEstimate, CallEstimate, Overload } from '../library/function.ts';
import type { CallExpr, ComprehensionExpr, Expr, LiteralValue } from '../syntax/ast.ts';
import { boundOf, DYN, isOptional, type Type } from '../types/type.ts';
import type { Value } from '../values/value.ts';
import type { Checked } from './checker.ts';
import {
  type Cost,
  either,
  fixed,
  LIST_COST,
  MAP_COST,
  plus,
  type SizeRange,
  STRUCT_COST,
  times,
  UNKNOWN_SIZE,
} from './cost-range.ts';

/** What an evaluation will cost at least and at most. */
export type CostEstimate = Cost;

/** What is known of a value without evaluating: its size, and that of its elements. */
interface Known {
  readonly size: SizeRange;
  readonly elements: SizeRange;
}

interface Estimator {
  readonly checked: Checked;
  readonly scope: Scope;
  readonly known: Map<number, Known>;
  locals: Local | undefined;
}

interface Local {
  readonly name: string;
  readonly known: Known;
  readonly outer: Local | undefined;
}

export function estimateCost(checked: Checked, scope: Scope): CostEstimate {
  return cost({ checked, scope, known: new Map(), locals: undefined }, checked.ast.expr);
}

const NOTHING = fixed(0);
const ONE = fixed(1);
const UNKNOWN: Known = { size: UNKNOWN_SIZE, elements: UNKNOWN_SIZE };
const SCALAR: Known = { size: ONE, elements: ONE };

function typeOf(estimator: Estimator, expr: Expr): Type {
  return estimator.checked.types[expr.id] ?? DYN;
}

/** The size that any value of a type has, as far as the type says. */
function sizeOfType(type: Type): SizeRange {
  switch (type.kind) {
    case 'bool':
    case 'int':
    case 'uint':
    case 'double':
    case 'null':
    case 'timestamp':
    case 'duration':
    case 'type':
    case 'opaque':
      return ONE;
    case 'object':
      return type.unknownFields === true ? UNKNOWN_SIZE : { min: 0, max: type.fieldNames().length };
    default: {
      const max = boundOf(type);
      return max === undefined ? UNKNOWN_SIZE : { min: 0, max };
    }
  }
}

function knownOfType(type: Type): Known {
  const plain = isOptional(type) ? (type.params[0] ?? DYN) : type;
  const elements = plain.kind === 'list' ? plain.element : plain.kind === 'map' ? plain.value : DYN;
  return { size: sizeOfType(type), elements: sizeOfType(elements) };
}

/** Results of calls have the kind of the type, but not its bounds, which may be those of an argument. */
function knownOfResult(type: Type): Known {
  const bare = sizeOfType(type);
  return bare === ONE || type.kind === 'object' ? { size: bare, elements: UNKNOWN_SIZE } : UNKNOWN;
}

function knownOf(estimator: Estimator, expr: Expr): Known {
  return estimator.known.get(expr.id) ?? UNKNOWN;
}

function remember(estimator: Estimator, expr: Expr, known: Known): void {
  estimator.known.set(expr.id, known);
}

function local(estimator: Estimator, name: string): Known | undefined {
  for (let entry = estimator.locals; entry; entry = entry.outer) if (entry.name === name) return entry.known;
  return undefined;
}

function withLocal<T>(estimator: Estimator, name: string, known: Known, body: () => T): T {
  const outer = estimator.locals;
  estimator.locals = { name, known, outer };
  try {
    return body();
  } finally {
    estimator.locals = outer;
  }
}

function literalSize(value: LiteralValue): SizeRange {
  if (typeof value === 'string') return fixed(value.length);
  return value instanceof Uint8Array ? fixed(value.length) : ONE;
}

/** The cost of a node with all below it; also finds out what is known of its value. */
function cost(estimator: Estimator, expr: Expr): Cost {
  switch (expr.kind) {
    case 'literal':
      remember(estimator, expr, { size: literalSize(expr.value), elements: UNKNOWN_SIZE });
      return NOTHING;
    case 'ident':
      remember(estimator, expr, local(estimator, expr.name) ?? knownOfType(typeOf(estimator, expr)));
      return ONE;
    case 'select':
      return selectCost(estimator, expr);
    case 'call':
      return callCost(estimator, expr);
    case 'list': {
      const total = sum(estimator, expr.elements);
      const sizes = expr.elements.map((item) => knownOf(estimator, item).size);
      const count = expr.elements.length;
      remember(estimator, expr, {
        size: { min: count - expr.optional.length, max: count },
        elements: sizes.length === 0 ? NOTHING : sizes.reduce(either),
      });
      return plus(total, fixed(LIST_COST));
    }
    case 'map': {
      const total = sum(
        estimator,
        expr.entries.flatMap((entry) => [entry.key, entry.value]),
      );
      const sizes = expr.entries.map((entry) => knownOf(estimator, entry.value).size);
      const needed = expr.entries.filter((entry) => !entry.optional).length;
      remember(estimator, expr, {
        size: { min: needed, max: expr.entries.length },
        elements: sizes.length === 0 ? NOTHING : sizes.reduce(either),
      });
      return plus(total, fixed(MAP_COST));
    }
    case 'struct':
      remember(estimator, expr, { size: { min: 0, max: expr.entries.length }, elements: UNKNOWN_SIZE });
      return plus(
        sum(
          estimator,
          expr.entries.map((entry) => entry.value),
        ),
        fixed(STRUCT_COST),
      );
    case 'comprehension':
      return foldCost(estimator, expr);
  }
}

function sum(estimator: Estimator, exprs: readonly Expr[]): Cost {
  return plus(...exprs.map((expr) => cost(estimator, expr)));
}

/** `a.b.c` may be one name, of which the parts cost nothing; then the estimate is too high by little. */
function selectCost(estimator: Estimator, expr: Expr & { kind: 'select' }): Cost {
  const operand = estimator.checked.types[expr.operand.id] ? cost(estimator, expr.operand) : NOTHING;
  remember(estimator, expr, expr.testOnly ? SCALAR : knownOfType(typeOf(estimator, expr)));
  return expr.testOnly ? operand : plus(operand, ONE);
}

const ACCESS: ReadonlySet<string> = new Set(['_[_]', '_?._', '_[?_]']);

function callCost(estimator: Estimator, expr: CallExpr): Cost {
  const { target, args } = expr;
  const isValue =
    target !== undefined &&
    (estimator.checked.types[target.id] !== undefined || estimator.checked.types.length === 0);
  const operands = isValue && target ? [target, ...args] : args;
  const [first, second, third] = operands;
  if (expr.function === '_?:_' || (expr.function === '_?_:_' && first && second && third)) {
    const condition = first ? cost(estimator, first) : NOTHING;
    const branches = [second, third].filter((branch) => branch !== undefined);
    const costs = branches.map((branch) => cost(estimator, branch));
    const known = branches.map((branch) => knownOf(estimator, branch));
    remember(estimator, expr, known.reduce(eitherKnown, known[0] ?? UNKNOWN));
    return plus(condition, costs.reduce(either, costs[0] ?? NOTHING));
  }
  if (expr.function === 'cel.@block' && first?.kind === 'list' && second)
    return blockCost(estimator, first.elements, second);
  const costs = operands.map((operand) => cost(estimator, operand));
  if (expr.function === '_&&_' || expr.function === '_||_') {
    remember(estimator, expr, SCALAR);
    return { min: costs[0]?.min ?? 0, max: plus(...costs).max };
  }
  const estimate = overloadEstimate(estimator, expr, operands);
  const known = ACCESS.has(expr.function)
    ? accessKnown(estimator, expr, first)
    : knownOfResult(typeOf(estimator, expr));
  remember(estimator, expr, {
    size: estimate.resultSize ?? known.size,
    elements: elementsOf(estimator, expr, operands, known),
  });
  return plus(...costs, estimate.cost);
}

function eitherKnown(a: Known, b: Known): Known {
  return { size: either(a.size, b.size), elements: either(a.elements, b.elements) };
}

/** An element of what is known, which for declared types is known from the type. */
function accessKnown(estimator: Estimator, expr: CallExpr, operand: Expr | undefined): Known {
  const bounded = operand ? knownOf(estimator, operand).elements : UNKNOWN_SIZE;
  const type = typeOf(estimator, expr);
  const plain = isOptional(type) ? (type.params[0] ?? DYN) : type;
  if (expr.function === '_?._') return knownOfType(plain);
  const declared = operand !== undefined && isDeclared(estimator, operand);
  return declared ? knownOfType(plain) : { size: bounded, elements: UNKNOWN_SIZE };
}

/** A path from a variable of the environment, whose types hold bounds from declarations. */
function isDeclared(estimator: Estimator, expr: Expr): boolean {
  if (expr.kind === 'ident') return local(estimator, expr.name) === undefined;
  if (expr.kind === 'select') return isDeclared(estimator, expr.operand);
  const [operand] = expr.kind === 'call' && ACCESS.has(expr.function) ? expr.args : [];
  return operand !== undefined && isDeclared(estimator, operand);
}

function elementsOf(
  estimator: Estimator,
  expr: CallExpr,
  operands: readonly Expr[],
  known: Known,
): SizeRange {
  const [first, second] = operands.map((operand) => knownOf(estimator, operand));
  switch (expr.function) {
    case '_+_':
      return first && second ? either(first.elements, second.elements) : UNKNOWN_SIZE;
    case 'split':
    case 'find':
    case 'findAll':
      return { min: 0, max: first?.size.max ?? UNKNOWN_SIZE.max };
    case 'slice':
    case 'distinct':
    case 'reverse':
    case 'sort':
      return first?.elements ?? UNKNOWN_SIZE;
    default:
      return known.elements;
  }
}

/** All signatures that may be meant, as one range. */
function overloadEstimate(estimator: Estimator, expr: CallExpr, operands: readonly Expr[]): CallEstimate {
  const overloads: readonly Overload[] =
    estimator.checked.overloads[expr.id] ?? resolveFunction(estimator.scope, expr.function)?.overloads ?? [];
  const args = operands.map((operand) => argument(estimator, operand));
  let total: Cost | undefined;
  let resultSize: SizeRange | undefined;
  for (const overload of overloads) {
    const own = overload.estimate?.(args) ?? { cost: ONE };
    total = total ? either(total, own.cost) : own.cost;
    if (own.resultSize) resultSize = resultSize ? either(resultSize, own.resultSize) : own.resultSize;
  }
  return { cost: total ?? ONE, ...(resultSize && { resultSize }) };
}

function argument(estimator: Estimator, expr: Expr): ArgumentEstimate {
  const type = typeOf(estimator, expr);
  const known = knownOf(estimator, expr);
  return {
    type,
    size: known.size,
    elementSize: () => known.elements,
    elementType: type.kind === 'list' ? type.element : DYN,
    literal: expr.kind === 'literal' ? (expr.value as Value) : undefined,
  };
}

function blockCost(estimator: Estimator, slots: readonly Expr[], body: Expr, index = 0): Cost {
  const slot = slots[index];
  if (!slot) return cost(estimator, body);
  const own = cost(estimator, slot);
  // A slot that is not used is not evaluated.
  const rest = withLocal(estimator, `@index${index}`, knownOf(estimator, slot), () =>
    blockCost(estimator, slots, body, index + 1),
  );
  return plus({ min: 0, max: own.max }, rest);
}

function foldCost(estimator: Estimator, expr: ComprehensionExpr): Cost {
  const range = cost(estimator, expr.range);
  const init = cost(estimator, expr.init);
  const over = knownOf(estimator, expr.range);
  const { variable2 } = expr;
  const rangeType = typeOf(estimator, expr.range);
  const declared = isDeclared(estimator, expr.range);
  const element = (): Known => {
    const type =
      rangeType.kind === 'list' ? rangeType.element : rangeType.kind === 'map' ? rangeType.value : DYN;
    return declared ? knownOfType(type) : { size: over.elements, elements: elementBound(type) };
  };
  const key = (): Known =>
    rangeType.kind === 'map' ? knownOfType(rangeType.key) : rangeType.kind === 'list' ? SCALAR : UNKNOWN;
  const first = variable2 !== undefined || rangeType.kind === 'map' ? key() : element();
  const accumulator = knownOfResult(typeOf(estimator, expr.init));
  return withLocal(
    estimator,
    expr.accumulator,
    isBinding(expr) ? knownOf(estimator, expr.init) : accumulator,
    () => {
      const loop = (): Cost => plus(cost(estimator, expr.condition), cost(estimator, expr.step));
      const each = withLocal(estimator, expr.variable, first, () =>
        variable2 === undefined ? loop() : withLocal(estimator, variable2, element(), loop),
      );
      const result = cost(estimator, expr.result);
      remember(estimator, expr, resultOf(estimator, expr, over));
      return plus(range, init, times(over.size, each), result);
    },
  );
}

function elementBound(type: Type): SizeRange {
  const inner = type.kind === 'list' ? type.element : type.kind === 'map' ? type.value : DYN;
  const size = sizeOfType(inner);
  return size === ONE ? ONE : UNKNOWN_SIZE;
}

function isBinding(expr: ComprehensionExpr): boolean {
  return expr.range.kind === 'list' && expr.range.elements.length === 0;
}

function resultOf(estimator: Estimator, expr: ComprehensionExpr, over: Known): Known {
  if (isBinding(expr)) return knownOf(estimator, expr.result);
  const gathers = expr.init.kind === 'list' || expr.init.kind === 'map';
  if (!gathers) return knownOfResult(typeOf(estimator, expr));
  const element = appendShape(expr)?.element;
  const filtered = expr.step.kind === 'call' && expr.step.function === '_?_:_';
  return {
    size: { min: filtered ? 0 : over.size.min, max: over.size.max },
    elements: element ? knownOf(estimator, element).size : UNKNOWN_SIZE,
  };
}
