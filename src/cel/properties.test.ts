import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createEnvironment,
  DYN,
  type Environment,
  kubernetesLibraries,
  listType,
  mapType,
  schemaType,
  toJson,
  unparse,
} from './index.ts';
import { languageLibraries } from './library/all.ts';
import { debugText } from './testing/debug-text.fixture.ts';

const RUNS = 400;

/** Texts of expressions: of any shape, most of them without types that fit. */
const anyExpression = fc.letrec<{ expr: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    fc.constantFrom(
      'a',
      'b.c',
      'true',
      'null',
      '1',
      '-1',
      '2u',
      '1.5',
      '-0.5',
      '"x\\n"',
      "b'\\xff'",
      '[]',
      '{}',
      'x.`a-b`',
    ),
    fc
      .string({ maxLength: 6 })
      .map((text) => JSON.stringify(text.toWellFormed().replace(/[^\x20-\x7e]/g, ''))),
  ),
  expr: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('atom'),
    fc
      .tuple(
        tie('expr'),
        fc.constantFrom('||', '&&', '==', '!=', '<', 'in', '+', '-', '*', '/', '%'),
        tie('expr'),
        fc.boolean(),
      )
      .map(([left, operator, right, grouped]) =>
        grouped ? `(${left}) ${operator} (${right})` : `${left} ${operator} ${right}`,
      ),
    tie('expr').map((inner) => `!(${inner})`),
    tie('expr').map((inner) => `-(${inner})`),
    fc.tuple(tie('expr'), tie('expr'), tie('expr')).map(([a, b, c]) => `(${a}) ? (${b}) : ${c}`),
    fc.tuple(tie('expr'), tie('expr')).map(([list, index]) => `(${list})[${index}]`),
    fc.tuple(tie('expr'), tie('expr')).map(([list, index]) => `(${list})[?${index}].?f`),
    fc.tuple(tie('expr'), tie('expr')).map(([a, b]) => `[${a}, ?${b}]`),
    fc.tuple(tie('expr'), tie('expr')).map(([a, b]) => `{${a}: ${b}, ?'k': ${b}}`),
    fc.tuple(tie('expr'), tie('expr')).map(([a, b]) => `(${a}).exists(x, ${b})`),
    fc.tuple(tie('expr'), tie('expr')).map(([a, b]) => `(${a}).transformMap(k, v, ${b})`),
    fc.tuple(tie('expr'), tie('expr')).map(([a, b]) => `cel.bind(v, ${a}, f(${b}, v).g())`),
    tie('expr').map((inner) => `has((${inner}).field)`),
    tie('expr').map((inner) => `T{f: ${inner}}`),
  ),
}));

const language = createEnvironment({ libraries: languageLibraries });

describe('text and tree', () => {
  it('[V47] an expression written from its tree parses to the same tree', () => {
    fc.assert(
      fc.property(anyExpression.expr, (text) => {
        const { ast } = language.parse(text);
        if (!ast) return;
        const again = language.parse(unparse(ast));
        expect(again.issues).toBeUndefined();
        if (again.ast) expect(debugText(again.ast.expr)).toBe(debugText(ast.expr));
      }),
      { numRuns: RUNS },
    );
  });

  it('the parser answers any text with a tree or issues that lie within it', () => {
    const pieces = fc.array(
      fc.constantFrom(
        ...'()[]{}.,?:!-+*/%<>="\'`\\ \nabru0x19e'.split(''),
        '&&',
        '||',
        '"""',
        'in',
        '.map(',
        '1u',
        '\u{1F600}',
        '\ud800',
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 60 }),
          pieces.map((parts) => parts.join('')),
        ),
        (text) => {
          const { ast, issues } = language.parse(text);
          if (ast) return;
          expect(issues.length).toBeGreaterThan(0);
          for (const issue of issues) {
            expect(issue.offset).toBeLessThanOrEqual(text.length);
            expect(issue.line).toBeGreaterThan(0);
            expect(issue.column).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 1500 },
    );
  });

  it.each(['[', '(', '{1:', '-(', '!(', 'a.b(', 'true ? true : ', 'a == ', 'a[', 'a.b', '[1].map(x, '])(
    'ends at the limit of depth for long runs of %s',
    (piece) => {
      const { issues } = language.parse(piece.repeat(30_000));
      expect(issues?.length).toBe(1);
    },
  );

  it('refuses expressions that are too long', () => {
    expect(language.parse(`'${'a'.repeat(100_000)}'`).issues?.[0]?.message).toMatch(/exceeds limit/);
  });
});

/** Expressions that fit the types below, by type. */
const typed = fc.letrec<{ bool: string; int: string; text: string; texts: string; ints: string }>((tie) => ({
  int: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('1', '0', '-7', 'self.count', 'self.limit', '9007199254740993', '9223372036854775807'),
    fc
      .tuple(tie('int'), fc.constantFrom('+', '-', '*', '/', '%'), tie('int'))
      .map(([a, o, b]) => `(${a} ${o} ${b})`),
    tie('text').map((text) => `size(${text})`),
    tie('texts').map((list) => `${list}.size()`),
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => `${a}.indexOf(${b})`),
    fc.tuple(tie('bool'), tie('int'), tie('int')).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
    fc.tuple(tie('ints'), tie('int')).map(([list, index]) => `${list}[${index}]`),
    tie('ints').map((list) => `${list}.sum()`),
  ),
  text: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom("''", "'a'", "'ab-c'", 'self.name', 'self.kind'),
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => `(${a} + ${b})`),
    tie('int').map((value) => `string(${value})`),
    tie('text').map((text) => `${text}.upperAscii()`),
    fc.tuple(tie('text'), tie('text'), tie('text')).map(([a, b, c]) => `${a}.replace(${b}, ${c})`),
    tie('texts').map((list) => `${list}.join('-')`),
    fc.tuple(tie('text'), tie('int')).map(([text, from]) => `${text}.substring(${from})`),
  ),
  texts: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('self.tags', '[]', "['a', 'b']"),
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => `${a}.split(${b})`),
    fc.tuple(tie('texts'), tie('texts')).map(([a, b]) => `(${a} + ${b})`),
    fc.tuple(tie('texts'), tie('text')).map(([list, text]) => `${list}.map(x, x + ${text})`),
    tie('texts').map((list) => `${list}.filter(x, x != '' && x in self.labels)`),
  ),
  ints: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('self.sizes', '[1, 2, 3]'),
    tie('texts').map((list) => `${list}.map(x, size(x))`),
    fc.tuple(tie('ints'), tie('int')).map(([list, value]) => `${list}.map(y, y * ${value})`),
  ),
  bool: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('true', 'false', 'has(self.name)', 'has(self.items)'),
    fc
      .tuple(tie('int'), fc.constantFrom('<', '<=', '==', '!=', '>'), tie('int'))
      .map(([a, o, b]) => `${a} ${o} ${b}`),
    fc
      .tuple(tie('text'), fc.constantFrom('<', '==', '!=', '>='), tie('text'))
      .map(([a, o, b]) => `${a} ${o} ${b}`),
    fc.tuple(tie('bool'), fc.constantFrom('&&', '||'), tie('bool')).map(([a, o, b]) => `(${a} ${o} ${b})`),
    fc
      .tuple(tie('text'), fc.constantFrom('startsWith', 'endsWith', 'contains', 'matches'))
      .map(([a, f]) => `${a}.${f}('a')`),
    fc.tuple(tie('texts'), tie('bool')).map(([list, body]) => `${list}.all(z, z.size() < 3 || ${body})`),
    fc.tuple(tie('texts'), tie('texts')).map(([a, b]) => `sets.contains(${a}, ${b})`),
    tie('bool').map((body) => `self.items.exists(i, i.ok && ${body})`),
    fc.constant("self.items.map(i, i.id).exists_one(id, id.startsWith('a'))"),
    tie('text').map((text) => `self.labels.exists(k, self.labels[k] == ${text})`),
    tie('text').map((text) => `self.?labels[?${text}].orValue('') == ''`),
  ),
}));

const SCHEMA = schemaType(
  {
    resolve: () => undefined,
    schema: {
      type: 'object',
      properties: {
        count: { type: 'integer' },
        limit: { type: 'integer' },
        name: { type: 'string', maxLength: 20 },
        kind: { type: 'string', enum: ['Small', 'Large'] },
        tags: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 8 } },
        sizes: { type: 'array', maxItems: 4, items: { type: 'integer' } },
        labels: { type: 'object', maxProperties: 4, additionalProperties: { type: 'string', maxLength: 5 } },
        items: {
          type: 'array',
          maxItems: 4,
          items: {
            type: 'object',
            properties: { id: { type: 'string', maxLength: 6 }, ok: { type: 'boolean' } },
          },
        },
      },
    },
  },
  { name: 'Thing' },
);

const word = (max: number): fc.Arbitrary<string> =>
  fc.string({ maxLength: max, unit: fc.constantFrom('a', 'B', '-', 'é') });
const inputs = fc.record({
  count: fc.integer(),
  limit: fc.integer({ min: -3, max: 3 }),
  name: word(20),
  kind: fc.constantFrom('Small', 'Large'),
  tags: fc.array(word(8), { maxLength: 5 }),
  sizes: fc.array(fc.integer(), { maxLength: 4 }),
  labels: fc.dictionary(fc.constantFrom('a', 'B', 'c'), word(5), { maxKeys: 4 }),
  items: fc.array(fc.record({ id: word(6), ok: fc.boolean() }), { maxLength: 4 }),
});

describe('evaluation', () => {
  const libraries = [
    ...kubernetesLibraries(),
    ...languageLibraries.filter((library) => library.name !== 'standard'),
  ];
  const env = createEnvironment({ libraries, variables: { a: DYN, b: DYN, x: DYN } });
  const literals = fc.constantFrom(
    ...[
      "''",
      "'a'",
      "'1.2.3'",
      "'10.0.0.1'",
      "'10.0.0.0/8'",
      "'1Gi'",
      "'[a-'",
      "'(a|b)*'",
      "'https://a/b?c=d'",
      "'%s%5d%'",
    ],
    ...[
      '0',
      '-1',
      '3',
      '9223372036854775807',
      '1u',
      '18446744073709551615u',
      '0.0',
      '-1.5',
      '1e300',
      "double('NaN')",
    ],
    ...[
      'true',
      'null',
      "b'a\\xff'",
      '[]',
      '[1, 2]',
      "['a', 'b']",
      '[[1], []]',
      "{'a': 1}",
      '{}',
      '{1: 2}',
      'int',
      'a',
      'b',
    ],
    ...[
      "timestamp('9999-12-31T23:59:59Z')",
      "duration('1h')",
      'optional.none()',
      'optional.of(1)',
      "quantity('1')",
      "ip('::1')",
    ],
    ...[
      "cidr('::/0')",
      "semver('1.0.0')",
      "url('/a')",
      'format.uuid()',
      "'UTC'",
      "'Europe/Berlin'",
      "'+25:99'",
    ],
  );
  const names = [...new Set(libraries.flatMap((library) => library.functions.map(({ name }) => name)))];
  const functions = names.filter((name) => /^[a-zA-Z.]+$/.test(name));
  const call = fc
    .tuple(fc.constantFrom(...functions), fc.array(literals, { maxLength: 4 }), fc.boolean())
    .map(([name, [first = 'a', ...rest], member]) =>
      member && !name.includes('.')
        ? `${first}.${name}(${rest.join(', ')})`
        : `${name}(${[first, ...rest].join(', ')})`,
    );
  const operation = fc
    .tuple(literals, fc.constantFrom('+', '-', '*', '/', '%', '<', '>=', '==', 'in', '&&', '||'), literals)
    .map(([left, operator, right]) => `${left} ${operator} ${right}`);
  const host = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withTypedArray: true,
    maxDepth: 3,
  });

  it('[V47] gives a value, an error or an unknown for whatever is called on whatever', () => {
    fc.assert(
      fc.property(fc.oneof(call, operation, anyExpression.expr), host, host, (text, a, b) => {
        for (const how of ['compile', 'compileUnchecked'] as const) {
          const compiled = env[how](text);
          if (!compiled.program) continue;
          compiled.estimate();
          const result = compiled.program.evaluate({ a, b }, { unknowns: ['x'] });
          expect(result.cost).toBeGreaterThanOrEqual(0);
          if (result.value !== undefined) toJson(result.value);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe('checked expressions', () => {
  const env: Environment = createEnvironment({ variables: { self: SCHEMA ?? DYN } });
  const any = fc.oneof(typed.bool, typed.int, typed.text, typed.texts, typed.ints);

  it('[V47] never meet a type that they were not checked for', () => {
    fc.assert(
      fc.property(any, inputs, (text, self) => {
        const compiled = env.compile(text);
        expect(compiled.issues, text).toBeUndefined();
        const error = compiled.program?.evaluate({ self }).error;
        if (error) expect(error.message, text).not.toMatch(/no such overload|undeclared|no such attribute/);
      }),
      { numRuns: RUNS },
    );
  });

  it('[V48] cost no more than was estimated', () => {
    fc.assert(
      fc.property(any, inputs, (text, self) => {
        const compiled = env.compile(text);
        if (!compiled.program) return;
        const estimate = compiled.estimate();
        const result = compiled.program.evaluate({ self }, { budget: Number.POSITIVE_INFINITY });
        expect(result.cost, text).toBeLessThanOrEqual(estimate.max);
      }),
      { numRuns: RUNS },
    );
  });

  it('give the same with and without their types', () => {
    fc.assert(
      fc.property(any, inputs, (text, self) => {
        const plain = (env: Environment, how: 'compile' | 'compileUnchecked'): unknown => {
          const { program } = env[how](text);
          const { value, error, cost } = program?.evaluate({ self }) ?? {
            value: 0,
            error: undefined,
            cost: 0,
          };
          return {
            value: JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? `${item}` : item)),
            failed: error !== undefined,
            cost,
          };
        };
        expect(plain(env, 'compileUnchecked')).toEqual(plain(env, 'compile'));
      }),
      { numRuns: RUNS },
    );
  });

  it('[V48] take no more steps than their budget has units, however large what they are given is', () => {
    const loops = fc.letrec<{ loop: string }>((tie) => ({
      loop: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom('a >= 0', 'l.size() > 0', 's.contains(string(a))', 'a in l', 'l == l'),
        tie('loop').map((body) => `l.all(a, ${body})`),
        tie('loop').map((body) => `l.exists(a, !(${body}))`),
        tie('loop').map((body) => `l.filter(a, ${body}).size() >= 0`),
        tie('loop').map((body) => `l.map(a, ${body}).all(b, b)`),
        tie('loop').map((body) => `l.transformMap(a, b, ${body}).size() > 0`),
        fc.tuple(tie('loop'), tie('loop')).map(([a, b]) => `(${a}) && (${b})`),
      ),
    }));
    const env = createEnvironment({
      variables: { l: listType({ kind: 'int' }), s: { kind: 'string' }, a: { kind: 'int' } },
    });
    const sizes = fc.constantFrom(10, 300, 5_000);
    fc.assert(
      fc.property(loops.loop, sizes, fc.constantFrom(1_000, 20_000), (text, size, budget) => {
        const { program, issues } = env.compile(text);
        expect(issues, text).toBeUndefined();
        const l = Array.from({ length: size }, (_, index) => index);
        let asked = 0;
        const interrupted = (): boolean => {
          asked++;
          return false;
        };
        program?.evaluate({ l, s: 'x'.repeat(size), a: 1 }, { budget, interrupted });
        // It is asked once for every hundred iterations, of which each costs a unit at least, but for the one that goes beyond.
        expect((asked - 1) * 100, text).toBeLessThanOrEqual(budget);
      }),
      { numRuns: RUNS },
    );
  });

  it('stop at their budget, whatever they are given', () => {
    const big = createEnvironment({
      variables: {
        l: listType({ kind: 'int' }),
        m: mapType({ kind: 'string' }, { kind: 'int' }),
        s: { kind: 'string' },
      },
    });
    const bindings = {
      l: Array.from({ length: 20_000 }, (_, index) => index),
      m: Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, index])),
      s: 'a'.repeat(200_000),
    };
    const hostile = [
      'l.all(a, l.all(b, l.all(c, a + b + c >= 0)))',
      'l.map(a, l + l).size() > 0',
      'l.map(a, s + s).size() > 0',
      'l.map(a, s.replace("a", s)).size() > 0',
      "l.all(a, s.matches('(a+)+$'))",
      "l.map(a, s.findAll('a*b|a')).size() > 0",
      'l.filter(a, a in l).size() == 0',
      'm.all(k, m.all(j, m[k] + m[j] >= 0))',
      'l.map(a, [l, l]).flatten().size() > 0',
      'l.sort() == l.map(x, -x).sort()',
      'sets.equivalent(l, l)',
    ];
    for (const text of hostile) {
      const { program, issues } = big.compile(text);
      expect(issues, text).toBeUndefined();
      const result = program?.evaluate(bindings, { budget: 100_000 });
      expect(result?.error?.reason ?? 'done', text).toMatch(/BudgetExceeded|done|Failed/);
    }
  });
});
