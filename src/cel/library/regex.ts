import {
  findAll as allMatches,
  type Match,
  type Search,
  type StepBudget,
  StepsExceeded,
} from '../regex/search.ts';
import { INT, listType, optionalType, STRING } from '../types/type.ts';
import { List } from '../values/list.ts';
import { CelError, NONE, Optional, type Value } from '../values/value.ts';
import { matching } from './cost.ts';
import { globalOverload, type Library, memberOverload, type Overload } from './function.ts';
import { compiledPattern } from './pattern.ts';

/** Visits of each instruction for each character: few are needed unless looking for each match walks through all that follows. */
const MAX_PASSES = 4;
const MIN_STEPS = 10_000;
const MAX_TEXT = 16 * 1024 * 1024;

/** Errors of the machine become values. */
function guarded(
  run: (search: Search, text: string, budget: StepBudget, rest: readonly Value[]) => Value,
): Overload['run'] {
  return (text, pattern, ...rest) => {
    const search = compiledPattern(pattern as string);
    if (search instanceof CelError) return search;
    try {
      const left = MIN_STEPS + MAX_PASSES * (text as string).length * search.size;
      return run(search, text as string, { left }, rest);
    } catch (error) {
      if (error instanceof StepsExceeded) return new CelError(error.message);
      throw error;
    }
  };
}

function group(text: string, match: Match, index: number): string | undefined {
  const start = match[index * 2] ?? -1;
  return start < 0 ? undefined : text.slice(start, match[index * 2 + 1]);
}

const find = guarded((search, text, budget) => {
  const match = search.find(text, 0, budget);
  return match ? (group(text, match, 0) ?? '') : '';
});

const findAll = guarded((search, text, budget, [limit]) => {
  const count = limit === undefined ? -1 : Number(limit);
  const matches = allMatches(search, text, count < 0 ? Infinity : count, budget);
  return new List(matches.map((match) => group(text, match, 0) ?? ''));
});

const details = matching(0, 1, true);

/** What Kubernetes adds: `find` and `findAll`. */
export const kubernetesRegexLibrary: Library = {
  name: 'kubernetes-regex',
  functions: [
    {
      name: 'find',
      overloads: [memberOverload('string_find_string', [STRING, STRING], STRING, find, details)],
    },
    {
      name: 'findAll',
      overloads: [
        memberOverload('string_find_all_string', [STRING, STRING], listType(STRING), findAll, details),
        memberOverload(
          'string_find_all_string_int',
          [STRING, STRING, INT],
          listType(STRING),
          findAll,
          details,
        ),
      ],
    },
  ],
};

const TOO_MANY_GROUPS = new CelError('regular expression has more than one capturing group');

/** The group if there is one, else the whole match. */
function extracted(search: Search, text: string, match: Match): string | undefined {
  return group(text, match, search.groupCount === 0 ? 0 : 1);
}

const extract = guarded((search, text, budget) => {
  if (search.groupCount > 1) return TOO_MANY_GROUPS;
  const match = search.find(text, 0, budget);
  const found = match && extracted(search, text, match);
  return found === undefined ? NONE : new Optional(found);
});

const extractAll = guarded((search, text, budget) => {
  if (search.groupCount > 1) return TOO_MANY_GROUPS;
  const found = allMatches(search, text, Infinity, budget).map((match) => extracted(search, text, match));
  return new List(found.filter((item) => item !== undefined));
});

/** Replacements may name groups as `\1`. */
const replace = guarded((search, text, budget, [replacement, limit]) => {
  const count = limit === undefined ? -1 : Number(limit);
  if (count === 0) return text;
  const template = replacement as string;
  const bad =
    /\\(?![0-9\\])/.test(template) ||
    [...template.matchAll(/\\([0-9])/g)].some((found) => Number(found[1]) > search.groupCount);
  if (bad) return new CelError('invalid replacement: a backslash names no group');
  let out = '';
  let at = 0;
  for (const match of allMatches(search, text, count < 0 ? Infinity : count, budget)) {
    out +=
      text.slice(at, match[0]) +
      template.replace(/\\([0-9\\])/g, (_, name: string) =>
        name === '\\' ? '\\' : (group(text, match, Number(name)) ?? ''),
      );
    at = match[1] ?? at;
    if (out.length > MAX_TEXT) return new CelError('the text would become too long');
  }
  return out + text.slice(at);
});

/** `regex.replace`, `regex.extract`, `regex.extractAll`. */
export const regexLibrary: Library = {
  name: 'regex',
  functions: [
    {
      name: 'regex.replace',
      overloads: [
        globalOverload(
          'regex_replaceAll_string_string_string',
          [STRING, STRING, STRING],
          STRING,
          replace,
          matching(0, 1),
        ),
        globalOverload(
          'regex_replaceCount_string_string_string_int',
          [STRING, STRING, STRING, INT],
          STRING,
          replace,
          matching(0, 1),
        ),
      ],
    },
    {
      name: 'regex.extract',
      overloads: [
        globalOverload(
          'regex_extract_string_string',
          [STRING, STRING],
          optionalType(STRING),
          extract,
          details,
        ),
      ],
    },
    {
      name: 'regex.extractAll',
      overloads: [
        globalOverload(
          'regex_extractAll_string_string',
          [STRING, STRING],
          listType(STRING),
          extractAll,
          details,
        ),
      ],
    },
  ],
};
