/** `atoll cel`: expressions on the command line, evaluated or checked against the types that a file declares. */
export { type CheckExpressionOptions, checkExpression } from './check.ts';
export { type EvaluateExpressionOptions, evaluateExpression } from './evaluate.ts';
