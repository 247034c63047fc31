import { expect, it } from 'vitest';
import type { Dispatch } from '../engine/dispatch/index.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { virtualClock } from '../runtime/virtual-clock.ts';
import type { Claims } from './claims/index.ts';
import type { SpokeSession } from './fleet.ts';
import { createHoldingBack, type HeldBack } from './holding-back.ts';
import { type Tracked, trackedIntent, trackedTable } from './tracked.ts';

const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name });
const planOf = (chosen: string[], ...names: string[]): Plan =>
  ({ objects: names.map(ref), decision: { chosen } }) as unknown as Plan;

/** What becomes of an order to a spoke that has `settings`, while the intent itself selects that as it is now. */
function heldBack(more: Partial<Tracked>, areAllKnown = true): HeldBack | undefined {
  const metadata = { name: 'shop', namespace: 'shop', uid: '0123456789ab' };
  const object = { apiVersion: 'atoll.dev/v1alpha1', kind: 'Propagation', metadata };
  const item = Object.assign(trackedIntent('Propagation/shop/shop', object, undefined), more);
  const tracked = trackedTable();
  tracked.add(item);
  const present = { spec: { objects: [ref('settings')], position: { generation: 1 } } };
  const session = { name: 'a', dispatch: () => present as unknown as Dispatch } as unknown as SpokeSession;
  return createHoldingBack({
    clock: virtualClock(),
    claims: { heirOf: () => item.key } as unknown as Claims,
    tracked,
    keeps: () => false,
    areAllKnown: () => areAllKnown,
    isDecided: () => true,
    unreachable: () => false,
  })(item, session);
}

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
  const of = (more: object): HeldBack | undefined =>
    heldBack({ plan, latest: plan, orders: new Map([['a', { ...order, ...more }]]) });
  expect(of({ toCome: plan })?.why).toBe('turn');
  expect(of({ toCome: planOf(['a'], 'prices') })).toBeUndefined();
  // It was told so before there was anything to come.
  expect(of({ toCome: plan, generation: 1 })).toBeUndefined();
});
