import type { Overload } from '../library/function.ts';
import type { Expr } from '../syntax/ast.ts';
import { kindTest, typeNameOf } from '../values/convert.ts';
import { CelError, Failure, firstFailure, type Value } from '../values/value.ts';
import { checkLimits, countWalked, type Frame, type Step } from './frame.ts';

interface Candidate {
  readonly overload: Overload;
  readonly tests: readonly ((value: Value) => boolean)[];
}

/** What calls of the same overloads have in common. */
interface Candidates {
  readonly list: readonly Candidate[];
  readonly lenient: boolean;
}

/** Runs the overload that fits the kinds of the arguments. */
export interface Dispatch {
  readonly name: string;
  readonly at: number;
  readonly candidates: readonly Candidate[];
  readonly lenient: boolean;
}

const CANDIDATES = new WeakMap<readonly Overload[], Candidates>();

function candidatesOf(overloads: readonly Overload[]): Candidates {
  let candidates = CANDIDATES.get(overloads);
  if (candidates === undefined) {
    candidates = {
      list: overloads.map((overload) => ({ overload, tests: overload.params.map(kindTest) })),
      lenient: overloads.some((overload) => overload.lenient === true),
    };
    CANDIDATES.set(overloads, candidates);
  }
  return candidates;
}

export function dispatchOf(name: string, overloads: readonly Overload[], at: number): Dispatch {
  const { list, lenient } = candidatesOf(overloads);
  return { name, at, candidates: list, lenient };
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
  count(overload.cost, args, frame);
  return performed(dispatch.at, overload.run(...args), overload.resultCost, frame);
}

function count(cost: Overload['cost'], args: readonly Value[], frame: Frame): void {
  if (cost === undefined) {
    frame.cost++;
    const [first] = args;
    if (typeof first === 'string') countWalked(frame, first.length);
  } else {
    frame.cost += cost(args);
    checkLimits(frame);
  }
}

function performed(at: number, result: Value, resultCost: Overload['resultCost'], frame: Frame): Value {
  if (resultCost !== undefined) {
    frame.cost += resultCost(result);
    checkLimits(frame);
  }
  return typeof result === 'object' && result instanceof CelError && result.at === -1
    ? new CelError(result.message, at, result.missing)
    : result;
}

function mismatch(dispatch: Dispatch, args: readonly Value[]): CelError {
  const kinds = args.map(typeNameOf).join(', ');
  return new CelError(`no such overload: ${dispatch.name}(${kinds})`, dispatch.at);
}

/** Of arguments that are written out, what can be made ready is. */
export function callStep(dispatch: Dispatch, args: readonly Step[], written: readonly Expr[]): Step {
  const [first, second] = args;
  const [only] = dispatch.candidates;
  if (dispatch.candidates.length === 1 && only && !dispatch.lenient) {
    const run = prepared(only.overload, written);
    if (args.length === 1 && first) return unaryStep(dispatch, only, run, first);
    if (args.length === 2 && first && second) return binaryStep(dispatch, only, run, first, second);
  }
  return (frame) =>
    invoke(
      dispatch,
      args.map((arg) => arg(frame)),
      frame,
    );
}

function prepared({ prepare, run }: Overload, written: readonly Expr[]): Overload['run'] {
  if (prepare === undefined) return run;
  return prepare(written.map((arg) => (arg.kind === 'literal' ? arg.value : undefined))) ?? run;
}

const anything = (): boolean => true;

function unaryStep(
  dispatch: Dispatch,
  { overload: { cost, resultCost }, tests }: Candidate,
  run: Overload['run'],
  arg: Step,
): Step {
  const { at } = dispatch;
  const [test = anything] = tests;
  return (frame) => {
    const value = arg(frame);
    if (typeof value === 'object' && value instanceof Failure) return value;
    if (!test(value)) return mismatch(dispatch, [value]);
    count(cost, [value], frame);
    return performed(at, run(value), resultCost, frame);
  };
}

function binaryStep(
  dispatch: Dispatch,
  { overload: { cost, resultCost }, tests }: Candidate,
  run: Overload['run'],
  first: Step,
  second: Step,
): Step {
  const { at } = dispatch;
  const [testFirst = anything, testSecond = anything] = tests;
  return (frame) => {
    const a = first(frame);
    const b = second(frame);
    if (a instanceof Failure || b instanceof Failure) return firstFailure([a, b]) ?? null;
    if (!testFirst(a) || !testSecond(b)) return mismatch(dispatch, [a, b]);
    count(cost, [a, b], frame);
    return performed(at, run(a, b), resultCost, frame);
  };
}
