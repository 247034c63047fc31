import type { Double, Uint } from '../values/value.ts';

/** A value that can be written: ints as numbers (bigints beyond ±2⁵³), uints and doubles in boxes of their own. */
export type LiteralValue = null | boolean | number | bigint | string | Uint | Double | Uint8Array;

interface Node {
  /** Unique within an expression, and small, so that tables by id can be arrays. */
  readonly id: number;
  /** Offset of what errors of this node should point at. */
  readonly at: number;
}

export interface LiteralExpr extends Node {
  readonly kind: 'literal';
  readonly value: LiteralValue;
}
export interface IdentExpr extends Node {
  readonly kind: 'ident';
  /** With a leading dot where the name was written as absolute. */
  readonly name: string;
}
export interface SelectExpr extends Node {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)`: asks for presence. */
  readonly testOnly: boolean;
}
export interface CallExpr extends Node {
  readonly kind: 'call';
  /** Operators are functions: `_+_`, `_[_]`, `_?_:_`, `_?._`, `_[?_]`, `!_`, `-_`, `@in`. */
  readonly function: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}
export interface ListExpr extends Node {
  readonly kind: 'list';
  readonly elements: readonly Expr[];
  /** Indices of the elements that were written with `?`. */
  readonly optional: readonly number[];
}
export interface MapEntry extends Node {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface MapExpr extends Node {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}
export interface FieldEntry extends Node {
  readonly field: string;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface StructExpr extends Node {
  readonly kind: 'struct';
  readonly type: string;
  readonly entries: readonly FieldEntry[];
}
/** A fold: what the macros over lists and maps mean. */
export interface ComprehensionExpr extends Node {
  readonly kind: 'comprehension';
  readonly variable: string;
  /** For two variables: index and element of a list, key and value of a map. */
  readonly variable2: string | undefined;
  readonly range: Expr;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export type Expr =
  | LiteralExpr
  | IdentExpr
  | SelectExpr
  | CallExpr
  | ListExpr
  | MapExpr
  | StructExpr
  | ComprehensionExpr;

/** A parsed expression. */
export interface ParsedExpression {
  readonly source: string;
  readonly expr: Expr;
  /** One more than the largest id. */
  readonly idCount: number;
  /** For each node that a macro produced, the call as it was written. */
  readonly macroCalls: ReadonlyMap<number, CallExpr>;
}

/** The nodes directly below a node. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return [];
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap((entry) => [entry.key, entry.value]);
    case 'struct':
      return expr.entries.map((entry) => entry.value);
    case 'comprehension':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
  }
}
