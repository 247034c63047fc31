/**
 * Expressions of graphs: CEL with the functions of kro, compiled against the types of the schema and of all nodes.
 *
 * {@link expressionScope} says which variables may be used at a kind of place, {@link compileExpression} compiles and finds what an
 * expression refers to, {@link mismatch} says whether its result fits a field. {@link evaluateExpression} tells what is not there
 * yet from what failed.
 */
export {
  article,
  isWild,
  mismatch,
  someOf,
  takesAnything,
  takesIntOrString,
  unwrapped,
  wantedText,
} from './compatible.ts';
export { CONDITION_TYPE, conditionCalls } from './condition-library.ts';
export { DEFER_FUNCTION } from './defer-library.ts';
export {
  type Bindings,
  budgetLeft,
  compileExpression,
  costOfWalk,
  type Evaluated,
  type Expression,
  type ExpressionScope,
  evaluateExpression,
  expressionScope,
  graphEnvironment,
  type Names,
  type Unresolved,
} from './expression.ts';
export { conditionLibraries, graphLibraries, templateLibraries } from './libraries.ts';
export { isOmitted, OMIT_FUNCTION } from './omit-library.ts';
export { goDuration, type JsonOfResult, jsonOfResult } from './result.ts';
export { CLOCK, type GraphClock, type GraphMeter, graphClock } from './time-library.ts';
