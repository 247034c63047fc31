import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PROCESS_FLAGS, processFlags } from './process-flags.ts';
import { GRAPH_SETTINGS, graphSettings, graphSettingsOf } from './settings.ts';

const docs = readFileSync(new URL('../../../docs/graphs.md', import.meta.url), 'utf8');

it('settings have the defaults of the documentation, which says all of them', () => {
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

/** All flags of kro with their defaults, and where ours differ ours, with the reason. */
const FLAGS: readonly (readonly [name: string, kro: string, ours?: string, why?: string])[] = [
  ['allow-crd-deletion', 'false'],
  ['apply-concurrency', '20'],
  ['cel-cost-limit', '0'],
  ['client-burst', '150'],
  ['client-qps', '100', '0', 'the API server says when it has enough (429), and is heeded'],
  ['dynamic-controller-concurrent-reconciles', '1', '8', 'one instance that takes long holds up no other'],
  ['dynamic-controller-default-resync-period', '36000', '0', 'watches tell'],
  ['dynamic-controller-rate-limiter-max-delay', '1000s', '30s', 'what works again is seen within that'],
  ['dynamic-controller-rate-limiter-min-delay', '200ms'],
  ['feature-gates', ''],
  ['graph-concurrent-reconciles', '1'],
  ['instance-requeue-interval', '3s', '0', 'watches tell'],
  ['resource-graph-definition-concurrent-reconciles', '1'],
  ['rgd-max-collection-dimension-size', '10'],
  ['rgd-max-collection-size', '1000'],
  ['rgd-max-graph-revisions', '5'],
  ['rgd-progress-requeue-delay', '3s', '1s', 'a revision is there sooner'],
];
/** Those that are for the process, or for nobody. */
const PROCESS: readonly (readonly [name: string, kro: string])[] = [
  ['metrics-bind-address', ':8078'],
  ['health-probe-bind-address', ':8079'],
  ['leader-elect', 'false'],
  ['leader-elect-lease-duration', '15s'],
  ['leader-elect-renew-deadline', '10s'],
  ['leader-elect-retry-period', '2s'],
  ['leader-elect-namespace', ''],
  ['enable-controller-warmup', 'false'],
  ['graceful-shutdown-timeout', '60s'],
  ['graph-revision-concurrent-reconciles', '1'],
  ['dynamic-controller-rate-limiter-rate-limit', '10'],
  ['dynamic-controller-rate-limiter-burst-limit', '100'],
  ['dynamic-controller-default-queue-max-retries', '20'],
];

it.each(FLAGS.map(([name, kro, ours = kro, why = '']) => ({ name, kro, ours, why })))(
  '[R100] the flag $name has the default of kro here, or the documentation says why not',
  ({ name, kro, ours, why }) => {
    const setting = GRAPH_SETTINGS.find((item) => item.name === name);
    expect(setting?.byDefault).toBe(ours);
    expect(setting?.read(kro)).toBeDefined();
    if (ours !== kro) expect(docs).toContain(`| \`${name}\` | \`${kro}\` | \`${ours}\` | ${why} |`);
  },
);

it.each(PROCESS.map(([name, kro]) => ({ name, kro })))(
  '[R100] the flag $name is taken, and says what there is in its place',
  ({ name, kro }) => {
    const flag = PROCESS_FLAGS.find((item) => item.name === name);
    expect(flag?.kroDefault).toBe(kro);
    expect(graphSettings([`${name}=${kro}`])).toEqual({});
    expect(processFlags([`${name}=${kro}`]).notes).toEqual([`${name}: ${flag?.here}`]);
    expect(docs).toContain(`| \`${name}\` | ${flag?.here} |`);
  },
);

it('[R100] gates are closed as those of kro are, but for GraphKind', () => {
  const of = (gate: string): object => graphSettings([`feature-gates=${gate}=false`]);
  expect(['InstanceConditionEvents', 'InstanceConditionMetrics', 'CELOmitFunction'].map(of)).toEqual([
    { conditionEvents: false },
    { conditionMetrics: false },
    { omit: false },
  ]);
  expect(of('GraphKind')).toEqual({ graphObjects: false });
  expect(docs).toContain('| `feature-gates` | all closed | `GraphKind` is open |');
});

it('there is no setting beside those of kro but one', () => {
  const names = new Set([...FLAGS, ...PROCESS].map(([name]) => name));
  const all = [...GRAPH_SETTINGS, ...PROCESS_FLAGS].map(({ name }) => name);
  expect(all.filter((name) => !names.has(name))).toEqual(['label-prefixes']);
});

it('flags of leader election say how engines take turns', () => {
  const texts = ['leader-elect=true', 'leader-elect-lease-duration=30s', 'leader-elect-retry-period=500ms'];
  expect(processFlags(texts).turns).toEqual({ turns: true, leaseMs: 30_000, retryMs: 500 });
  expect(() => processFlags(['leader-elect=perhaps'])).toThrow('such as false; here: engines of a spoke');
  expect(() => processFlags(['leader-elect-lease-duration=0'])).toThrow('such as 15s');
  expect(processFlags(['client-qps=5'])).toEqual({ turns: {}, notes: [] });
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
