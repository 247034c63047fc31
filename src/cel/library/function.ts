import type { Cost, SizeRange } from '../check/cost-range.ts';
import type { Macro } from '../syntax/macros.ts';
import type { Type } from '../types/type.ts';
import type { Value } from '../values/value.ts';

/** What an estimate may ask of an argument. */
export interface ArgumentEstimate {
  readonly type: Type;
  readonly size: SizeRange;
  /** Of the elements of a list. */
  readonly elementSize: () => SizeRange;
  readonly elementType: Type;
  readonly literal: Value | undefined;
}

export interface CallEstimate {
  readonly cost: Cost;
  readonly resultSize?: SizeRange;
}

/** One signature of a function, with all that the checker, the evaluator and the estimator need of it. */
export interface Overload {
  readonly id: string;
  readonly params: readonly Type[];
  readonly result: Type;
  /** Called as `first.name(rest)`. */
  readonly member: boolean;
  /** Gets values of the parameters' kinds. Errors are returned. */
  readonly run: (...args: Value[]) => Value;
  /** Of a call that is about to be made, so that one beyond the budget is not made; 1 where it is absent. */
  readonly cost?: (args: readonly Value[]) => number;
  /** What is known only afterwards. */
  readonly resultCost?: (result: Value) => number;
  /** Before a call is made; 1 where it is absent. */
  readonly estimate?: (args: readonly ArgumentEstimate[]) => CallEstimate;
  /** Gets failures too, instead of passing them on. */
  readonly lenient?: true;
  /** Asked once for a call some of whose arguments are written out: another `run` that has made something ready of them. */
  readonly prepare?: (literals: readonly (Value | undefined)[]) => Overload['run'] | undefined;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** A name that stands for one value wherever it is used, such as a type. */
export interface Constant {
  readonly name: string;
  readonly type: Type;
  readonly value: Value;
}

/** Functions that belong together, switched on or off as one. */
export interface Library {
  readonly name: string;
  readonly functions: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  readonly constants?: readonly Constant[];
}

type Details = Pick<Overload, 'cost' | 'resultCost' | 'estimate' | 'lenient' | 'prepare'>;

/** `name(params)` */
export function globalOverload(
  id: string,
  params: readonly Type[],
  result: Type,
  run: Overload['run'],
  details: Details = {},
): Overload {
  return { id, params, result, member: false, run, ...details };
}

/** `params[0].name(params[1], …)` */
export function memberOverload(
  id: string,
  params: readonly Type[],
  result: Type,
  run: Overload['run'],
  details: Details = {},
): Overload {
  return { id, params, result, member: true, run, ...details };
}
