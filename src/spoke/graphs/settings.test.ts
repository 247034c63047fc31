import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { GRAPH_SETTINGS, graphSettings, graphSettingsOf, WITHOUT_COUNTERPART } from './settings.ts';

it('settings have the defaults of the documentation, which says all of them', () => {
  const docs = readFileSync(new URL('../../../docs/graphs.md', import.meta.url), 'utf8');
  for (const { name, byDefault, read } of GRAPH_SETTINGS) {
    expect(read(byDefault), name).toBeDefined();
    expect(docs).toContain(`| \`${name}\` | ${byDefault === '' ? '' : `\`${byDefault}\` `}|`);
  }
});

it('settings are read from name=value', () => {
  expect(
    graphSettings([
      'allow-crd-deletion=true',
      'cel-cost-limit=0',
      'rgd-max-graph-revisions=3',
      'feature-gates=InstanceConditionEvents=true,CELOmitFunction',
      'label-prefixes=both',
    ]),
  ).toEqual({
    allowKindDeletion: true,
    keptRevisions: 3,
    conditionEvents: true,
    omit: true,
    bothPrefixes: true,
  });
  expect(() => graphSettings(['a=b'])).toThrow(
    'there is no setting "a" of graphs; there are allow-crd-deletion,',
  );
  expect(() => graphSettings(['allow-crd-deletion'])).toThrow('such as allow-crd-deletion=false');
  expect(() => graphSettings(['feature-gates=Other'])).toThrow('of InstanceConditionEvents, ');
  expect(() => graphSettings(['rgd-max-graph-revisions=0'])).toThrow(
    'revisions of a definition that are kept',
  );
});

it('settings of the environment hold where no option says otherwise, also for members of a fleet', () => {
  const environment = { ATOLL_GRAPHS: ' rgd-max-graph-revisions=3  allow-crd-deletion=true ' };
  expect(graphSettingsOf(environment)).toEqual({ keptRevisions: 3, allowKindDeletion: true });
  expect(graphSettingsOf(environment, ['rgd-max-graph-revisions=7'])).toEqual({
    keptRevisions: 7,
    allowKindDeletion: true,
  });
  expect(graphSettingsOf({})).toEqual({});
  expect(() => graphSettingsOf({ ATOLL_GRAPHS: 'a=b' })).toThrow('there is no setting "a" of graphs');
});

/** All flags of kro with their defaults, and where ours differ ours. */
const FLAGS: readonly (readonly [name: string, kro: string, ours?: string])[] = [
  ['allow-crd-deletion', 'false'],
  ['apply-concurrency', '20'],
  ['cel-cost-limit', '0'],
  ['client-burst', '150'],
  ['client-qps', '100', '0'],
  ['dynamic-controller-concurrent-reconciles', '1', '8'],
  ['dynamic-controller-default-queue-max-retries', '20', 'none'],
  ['dynamic-controller-default-resync-period', '36000', '0'],
  ['dynamic-controller-rate-limiter-burst-limit', '100', 'none'],
  ['dynamic-controller-rate-limiter-max-delay', '1000s', '30s'],
  ['dynamic-controller-rate-limiter-min-delay', '200ms'],
  ['dynamic-controller-rate-limiter-rate-limit', '10', 'none'],
  ['enable-controller-warmup', 'false', 'none'],
  ['feature-gates', ''],
  ['graceful-shutdown-timeout', '60s', 'none'],
  ['graph-concurrent-reconciles', '1'],
  ['graph-revision-concurrent-reconciles', '1', 'none'],
  ['health-probe-bind-address', ':8079', 'none'],
  ['instance-requeue-interval', '3s', '0'],
  ['leader-elect', 'false', 'none'],
  ['leader-election-lease-duration', '15s', 'none'],
  ['leader-election-namespace', '', 'none'],
  ['leader-election-renew-deadline', '10s', 'none'],
  ['leader-election-retry-period', '2s', 'none'],
  ['metrics-bind-address', ':8078', 'none'],
  ['pprof-bind-address', ':6060', 'none'],
  ['resource-graph-definition-concurrent-reconciles', '1'],
  ['rgd-max-collection-dimension-size', '10'],
  ['rgd-max-collection-size', '1000'],
  ['rgd-max-graph-revisions', '5'],
  ['rgd-progress-requeue-delay', '3s', '1s'],
];

it.each(FLAGS.map(([name, kro, ours = kro]) => ({ name, kro, ours })))(
  'the flag $name of kro has its default here, or says what there is instead',
  ({ name, kro, ours }) => {
    const setting = GRAPH_SETTINGS.find((item) => item.name === name);
    expect(setting?.byDefault ?? 'none').toBe(ours);
    if (setting) expect(setting.read(kro)).toBeDefined();
    else
      expect(() => graphSettings([`${name}=${kro}`])).toThrow(
        `there is no such setting: ${WITHOUT_COUNTERPART[name]}`,
      );
  },
);

it('there is no setting beside those of kro but one', () => {
  const names = new Set(FLAGS.map(([name]) => name));
  expect(GRAPH_SETTINGS.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([
    'label-prefixes',
  ]);
  expect(Object.keys(WITHOUT_COUNTERPART).filter((name) => !names.has(name))).toEqual([]);
});

it('times have units, and no limit is no limit', () => {
  expect(
    graphSettings([
      'instance-requeue-interval=3s',
      'dynamic-controller-default-resync-period=36000',
      'dynamic-controller-rate-limiter-min-delay=200ms',
      'client-qps=0',
      'feature-gates=GraphKind=false,DynamicTemplateKeys',
    ]),
  ).toEqual({
    requeueMs: 3_000,
    resyncMs: 36_000_000,
    firstRetryMs: 200,
    graphObjects: false,
    dynamicKeys: true,
  });
  expect(() => graphSettings(['instance-requeue-interval=soon'])).toThrow(
    'such as instance-requeue-interval=0',
  );
});
