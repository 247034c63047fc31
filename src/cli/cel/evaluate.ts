import {
  createEnvironment,
  Double,
  DYN,
  type ExpressionIssue,
  type KubernetesVersion,
  type Type,
  toJson,
  typeNameOf,
} from '../../cel/index.ts';
import { jsonText } from '../../schema/json-text.ts';
import { printed } from '../output.ts';
import { issueReport, issuesText } from './issues.ts';

export interface EvaluateExpressionOptions {
  readonly expr: string;
  /** `name=JSON` */
  readonly var: readonly string[];
  readonly k8s?: KubernetesVersion;
  readonly output?: 'json' | 'yaml';
}

/** Evaluates an expression and prints what it comes to. Returns the exit code. */
export function evaluateExpression(options: EvaluateExpressionOptions): number {
  const { expr, output } = options;
  const bindings: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const types: Record<string, Type> = {};
  for (const text of options.var) {
    const at = text.indexOf('=');
    const name = text.slice(0, at);
    bindings[name] = jsonOf(name, text.slice(at + 1));
    types[name] = DYN;
  }
  const env = createEnvironment({
    variables: types,
    ...(options.k8s === undefined ? {} : { version: options.k8s }),
  });
  const { program, issues } = env.compile(expr);
  if (!program) return failed(expr, issues, output);
  const { value, error, cost } = program.evaluate({ ...bindings });
  if (error) {
    const { line = 1, column = 1, message } = error;
    return failed(expr, [{ line, column, message, offset: 0 }], output, cost);
  }
  const written = toJson(value ?? null, { longIntegers: 'bigint' });
  if ('error' in written) throw new Error(`the value is a ${typeNameOf(value ?? null)}: ${written.error}`);
  const report = { value: written.json, type: typeNameOf(value ?? null), cost };
  // Long integers are bigints, of which JSON.stringify knows nothing.
  const text =
    output === 'json'
      ? `${jsonText(report, 2)}\n`
      : printed(report, output, ({ value: shown }) => `${jsonText(shown, 2)}\n`);
  process.stdout.write(text);
  return 0;
}

function failed(
  source: string,
  issues: readonly ExpressionIssue[],
  output: 'json' | 'yaml' | undefined,
  cost?: number,
): number {
  const report = { issues: issues.map(issueReport), ...(cost === undefined ? {} : { cost }) };
  if (output === undefined) process.stderr.write(issuesText(source, issues));
  else process.stdout.write(printed(report, output, () => ''));
  return 1;
}

/** JSON without loss: integers beyond 2⁵³ stay exact, and `1.0` is a double. */
function jsonOf(name: string, text: string): unknown {
  const exact = (_key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined) return value;
    if (/[.eE]/.test(source)) return new Double(value);
    return Number.isSafeInteger(value) ? value : BigInt(source);
  };
  try {
    return JSON.parse(text, exact);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const quoted = JSON.stringify(text);
    throw new Error(`--var ${name} is not JSON; a text is written --var '${name}=${quoted}'`, {
      cause: error,
    });
  }
}
