import { compileRegularExpression, type RegularExpression } from '../../schema/regular-expression.ts';
import { CelError } from '../values/value.ts';

/** Compiled expressions by their text: rules apply the same few patterns again and again. */
const COMPILED = new Map<string, RegularExpression>();
const MAX_COMPILED = 256;

export function compiledPattern(pattern: string): RegularExpression | CelError {
  const known = COMPILED.get(pattern);
  if (known) return known;
  const compiled = compileRegularExpression(pattern);
  if ('error' in compiled) return new CelError(compiled.error);
  if (COMPILED.size >= MAX_COMPILED) COMPILED.clear();
  COMPILED.set(pattern, compiled);
  return compiled;
}

export function matchesPattern(text: string, pattern: string): boolean | CelError {
  const compiled = compiledPattern(pattern);
  return compiled instanceof CelError ? compiled : compiled.test(text);
}
