import { fixed, plus, REGEX_FACTOR, type SizeRange, scale, TEXT_FACTOR, times } from '../check/cost-range.ts';
import { costSize } from '../values/size.ts';
import type { Value } from '../values/value.ts';
import type { ArgumentEstimate, CallEstimate, Overload } from './function.ts';

/** What calls cost, as Kubernetes counts: rules for one signature, both for the estimate and for the count. */
export type Costing = Required<Pick<Overload, 'cost' | 'estimate'>>;

const sizeOfArgument = (args: readonly ArgumentEstimate[], index: number): SizeRange =>
  args[index]?.size ?? fixed(1);
const actual = (args: readonly Value[], index: number): number => costSize(args[index] ?? null);

/** One or more passes over a text. */
export function traversal(index: number, passes = 1, options: { resultIsSize?: boolean } = {}): Costing {
  return {
    cost: (args) => Math.ceil(actual(args, index) * passes * TEXT_FACTOR),
    estimate: (args) => {
      const size = sizeOfArgument(args, index);
      const cost = scale(size, passes * TEXT_FACTOR);
      return options.resultIsSize === true ? { cost, resultSize: size } : { cost };
    },
  };
}

/** Nothing to speak of. */
export const nominal: Costing = { cost: () => 1, estimate: () => ({ cost: fixed(1) }) };

/** A regular expression against a text: the product of both. */
export function matching(text: number, pattern: number, resultUpToText = false): Costing {
  return {
    cost: (args) =>
      Math.ceil((1 + actual(args, text)) * TEXT_FACTOR) * Math.ceil(actual(args, pattern) * REGEX_FACTOR),
    estimate: (args): CallEstimate => {
      const size = sizeOfArgument(args, text);
      const cost = times(
        scale(plus(size, fixed(1)), TEXT_FACTOR),
        scale(sizeOfArgument(args, pattern), REGEX_FACTOR),
      );
      return resultUpToText ? { cost, resultSize: { min: 0, max: size.max } } : { cost };
    },
  };
}

/** Every element of one list against every one of another. */
export function product(factor: number): Costing {
  return {
    cost: (args) => 1 + actual(args, 0) * actual(args, 1) * factor,
    estimate: (args) => ({
      cost: plus(fixed(1), times(times(sizeOfArgument(args, 0), sizeOfArgument(args, 1)), fixed(factor))),
    }),
  };
}

/** A list walked through once. */
export function perElement(index: number, factor = 1): Costing {
  return {
    cost: (args) => 1 + Math.ceil(actual(args, index) * factor),
    estimate: (args) => ({
      cost: plus(fixed(1), scale(sizeOfArgument(args, index), factor)),
      resultSize: sizeOfArgument(args, index),
    }),
  };
}
