import { expect, it } from 'vitest';
import type { Compiled } from '../../engine/compiled.ts';
import type { Dispatch } from '../../engine/dispatch/index.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { refKey } from '../../kube/object.ts';
import type { Clock } from '../../runtime/clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import type { Claims } from '../claims/index.ts';
import type { SpokeSession } from '../fleet.ts';
import { createHoldingBack, type HeldBack } from './holding-back.ts';
import { type Tracked, trackedIntent, trackedTable } from './tracked.ts';

const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name });
const planOf = (chosen: string[], ...names: string[]): Plan =>
  ({ objects: names.map(ref), decision: { chosen } }) as unknown as Plan;

const KEY = 'Propagation/shop/shop';

function trackedOf(key: string, more: Partial<Tracked>): Tracked {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  const object = {
    apiVersion: 'atoll.dev/v1alpha1',
    kind,
    metadata: { name, namespace, uid: `${name}-uid` },
  };
  return Object.assign(trackedIntent(key, object, undefined), more);
}

interface Around {
  readonly areAllKnown?: boolean;
  /** Who has `settings` by now; the intent itself where it is left out. */
  readonly heir?: Tracked;
  readonly clock?: Clock;
  /** The order that the spoke has; null where somebody deleted it there. */
  readonly there?: { readonly generation: number; readonly objects: readonly string[] } | null;
}

/** Looks at an order to a spoke that has `settings` of its intent, and nothing of others. */
function looking(item: Tracked, around: Around = {}): () => HeldBack | undefined {
  const { areAllKnown = true, heir = item, clock = virtualClock() } = around;
  const { there = { generation: 1, objects: ['settings'] } } = around;
  const tracked = trackedTable();
  for (const one of [item, heir]) tracked.add(one);
  const present = there && {
    spec: { objects: there.objects.map(ref), tombstones: [], position: { generation: there.generation } },
  };
  const dispatches = [{ name: item.dispatch, generation: there?.generation, kept: [ref('settings')] }];
  const session = {
    name: 'a',
    cluster: () => ({ status: { dispatches } }),
    dispatch: (name: string) =>
      name === item.dispatch ? ((present ?? undefined) as Dispatch | undefined) : undefined,
  } as unknown as SpokeSession;
  const heldBack = createHoldingBack({
    clock,
    claims: { heirOf: () => heir.key, contends: () => false } as unknown as Claims,
    tracked,
    keeps: () => false,
    isChanged: () => false,
    areAllKnown: () => areAllKnown,
    isDecided: () => true,
    unreachable: () => false,
  });
  return () => heldBack(item, session);
}

function heldBack(more: Partial<Tracked>, areAllKnown = true): HeldBack | undefined {
  return looking(trackedOf(KEY, more), { areAllKnown })();
}

it('holds up no order that brings something, but what it takes away and another is to have first', async () => {
  const heirPlan = planOf(['a'], 'settings');
  const heir = trackedOf('Propagation/shop/right', { plan: heirPlan, latest: heirPlan });
  const order = (...names: string[]): Tracked => {
    const plan = planOf(['a'], ...names);
    return trackedOf(KEY, { plan, latest: plan });
  };
  expect(looking(order('prices'), { heir })()).toMatchObject({
    why: 'staying',
    keys: new Set([refKey(ref('settings'))]),
  });
  // Nobody waits for an order that brings nothing. What does not come holds it up for a while, and is never taken away.
  const clock = virtualClock();
  const look = looking(order(), { heir, clock });
  for (let second = 0; second < 30; second++) {
    expect(look()?.why).toBe('handOver');
    await clock.advance(1_000);
  }
  expect(look()?.why).toBe('staying');
});

it('takes nothing away in the stead of a successor that could not be planned, however long that takes', async () => {
  const heirPlan = planOf(['a'], 'prices');
  const heir = trackedOf('Propagation/shop/right', { plan: heirPlan, latest: heirPlan });
  const left = planOf(['b'], 'settings');
  const clock = virtualClock();
  const look = looking(trackedOf(KEY, { plan: left, latest: left }), { heir, clock });
  for (let second = 0; second < 120; second++) {
    expect(look()?.why).toBe('handOver');
    await clock.advance(1_000);
  }
  expect(look()).toMatchObject({ message: expect.stringContaining('could not be planned yet') });
});

it('waits for nobody who selects an object and was looked at without it', async () => {
  const heirPlan = planOf(['a'], 'prices');
  const compiled = { intent: { objects: [] } } as unknown as Compiled;
  const heir = trackedOf('Propagation/shop/right', { plan: heirPlan, latest: heirPlan, compiled });
  for (const order of [planOf(['b'], 'settings'), planOf(['a']), planOf(['a'], 'news')]) {
    const clock = virtualClock();
    const look = looking(trackedOf(KEY, { plan: order, latest: order }), { heir, clock });
    for (let second = 0; second < 30; second++) {
      // It may not have been looked at yet.
      expect(look()).toBeDefined();
      await clock.advance(1_000);
    }
    expect(look()).toBeUndefined();
  }
});

it('holds no more up for a successor that could not be planned than what that is to have', async () => {
  const heirPlan = planOf(['a'], 'prices');
  const heir = trackedOf('Propagation/shop/right', { plan: heirPlan, latest: heirPlan });
  const order = planOf(['a']);
  const clock = virtualClock();
  const look = looking(trackedOf(KEY, { plan: order, latest: order }), { heir, clock });
  for (let second = 0; second < 30; second++) {
    expect(look()?.why).toBe('handOver');
    await clock.advance(1_000);
  }
  expect(look()).toMatchObject({ why: 'staying', keys: new Set([refKey(ref('settings'))]) });
});

it('takes nothing away in the stead of a successor whose order its spoke does not take', async () => {
  const heirPlan = planOf(['a'], 'settings');
  const heir = trackedOf('Propagation/shop/right', { plan: heirPlan, latest: heirPlan });
  heir.problems.set('a', { message: 'the spoke answers 500: no space left on the device' });
  const left = planOf(['b'], 'settings');
  const look = looking(trackedOf(KEY, { plan: left, latest: left }), { heir });
  expect(look()).toMatchObject({ why: 'handOver', message: expect.stringContaining('no space left') });
});

it('does not take the time in which a spoke was away for time in which a successor could have come', async () => {
  const heirPlan = planOf(['a'], 'settings');
  const heir = trackedOf('Propagation/shop/right', { plan: heirPlan, latest: heirPlan });
  const left = planOf(['b'], 'settings');
  const clock = virtualClock();
  const look = looking(trackedOf(KEY, { plan: left, latest: left }), { heir, clock });
  expect(look()?.why).toBe('handOver');
  await clock.advance(3_600_000);
  expect(look()?.why).toBe('handOver');
});

it('takes away nothing that its intent selects again since the order was made', () => {
  const plan = planOf(['a'], 'prices');
  expect(heldBack({ plan, latest: plan })?.why).toBe('handOver');
  // The next order is being written down.
  expect(heldBack({ plan, latest: planOf(['a'], 'prices', 'settings') })?.why).toBe('handOver');
});

it('takes away what an intent brings elsewhere, or in another revision than a cluster is to have', () => {
  const latest = planOf(['b'], 'settings');
  expect(heldBack({ plan: latest, latest })).toBeUndefined();
  const plan = planOf(['a'], 'settings');
  const order = { plan: planOf(['a'], 'prices'), generation: 2, digest: 'd' };
  expect(heldBack({ plan, latest: plan, orders: new Map([['a', order]]) })).toBeUndefined();
  // Orders are still being made of what was planned.
  const before = planOf(['a'], 'prices');
  expect(heldBack({ plan: before, latest: plan, orders: new Map([['a', order]]) })?.why).toBe('handOver');
});

it('takes nothing away before it is known which intents there are: one of them may have it', () => {
  expect(heldBack({ retracting: true })).toBeUndefined();
  expect(heldBack({ retracting: true }, false)?.why).toBe('handOver');
});

it('takes nothing away before the turn of a cluster comes that it is to have then', () => {
  const plan = planOf(['a'], 'settings');
  const order = { plan: planOf(['a'], 'prices'), generation: 2, digest: 'd' };
  const of = (more: object, there?: Around['there']): HeldBack | undefined =>
    looking(
      trackedOf(KEY, { plan, latest: plan, orders: new Map([['a', { ...order, ...more }]]) }),
      there === undefined ? {} : { there },
    )();
  expect(of({ toCome: plan })?.why).toBe('turn');
  expect(of({ toCome: planOf(['a'], 'prices') })).toBeUndefined();
  // Its order was deleted there: that is given again, without a word by which the object goes, then and later.
  const stays = { why: 'staying', keys: new Set([refKey(ref('settings'))]) };
  expect(of({ toCome: plan }, null)).toMatchObject(stays);
  expect(of({ toCome: plan }, { generation: 2, objects: ['prices'] })).toMatchObject(stays);
  expect(of({ toCome: planOf(['a'], 'prices') }, null)).toBeUndefined();
});
