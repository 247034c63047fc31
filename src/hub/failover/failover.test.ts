import { describe, expect, it } from 'vitest';
import { type FailoverOptions, UNREACHABLE_TAINT } from '../../engine/failover/index.ts';
import type { ClusterFacts } from '../../engine/intent.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { createFailover, type Failover } from './failover.ts';

const OPTIONS: FailoverOptions = { cluster: { tolerationSeconds: 5 } };

function facts(name: string, tainted: boolean = false): ClusterFacts {
  const taints = tainted ? [{ key: UNREACHABLE_TAINT, effect: 'NoExecute' }] : [];
  return { name, labels: {}, taints } as unknown as ClusterFacts;
}

function rig(): { failover: Failover; moved: string[]; advance(ms: number): Promise<void> } {
  const runtime = virtualRuntime(1);
  const moved: string[] = [];
  const failover = createFailover(runtime, {
    rate: { perSecond: 1_000, burst: 100_000 },
    paused: () => false,
    onMove: (key) => moved.push(key),
    onLook: () => undefined,
  });
  return { failover, moved, advance: (ms) => runtime.clock.advance(ms) };
}

describe('failover of many intents', () => {
  it('looks at all of them once for what is told of each', async () => {
    const { failover, moved, advance } = rig();
    const keys = Array.from({ length: 20_000 }, (_, index) => `Propagation/shop/s${index}`);
    failover.setFleet([facts('a'), facts('b')]);
    for (const key of keys) {
      failover.decided(key, OPTIONS, ['a']);
      failover.seen(key, [{ cluster: 'a', live: true, wantedGeneration: 1 }]);
    }
    await advance(1_000);
    expect(moved.splice(0)).toEqual([]);
    failover.setFleet([facts('a', true), facts('b')]);
    await advance(10_000);
    expect(new Set(moved).size).toBe(keys.length);
    for (const key of keys) failover.forget(key);
    await advance(10_000);
    expect(failover.record('Propagation/shop/s0', new Set())).toBeUndefined();
  });

  it('knows what was told at once, and forgets it so', () => {
    const { failover } = rig();
    const key = 'Propagation/shop/web';
    failover.restore(key, {
      moves: [
        { from: 'a', reason: 'Taint', purge: 'Gracefully', at: 0, phase: 'Leaving', before: ['a'], until: 9 },
      ],
    });
    expect(failover.keeps(key, 'a', undefined, ['b'])).toBe(true);
    expect(failover.record(key, new Set())?.moves).toHaveLength(1);
    failover.decided(key, OPTIONS, ['b']);
    expect(failover.record(key, new Set())?.moves[0]?.to).toEqual(['b']);
    failover.decided(key, undefined, ['b']);
    expect(failover.keeps(key, 'a', undefined, ['b'])).toBe(false);
  });
});

it('knows nothing of a cluster that went and came again', async () => {
  const { failover, moved, advance } = rig();
  failover.setFleet([facts('a', true)]);
  await advance(4_000);
  failover.setFleet([]);
  await advance(4_000);
  failover.setFleet([facts('a', true)]);
  failover.decided('Propagation/shop/web', OPTIONS, ['a']);
  await advance(4_000);
  expect(moved).toEqual([]);
  await advance(2_000);
  expect(moved).toEqual(['Propagation/shop/web']);
});
