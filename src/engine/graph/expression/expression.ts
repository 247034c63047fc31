import {
  createEnvironment,
  DYN,
  type Environment,
  type EvaluationResult,
  type Library,
  PER_CALL_BUDGET,
  type Program,
  type Type,
  type Walk,
} from '../../../cel/index.ts';
import { expressionIssues, type GraphIssue, type Place } from '../issue.ts';
import { CLOCK, type GraphClock } from './time-library.ts';

/** A compiled expression of a graph. */
export interface Expression {
  /** Without `${` and `}`. */
  readonly source: string;
  readonly type: Type;
  /** Variables that it uses: `schema`, ids of nodes, variables of forEach, `each`. Sorted. */
  readonly references: readonly string[];
  readonly program: Program;
}

/** Some names. Those of a graph are in memory once, however many places there are that may use most of them. */
export interface Names {
  has(name: string): boolean;
  /** All of them, for a message. */
  all(): Iterable<string>;
}

/** What expressions at one kind of place are compiled with. */
export interface ExpressionScope {
  readonly environment: Environment;
  /** What may be used there, of all the variables that are known. */
  readonly allowed: Names;
  /** `readyWhen`, as messages call the place. */
  readonly what: string;
}

/** What expressions are checked against: the types of all variables, whether they may be used at a place or not. */
export function graphEnvironment(
  variables: Readonly<Record<string, Type>>,
  libraries: readonly Library[],
): Environment {
  return createEnvironment({
    libraries,
    variables: { ...variables, [CLOCK]: DYN },
    homogeneousLiterals: false,
  });
}

export function expressionScope(
  what: string,
  environment: Environment,
  allowed: Names | readonly string[],
): ExpressionScope {
  return { environment, allowed: isNames(allowed) ? allowed : theNames(allowed), what };
}

function isNames(names: Names | readonly string[]): names is Names {
  return 'has' in names;
}

function theNames(names: readonly string[]): Names {
  const set = new Set(names);
  return { has: (name) => set.has(name), all: () => set };
}

/** Compiles one expression; `undefined` after adding to `issues`. */
export function compileExpression(
  scope: ExpressionScope,
  source: string,
  place: Place,
  issues: GraphIssue[],
): Expression | undefined {
  const compiled = scope.environment.compile(source);
  if (!compiled.program) {
    issues.push(...expressionIssues(place, source, compiled.issues).map((issue) => withNames(issue, scope)));
    return undefined;
  }
  const references = [...compiled.program.variables()].filter((name) => name !== CLOCK).sort();
  const refused = references.filter((name) => !scope.allowed.has(name));
  if (refused.length > 0) {
    const all = [...scope.allowed.all()].sort();
    const may = all.length === 0 ? 'no variables' : all.join(', ');
    const names = refused.map((name) => `"${name}"`).join(' and ');
    issues.push({
      ...place,
      expression: source,
      message: `${names} cannot be used in ${scope.what}`,
      expected: may,
    });
    return undefined;
  }
  return { source, type: compiled.type, references, program: compiled.program };
}

function withNames(issue: GraphIssue, scope: ExpressionScope): GraphIssue {
  if (issue.expected !== undefined || !issue.message.startsWith('undeclared reference')) return issue;
  const names = [...scope.allowed.all()].sort();
  return { ...issue, expected: names.length === 0 ? 'no variable' : `one of ${names.join(', ')}` };
}

/** Values of variables by name. */
export type Bindings = Readonly<Record<string, unknown>>;

/** Why an expression has no value: it waits for something that is not there yet, or it failed. */
export interface Unresolved {
  readonly kind: 'Pending' | 'Failed';
  readonly expression: string;
  readonly message: string;
}

export type Evaluated =
  | { readonly value: NonNullable<EvaluationResult['value']> | null; readonly unresolved?: undefined }
  | { readonly value?: undefined; readonly unresolved: Unresolved };

/** So many times what one expression may cost is for all that are evaluated at one look at an instance. */
const TOGETHER = 20;

/** So much of what was walked through is one unit of cost: what takes as long as may be costs about as much as one expression may. */
const WALKED = 500;

export function costOfWalk({ walked }: Walk): number {
  return Math.ceil(walked / WALKED);
}

/** What is left of the budget for one expression where others were evaluated with the same clock. */
export function budgetLeft(clock: GraphClock | undefined, budget: number = PER_CALL_BUDGET): number {
  return Math.min(budget, Math.max(0, TOGETHER * budget - (clock?.spent ?? 0)));
}

/**
 * Evaluates within a budget of cost, beyond which the expression counts as failed; all with one clock within a multiple of it, so that
 * nobody keeps the engine from what it does for others by writing many.
 */
export function evaluateExpression(expression: Expression, bindings: Bindings, budget?: number): Evaluated {
  const clock = bindings[CLOCK] as GraphClock | undefined;
  const meter = clock?.meter;
  const left = budgetLeft(clock, budget);
  if (left === 0) {
    const message = `the expressions of the instance cost more together than ${TOGETHER * (budget ?? PER_CALL_BUDGET)}`;
    return { unresolved: { kind: 'Failed', expression: expression.source, message } };
  }
  const began = meter?.now() ?? 0;
  const walk: Walk = { walked: 0 };
  const result = expression.program.evaluate(bindings, { budget: left, walk });
  if (clock) clock.spent += result.cost + costOfWalk(walk);
  meter?.took('expression', meter.now() - began);
  if (result.error === undefined) return { value: result.value ?? null };
  const { message, missing } = result.error;
  return {
    unresolved: {
      kind: missing === true ? 'Pending' : 'Failed',
      expression: expression.source,
      message,
    },
  };
}
