import { describe, expect, it } from 'vitest';
import {
  createEnvironment,
  Double,
  DYN,
  type EvaluateOptions,
  formatIssues,
  fromJson,
  INT,
  languageLibraries,
  listType,
  mapType,
  optionalsLibrary,
  STRING,
  schemaType,
  TIMESTAMP,
  toJson,
} from './index.ts';

const env = createEnvironment({
  variables: { a: DYN, i: INT, s: STRING, l: listType(INT), m: mapType(STRING, INT), t: TIMESTAMP },
});

function issuesOf(expression: string): string[] {
  return (env.compile(expression).issues ?? []).map(
    ({ line, column, message, hint }) => `${line}:${column} ${message}${hint ? ` (${hint})` : ''}`,
  );
}

function run(expression: string, bindings: Record<string, unknown>, options?: EvaluateOptions): unknown {
  const { program, issues } = env.compile(expression);
  if (!program) return issues;
  const result = program.evaluate(bindings, options);
  if (result.error) return result.error;
  return result.unknown ? { unknown: result.unknown } : toJson(result.value);
}

describe('issues', () => {
  it.each([
    ['1 +', "1:4 Syntax error: mismatched input '<EOF>' expecting {'[', '{', '('"],
    ["'abc", "1:1 Syntax error: token recognition error at: ''abc'"],
    ['i + s', "1:3 found no matching overload for '_+_' applied to '(int, string)'"],
    ['\ns.foo(\n  b)', "3:3 undeclared reference to 'b' (in container '')"],
    ['i.name', "1:2 type 'int' does not support field selection"],
    ['[].name', "1:3 type 'list(dyn)' does not support field selection"],
    ['[1].all(1, true)', '1:9 argument must be a simple name'],
    ["[1, 'a']", "1:5 expected type 'int' but found 'string'"],
    ['var', '1:1 reserved identifier: var'],
    ["duration('1x')", '1:10 invalid duration argument'],
    ["s.matches('[a')", '1:11 invalid matches argument'],
    ['9223372036854775808', '1:1 invalid int literal'],
    ["'\u{1F600}' + i", "1:5 found no matching overload for '_+_' applied to '(string, int)'"],
  ])('%s', (expression, wanted) => {
    expect(issuesOf(expression)[0]).toContain(wanted);
  });

  it('say what would fit', () => {
    expect(issuesOf('i - s')[0]).toContain('fitting would be (int, int), (uint, uint)');
    expect(formatIssues('1 - s', env.compile('1 - s').issues ?? [])).toBe(
      "ERROR: <input>:1:3: found no matching overload for '_-_' applied to '(int, string)'\n | 1 - s\n | ..^",
    );
  });
});

describe('values', () => {
  it('keep 64 bits, from JSON too', () => {
    expect(run('i + 1', { i: 9007199254740993n })).toEqual({ json: '9007199254740994' });
    const exact = env.compile('[i + 1]').program?.evaluate({ i: 9007199254740993n }).value ?? null;
    expect(toJson(exact, { longIntegers: 'bigint' })).toEqual({ json: [9007199254740994n] });
    expect(run('i + 1', { i: 9223372036854775807n })).toMatchObject({
      message: 'integer overflow',
      line: 1,
      column: 3,
    });
    expect(run('i * i', { i: 4294967296 })).toMatchObject({ message: 'integer overflow' });
    expect(run('i / -2 == -2 && i % -2 == 1', { i: 5 })).toEqual({ json: true });
    expect(run('type(a) == double', { a: 1.5 })).toEqual({ json: true });
    expect(run('a == 1 && a == 1.0 && a == 1u && type(a) == int', { a: 1 })).toEqual({ json: true });
  });

  it('compare texts by code points', () => {
    expect(run("s < '\u{1F600}' && size('\u{1F600}') == 1", { s: '\uffee' })).toEqual({ json: true });
  });

  it('are read as their types say', () => {
    expect(fromJson(1, { kind: 'double' })).toEqual(new Double(1));
    expect(run("t.getFullYear('America/New_York') == 2023", { t: '2024-01-01T03:00:00Z' })).toEqual({
      json: true,
    });
  });

  it('are there when they are null', () => {
    expect(run('a == null', { a: null })).toEqual({ json: true });
    expect(run('a.x == null && a.y.z == null && has(a.x)', { a: { x: null, y: { z: null } } })).toEqual({
      json: true,
    });
    expect(run('a.x.y', { a: { x: null } })).toMatchObject({ message: 'no such overload: select .y' });
    let asked = 0;
    const bindings = (): null => {
      asked++;
      return null;
    };
    expect(env.compile('a == null && a == null').program?.evaluate(bindings).value).toBe(true);
    expect(asked).toBe(1);
  });

  it('do not show what objects inherit', () => {
    expect(run('has(a.constructor) || has(a.__proto__)', { a: {} })).toEqual({ json: false });
    expect(run('a.toString', { a: {} })).toMatchObject({ message: 'no such key: toString' });
  });
});

describe('failures', () => {
  it('are absorbed by what decides', () => {
    expect(run('a.x == 1 || true', { a: {} })).toEqual({ json: true });
    expect(run('false && a.x == 1', { a: {} })).toEqual({ json: false });
    expect(run('[0, 1].exists(n, 1 / n == 1)', {})).toEqual({ json: true });
    expect(run('[0, 1].all(n, 1 / n == 1)', {})).toMatchObject({ message: 'division by zero', column: 17 });
  });

  it('say which variable is missing', () => {
    expect(run('i > 0', {})).toMatchObject({ message: 'no such attribute: i' });
  });
});

describe('unknown inputs', () => {
  it('make the result unknown where it depends on them', () => {
    const unknowns = ['a.status', 'i'];
    expect(run('a.status.ready && a.spec.x == 1', { a: { spec: { x: 1 } } }, { unknowns })).toEqual({
      unknown: ['a.status.ready'],
    });
    expect(run('a.spec.x == 2 && a.status.ready', { a: { spec: { x: 1 } } }, { unknowns })).toEqual({
      json: false,
    });
    expect(run('i > 0 || a.spec.x == 1', { a: { spec: { x: 1 } } }, { unknowns })).toEqual({ json: true });
    expect(run('i + a.status.n', { a: {} }, { unknowns })).toEqual({ unknown: ['i', 'a.status.n'] });
    expect(run('a == 1', { a: {} }, { unknowns })).toEqual({ unknown: ['a.status'] });
    expect(run("a['status'].x == 1", { a: {} }, { unknowns })).toEqual({ unknown: ['a.status.x'] });
    expect(run('l.map(x, x + i)', { l: [1] }, { unknowns })).toEqual({ unknown: ['i'] });
    expect(run('has(a.vpc.status.id)', { a: {} }, { unknowns: [['a', '*', 'status']] })).toEqual({
      unknown: ['a.vpc.status.id'],
    });
  });

  it('weigh more than errors', () => {
    expect(run('i + 1 / 0', {}, { unknowns: ['i'] })).toEqual({ unknown: ['i'] });
  });
});

describe('limits', () => {
  const l = Array.from({ length: 1000 }, (_, index) => index);
  it('[V48] ends at the budget', () => {
    expect(run('l.all(x, l.all(y, l.all(z, x + y + z >= 0)))', { l })).toMatchObject({
      reason: 'BudgetExceeded',
    });
    expect(run('l.all(x, true)', { l }, { budget: 100 })).toMatchObject({ reason: 'BudgetExceeded' });
    // What ends an evaluation is no error that `||` could absorb.
    expect(run('l.all(x, x >= 0) || true', { l }, { budget: 100 })).toMatchObject({
      reason: 'BudgetExceeded',
    });
  });

  it('refuses what grows without measure', () => {
    const chain = `a${'.optMap(v, v)'.repeat(40)}`;
    expect(env.compile(chain).issues?.[0]?.message).toContain('once its macros are expanded');
    const many = createEnvironment({ libraries: languageLibraries });
    const doubling = Array.from({ length: 40 }, (_, n) => `cel.bind(v${n + 1}, {v${n}: v${n}}, `).join('');
    const text = `cel.bind(v0, {1: 1}, ${doubling}true${')'.repeat(41)}`;
    expect(many.compile(text).issues?.[0]?.message).toContain('too complex');
  });

  it('counts what Kubernetes does not', () => {
    const many = { l: Array.from({ length: 150_000 }, (_, index) => index), s: 'é'.repeat(100_000) };
    expect(run('l.all(x, size(s) > x - 1000000)', many)).toMatchObject({ reason: 'BudgetExceeded' });
    const long = Array.from({ length: 50_000 }, () => 'x');
    const twice = { ...many, a: { x: [long], y: [[...long]] } };
    expect(run('l.all(x, a.x == a.y)', twice)).toMatchObject({ reason: 'BudgetExceeded' });
  });

  it('ends when it is interrupted', () => {
    let asked = 0;
    const interrupted = (): boolean => ++asked > 3;
    expect(run('l.all(x, x >= 0)', { l }, { interrupted })).toMatchObject({ reason: 'Interrupted' });
    expect(asked).toBe(4);
    expect(run('1 + 1', {}, { signal: AbortSignal.abort() })).toMatchObject({ reason: 'Interrupted' });
  });

  it.each([
    ['i == 1', 2],
    ["s.startsWith('abc')", 2],
    ['has(a.x)', 1],
    ['a.x.y == 1 || a.x.y == 2', 8],
    ['[1, 2]', 10],
    ["{'a': 1}", 30],
    ['l.all(x, true)', 11],
    ['l.exists(x, x == 9)', 20],
    ['l.map(x, x)', 51],
    ['l.filter(x, x > 1)', 45],
    ["'ab' + s", 3],
    ["s.contains('a')", 3],
    ["s.matches('^[a-z]{1,10}$')", 9],
    ['3 in l', 4],
    ["i == 1 ? 's' : s", 2],
  ])('[V48] counts %s as %i', (expression, cost) => {
    const { program } = env.compile(expression);
    const bindings = { i: 1, s: 'abcdefghijkl', a: { x: { y: 3 } }, l: [1, 2, 3] };
    expect(program?.evaluate(bindings).cost).toBe(cost);
  });
});

describe('types from schemas', () => {
  const type = schemaType(
    {
      resolve: () => undefined,
      schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: {
              replicas: { type: 'integer' },
              ratio: { type: 'number' },
              namespace: { type: 'string', maxLength: 63 },
              'max-size': { type: 'string' },
              'a.b/c': { type: 'string' },
              __x: { type: 'string' },
              port: { 'x-kubernetes-int-or-string': true },
              since: { type: 'string', format: 'date-time' },
              day: { type: 'string', format: 'date' },
              every: { type: 'string', format: 'duration' },
              blob: { type: 'string', format: 'byte' },
              hosts: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
              ports: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['name'],
                items: {
                  type: 'object',
                  properties: { name: { type: 'string' }, port: { type: 'integer' } },
                },
              },
              labels: {
                type: 'object',
                maxProperties: 3,
                additionalProperties: { type: 'string', maxLength: 10 },
              },
              extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              template: { type: 'object', 'x-kubernetes-embedded-resource': true },
            },
          },
        },
      },
    },
    { name: 'Widget', resource: true },
  );
  const typed = createEnvironment({ variables: { self: type ?? DYN } });
  const self = {
    apiVersion: 'v1',
    metadata: { name: 'w', labels: { a: 'b' } },
    spec: {
      replicas: 2,
      ratio: 1,
      namespace: 'n',
      'max-size': '1',
      'a.b/c': 'x',
      __x: 'y',
      port: 'http',
      since: '2024-02-29T12:00:00Z',
      day: '2024-02-29',
      every: '90s',
      blob: 'aGk=',
      hosts: ['a', 'b'],
      ports: [
        { name: 'http', port: 80 },
        { name: 'https', port: 443 },
      ],
      labels: { app: 'x' },
      extra: { any: 1 },
      template: { kind: 'Pod', metadata: { name: 'p' } },
    },
  };
  it.each([
    ['self.spec.replicas <= 2 && self.spec.ratio == 1.0 && type(self.spec.ratio) == double'],
    ["self.spec.__namespace__ == 'n' && self.spec.max__dash__size == '1'"],
    ["self.spec.a__dot__b__slash__c == 'x' && self.spec.__underscores__x == 'y'"],
    ["type(self.spec.port) == string ? self.spec.port == 'http' : self.spec.port < 100"],
    ["self.spec.since.getHours() == 12 && self.spec.day < timestamp('2024-03-01T00:00:00Z')"],
    ["self.spec.every == duration('1m30s') && self.spec.blob == b'hi'"],
    ["self.spec.hosts == ['b', 'a'] && (self.spec.hosts + ['b', 'c']).size() == 3"],
    ["(self.spec.ports + [{'name': 'http', 'port': 8080}])[0].port == 8080"],
    ["self.spec.labels.all(k, k.startsWith('a')) && self.spec.labels['app'] == 'x'"],
    ["self.metadata.name == 'w' && self.apiVersion == 'v1' && self.spec.template.metadata.name == 'p'"],
    ['!has(self.metadata.generateName) && self.metadata.?generateName.orValue("") == ""'],
  ])('[V47] %s', (expression) => {
    // Elements of a keyed list are objects, which literals are not.
    const { program, issues } = (
      expression.includes("'port': 8080") ? typed.compileUnchecked : typed.compile
    )(expression);
    expect(issues).toBeUndefined();
    expect(program?.evaluate({ self })).toMatchObject({ value: true });
  });

  it('compares long sets that are alike within the budget', () => {
    const { program } = typed.compile('self.spec.hosts == self.spec.hosts.filter(host, true)');
    const hosts = Array.from({ length: 6000 }, (_, index) => `h${index}`);
    expect(program?.evaluate({ self: { spec: { hosts } } })).toMatchObject({ value: true });
  });

  it.each([
    ['self.spec.replica', "undefined field 'replica'"],
    ['self.metadata.labels', "undefined field 'labels'"],
    ['self.spec.extra.any', "undefined field 'any'"],
    ["self.spec.replicas == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"],
    ['self.spec.namespace', "undefined field 'namespace'"],
  ])('[V47] refuses %s', (expression, message) => {
    expect(typed.compile(expression).issues?.[0]?.message).toBe(message);
  });

  it('[V48] estimates from the declared sizes', () => {
    const most = (expression: string): number =>
      typed.compile(expression).program
        ? (typed.compile(expression) as { estimate: () => { max: number } }).estimate().max
        : -1;
    expect(most('self.spec.replicas > 1')).toBe(4);
    // A prefix is compared no further than it goes.
    expect(most("self.spec.__namespace__.startsWith('a')")).toBe(3 + 1);
    expect(most("'a'.startsWith(self.spec.__namespace__)")).toBe(3 + Math.ceil(63 * 4 * 0.1));
    expect(most("self.spec.labels.all(k, self.spec.labels[k] != '')")).toBeLessThan(60);
    expect(most('self.spec.hosts.all(a, self.spec.hosts.all(b, a.contains(b)))')).toBeGreaterThan(10_000_000);
  });
});

describe('environments', () => {
  it('can be extended', () => {
    const more = env.extend({ variables: { extra: INT }, extraLibraries: [optionalsLibrary] });
    expect(more.compile('extra + i').program?.evaluate({ extra: 1, i: 2 })).toMatchObject({ value: 3 });
  });

  it('ask for variables only when they are used', () => {
    const asked: string[] = [];
    const { program } = env.compile("s == 'a' || i == 1");
    expect(program?.variables()).toEqual(['s', 'i']);
    const lookUp = (name: string): unknown => {
      asked.push(name);
      return name === 's' ? 'a' : 1;
    };
    expect(program?.evaluate(lookUp)).toMatchObject({ value: true });
    expect(asked).toEqual(['s']);
  });
});
