import { describe, expect, it } from 'vitest';
import { createEnvironment, type Environment } from './environment.ts';
import { languageLibraries } from './library/all.ts';
import { globalOverload, memberOverload } from './library/function.ts';
import { standardLibrary } from './library/standard.ts';
import { macroTable } from './syntax/macros.ts';
import { parseExpression } from './syntax/parser.ts';
import {
  bindingsOf,
  declaredFunctions,
  declaredVariables,
  leftOut,
  messageTypes,
  type SuiteTest,
  sameResult,
  specType,
  specValue,
  suites,
} from './testing/conformance-suite.fixture.ts';
import { debugText } from './testing/debug-text.fixture.ts';
import { BOOL, BYTES, DOUBLE, formatType, INT, NULL, STRING, type Type, UINT } from './types/type.ts';

const LEFT_OUT = leftOut('conformance');
const language = createEnvironment({
  libraries: languageLibraries,
  homogeneousLiterals: false,
  validLiterals: false,
});

function environmentOf(test: SuiteTest, variables: Record<string, Type> = {}): Environment {
  const functions = declaredFunctions(test);
  return createEnvironment({
    libraries: languageLibraries,
    extraLibraries: [{ name: 'declared', functions }],
    variables: { ...variables, ...declaredVariables(test) },
    container: test.container,
    homogeneousLiterals: false,
    validLiterals: false,
  });
}

function textOf(value: unknown): string {
  return (
    JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? `${item}` : item)) ?? 'nothing'
  );
}

/** What is wrong with the result of a test, if anything is. */
function problemOf(test: SuiteTest): string | undefined {
  const env = environmentOf(test);
  const compiled = test.disableCheck ? env.compileUnchecked(test.expr) : env.compile(test.expr);
  if (!compiled.program) return test.fails ? undefined : `does not compile: ${textOf(compiled.issues)}`;
  if (test.checkOnly) return undefined;
  const result = compiled.program.evaluate(bindingsOf(test));
  if (test.fails) return result.error ? undefined : `should fail, but gives ${textOf(result.value)}`;
  if (result.error) return `fails: ${result.error.message}`;
  const wanted = test.value === undefined ? true : specValue(test.value);
  if (result.value !== undefined && sameResult(result.value, wanted)) return undefined;
  return `gives ${textOf(result.value)} instead of ${textOf(test.value ?? true)}`;
}

function problems(tests: readonly SuiteTest[], check: (test: SuiteTest) => string | undefined): string[] {
  return tests.flatMap((test) => {
    const problem = check(test);
    return problem === undefined ? [] : [`${test.path}: ${test.expr}\n  ${problem}`];
  });
}

const groups = Map.groupBy(suites.conformance, (test) => test.path.split('/')[1] ?? '');

describe('conformance suite of the language', () => {
  it.each([...groups])('[V47] %s: results', (_, tests) => {
    expect(
      problems(
        tests.filter((test) => !LEFT_OUT.has(test.path)),
        problemOf,
      ),
    ).toEqual([]);
  });

  it('leaves out only tests that exist, and passes the number that it should', () => {
    const names = new Set(suites.conformance.map((test) => test.path));
    expect([...LEFT_OUT.keys()].filter((name) => !names.has(name))).toEqual([]);
    expect(suites.conformance.filter((test) => !LEFT_OUT.has(test.path)).length).toBe(1650);
  });

  it('deduces the types that the suite expects', () => {
    const wrong = problems(
      // The reference does not know blocks, and takes them for calls of anything.
      suites.conformance.filter((test) => !LEFT_OUT.has(test.path) && !test.path.includes('/block_ext/')),
      (test) => {
        if (test.type === undefined && !test.deducedType) return undefined;
        const wanted = test.deducedType ? formatType(specType(test.deducedType)) : test.type?.trim();
        const { checked, issues } = environmentOf(test).check(test.expr);
        const found = checked ? formatType(checked.type) : textOf(issues);
        return found === wanted ? undefined : `${found} instead of ${wanted}`;
      },
    );
    expect(wrong).toEqual([]);
  });
});

describe('trees as the reference implementation prints them', () => {
  // Printed with the standard macros only.
  const env = createEnvironment({ libraries: [standardLibrary, { name: 'optionals', functions: [] }] });
  const calls = /\.block\(|\.existsOne\(|\b(?:cel\.bind|optMap|optFlatMap)\(/;
  it.each(Object.entries(suites))('%s', (_, tests) => {
    const wrong = problems(tests, (test) => {
      if (test.ast === undefined || calls.test(test.expr)) return undefined;
      const { ast, issues } = env.parse(test.expr);
      const found = ast ? debugText(ast.expr) : textOf(issues);
      // Characters that cannot be seen are escaped there.
      const wanted = test.ast.replace(
        /\\\\|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})/g,
        (all, short?: string, long?: string) =>
          all === '\\\\' ? all : String.fromCodePoint(Number.parseInt(short ?? long ?? '', 16)),
      );
      return found === wanted ? undefined : `${found}\ninstead of\n${wanted}`;
    });
    expect(wrong).toEqual([]);
  });
});

describe('errors of syntax as the reference implementation finds them', () => {
  const macros = macroTable(languageLibraries.flatMap((library) => library.macros ?? []));
  it.each(Object.entries(suites))('%s: at the same places', (_, tests) => {
    const wrong = problems(tests, (test) => {
      const { referenceError = '' } = test;
      const place = /^ERROR: :(\d+:\d+): /.exec(referenceError)?.[1];
      if (place === undefined) return undefined;
      // Some of its tests are run with new syntax switched off.
      const newer = !referenceError.includes('unsupported syntax');
      const options = { macros, optionals: newer, quotedFields: newer, maxLength: 100_000, maxDepth: 250 };
      const first = parseExpression(test.expr, options).issues?.[0];
      const found = first ? `${first.line}:${first.column}` : 'none';
      return found === place ? undefined : `${found} instead of ${referenceError}`;
    });
    expect(wrong).toEqual([]);
  });
});

describe('checker tests of the reference implementation', () => {
  const variables = { is: STRING, ii: INT, iu: UINT, iz: BOOL, ib: BYTES, id: DOUBLE, ix: NULL };
  const env = language.extend({
    variables,
    extraLibraries: [
      {
        name: 'declared',
        functions: [
          { name: 'fg_s', overloads: [globalOverload('fg_s_0', [], STRING, () => '')] },
          { name: 'fi_s_s', overloads: [memberOverload('fi_s_s_0', [STRING], STRING, (text) => text)] },
        ],
      },
    ],
  });
  const leftOutHere = leftOut('checking');
  const plain = suites.checking.filter((test) => !leftOutHere.has(test.path));
  const environmentFor = (test: SuiteTest): Environment =>
    (test.typeEnv.length > 0 ? environmentOf(test, variables) : env).extend({
      container: test.container,
      types: messageTypes,
    });

  it('leaves out only tests that exist', () => {
    const names = new Set(suites.checking.map((test) => test.path));
    expect([...leftOutHere.keys()].filter((name) => !names.has(name))).toEqual([]);
  });

  it('types', () => {
    const wrong = problems(plain, (test) => {
      if (test.type === undefined) return undefined;
      const { checked, issues } = environmentFor(test).check(test.expr);
      const found = checked ? formatType(checked.type) : textOf(issues);
      return found === test.type.trim() ? undefined : `${found} instead of ${test.type}`;
    });
    expect(wrong).toEqual([]);
  });

  it('errors, at the same places', () => {
    const wrong = problems(plain, (test) => {
      const { referenceError = '' } = test;
      // Features that are switched off there: optionals, and comparing kinds of numbers.
      if (test.type !== undefined || /unsupported syntax|'_[<>]=?_'/.test(referenceError)) return undefined;
      const { issues } = environmentFor(test).check(test.expr);
      const wanted = /<input>:(\d+:\d+): (.*)/.exec(referenceError);
      const first = issues?.[0];
      if (!first) return `no issue instead of ${referenceError}`;
      return `${first.line}:${first.column}` === wanted?.[1]
        ? undefined
        : `${textOf(first)} instead of ${referenceError}`;
    });
    expect(wrong).toEqual([]);
  });
});
