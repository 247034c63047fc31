/** A place in an expression: both counts begin at 1, columns count code points. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Something wrong with an expression, as data. */
export interface ExpressionIssue extends SourcePosition {
  /** Offset in UTF-16 units. */
  readonly offset: number;
  readonly message: string;
  /** What would have fitted. */
  readonly hint?: string;
}

export function positionAt(source: string, offset: number): SourcePosition {
  let line = 1;
  let start = 0;
  for (let at = source.indexOf('\n'); at !== -1 && at < offset; at = source.indexOf('\n', start)) {
    line++;
    start = at + 1;
  }
  let column = 1;
  for (let at = start; at < offset; column++) at += (source.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return { line, column };
}

export function issueAt(source: string, offset: number, message: string, hint?: string): ExpressionIssue {
  return { ...positionAt(source, offset), offset, message, ...(hint !== undefined && { hint }) };
}

const MAX_SHOWN_LINE = 160;

/** The form in which Kubernetes shows issues: place and message, the line, and a mark below it. */
export function formatIssues(source: string, issues: readonly ExpressionIssue[]): string {
  const lines = source.split('\n');
  return issues
    .map((issue) => {
      const head = `ERROR: <input>:${issue.line}:${issue.column}: ${issue.message}`;
      const line = (lines[issue.line - 1] ?? '').replaceAll('\t', ' ');
      if (line.length > MAX_SHOWN_LINE) return head;
      return `${head}\n | ${line}\n | ${'.'.repeat(issue.column - 1)}^`;
    })
    .join('\n');
}
