import { describe, expect, it } from 'vitest';
import {
  bindingsLibrary,
  createEnvironment,
  kubernetesListsLibrary,
  listsLibrary,
  setsLibrary,
  standardLibrary,
  stringsLibrary,
  toJson,
} from '../index.ts';

const environment = createEnvironment({
  libraries: [
    standardLibrary,
    bindingsLibrary,
    stringsLibrary(),
    listsLibrary,
    setsLibrary,
    kubernetesListsLibrary,
  ],
  variables: {},
});

/** `name` is a list of ten lists, each of ten lists and so on, whose parts are shared. */
function nested(name: string, innermost: string, body: string, levels = 12): string {
  let text = `cel.bind(${name}0, ${innermost}, `;
  for (let level = 1; level <= levels; level++) {
    const of = `dyn(${name}${level - 1})`;
    text += `cel.bind(${name}${level}, [${Array.from({ length: 10 }, () => of).join(', ')}], `;
  }
  return `${text}${body}${')'.repeat(levels + 1)}`;
}

function doubled(name: string, innermost: string, body: string, levels = 50): string {
  let text = `cel.bind(${name}0, ${innermost}, `;
  for (let level = 1; level <= levels; level++)
    text += `cel.bind(${name}${level}, ${name}${level - 1} + ${name}${level - 1}, `;
  return `${text}${body}${')'.repeat(levels + 1)}`;
}

describe('values that share their parts', () => {
  const two = (body: string): string => nested('a', '[1]', nested('b', '[1]', body));
  it.each([
    ['comparing', two('a12 == b12')],
    ['looking for one', two('dyn(a12) in [dyn(b12)]')],
    ['its place', two('[dyn(b12)].indexOf(dyn(a12))')],
    ['sets', two('sets.contains([dyn(b12)], [dyn(a12)])')],
    ['distinct ones', two('[dyn(b12), dyn(a12)].distinct()')],
    ['flattening', nested('a', '[]', 'a12.flatten(100)')],
    ['joining', doubled('a', '["", ""]', 'a50.join()')],
    ['a maximum', doubled('a', '[1, 1]', 'a50.max()')],
  ])('are not walked through without an end: %s', (_, source) => {
    const { program, issues = [] } = environment.compile(source);
    expect(issues).toEqual([]);
    expect(program?.evaluate().error).toMatchObject({ reason: 'BudgetExceeded' });
  });

  it('are not written out without an end', () => {
    const json = (source: string): object =>
      toJson(environment.compile(source).program?.evaluate().value ?? null);
    expect(json(nested('a', '[1]', 'a12'))).toEqual({ error: 'the value is too large for JSON' });
    expect(json(doubled('a', '[1]', 'a50'))).toEqual({ error: 'the value is too large for JSON' });
    expect(json(nested('a', '[1]', 'a1', 1))).toEqual({ json: Array.from({ length: 10 }, () => [1]) });
  });

  it('are walked through where they are small', () => {
    const { program } = environment.compile(nested('a', '[1]', nested('b', '[1]', 'a3 == b3', 3), 3));
    expect(program?.evaluate().value).toBe(true);
  });
});
