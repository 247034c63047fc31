import { describe, expect, it } from 'vitest';
import { compileAllow } from './allow.ts';
import { decide } from './decide.ts';
import { cluster, everywhere, why } from './fleet.fixture.ts';
import type { ClusterFacts, Placement } from './placement.ts';
import { parseClusterVersion, parseVersionRange } from './version-range.ts';

const fleet: ClusterFacts[] = [
  cluster('aws-1', {
    labels: { env: 'prod' },
    fields: { provider: 'aws', region: 'eu', zone: ['eu-a', 'eu-b'], version: 'v1.31.4-eks-1a2b' },
    properties: { gpu: 'a100', 'cost.per-hour': '3' },
    resources: { allocatable: { cpu: '64', memory: '256Gi' } },
  }),
  cluster('gcp-1', {
    labels: { env: 'prod' },
    fields: { provider: 'gcp', region: 'us', zone: 'us-a', version: 'v1.29.0' },
    resources: { allocatable: { cpu: '8', memory: '32Gi' } },
  }),
  cluster('home', { labels: { env: 'dev' }, fields: { version: 'v1.33.0-rc.1' } }),
];
const chosen = (placement: Placement): readonly string[] => decide(placement, fleet).chosen;

describe('which clusters are meant', () => {
  it.each<[string, Placement, string[]]>([
    ['provider In', { clusterFields: [{ key: 'provider', operator: 'In', values: ['aws'] }] }, ['aws-1']],
    [
      'provider NotIn',
      { clusterFields: [{ key: 'provider', operator: 'NotIn', values: ['aws'] }] },
      ['gcp-1', 'home'],
    ],
    [
      'any zone of several',
      { clusterFields: [{ key: 'zone', operator: 'In', values: ['eu-b', 'x'] }] },
      ['aws-1'],
    ],
    [
      'no zone of several',
      { clusterFields: [{ key: 'zone', operator: 'NotIn', values: ['eu-b'] }] },
      ['gcp-1', 'home'],
    ],
    ['region Exists', { clusterFields: [{ key: 'region', operator: 'Exists' }] }, ['aws-1', 'gcp-1']],
    ['region DoesNotExist', { clusterFields: [{ key: 'region', operator: 'DoesNotExist' }] }, ['home']],
    [
      'versions in a range',
      { clusterFields: [{ key: 'version', operator: 'InRange', values: ['>=1.30 <1.33'] }] },
      ['aws-1'],
    ],
    [
      'versions outside',
      { clusterFields: [{ key: 'version', operator: 'NotInRange', values: ['>=1.30 <1.33'] }] },
      ['gcp-1', 'home'],
    ],
    [
      'names, labels and fields together',
      {
        clusterNames: ['aws-1', 'gcp-1', 'home'],
        clusterSelector: { matchLabels: { env: 'prod' } },
        clusterFields: [{ key: 'region', operator: 'In', values: ['us', 'eu'] }],
      },
      ['aws-1', 'gcp-1'],
    ],
    [
      'exclusion beats all',
      { clusterNames: ['aws-1', 'home'], exclude: [{ clusterNames: ['aws-1'] }] },
      ['home'],
    ],
    [
      'exclusion by anything',
      { ...everywhere, exclude: [{ clusterFields: [{ key: 'provider', operator: 'Exists' }] }] },
      ['home'],
    ],
    [
      'each exclusion counts',
      {
        ...everywhere,
        exclude: [{ clusterNames: ['home'] }, { clusterSelector: { matchLabels: { env: 'prod' } } }],
      },
      [],
    ],
    ['the empty selector is all', everywhere, ['aws-1', 'gcp-1', 'home']],
  ])('[A11] %s', (_what, placement, expected) => {
    expect(chosen(placement)).toEqual(expected);
  });

  it('[S25] alternatives are united', () => {
    const anyOf = [
      { clusterNames: ['home'] },
      { clusterFields: [{ key: 'provider', operator: 'In' as const, values: ['gcp'] }] },
    ];
    const decision = decide({ anyOf }, fleet);
    expect(decision.chosen).toEqual(['gcp-1', 'home']);
    expect(decision.rejected[0]).toMatchObject({ reason: 'AnyOf' });
    expect(chosen({ anyOf, clusterSelector: { matchLabels: { env: 'dev' } } })).toEqual(['home']);
  });

  it('[S41] expressions see versions, properties and resources of a cluster', () => {
    const by = (expression: string): readonly string[] => chosen({ clusterExpressions: [expression] });
    expect(by("semver(cluster.fields.version, true).compareTo(semver('1.30.0')) >= 0")).toEqual([
      'aws-1',
      'home',
    ]);
    expect(by("quantity(cluster.resources.allocatable.cpu).isGreaterThan(quantity('16'))")).toEqual([
      'aws-1',
    ]);
    expect(by("'gpu' in cluster.properties")).toEqual(['aws-1']);
    expect(by("cluster.taints.all(t, t.effect != 'NoSelect') && cluster.labels.env == 'dev'")).toEqual([
      'home',
    ]);
  });

  it('an expression that fails leaves the cluster out and says why', () => {
    const decision = decide({ clusterExpressions: ["cluster.properties.gpu == 'a100'"] }, fleet);
    expect(decision.chosen).toEqual(['aws-1']);
    expect(why(decision, 'home')).toContain('no such key: gpu');
    const costly = 'cluster.labels.all(a, cluster.labels.all(b, cluster.labels.all(c, a != b + c)))';
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${index}`, 'v']));
    const big = decide({ clusterExpressions: [costly] }, [cluster('big', { labels })]);
    expect(big.chosen).toEqual([]);
    expect(why(big, 'big')).toContain('cost');
  });

  it.each<[string, Placement, string]>([
    [
      'an expression with a field that is not there',
      { clusterExpressions: ['cluster.nme == 1'] },
      'placement.clusterExpressions[0]',
    ],
    ['an expression that gives no yes or no', { clusterExpressions: ['cluster.name'] }, 'true or false'],
    [
      'a range that is none',
      { clusterFields: [{ key: 'version', operator: 'InRange', values: ['new'] }] },
      'no range of versions',
    ],
    [
      'values for Exists',
      { clusterFields: [{ key: 'zone', operator: 'Exists', values: ['a'] }] },
      'takes none',
    ],
    [
      'an exclusion of nothing',
      { ...everywhere, exclude: [{}] },
      'placement.exclude[0]: it names no cluster',
    ],
    ['a group of nothing', { groups: [{ name: 'a' }] }, 'placement.groups[0]: it names no cluster'],
    [
      'two groups of a name',
      {
        groups: [
          { name: 'a', ...everywhere },
          { name: 'a', ...everywhere },
        ],
      },
      'there is a group a already',
    ],
    [
      'limits that cross',
      { ...everywhere, spread: [{ field: 'region', minGroups: 3, maxGroups: 2 }] },
      '2 is less than minGroups',
    ],
    ['a spread by nothing', { ...everywhere, spread: [{}] }, 'set field or label'],
    ['no clusters at all', { ...everywhere, numberOfClusters: 0 }, 'placement.numberOfClusters'],
    [
      'a toleration without key',
      { ...everywhere, tolerations: [{ value: 'x' }] },
      'without a key the operator is Exists',
    ],
    ['an external score of nothing', { ...everywhere, scores: [{ type: 'External' }] }, 'source and name'],
  ])('refuses %s', (_what, placement, problem) => {
    expect(decide(placement, fleet).problem).toContain(problem);
  });

  it('[F61] policies allow a part of what is placed, and are named', () => {
    const three = [cluster('c1'), cluster('c2'), cluster('c3')];
    const allow = [compileAllow({ name: 'audited', clusters: { clusterNames: ['c2'] } })];
    const decision = decide(everywhere, three, undefined, { allow });
    expect(decision.chosen).toEqual(['c2']);
    expect(why(decision, 'c1')).toBe('a policy does not allow it (policy audited)');
    const more = compileAllow({ name: 'eu', clusters: { clusterNames: ['c1', 'c3'] } });
    expect(decide(everywhere, three, undefined, { allow: [...allow, more] }).chosen).toEqual([]);
    // Also what is placed already goes, and a policy that is not valid allows nothing.
    expect(decide(everywhere, three, decide(everywhere, three), { allow }).chosen).toEqual(['c2']);
    const wrong = compileAllow({ name: 'wrong', clusters: { clusterExpressions: ['cluster.'] } });
    expect(decide(everywhere, three, undefined, { allow: [wrong] }).chosen).toEqual([]);
  });
});

describe('ranges of versions', () => {
  it.each<[string, string[], string[]]>([
    [
      '>=1.30 <1.33',
      ['v1.30.0', '1.32.9', 'v1.32.1+k3s1', 'v1.30.2-gke.1200'],
      ['v1.33.0', '1.29.9', 'v1.33.0-rc.1'],
    ],
    ['>1.30', ['1.31.0'], ['1.30.9', '1.30.0']],
    ['<=1.30', ['1.30.9', '1.2.0'], ['1.31.0', '1.31.0-alpha.1']],
    ['1.31', ['1.31.0', '1.31.7'], ['1.32.0', '1.31.0-rc.0']],
    ['1.31.x || 1.33.*', ['1.31.2', '1.33.0'], ['1.32.0']],
    ['~1.30.2', ['1.30.2', '1.30.9'], ['1.30.1', '1.31.0']],
    ['^1.30', ['1.30.0', '1.99.0'], ['1.29.0', '2.0.0']],
    ['1.30 - 1.32', ['1.30.0', '1.32.9'], ['1.33.0', '1.29.9']],
    ['>=1.31.0-beta.1', ['1.31.0-beta.1', '1.31.0-rc.0', '1.31.0'], ['1.31.0-alpha.3', '1.30.9']],
    ['>= 1.30, < 1.31', ['1.30.4'], ['1.31.0']],
    ['*', ['1.0.0', '9.9.9'], []],
  ])('%s', (range, inside, outside) => {
    const test = parseVersionRange(range);
    const holds = (text: string): boolean => {
      const version = parseClusterVersion(text);
      return version !== undefined && test?.(version) === true;
    };
    expect(inside.filter((text) => !holds(text))).toEqual([]);
    expect(outside.filter(holds)).toEqual([]);
  });

  it('reads neither what is no range nor what is no version', () => {
    for (const text of ['', 'latest', '>=', '1.2.3.4', '1.30 ||', 'x'.repeat(300)])
      expect(parseVersionRange(text)).toBeUndefined();
    expect(parseClusterVersion('latest')).toBeUndefined();
  });
});
