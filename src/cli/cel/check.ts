import { createEnvironment, formatType, type KubernetesVersion } from '../../cel/index.ts';
import { printed } from '../output.ts';
import { issueReport, issuesText } from './issues.ts';
import { declaredVariables } from './variables.ts';

export interface CheckExpressionOptions {
  readonly expr: string;
  readonly env?: string;
  readonly schema?: string;
  readonly crd?: string;
  readonly crdVersion?: string;
  readonly path?: string;
  readonly k8s?: KubernetesVersion;
  readonly output?: 'json' | 'yaml';
}

/** Checks an expression and prints its type and what it costs at most. Returns the exit code. */
export function checkExpression(options: CheckExpressionOptions): number {
  const { expr, output, k8s } = options;
  const env = createEnvironment({
    variables: declaredVariables(options),
    ...(k8s === undefined ? {} : { version: k8s }),
  });
  const compiled = env.compile(expr);
  if (!compiled.program) {
    const report = { valid: false, issues: compiled.issues.map(issueReport) };
    if (output === undefined) process.stderr.write(issuesText(expr, compiled.issues));
    else process.stdout.write(printed(report, output, () => ''));
    return 1;
  }
  const report = { valid: true, type: formatType(compiled.type), estimatedCost: compiled.estimate() };
  process.stdout.write(
    printed(report, output, ({ type, estimatedCost: { min, max } }) => {
      const cost = min === max ? String(max) : `${min} to ${Number.isFinite(max) ? max : 'any number of'}`;
      return `ok: ${type}, costs ${cost} units by estimate\n`;
    }),
  );
  return 0;
}
