import type { ResolvedName, Scope } from '../evaluate/scope.ts';
import type { Overload } from '../library/function.ts';
import type { CallExpr, ParsedExpression } from '../syntax/ast.ts';
import { type ExpressionIssue, issueAt } from '../syntax/source-position.ts';
import type { Substitution } from '../types/substitution.ts';
import { ERROR, type Type } from '../types/type.ts';

export interface CheckOptions {
  /** Elements of a literal must agree in type. */
  readonly homogeneousLiterals: boolean;
  /** Durations, timestamps and regular expressions that are written out must be ones. */
  readonly validLiterals: boolean;
}

/** What is known so far, while an expression is checked. */
export interface Checker {
  readonly ast: ParsedExpression;
  readonly scope: Scope;
  readonly options: CheckOptions;
  readonly types: (Type | undefined)[];
  readonly overloads: (readonly Overload[] | undefined)[];
  readonly references: (ResolvedName | undefined)[];
  readonly found: Substitution;
  readonly issues: ExpressionIssue[];
  locals: Local | undefined;
  fresh: number;
  /** Calls with a literal that must be readable; looked at when all else is well. */
  literalCalls: CallExpr[] | undefined;
  readonly isLocal: (name: string) => boolean;
}

export interface Local {
  readonly name: string;
  readonly type: Type;
  readonly outer: Local | undefined;
}

const MAX_ISSUES = 100;

/** Notes what is wrong. Gives the type of what has none, about which nothing more is said. */
export function report(checker: Checker, at: number, message: string, hint?: string): Type {
  if (checker.issues.length < MAX_ISSUES) checker.issues.push(issueAt(checker.ast.source, at, message, hint));
  return ERROR;
}

export function freshParam(checker: Checker): Type {
  return { kind: 'param', name: `_var${checker.fresh++}` };
}
