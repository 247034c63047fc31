import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import { at, type JsonValue, numberAt } from '../../schema/json.ts';
import {
  holding,
  podsOf,
  type SeenWorkload,
  stepUpdate,
  type UpdateProgress,
  updateProblems,
  type WorkloadUpdate,
} from './index.ts';

/**
 * Plays a conversation with an update; answers follow each line after `>`.
 *
 *   <strategy> [weight[@pause]…] pods=<n> [min=<seconds>] [timeout=<seconds>]
 *   want <template> [order]    what is ordered
 *   see <updated>/<ready> [healthy] [stale] [paused]    what is there from now on
 *   +<n>s                      time passes, each wake-up on its way is a look
 *   restart                    all that is left is what was written
 */
function play(text: string): string {
  let settings: WorkloadUpdate = {};
  let progress: UpdateProgress | undefined;
  let seen: SeenWorkload = {
    current: true,
    replicas: 0,
    updated: 0,
    ready: 0,
    minReadySeconds: 0,
    healthy: false,
    paused: false,
    message: '0 of some are there',
  };
  let now = Date.parse('2026-01-05T00:00:00Z');
  let wakeAt: number | undefined;
  let template = '';
  let order = 1;
  let said = '';
  const out: string[] = [];
  const step = (time: number): ReturnType<typeof stepUpdate> =>
    stepUpdate(progress, {
      now: time,
      settings,
      stepwise: true,
      template,
      order,
      differs: () => false,
      ...(progress === undefined ? {} : { seen }),
    });
  const look = (): void => {
    const move = step(now);
    progress = JSON.parse(JSON.stringify(move.progress)) as UpdateProgress;
    wakeAt = move.wakeAt;
    // Where nothing happens nothing is to be written, however often somebody looks.
    if (wakeAt === undefined || wakeAt > now + 2) {
      const settled = step(now + 1).progress;
      progress = settled;
      expect(step(now + 2).progress).toEqual(settled);
    }
    const bounds = move.atOnce ? 'all at once' : move.limit === undefined ? 'free' : `at most ${move.limit}`;
    const answer = `${progress.change ? bounds : 'done'}${move.word ? `; ${move.word.reason}: ${move.word.message}` : ''}`;
    if (answer !== said) out.push(`> ${formatTime(now).slice(11, 19)} ${answer}`);
    said = answer;
  };
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '' || line.startsWith('>')) continue;
    out.push(line);
    const [word = '', ...rest] = line.split(' ');
    const named = (name: string): number | undefined => {
      const found = rest.find((each) => each.startsWith(`${name}=`));
      return found === undefined ? undefined : Number(found.slice(name.length + 1));
    };
    if (word === 'want') {
      template = rest[0] ?? '';
      order = Number(rest[1] ?? order);
      look();
    } else if (word === 'see') {
      const [updated = 0, ready = 0] = (rest[0] ?? '').split('/').map(Number);
      const says = (what: string): boolean => rest.includes(what);
      seen = {
        ...seen,
        updated,
        ready,
        healthy: says('healthy'),
        current: !says('stale'),
        paused: says('paused'),
      };
      look();
    } else if (word.startsWith('+')) {
      const until = now + Number(word.slice(1, -1)) * 1000;
      for (let looks = 0; wakeAt !== undefined && wakeAt <= until && looks < 100; looks++) {
        now = Math.max(now, wakeAt);
        look();
      }
      now = until;
      look();
    } else if (word === 'restart') {
      said = '';
      look();
    } else {
      const steps = rest
        .filter((each) => !each.includes('='))
        .map((each) => {
          const [weight = '', pause] = each.split('@');
          return { weight: Number(weight), ...(pause === undefined ? {} : { pauseSeconds: Number(pause) }) };
        });
      const timeoutSeconds = named('timeout');
      settings = {
        strategy: word as NonNullable<WorkloadUpdate['strategy']>,
        ...(steps.length > 0 ? { canary: { steps } } : {}),
        ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
      };
      seen = { ...seen, replicas: named('pods') ?? 10, minReadySeconds: named('min') ?? 0 };
    }
  }
  return out.join('\n');
}

const plays = (text: string): void => {
  const wanted = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
  expect(play(text)).toBe(wanted);
};

describe('an update within a cluster', () => {
  it('[K91] goes by steps, holds each for its pause, and survives a restart at any of them', () => {
    plays(`
      Canary 10@300 45@600 pods=10
      want v1
      > 00:00:00 done
      want v2
      > 00:00:00 at most 1; CanaryStep: step 1 of 2 (10 %): 0 of 1 new pods are available
      see 1/0
      +20s
      see 1/1
      > 00:00:20 at most 1; CanaryPause: step 1 of 2 (10 %) holds with 1 of 10 pods until 2026-01-05T00:05:20Z
      +100s
      restart
      > 00:02:00 at most 1; CanaryPause: step 1 of 2 (10 %) holds with 1 of 10 pods until 2026-01-05T00:05:20Z
      see 1/1 stale
      +250s
      see 1/1
      > 00:06:10 at most 5; CanaryStep: step 2 of 2 (45 %): 1 of 5 new pods are available
      see 5/5
      > 00:06:10 at most 5; CanaryPause: step 2 of 2 (45 %) holds with 5 of 10 pods until 2026-01-05T00:16:10Z
      +700s
      > 00:16:10 free
      see 10/10 healthy
      > 00:17:50 done
    `);
  });

  it('[K91] stops at a step whose pods do not come in time, until something is ordered again', () => {
    plays(`
      Canary 25 pods=10 timeout=60
      want v1
      > 00:00:00 done
      want v2
      > 00:00:00 at most 3; CanaryStep: step 1 of 1 (25 %): 0 of 3 new pods are available
      see 3/2
      > 00:00:00 at most 3; CanaryStep: step 1 of 1 (25 %): 2 of 3 new pods are available
      +90s
      > 00:01:00 at most 3; WorkloadUpdateTimedOut: stopped at step 1 of 1 (25 %): 2 of 3 new pods are available after 60 s
      see 3/3
      +600s
      want v2 2
      > 00:11:30 free
      see 4/4
      +70s
      > 00:12:30 free; WorkloadUpdateTimedOut: not done after 60 s: 0 of some are there
      see 10/10 healthy
      > 00:12:40 done
    `);
  });

  it('[K91] counts no pause as waiting, and does not forget waiting over pods that come and go', () => {
    plays(`
      Canary 10@600 pods=10 timeout=60
      want v1
      > 00:00:00 done
      want v2
      > 00:00:00 at most 1; CanaryStep: step 1 of 1 (10 %): 0 of 1 new pods are available
      see 1/0
      +40s
      see 1/1
      > 00:00:40 at most 1; CanaryPause: step 1 of 1 (10 %) holds with 1 of 10 pods until 2026-01-05T00:10:40Z
      +500s
      see 1/0
      > 00:09:00 at most 1; CanaryStep: step 1 of 1 (10 %): 0 of 1 new pods are available
      +30s
      > 00:09:20 at most 1; WorkloadUpdateTimedOut: stopped at step 1 of 1 (10 %): 0 of 1 new pods are available after 60 s
    `);
  });

  it('counts pods as available only after the time that the workload asks for', () => {
    plays(`
      Canary 20 pods=10 min=30
      want v1
      > 00:00:00 done
      want v2
      > 00:00:00 at most 2; CanaryStep: step 1 of 1 (20 %): 0 of 2 new pods are available
      see 2/2
      +10s
      see 2/1
      +10s
      see 2/2
      +29s
      +1s
      > 00:00:50 free
    `);
  });

  it('goes back without steps to what was there, and anew for what is new', () => {
    plays(`
      Canary 10@300 pods=10
      want v1
      > 00:00:00 done
      want v2
      > 00:00:00 at most 1; CanaryStep: step 1 of 1 (10 %): 0 of 1 new pods are available
      see 1/1
      > 00:00:00 at most 1; CanaryPause: step 1 of 1 (10 %) holds with 1 of 10 pods until 2026-01-05T00:05:00Z
      want v3
      > 00:00:00 at most 1; CanaryStep: step 1 of 1 (10 %): 0 of 1 new pods are available
      want v1
      > 00:00:00 free
      see 10/10 healthy
      > 00:00:00 done
      want v3
      > 00:00:00 at most 1; CanaryStep: step 1 of 1 (10 %): 0 of 1 new pods are available
    `);
  });

  it('waits as long as somebody pauses the workload', () => {
    plays(`
      Canary 10 pods=10 timeout=60
      want v1
      > 00:00:00 done
      see 0/0 paused
      want v2
      > 00:00:00 at most 1; Paused: step 1 of 1 (10 %): spec.paused is set
      +500s
      see 0/0
      > 00:08:20 at most 1; CanaryStep: step 1 of 1 (10 %): 0 of 1 new pods are available
      +60s
      > 00:09:20 at most 1; WorkloadUpdateTimedOut: stopped at step 1 of 1 (10 %): 0 of 1 new pods are available after 60 s
    `);
  });

  it('times the other strategies as well', () => {
    plays(`
      AllAtOnce pods=10 timeout=60
      want v1
      > 00:00:00 done
      want v2
      > 00:00:00 all at once
      see 10/0
      +61s
      > 00:01:00 all at once; WorkloadUpdateTimedOut: not done after 60 s: 0 of some are there
      want v1 2
      > 00:01:01 all at once
    `);
  });

  it('says what is wrong with steps', () => {
    const canary = {
      steps: [
        { weight: 20, pauseSeconds: 900 },
        { weight: 20, pauseSeconds: 900 },
      ],
    };
    expect(updateProblems({ strategy: 'Canary', canary }, 1800)).toEqual([
      'canary.steps[1].weight: must be larger than that of the step before',
      'canary.steps: hold for 1800 s together, and the rollout gives up after 1800 s: raise spec.rollout.timeoutSeconds',
    ]);
  });
});

/** What a controller of Deployments does in one pass, as its documentation has it; pods that never count as available. */
function pass(
  { old, fresh }: { old: number; fresh: number },
  replicas: number,
  { maxSurge, maxUnavailable }: { maxSurge: number; maxUnavailable: number },
): { old: number; fresh: number } {
  const room = replicas + maxSurge - old - fresh;
  const grown = room > 0 ? Math.min(replicas, fresh + room) : fresh;
  return { old: Math.max(0, Math.min(old, replicas - maxUnavailable)), fresh: Math.max(fresh, grown) };
}

describe('what holds a Deployment', () => {
  const web: KubeObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } };

  it('[K91] keeps to the weight and to the bounds of the Deployment, whenever anybody looks', () => {
    const bound = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom('0%', '10%', '25%', '100%'));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 4 }),
        bound,
        bound,
        fc.array(fc.tuple(fc.nat(3), fc.nat(60)), { minLength: 1, maxLength: 40 }),
        (replicas, weights, surge, unavailable, moments) => {
          const own: Record<string, JsonValue> = {
            'spec.strategy.rollingUpdate.maxSurge': surge,
            'spec.strategy.rollingUpdate.maxUnavailable': unavailable,
          };
          const share = (value: number | string, round: (of: number) => number): number =>
            typeof value === 'number' ? value : round((Number(value.slice(0, -1)) * replicas) / 100);
          const most = share(surge, Math.ceil);
          const down = share(unavailable, Math.floor);
          const missing = most === 0 && down === 0 ? 1 : down;
          let pods = { old: replicas, fresh: 0 };
          let ready = 0;
          for (const weight of weights.sort((a, b) => a - b)) {
            const limit = podsOf(weight, replicas);
            for (const [passes, more] of [...moments, [40, 60] as const, [40, 60] as const]) {
              const progress = { template: 'v2', change: { step: 0, waitingSince: 0 } };
              const held = holding(web, { progress, limit, settled: ready }, replicas, own);
              const rolling = at(held, 'spec', 'strategy', 'rollingUpdate');
              const bounds = {
                maxSurge: numberAt(rolling, 'maxSurge') ?? Number.NaN,
                maxUnavailable: numberAt(rolling, 'maxUnavailable') ?? Number.NaN,
              };
              expect(bounds.maxSurge + bounds.maxUnavailable).toBeGreaterThan(0);
              for (let count = 0; count < passes; count++) pods = pass(pods, replicas, bounds);
              expect(pods.fresh).toBeLessThanOrEqual(limit);
              expect(pods.old + pods.fresh).toBeLessThanOrEqual(replicas + most);
              expect(pods.old + ready).toBeGreaterThanOrEqual(replicas - missing);
              ready = Math.min(pods.fresh, ready + more);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('[K91] reaches the weight in the end', () => {
    const own = {
      'spec.strategy.rollingUpdate.maxSurge': 1,
      'spec.strategy.rollingUpdate.maxUnavailable': 0,
    };
    let pods = { old: 10, fresh: 0 };
    let ready = 0;
    for (let turn = 0; turn < 20; turn++) {
      const progress = { template: 'v2', change: { step: 0, waitingSince: 0 } };
      const held = holding(web, { progress, limit: 4, settled: ready }, 10, own);
      const rolling = at(held, 'spec', 'strategy', 'rollingUpdate');
      pods = pass(pods, 10, rolling as { maxSurge: number; maxUnavailable: number });
      ready = pods.fresh;
    }
    expect(pods).toEqual({ old: 6, fresh: 4 });
  });
});
