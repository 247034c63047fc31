import {
  type AttributePath,
  COST_EXCEEDED,
  EvaluationStopped,
  type Frame,
  INTERRUPTED,
} from './evaluate/frame.ts';
import type { Plan } from './evaluate/planner.ts';
import type { ParsedExpression } from './syntax/ast.ts';
import { positionAt, type SourcePosition } from './syntax/source-position.ts';
import { CelError, Unknown, type Value } from './values/value.ts';

/** Values of variables by name: JSON, or values of this room. A function is asked once for each variable that is used. */
export type Bindings = Readonly<Record<string, unknown>> | ((name: string) => unknown);

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
}

export interface EvaluationError extends Partial<SourcePosition> {
  readonly message: string;
  /** Why there is no result: the expression failed, it cost too much, or it was interrupted. */
  readonly reason: 'Failed' | 'BudgetExceeded' | 'Interrupted';
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
  readonly variables: readonly string[];
  readonly evaluate: (bindings?: Bindings, options?: EvaluateOptions) => EvaluationResult;
}

/** Cost units that Kubernetes grants one evaluation. */
export const PER_CALL_BUDGET = 1_000_000;

export function createProgram(ast: ParsedExpression, plan: Plan): Program {
  const { run, slotCount, variables } = plan;
  const names = variables.map((variable) => variable.name);
  return {
    ast,
    variables: names,
    evaluate: (bindings = {}, options) => {
      const slots = new Array<Value | undefined>(slotCount);
      const frame: Frame = {
        slots,
        load: (slot) => {
          const variable = variables[slot];
          if (variable === undefined) return null;
          const raw =
            typeof bindings === 'function' ? bindings(variable.name) : ownValue(bindings, variable.name);
          const value =
            raw === undefined ? new CelError(`no such attribute: ${variable.name}`) : variable.adapter(raw);
          slots[slot] = value;
          return value;
        },
        cost: 0,
        limit: options?.budget ?? PER_CALL_BUDGET,
        iterations: 0,
        walked: 0,
        interrupted: interruption(options),
        unknowns: options?.unknowns?.map(pathOf),
      };
      return evaluate(run, frame, ast.source);
    },
  };
}

function ownValue(bindings: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(bindings, name) ? bindings[name] : undefined;
}

function interruption(options: EvaluateOptions | undefined): (() => boolean) | undefined {
  const signal = options?.signal;
  const asked = options?.interrupted;
  if (signal === undefined) return asked;
  return () => signal.aborted || asked?.() === true;
}

function pathOf(attribute: string | AttributePath): AttributePath {
  return typeof attribute === 'string' ? attribute.split('.') : attribute;
}

function evaluate(run: Plan['run'], frame: Frame, source: string): EvaluationResult {
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
  }
}

function failure(error: CelError, source: string): EvaluationError {
  const { message } = error;
  return error.at < 0
    ? { message, reason: 'Failed' }
    : { message, reason: 'Failed', ...positionAt(source, error.at) };
}
