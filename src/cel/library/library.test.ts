import { describe, expect, it } from 'vitest';
import {
  authorizerValue,
  createEnvironment,
  DYN,
  jsonPatchLibrary,
  jsonPatchType,
  languageLibraries,
  type Type,
  toJson,
} from '../index.ts';
import { AUTHORIZER } from './authorizer.ts';

const env = createEnvironment({
  extraLibraries: [...languageLibraries.filter((library) => library.name !== 'standard'), jsonPatchLibrary],
  types: [jsonPatchType],
  variables: { authorizer: AUTHORIZER },
});

/** The result as JSON, or the message of the error. */
function evaluate(expression: string, bindings: Record<string, unknown> = {}): unknown {
  const { program, issues } = env.compile(expression);
  if (!program) return { issues: issues.map((issue) => issue.message) };
  const { value, error } = program.evaluate(bindings);
  if (error) return { error: error.message };
  if (value === undefined) return undefined;
  const converted = toJson(value);
  return 'json' in converted ? converted.json : converted;
}

function table(rows: readonly (readonly [string, unknown])[]): void {
  it.each(rows)('%s', (expression, wanted) => {
    expect(evaluate(expression)).toEqual(wanted);
  });
}

describe('quantities', () => {
  table([
    ["quantity('1.5Gi').isGreaterThan(quantity('1Gi'))", true],
    ["quantity('1000m') == quantity('1')", true],
    ["quantity('1k').add(quantity('24')).asInteger()", 1024],
    ["quantity('50k').sub(quantity('20k')) == quantity('30k')", true],
    ["quantity('2').add(3).compareTo(quantity('5'))", 0],
    ["quantity('100m').isInteger()", false],
    ["quantity('100m').asInteger()", { error: 'cannot convert value to integer' }],
    ["quantity('100m').asApproximateFloat()", 0.1],
    ["quantity('-1').sign()", -1],
    ["isQuantity('1.3Gix')", false],
  ]);
  it('names what is no quantity', () => {
    expect(evaluate("quantity('ten')")).toMatchObject({
      error: expect.stringContaining('quantities must match'),
    });
  });
});

describe('addresses and networks', () => {
  table([
    ["isIP('127.0.0.1')", true],
    ["isIP('127.0.0.01')", false],
    ["isIP('::ffff:1.2.3.4')", false],
    ["isIP('fe80::1%eth0')", false],
    ["isIP('1:2:3:4:5:6:7:8:9')", false],
    ["isIP('::')", true],
    ["string(ip('2001:DB8:0:0:1:0:0:1'))", '2001:db8::1:0:0:1'],
    ["ip.isCanonical('2001:DB8::1')", false],
    ["ip('2001:db8::abcd') == ip('2001:DB8::ABCD')", true],
    ["ip('192.168.0.1').family() + ip('::1').family()", 10],
    ["ip('::1').isLoopback() && ip('127.8.0.1').isLoopback()", true],
    ["ip('169.254.169.254').isLinkLocalUnicast()", true],
    ["ip('224.0.0.1').isLinkLocalMulticast()", true],
    ["ip('ff02::1').isLinkLocalMulticast()", true],
    ["ip('10.0.0.1').isGlobalUnicast()", true],
    ["ip('255.255.255.255').isGlobalUnicast()", false],
    ["ip('0.0.0.0').isUnspecified()", true],
    ["cidr('192.168.0.0/24').containsIP('192.168.0.7')", true],
    ["cidr('192.168.0.0/24').containsIP(ip('192.168.1.7'))", false],
    ["cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", true],
    ["cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", false],
    ["string(cidr('192.168.1.5/24').masked())", '192.168.1.0/24'],
    ["cidr('192.168.1.5/24').ip() == ip('192.168.1.5')", true],
    ["cidr('::1/128').prefixLength()", 128],
    ["isCIDR('10.0.0.0/33')", false],
  ]);
});

describe('URLs', () => {
  table([
    ["url('https://example.com:8080/a b?x=1&x=2&y').getHost()", 'example.com:8080'],
    ["url('https://example.com:8080/').getPort()", '8080'],
    ["url('https://[::1]:80/').getHostname()", '::1'],
    ["url('https://example.com/a%20b/c d').getEscapedPath()", '/a%20b/c%20d'],
    ["url('https://example.com/?x=1&x=%32&y').getQuery()", { x: ['1', '2'], y: [''] }],
    ["url('/path').getScheme()", ''],
    ["isURL('../relative')", false],
    ["isURL('https://a:b/')", false],
    ["isURL('https://example.com/%zz')", false],
  ]);
});

describe('regular expressions', () => {
  table([
    ["'abc 123 def 45'.find('[0-9]+')", '123'],
    ["'abc'.find('[0-9]+')", ''],
    ["'123 abc 456'.findAll('[0-9]*')", ['123', '', '', '', '', '456']],
    ["'123 abc 456'.findAll('[0-9]+', 1)", ['123']],
    ["'aaa'.find('a*?')", ''],
    ["'xaay'.find('(?:a|aa)y?')", 'a'],
    ["'id=42;'.find('(?i)ID=[0-9]+')", 'id=42'],
    ["regex.replace('foo bar', '(fo+) (b.r)', '\\\\2 \\\\1')", 'bar foo'],
    ["regex.replace('aaa', 'a', 'b', 2)", 'bba'],
    ["regex.extract('user=ann', 'user=([a-z]+)').value()", 'ann'],
    ["regex.extractAll('a1 b2', '[a-z]([0-9])')", ['1', '2']],
    [
      "'a'.matches('a(?' + '=b)')",
      { error: 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`' },
    ],
  ]);
});

describe('formats and versions', () => {
  table([
    ["format.dns1123Label().validate('my-name').hasValue()", false],
    ["format.dns1123Label().validate('My_Name').value().size()", 1],
    ["format.named('uuid').value().validate('nope').hasValue()", true],
    ["format.named('unknown').hasValue()", false],
    ["format.dns1035LabelPrefix().validate('a-').hasValue()", false],
    ["semver('1.2.3').isLessThan(semver('1.10.0'))", true],
    ["semver('1.0.0-rc.1').compareTo(semver('1.0.0'))", -1],
    ["semver('1.0.0-alpha.10').isGreaterThan(semver('1.0.0-alpha.9'))", true],
    ["isSemver('v1.0')", false],
    ["semver('v01.2', true).minor()", 2],
    ["semver('1.0.0+a') == semver('1.0.0+b')", true],
  ]);
});

describe('lists and sets', () => {
  table([
    ['[3, 1, 2].isSorted()', false],
    ["['a', 'b'].isSorted()", true],
    ['[1.5, 2.5].sum()', 4],
    ["[duration('1s'), duration('2s')].sum() == duration('3s')", true],
    ['[].sum() == 0', true],
    ["['b', 'c', 'a'].min()", 'a'],
    ['[1, 3, 2].max()', 3],
    ['[1, 2, 1].indexOf(1) + [1, 2, 1].lastIndexOf(1)', 2],
    ['[3, 1, 2].sort()', [1, 2, 3]],
    ["['bb', 'a'].sortBy(s, size(s))", ['a', 'bb']],
    ['[1, dyn(1.0), 1u, 2].distinct().size()', 2],
    ['[[1], [2, dyn([3])]].flatten(2)', [1, 2, 3]],
    ['[1, 2, 3, 4].slice(1, 3)', [2, 3]],
    ['lists.range(3)', [0, 1, 2]],
    ['sets.equivalent([1, 2, 2], [2, 1])', true],
    ['sets.intersects([1], [2])', false],
    ["jsonpatch.escapeKey('a/b~c')", 'a~1b~0c'],
    ["JSONPatch{op: 'add', path: '/a', value: {'b': 1}}", { op: 'add', path: '/a', value: { b: 1 } }],
  ]);
});

describe('authorizer', () => {
  it('asks what the expression describes', () => {
    const asked: unknown[] = [];
    const authorizer = authorizerValue((question) => {
      asked.push(question);
      return { allowed: question.verb === 'get', reason: 'because' };
    });
    const ask =
      "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('d').check('get')";
    expect(evaluate(`${ask}.allowed()`, { authorizer })).toBe(true);
    expect(
      evaluate("authorizer.serviceAccount('n', 'sa').path('/healthz').check('post').reason()", {
        authorizer,
      }),
    ).toBe('because');
    expect(asked).toEqual([
      {
        group: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'n',
        name: 'd',
        verb: 'get',
      },
      { serviceAccount: { namespace: 'n', name: 'sa' }, path: '/healthz', verb: 'post' },
    ]);
  });

  it('can afford two questions', () => {
    const authorizer = authorizerValue(() => ({ allowed: true, reason: '' }));
    const one = "authorizer.path('/a').check('get').allowed()";
    expect(evaluate(`${one} && ${one}`, { authorizer })).toBe(true);
    expect(evaluate(`${one} && ${one} && ${one}`, { authorizer })).toEqual({
      error: 'operation cancelled: actual cost limit exceeded',
    });
  });
});

describe('releases of Kubernetes', () => {
  const compiles = (version: Parameters<typeof createEnvironment>[0], expression: string): boolean =>
    createEnvironment({ ...version, variables: { a: DYN as Type } }).compile(expression).program !==
    undefined;
  it.each([
    ["'a'.charAt(0)", '1.28', '1.28'],
    ["optional.of(1).hasValue() && a.?b.hasValue() && isQuantity('1')", '1.28', '1.28'],
    ["'%d'.format([1]) == '1'", '1.29', '1.28'],
    ['sets.contains([1], [1])', '1.29', '1.28'],
    ["isIP('::1') && isCIDR('::/0')", '1.30', '1.29'],
    ["format.named('uuid').hasValue()", '1.31', '1.30'],
    ['[1].all(i, v, i < v)', '1.32', '1.31'],
    ["isSemver('1.0.0')", '1.33', '1.32'],
    ['[2, 1].sort() == [1, 2]', '1.34', '1.33'],
  ] as const)('%s since %s', (expression, since, before) => {
    expect(compiles({ version: since }, expression)).toBe(true);
    if (before !== since) expect(compiles({ version: before }, expression)).toBe(false);
  });
});
