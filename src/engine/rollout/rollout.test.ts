import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/random.ts';
import { deepEqual } from '../../schema/json.ts';
import {
  type Observation,
  permittedRevision,
  type Revision,
  type RevisionHistory,
  type RolloutCluster,
  type RolloutEvent,
  type RolloutState,
  type RolloutStrategy,
  recoverRollout,
  revisionToRestore,
  stagesAhead,
  step,
  strategyProblems,
  withPin,
  withRevision,
  withSuccess,
} from './index.ts';
import { playScenario } from './scenario.fixture.ts';

const folder = new URL('./testdata/', import.meta.url);

/** Titles of scenarios; the file holds the conversation. `vitest -u` writes the answers. */
const SCENARIOS: Readonly<Record<string, string>> = {
  waves: '[K77] begins a stage only over fresh and lasting health of those before it',
  failure: '[K81] sends exactly the failed stage back to what it had',
  'fleet-rollback': 'sends the fleet back, and does not judge what it cannot see',
  'cluster-rollback': 'sends one cluster back and goes on within the failures allowed',
  commands: '[K82] pauses, resumes, aborts, goes back, is promoted',
  approvals: '[K78] waits for whom it names, fails without an answer, or goes on by itself',
  analysis:
    '[K79] [K80] [K84] ends a stage by metrics, stricter for one cluster, against a baseline; incidents pause',
  'stop-on-unhealthy': '[A76] goes in waves with pauses and stops at the first that is unhealthy',
  windows:
    '[K86] [K87] passes over clusters outside of their windows and stops within a change when a window ends',
  'windows-wait':
    '[K88] waits for windows with an end, and leaves them out in an emergency where owners allow it',
  'cluster-sets': '[K89] gives each set of clusters its own weights, and rolls through the rest',
  rate: 'keeps to rates, batches and what may be unavailable, also after a restart',
  'skip-unreachable': 'passes over what it cannot see where told to',
};

describe('a rollout', () => {
  for (const [name, title] of Object.entries(SCENARIOS)) {
    it(title, async () => {
      const path = new URL(`${name}.txt`, folder);
      await expect(playScenario(readFileSync(path, 'utf8'))).toMatchFileSnapshot(path.pathname);
    });
  }

  it('has a test for each scenario', () => {
    expect(readdirSync(folder).sort()).toEqual(
      Object.keys(SCENARIOS)
        .map((name) => `${name}.txt`)
        .sort(),
    );
  });
});

const PERIOD = 60_000;

describe('any rollout', () => {
  const count = 6;
  const names = Array.from({ length: count }, (_, index) => `c${index}`);
  const strategy = fc.record({
    stages: fc.constant([
      { name: 'one', clusterNames: ['c0', 'c1'], soakSeconds: 30 },
      { name: 'two', clusterNames: ['c2', 'c3'] },
      { name: 'three' },
    ]),
    maxConcurrency: fc.integer({ min: 1, max: 4 }),
    startsPerMinute: fc.integer({ min: 2, max: 12 }),
    jitterPercent: fc.nat(100),
    degradedSeconds: fc.nat(40),
    rollback: fc.record({
      automatic: fc.boolean(),
      scope: fc.constantFrom('Cluster' as const, 'Stage' as const, 'Fleet' as const),
    }),
    maxFailures: fc.nat(1),
  });
  const action = fc.record({
    wait: fc.nat(40),
    kind: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('all', 'ready', 'stale') },
      {
        weight: 1,
        arbitrary: fc.constantFrom('degraded', 'old', 'restart', 'pause', 'resume', 'start', 'retry'),
      },
    ),
    cluster: fc.nat(count - 1),
  });

  it('[K92] begins nothing over a stale status, keeps its limits, and writes nothing but what may be where', () => {
    fc.assert(
      fc.property(
        strategy,
        fc.array(action, { minLength: 10, maxLength: 120 }),
        (chosen: RolloutStrategy, actions) => {
          const clusters = names.map((name): RolloutCluster => ({ name, labels: {}, revision: 'r0' }));
          const specs = JSON.stringify({ chosen, clusters });
          const random = seededRandom(7);
          const permitted = new Map<string, string | undefined>(names.map((name) => [name, 'r0']));
          /** What a watcher knows who only sees observations. */
          const settled = new Map<string, string>();
          const starts: number[] = [];
          let state: RolloutState | undefined;
          let now = 0;
          let revision = 1;
          const send = (event: RolloutEvent): void => {
            if (event.type === 'observe')
              for (const { cluster, live, revision: has = '', word } of event.observations) {
                if (live && word === 'Ready') settled.set(cluster, has);
                else settled.delete(cluster);
              }
            const result = step(state, event, now, random);
            if (!result) return;
            // Thousands of times: a matcher would take most of the test.
            if (!deepEqual(JSON.parse(JSON.stringify(result)), result))
              expect.fail('the state is not plain JSON');
            state = result.state;
            const { target } = state;
            const updatedBefore = new Map(names.map((name) => [name, permitted.get(name) === target]));
            for (const effect of result.effects) {
              if (effect.type !== 'release' && effect.type !== 'rollback') continue;
              permitted.set(effect.cluster, effect.revision);
              if (effect.type === 'rollback') continue;
              starts.push(now);
              const at = state.clusters[effect.cluster]?.stage ?? 0;
              for (const name of names) {
                const other = state.clusters[name];
                if (!other || other.stage >= at || other.failed === true || updatedBefore.get(name) !== true)
                  continue;
                expect(settled.get(name), `${effect.cluster} began over ${name}`).toBe(target);
              }
            }
            const { state: then } = result;
            const told = names.map((name) => permittedRevision(then, name));
            if (
              !deepEqual(
                told,
                names.map((name) => permitted.get(name)),
              )
            )
              expect(told).toEqual(names.map((name) => permitted.get(name)));
            const busy = names.filter((name) => state?.clusters[name]?.phase === 'Updating');
            // Clusters that are tried again and have the revision already are only watched.
            if (result.effects.some(({ type }) => type === 'release'))
              expect(busy.length).toBeLessThanOrEqual(Number(chosen.maxConcurrency));
            if (result.nextAt !== undefined) expect(result.nextAt).toBeGreaterThan(now);
          };
          send({ type: 'start', revision: 'r1', clusters, strategy: chosen });
          for (const { wait, kind, cluster } of actions) {
            now += wait * 1000;
            send({ type: 'tick' });
            const name = names[cluster] ?? '';
            const sightOf = (at: string): Observation => ({
              cluster: at,
              live: kind !== 'stale',
              revision: kind === 'old' ? 'r-old' : (permitted.get(at) ?? ''),
              word: kind === 'degraded' ? 'Degraded' : 'Ready',
            });
            if (kind === 'restart') {
              settled.clear();
              if (state) state = recoverRollout(state);
            } else if (kind === 'pause' || kind === 'resume' || kind === 'retry')
              send({ type: kind, by: 'ann' });
            else if (kind === 'start') {
              if (wait % 5 === 0)
                send({ type: 'start', revision: `r${++revision}`, clusters, strategy: chosen });
            } else send({ type: 'observe', observations: (kind === 'all' ? names : [name]).map(sightOf) });
          }
          const rate = chosen.startsPerMinute ?? 1;
          for (const [index, at] of starts.entries())
            expect((starts[index + rate] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(PERIOD);
          expect(JSON.stringify({ chosen, clusters })).toBe(specs);
        },
      ),
      { numRuns: 80 },
    );
  });

  it('[K76] [K83] goes through 18 clusters in waves, five at a time and five a minute', () => {
    const random = seededRandom(3);
    const waves = { a: 2, b: 3, c: 8, d: 5 };
    const clusters = Object.entries(waves).flatMap(([wave, size]) =>
      Array.from(
        { length: size },
        (_, index): RolloutCluster => ({ name: `${wave}${index}`, labels: { wave }, revision: 'r0' }),
      ),
    );
    const plan: RolloutStrategy = {
      stages: Object.keys(waves).map((wave) => ({
        name: wave,
        clusterSelector: { matchLabels: { wave } },
        maxConcurrency: 5,
      })),
      startsPerMinute: 5,
    };
    let now = 0;
    let result = step(undefined, { type: 'start', revision: 'r1', clusters, strategy: plan }, now, random);
    const order: string[] = [];
    const starts: number[] = [];
    const see = (cluster: string, revision: string): void => {
      const observation = { cluster, live: true, revision, word: 'Ready' as const };
      result = step(result?.state, { type: 'observe', observations: [observation] }, now, random);
      note();
    };
    const note = (): void => {
      for (const effect of result?.effects ?? [])
        if (effect.type === 'release') {
          order.push(effect.cluster);
          starts.push(now);
        }
    };
    for (const { name } of clusters) see(name, 'r0');
    for (let turn = 0; turn < 200 && result?.state.phase === 'Progressing'; turn++) {
      // The oldest two at work become Ready now and then.
      const busy = Object.entries(result.state.clusters).filter(([, { phase }]) => phase === 'Updating');
      expect(busy.length).toBeLessThanOrEqual(5);
      now += 20_000;
      result = step(result.state, { type: 'tick' }, now, random);
      note();
      for (const [name] of busy.slice(0, 2)) see(name, 'r1');
    }
    expect(result?.state.phase).toBe('Succeeded');
    expect(order.map((name) => name[0]).join('')).toBe('aabbbccccccccddddd');
    for (const [index, at] of starts.entries())
      expect((starts[index + 5] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(60_000);
  });

  it('takes a cluster that joins for what it is, whatever it is called', () => {
    const given = ['a', 'constructor'].map((name) => ({ name, labels: {} }));
    const start = (clusters: RolloutCluster[], before?: RolloutState): RolloutState | undefined =>
      step(before, { type: 'start', revision: 'r', clusters, strategy: {} }, 0, seededRandom(1))?.state;
    const joined = start(given, start(given.slice(0, 1)));
    expect(joined?.clusters['constructor']?.phase).toBe(joined?.clusters['a']?.phase);
  });

  it('refuses a strategy that is not valid, and changes nothing', () => {
    const wrong: RolloutStrategy = {
      maxConcurrency: 0,
      maxFailures: 'many',
      stages: [
        { name: 'a', size: '5', gates: [{ expression: 'fleet.' }, { expression: '1 + 1' }] },
        { name: 'a', clusterSelector: { matchExpressions: [{ key: 'x', operator: 'Near' }] } },
      ],
      analysis: { metrics: [{ name: 'm', condition: 'good' }] },
      maintenance: { windows: [{ start: '9', end: '10:00' }] },
    };
    expect(strategyProblems(wrong).map((problem) => problem.split(':')[0])).toEqual([
      'maxConcurrency',
      'maxFailures',
      'stages[0].size',
      'stages[0].gates[0].expression',
      'stages[0].gates[1].expression',
      'stages[1].name',
      'stages[1].clusterSelector',
      'analysis.metrics[0].condition',
      'maintenance.windows[0]',
    ]);
    const good = step(
      undefined,
      { type: 'start', revision: 'r1', clusters: [], strategy: {} },
      0,
      seededRandom(1),
    );
    const refused = step(
      good?.state,
      { type: 'start', revision: 'r2', clusters: [], strategy: wrong },
      0,
      seededRandom(1),
    );
    expect(refused?.state).toBe(good?.state);
    expect(refused?.effects).toMatchObject([{ reason: 'RolloutRefused' }]);
    expect(step(undefined, { type: 'tick' }, 0, seededRandom(1))).toBeUndefined();
  });
});

describe('the groups of a decision', () => {
  it('[S40] are its stages: named ones by selector and by size, and the rest', () => {
    const cluster = (name: string, region: string): RolloutCluster => ({ name, labels: { region } });
    const clusters = ['a1', 'a2', 'b1', 'b2', 'b3', 'b4', 'b5'].map((name) =>
      cluster(name, name.slice(0, 1)),
    );
    const stages = [
      { name: 'canary', clusterSelector: { matchLabels: { region: 'a' } } },
      { name: 'first', size: '29%' },
    ];
    expect(stagesAhead(stages, clusters)).toEqual([
      { name: 'canary', clusters: ['a1', 'a2'] },
      { name: 'first', clusters: ['b1', 'b2', 'b3'] },
      { name: 'rest', clusters: ['b4', 'b5'] },
    ]);
  });
});

describe('a history of revisions', () => {
  const revision = (digest: string): Omit<Revision, 'number'> => ({ digest, at: 0, by: 'ann' });
  const of = (...digests: string[]): RevisionHistory =>
    digests.reduce<RevisionHistory>((history, digest) => withRevision(history, revision(digest), 99), []);

  it('numbers content, and moves what comes back to the top', () => {
    const history = of('x', 'x', 'y', 'x');
    expect(history.map(({ digest, number }) => [number, digest])).toEqual([
      [2, 'y'],
      [3, 'x'],
    ]);
  });

  it('forgets the oldest, but not what is pinned, in use, or was everywhere last', () => {
    let history = withPin(of('a', 'b', 'c', 'd', 'e'), 1, true);
    history = withSuccess(history, 'b', 9);
    history = withRevision(history, revision('f'), 3, new Set(['c']));
    expect(history.map(({ digest }) => digest)).toEqual(['a', 'b', 'c', 'f']);
  });

  it('knows what to go back to', () => {
    const history = withSuccess(of('a', 'b', 'c'), 'a', 9);
    expect(revisionToRestore(history)?.digest).toBe('a');
    expect(revisionToRestore(of('a', 'b', 'c'))?.digest).toBe('b');
    expect(revisionToRestore(history, 2)?.digest).toBe('b');
    expect(revisionToRestore(history, 7)).toBeUndefined();
  });
});
