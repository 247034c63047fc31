import { type AttributePath, type Bindings, type Frame, INTERRUPTED } from './evaluate/frame.ts';
import type { Plan } from './evaluate/planner.ts';
import type { ParsedExpression } from './syntax/ast.ts';
import { positionAt, type SourcePosition } from './syntax/source-position.ts';
import { CelError, Unknown, type Value } from './values/value.ts';
import { COST_EXCEEDED, countInto, EvaluationStopped, type Walk } from './values/walking.ts';

export type { Bindings };

export interface EvaluateOptions {
  /** Cost at which the evaluation is given up; Kubernetes' limit of a single evaluation by default. */
  readonly budget?: number;
  readonly signal?: AbortSignal;
  /** Asked now and then within loops; true ends the evaluation. */
  readonly interrupted?: () => boolean;
  /**
   * Attributes that are not known yet, such as `resources.vpc.status` or `resources.*.status`. Where the result depends on
   * them it is unknown, and says on which.
   */
  readonly unknowns?: readonly (string | AttributePath)[];
  /** What it walked through is added to this: what its cost does not tell. */
  readonly walk?: Walk;
}

export interface EvaluationError extends Partial<SourcePosition> {
  readonly message: string;
  /** Why there is no result: the expression failed, it cost too much, or it was interrupted. */
  readonly reason: 'Failed' | 'BudgetExceeded' | 'Interrupted';
  /** It failed for want of a key, a field or an element, which may come to be there. */
  readonly missing?: true;
}

export type EvaluationResult =
  | { readonly value: Value; readonly error?: undefined; readonly unknown?: undefined; readonly cost: number }
  | {
      readonly value?: undefined;
      readonly error: EvaluationError;
      readonly unknown?: undefined;
      readonly cost: number;
    }
  | {
      readonly value?: undefined;
      readonly error?: undefined;
      readonly unknown: readonly string[];
      readonly cost: number;
    };

/** A compiled expression, which may be evaluated any number of times. */
export interface Program {
  readonly ast: ParsedExpression;
  /** Names of the environment's variables that the expression uses. */
  readonly variables: () => readonly string[];
  readonly evaluate: (bindings?: Bindings, options?: EvaluateOptions) => EvaluationResult;
}

/** Cost units that Kubernetes grants one evaluation. */
export const PER_CALL_BUDGET = 1_000_000;

const NOTHING: Bindings = {};

/** `plan` is asked when there is something to evaluate, and for a plan that minds unknowns only when there may be some. */
export function createProgram(ast: ParsedExpression, plan: (mindsUnknowns: boolean) => Plan): Program {
  let complete: Plan | undefined;
  let partial: Plan | undefined;
  return {
    ast,
    variables: () => {
      complete ??= plan(false);
      return complete.variables;
    },
    evaluate: (bindings = NOTHING, options) => {
      let chosen: Plan;
      if (options?.unknowns === undefined) chosen = complete ??= plan(false);
      else chosen = partial ??= plan(true);
      return evaluate(chosen, bindings, options, ast.source);
    },
  };
}

function interruption({ signal, interrupted: asked }: EvaluateOptions): (() => boolean) | undefined {
  if (signal === undefined) return asked;
  return () => signal.aborted || asked?.() === true;
}

function pathOf(attribute: string | AttributePath): AttributePath {
  return typeof attribute === 'string' ? attribute.split('.') : attribute;
}

function evaluate(
  { run, slotCount }: Plan,
  bindings: Bindings,
  options: EvaluateOptions | undefined,
  source: string,
): EvaluationResult {
  const frame: Frame = {
    slots: new Array<Value | undefined>(slotCount),
    bindings,
    cost: 0,
    limit: options?.budget ?? PER_CALL_BUDGET,
    iterations: 0,
    walked: 0,
    interrupted: options === undefined ? undefined : interruption(options),
    unknowns: options?.unknowns?.map(pathOf),
  };
  const outer = countInto(frame);
  try {
    if (frame.interrupted?.() === true) throw new EvaluationStopped(INTERRUPTED);
    const value = run(frame);
    const { cost } = frame;
    if (cost > frame.limit) throw new EvaluationStopped(COST_EXCEEDED);
    if (typeof value === 'object') {
      if (value instanceof CelError) return { error: failure(value, source), cost };
      if (value instanceof Unknown) return { unknown: value.attributes, cost };
    }
    return { value, cost };
  } catch (error) {
    if (!(error instanceof EvaluationStopped)) throw error;
    const reason = error.message === COST_EXCEEDED ? 'BudgetExceeded' : 'Interrupted';
    return { error: { message: error.message, reason }, cost: frame.cost };
  } finally {
    countInto(outer);
    if (options?.walk) options.walk.walked += frame.walked;
  }
}

function failure(error: CelError, source: string): EvaluationError {
  const { message } = error;
  return {
    message,
    reason: 'Failed',
    ...(error.missing && { missing: true }),
    ...(error.at >= 0 && positionAt(source, error.at)),
  };
}
