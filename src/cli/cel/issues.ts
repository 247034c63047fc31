import { type ExpressionIssue, formatIssues } from '../../cel/index.ts';
import { harmless } from '../output.ts';

/** Issues with the place they are at and what would fit. */
export function issuesText(source: string, issues: readonly ExpressionIssue[]): string {
  return issues
    .map((issue) => {
      const hint = issue.hint === undefined ? '' : `Hint: ${issue.hint}\n`;
      return harmless(`${formatIssues(source, [issue])}\n${hint}`);
    })
    .join('');
}

/** The same as data. */
export function issueReport({ line, column, message, hint }: ExpressionIssue): object {
  return { line, column, message, ...(hint === undefined ? {} : { hint }) };
}
