import { compiledPattern } from '../library/pattern.ts';
import { childrenOf, type Expr, type ParsedExpression } from '../syntax/ast.ts';
import { type ExpressionIssue, issueAt } from '../syntax/source-position.ts';
import { parseDuration, parseTimestamp } from '../values/time.ts';
import { CelError } from '../values/value.ts';

const CHECKS: Readonly<Record<string, (text: string) => unknown>> = {
  duration: parseDuration,
  timestamp: parseTimestamp,
  matches: compiledPattern,
};

/** Texts that could not be read whenever they are evaluated: durations, timestamps, regular expressions. */
export function literalIssues(ast: ParsedExpression): ExpressionIssue[] {
  const issues: ExpressionIssue[] = [];
  const seen = new Set<Expr>();
  const walk = (expr: Expr): void => {
    // Macros may use a node twice.
    if (seen.has(expr)) return;
    seen.add(expr);
    if (expr.kind === 'call' && Object.hasOwn(CHECKS, expr.function)) {
      const text = expr.args.at(-1);
      const isPattern = expr.function === 'matches';
      const fits = isPattern ? expr.args.length > 0 : expr.args.length === 1 && expr.target === undefined;
      if (fits && text?.kind === 'literal' && typeof text.value === 'string') {
        const found = CHECKS[expr.function]?.(text.value);
        if (found instanceof CelError) {
          issues.push(issueAt(ast.source, text.at, `invalid ${expr.function} argument`, found.message));
        }
      }
    }
    for (const child of childrenOf(expr)) walk(child);
  };
  walk(ast.expr);
  return issues;
}
