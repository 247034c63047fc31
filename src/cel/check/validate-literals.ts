import { compiledPattern } from '../library/pattern.ts';
import type { CallExpr } from '../syntax/ast.ts';
import { type ExpressionIssue, issueAt } from '../syntax/source-position.ts';
import { parseDuration, parseTimestamp } from '../values/time.ts';
import { CelError } from '../values/value.ts';

/** How the texts of functions are read. */
const CHECKS: ReadonlyMap<string, (text: string) => unknown> = new Map<string, (text: string) => unknown>([
  ['duration', parseDuration],
  ['timestamp', parseTimestamp],
  ['matches', compiledPattern],
]);

/** Texts that could not be read whenever they are evaluated: durations, timestamps, regular expressions. */
export function literalIssues(source: string, calls: Iterable<CallExpr>): ExpressionIssue[] {
  const issues: ExpressionIssue[] = [];
  // Macros may use a call twice.
  for (const expr of new Set(calls)) {
    const text = expr.args.at(-1);
    const isPattern = expr.function === 'matches';
    const fits = isPattern ? expr.args.length > 0 : expr.args.length === 1 && expr.target === undefined;
    if (!fits || text?.kind !== 'literal' || typeof text.value !== 'string') continue;
    const found = CHECKS.get(expr.function)?.(text.value);
    if (found instanceof CelError) {
      issues.push(issueAt(source, text.at, `invalid ${expr.function} argument`, found.message));
    }
  }
  return issues;
}
