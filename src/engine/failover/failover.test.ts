import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  avoidedClusters,
  deschedule,
  type FailoverEvent,
  type FailoverOptions,
  type FailoverRate,
  type FailoverState,
  keptCopies,
  mayBeLast,
  noFailover,
  preserveState,
  shifted,
  stepFailover,
  UNREACHABLE_TAINT,
} from './index.ts';

const LOST = [{ key: UNREACHABLE_TAINT, effect: 'NoExecute' }];
const ON: FailoverOptions = { cluster: { tolerationSeconds: 0 } };

/** A fleet on a clock of its own; what it is told to do is noted with the second. */
function fleet(rate: FailoverRate = {}) {
  let state: FailoverState = noFailover(rate);
  let now = 0;
  let nextAt: number | undefined;
  let notes: string[] = [];
  const started: number[] = [];
  const send = (event: FailoverEvent): void => {
    const kept = new Set(
      Object.keys(state.intents).flatMap((name) => keptCopies(state, name).map((at) => `${name} ${at}`)),
    );
    const result = stepFailover(state, event, now);
    state = JSON.parse(JSON.stringify(result.state)) as FailoverState;
    nextAt = result.nextAt;
    for (const effect of result.effects) {
      const at = `${now / 1000}s`;
      if (effect.type === 'move')
        notes.push(
          `${at} move ${effect.intent} from ${effect.from}${Object.keys(effect.labels).length > 0 ? ` ${JSON.stringify(effect.labels)}` : ''}`,
        );
      else if (effect.type === 'return') notes.push(`${at} return ${effect.intent} to ${effect.to}`);
      else if (effect.type === 'remove') {
        const { purge } = result.state.intents[effect.intent]?.options.cluster ?? {};
        if (purge !== 'Directly') {
          expect(kept.has(`${effect.intent} ${effect.cluster}`)).toBe(true);
          expect(result.state.intents[effect.intent]?.clusters).not.toContain(effect.cluster);
        }
        notes.push(`${at} remove ${effect.intent} in ${effect.cluster}`);
      } else if (effect.type === 'record' && effect.reason === 'FailoverStarted') started.push(now);
    }
  };
  return {
    send,
    started,
    intent: (intent: string, clusters: string[], options: FailoverOptions = ON) =>
      send({ type: 'intent', intent, options, clusters }),
    taint: (cluster: string, taints = LOST) => send({ type: 'taints', cluster, taints }),
    well: (cluster: string) => send({ type: 'taints', cluster, taints: [] }),
    health: (intent: string, cluster: string, healthy: boolean, live = true, status?: never) =>
      send({ type: 'health', intent, cluster, healthy, live, ...(status === undefined ? {} : { status }) }),
    pass(seconds: number): void {
      const until = now + seconds * 1000;
      for (let steps = 0; nextAt !== undefined && nextAt <= until && steps < 10_000; steps++) {
        now = nextAt;
        send({ type: 'tick' });
      }
      now = until;
    },
    said(): string[] {
      const said = notes;
      notes = [];
      return said;
    },
    state: () => state,
  };
}

describe('failover', () => {
  it('does nothing unless it is asked for', () => {
    const f = fleet();
    f.intent('web', ['a'], {});
    f.taint('a');
    f.health('web', 'a', false);
    f.pass(100_000);
    expect(f.said()).toEqual([]);
  });

  it('[A48] moves 100 copies at 0.5 a second in about 200 s', () => {
    const f = fleet();
    for (let index = 0; index < 100; index++) f.intent(`i${index}`, ['a']);
    f.taint('a');
    f.pass(1000);
    const moves = f.said().filter((note) => note.includes(' move '));
    expect(moves).toHaveLength(100);
    expect(moves[0]).toMatch(/^0s/);
    expect(moves.at(-1)).toMatch(/^198s/);
  });

  it('lets one through in half an hour at a rate of 0', () => {
    const f = fleet({ perSecond: 0 });
    for (const name of ['x', 'y', 'z']) f.intent(name, ['a']);
    f.taint('a');
    f.pass(3700);
    expect(f.said().filter((note) => note.includes(' move '))).toEqual([
      '0s move x from a',
      '1800s move y from a',
      '3600s move z from a',
    ]);
  });

  it('tolerates taints as long as it is told, and forgets them when they go', () => {
    const f = fleet();
    f.intent('web', ['a'], { cluster: {} });
    f.intent('db', ['a'], { cluster: { tolerations: [{ key: UNREACHABLE_TAINT, operator: 'Exists' }] } });
    f.intent('api', ['a'], { cluster: { tolerations: [{ operator: 'Exists', seconds: 60 }] } });
    f.taint('a');
    f.pass(59);
    f.well('a');
    f.pass(500);
    f.taint('a');
    f.pass(299);
    expect(f.said()).toEqual(['619s move api from a']);
    f.pass(10_000);
    expect(f.said()[0]).toBe('859s move web from a');
    // A taint that is of no kind of loss is not tolerated at all.
    f.intent('late', ['b'], { cluster: {} });
    f.taint('b', [
      { key: 'maintenance', effect: 'NoExecute' },
      { key: 'other', effect: 'NoSchedule' },
    ]);
    expect(f.said()).toEqual(['10858s move late from b']);
  });

  it('[A49] removes the old copy when the new one is healthy, or after ten minutes', () => {
    const f = fleet();
    f.intent('web', ['a']);
    f.intent('api', ['a']);
    f.taint('a');
    f.pass(10);
    expect(avoidedClusters(f.state(), 'web')).toEqual(['a']);
    f.intent('web', ['b']);
    expect(keptCopies(f.state(), 'web')).toEqual(['a']);
    f.intent('api', ['b']);
    f.health('web', 'b', false);
    f.pass(10);
    f.health('web', 'b', true, false);
    expect(f.said()).toEqual(['0s move api from a', '2s move web from a']);
    f.health('web', 'b', true);
    expect(f.said()).toEqual(['20s remove web in a']);
    f.pass(1000);
    expect(f.said()).toEqual(['600s remove api in a']);
  });

  it('keeps the old copy where there is nowhere to go', () => {
    const f = fleet();
    f.intent('web', ['a']);
    f.taint('a');
    f.intent('web', []);
    f.pass(100_000);
    expect(f.said()).toEqual(['0s move web from a']);
    expect(keptCopies(f.state(), 'web')).toEqual(['a']);
  });

  it('stays where it is where there was nowhere to go until its cluster is well again', () => {
    const f = fleet();
    f.intent('web', ['a', 'b']);
    for (const cluster of ['a', 'b']) f.taint(cluster);
    f.pass(10);
    f.intent('web', []);
    f.well('a');
    expect(avoidedClusters(f.state(), 'web')).toEqual(['b']);
    // Now there is somewhere to go for the other.
    f.intent('web', ['a']);
    f.health('web', 'a', true);
    f.well('b');
    expect(f.said()).toEqual(['0s move web from a', '2s move web from b', '10s remove web in b']);
  });

  it('stays where it is where a sick copy that had nowhere to go is healthy again', () => {
    const f = fleet();
    f.intent('web', ['a'], { application: { tolerationSeconds: 0 } });
    f.health('web', 'a', false);
    f.intent('web', [], { application: { tolerationSeconds: 0 } });
    expect(avoidedClusters(f.state(), 'web')).toEqual(['a']);
    f.health('web', 'a', true);
    expect(avoidedClusters(f.state(), 'web')).toEqual([]);
    expect(keptCopies(f.state(), 'web')).toEqual([]);
    expect(f.said()).toEqual(['0s move web from a']);
  });

  it('lets nothing go that may be the last copy before one is seen healthy where it is to be, or for ten minutes', () => {
    const f = fleet();
    const mayGo = (...chosen: string[]) => !mayBeLast(f.state(), 'web', ON, chosen);
    // What a hub that starts has not looked at.
    expect(mayGo('a')).toBe(false);
    f.intent('web', ['a', 'b', 'c']);
    f.health('web', 'b', true);
    f.intent('web', ['a']);
    expect(mayGo('a')).toBe(false);
    f.health('web', 'a', true, false);
    expect(mayGo('a')).toBe(false);
    f.health('web', 'a', true);
    expect(mayGo('a')).toBe(true);
    // One that stays is seen, and nowhere is where it is to be.
    f.intent('web', ['a', 'd']);
    expect([mayGo('a', 'd'), mayGo()]).toEqual([true, true]);
    f.intent('web', ['d']);
    f.pass(599);
    expect(mayGo('d')).toBe(false);
    f.pass(1);
    expect(mayGo('d')).toBe(true);
    f.intent('web', ['e'], { cluster: { purge: 'Directly' } });
    expect(mayBeLast(f.state(), 'web', { cluster: { purge: 'Directly' } }, ['e'])).toBe(false);
  });

  it('asks copies that were healthy before the decision again: they may have to grow', () => {
    const f = fleet();
    f.intent('web', ['a', 'b']);
    f.health('web', 'b', true);
    f.taint('a');
    f.intent('web', ['b']);
    expect(f.said()).toEqual(['0s move web from a']);
    f.health('web', 'b', true);
    expect(f.said()).toEqual(['0s remove web in a']);
  });

  it('removes at once, or never until someone says so, where that is wanted', () => {
    const f = fleet({ burst: 9 });
    f.intent('now', ['a'], { cluster: { tolerationSeconds: 0, purge: 'Directly' } });
    f.intent('kept', ['a'], { cluster: { tolerationSeconds: 0, purge: 'Never' } });
    f.taint('a');
    f.intent('kept', ['b'], { cluster: { tolerationSeconds: 0, purge: 'Never' } });
    f.health('kept', 'b', true);
    f.pass(100_000);
    expect(f.said()).toEqual(['0s move kept from a', '0s move now from a', '0s remove now in a']);
    f.send({ type: 'release', intent: 'kept', cluster: 'a' });
    expect(f.said()).toEqual(['100000s remove kept in a']);
  });

  it('[A50] moves a copy that was unhealthy for 300 s while it was seen; with Never a person decides', () => {
    const f = fleet({ burst: 9 });
    f.intent('web', ['a'], { application: {} });
    f.intent('db', ['a'], { application: { purge: 'Never' } });
    f.health('web', 'a', false);
    f.health('db', 'a', false);
    f.pass(200);
    f.health('web', 'a', true);
    f.health('web', 'a', false);
    // Out of sight nobody knows.
    f.pass(200);
    f.health('web', 'a', false, false);
    f.pass(10_000);
    expect(f.said()).toEqual(['300s move db from a']);
    f.health('web', 'a', false);
    f.pass(300);
    expect(f.said()).toEqual(['10700s move web from a']);
    f.intent('web', ['b'], { application: {} });
    f.pass(10_000);
    expect(f.said()).toEqual(['11300s remove web in a']);
    expect(keptCopies(f.state(), 'db')).toEqual(['a']);
  });

  it('[A51] carries values of the old status to the new copy as labels', () => {
    const f = fleet();
    const statePreservation = [
      { label: 'resume.example.com/savepoint', jsonPath: '{.job.savepoint}' },
      { label: 'resume.example.com/none', jsonPath: '.job.none' },
    ];
    f.intent('flink', ['a'], { ...ON, statePreservation });
    f.health('flink', 'a', true, true, { job: { savepoint: 'sp-17' } } as never);
    f.health('flink', 'a', true, false);
    f.taint('a');
    expect(f.said()).toEqual(['0s move flink from a {"resume.example.com/savepoint":"sp-17"}']);
    const { labels, problems } = preserveState(
      [
        { label: 'a b', jsonPath: '.x' },
        { label: 'path', jsonPath: '.x[' },
        { label: 'long', jsonPath: '.text' },
        { label: 'number', jsonPath: '.x' },
      ],
      { x: 5, text: 'not a label' },
    );
    expect(labels).toEqual({ number: '5' });
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(['a b', 'path', 'long']);
  });

  it('[A77] goes back after the origin was well for ten minutes, one at a time, and keeps the other copy until then', () => {
    const options: FailoverOptions = { cluster: { tolerationSeconds: 0, purge: 'Directly' }, failBack: {} };
    const f = fleet({ burst: 9 });
    for (const name of ['web', 'api']) f.intent(name, ['a'], options);
    f.taint('a');
    for (const name of ['web', 'api']) {
      f.intent(name, ['b'], options);
      f.health(name, 'b', true);
    }
    f.said();
    f.well('a');
    f.pass(599);
    f.taint('a');
    f.well('a');
    f.pass(599);
    expect(f.said()).toEqual([]);
    f.pass(1);
    expect(f.said()).toEqual(['1199s return api to a']);
    f.intent('api', ['a'], options);
    expect(keptCopies(f.state(), 'api')).toEqual(['b']);
    f.pass(100);
    expect(f.said()).toEqual([]);
    f.health('api', 'a', true);
    expect(f.said()).toEqual(['1299s remove api in b', '1299s return web to a']);
    // One that does not become healthy where it came from stays where it is.
    f.intent('web', ['a'], options);
    f.health('web', 'a', false);
    f.pass(600);
    expect(f.said()).toEqual(['1899s move web from a']);
    expect(avoidedClusters(f.state(), 'web')).toEqual(['a']);
  });

  it('never removes what was decided to be there or did not move, and never moves faster than its rate', () => {
    const names = ['x', 'y', 'z'];
    const action = fc.record({
      wait: fc.nat(400),
      kind: fc.constantFrom(
        'taint',
        'well',
        'sick',
        'healthy',
        'healthy',
        'stale',
        'decide',
        'decide',
        'forget',
      ),
      intent: fc.constantFrom(...names),
      cluster: fc.constantFrom('a', 'b', 'c'),
    });
    const options: FailoverOptions = { cluster: { tolerationSeconds: 30 }, application: {}, failBack: {} };
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const f = fleet({ perSecond: 0.1 });
        for (const name of names) f.intent(name, ['a'], options);
        for (const { wait, kind, intent, cluster } of actions) {
          f.pass(wait);
          if (kind === 'taint') f.taint(cluster);
          else if (kind === 'well') f.well(cluster);
          else if (kind === 'decide') {
            const open = ['a', 'b', 'c'].filter((name) => !avoidedClusters(f.state(), intent).includes(name));
            f.intent(intent, open.slice(0, 1), options);
          } else if (kind === 'forget') f.send({ type: 'forget', intent });
          else f.health(intent, cluster, kind === 'healthy', kind !== 'stale');
        }
        for (const [index, at] of f.started.entries())
          expect((f.started[index + 1] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(10_000);
      }),
      { numRuns: 100 },
    );
  });
});

describe('descheduling', () => {
  it('[A54] takes back replicas that waited five minutes; ready ones stay', () => {
    const pending = [
      { count: 3, since: 0 },
      { count: 1, since: 100_000 },
    ];
    const placed = [
      { cluster: 'a', replicas: 10, ready: 6, pending },
      { cluster: 'b', replicas: 4, ready: 4, pending: [] },
    ];
    expect(deschedule(placed, 299_000)).toEqual({ capacity: {}, nextAt: 300_000 });
    expect(deschedule(placed, 300_000)).toEqual({ capacity: { a: 7 }, nextAt: 400_000 });
    expect(deschedule(placed, 400_000)).toEqual({ capacity: { a: 6 } });
    const wrong = [{ cluster: 'a', replicas: 5, ready: 4, pending: [{ count: 9, since: 0 }] }];
    expect(deschedule(wrong, 300_000).capacity).toEqual({ a: 4 });
  });
});

it('a move that a clock began which was ahead holds up no other one, and lasts no longer', () => {
  const move = { from: 'a', reason: 'Taint', purge: 'Gracefully', phase: 'Leaving', before: ['a'] } as const;
  const recorded = { ...move, at: 86_400_000, until: 86_460_000 };
  const { state } = stepFailover(noFailover(), { type: 'restore', intent: 'x', moves: [recorded] }, 1_000);
  expect(state.intents['x']?.moves).toEqual([{ ...move, at: 1_000, until: 61_000 }]);
  expect(state.bucket?.paidUntil).toBeLessThan(10_000);
});

it('what was seen is seen as long ago as before where the clock is set', () => {
  const at = fleet();
  at.intent('x', ['a', 'b'], { cluster: {}, application: {}, failBack: {} });
  at.health('x', 'a', false);
  at.taint('a', [{ key: 'maintenance', effect: 'NoExecute' }]);
  at.well('c');
  const { state } = at;
  const numbers = (text: string): number[] =>
    (text.match(/(?<=(since|at|until|Since|Until)":)\d+/gi) ?? []).map(Number);
  const before = numbers(JSON.stringify(state()));
  expect(before.length).toBeGreaterThan(4);
  expect(numbers(JSON.stringify(shifted(state(), 5_000)))).toEqual(before.map((time) => time + 5_000));
  expect(shifted(shifted(state(), 5_000), -5_000)).toEqual(state());
});
