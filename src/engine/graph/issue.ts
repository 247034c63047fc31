import type { ExpressionIssue } from '../../cel/index.ts';

/** Something wrong with a definition, as data: where it is, what was found, what would fit. */
export interface GraphIssue {
  /** Id of the node; absent for what belongs to the schema. */
  readonly node?: string;
  /** Within the definition: `resources[2].template.spec.replicas`, `schema.spec.name`. */
  readonly path: string;
  /** Without `${` and `}`. */
  readonly expression?: string;
  /** Within the expression: `1:7`. */
  readonly at?: string;
  readonly message: string;
  readonly expected?: string;
}

/** One line: `resources[0].template.spec.replicas (node web), ${schema.spec.name}: found a string; expected an integer`. */
export function issueText(issue: GraphIssue): string {
  const node = issue.node === undefined ? '' : ` (node ${issue.node})`;
  const place = issue.at === undefined ? '' : ` at ${issue.at}`;
  const expression = issue.expression === undefined ? '' : `, \${${shortened(issue.expression)}}${place}`;
  const expected = issue.expected === undefined ? '' : `; expected ${issue.expected}`;
  return `${issue.path}${node}${expression}: ${issue.message}${expected}`;
}

const SHOWN = 120;

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}

/** Where in a definition something stands. */
export interface Place {
  readonly node?: string;
  readonly path: string;
}

export function expressionIssues(
  place: Place,
  expression: string,
  issues: readonly ExpressionIssue[],
): GraphIssue[] {
  return issues.map(({ line, column, message, hint }) => ({
    ...place,
    expression,
    at: `${line}:${column}`,
    message: message.replace(" (in container '')", ''),
    ...(hint === undefined ? {} : { expected: hint }),
  }));
}
