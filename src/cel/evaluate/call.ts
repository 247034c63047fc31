import type { Overload } from '../library/function.ts';
import { DYN } from '../types/type.ts';
import { kindTest, typeNameOf } from '../values/convert.ts';
import { CelError, Failure, firstFailure, type Value } from '../values/value.ts';
import { checkLimits, countWalked, type Frame, type Step } from './frame.ts';

interface Candidate {
  readonly overload: Overload;
  readonly tests: readonly ((value: Value) => boolean)[];
}

/** Runs the overload that fits the kinds of the arguments. */
export interface Dispatch {
  readonly name: string;
  readonly at: number;
  readonly candidates: readonly Candidate[];
  readonly lenient: boolean;
}

export function dispatchOf(name: string, overloads: readonly Overload[], at: number): Dispatch {
  const candidates = overloads.map((overload) => ({
    overload,
    tests: overload.params.map((param) => kindTest(param ?? DYN)),
  }));
  return { name, at, candidates, lenient: overloads.some((overload) => overload.lenient === true) };
}

export function invoke(dispatch: Dispatch, args: Value[], frame: Frame): Value {
  if (!dispatch.lenient) {
    const failure = firstFailure(args);
    if (failure) return failure;
  }
  for (const { overload, tests } of dispatch.candidates) {
    let fits = true;
    for (let index = 0; index < tests.length && fits; index++)
      fits = tests[index]?.(args[index] as Value) === true;
    if (fits) return perform(dispatch, overload, args, frame);
  }
  return mismatch(dispatch, args);
}

function perform(dispatch: Dispatch, overload: Overload, args: readonly Value[], frame: Frame): Value {
  if (overload.cost === undefined) {
    frame.cost++;
    const [first] = args;
    if (typeof first === 'string') countWalked(frame, first.length);
  } else {
    frame.cost += overload.cost(args);
    checkLimits(frame);
  }
  const result = overload.run(...args);
  if (overload.resultCost !== undefined) {
    frame.cost += overload.resultCost(result);
    checkLimits(frame);
  }
  return result instanceof CelError && result.at === -1 ? new CelError(result.message, dispatch.at) : result;
}

function mismatch(dispatch: Dispatch, args: readonly Value[]): CelError {
  const kinds = args.map(typeNameOf).join(', ');
  return new CelError(`no such overload: ${dispatch.name}(${kinds})`, dispatch.at);
}

export function callStep(dispatch: Dispatch, args: readonly Step[]): Step {
  const [first, second] = args;
  const [only] = dispatch.candidates;
  if (dispatch.candidates.length === 1 && only && !dispatch.lenient) {
    if (args.length === 1 && first) return unaryStep(dispatch, only, first);
    if (args.length === 2 && first && second) return binaryStep(dispatch, only, first, second);
  }
  return (frame) =>
    invoke(
      dispatch,
      args.map((arg) => arg(frame)),
      frame,
    );
}

function unaryStep(dispatch: Dispatch, { overload, tests }: Candidate, arg: Step): Step {
  const test = tests[0] ?? (() => true);
  return (frame) => {
    const value = arg(frame);
    if (value instanceof Failure) return value;
    if (!test(value)) return mismatch(dispatch, [value]);
    return perform(dispatch, overload, [value], frame);
  };
}

function binaryStep(dispatch: Dispatch, { overload, tests }: Candidate, first: Step, second: Step): Step {
  const [testFirst = () => true, testSecond = () => true] = tests;
  return (frame) => {
    const a = first(frame);
    const b = second(frame);
    if (a instanceof Failure || b instanceof Failure) return firstFailure([a, b]) ?? null;
    if (!testFirst(a) || !testSecond(b)) return mismatch(dispatch, [a, b]);
    return perform(dispatch, overload, [a, b], frame);
  };
}
