import { compileSearch, type Search } from '../regex/search.ts';
import { CelError } from '../values/value.ts';
import type { Overload } from './function.ts';

/** Compiled expressions by their text: rules apply the same few patterns again and again. */
const COMPILED = new Map<string, Search>();
const MAX_COMPILED = 256;

export function compiledPattern(pattern: string): Search | CelError {
  const known = COMPILED.get(pattern);
  if (known) return known;
  const compiled = compileSearch(pattern);
  if ('error' in compiled) return new CelError(compiled.error);
  if (COMPILED.size >= MAX_COMPILED) COMPILED.clear();
  COMPILED.set(pattern, compiled);
  return compiled;
}

/** `text.matches(pattern)`, whose pattern is mostly written out and then looked up once. */
export const matchingPattern: Pick<Overload, 'run' | 'prepare'> = {
  run: (text, pattern) => test(text as string, compiledPattern(pattern as string)),
  prepare: ([, pattern]) => {
    if (typeof pattern !== 'string') return undefined;
    const compiled = compiledPattern(pattern);
    return (text) => test(text as string, compiled);
  },
};

function test(text: string, compiled: Search | CelError): boolean | CelError {
  return compiled instanceof CelError ? compiled : compiled.test(text);
}
