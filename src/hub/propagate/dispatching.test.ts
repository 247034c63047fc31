import { expect, it } from 'vitest';
import type { Plan } from '../../engine/plan/plan.ts';
import type { DispatchOutcome } from '../dispatch/dispatcher.ts';
import type { SpokeSession } from '../fleet.ts';
import { createDispatching, type DispatchingOptions } from './dispatching.ts';
import { trackedIntent, trackedTable } from './tracked.ts';

const KEY = 'Propagation/shop/shop';
const settings = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };

/** Brings a plan of these objects to one spoke, whose dispatcher answers so; says for which intents its word is waited for. */
async function awaited(objects: Plan['objects'], outcome: DispatchOutcome): Promise<readonly string[]> {
  const metadata = { name: 'shop', namespace: 'shop', uid: 'u' };
  const object = { apiVersion: 'atoll.dev/v1alpha1', kind: 'Propagation', metadata };
  const plan = { objects, source: {}, decision: { chosen: ['a'] }, blocked: new Map() } as unknown as Plan;
  const item = Object.assign(trackedIntent(KEY, object, undefined), { plan, latest: plan, generation: 1 });
  const tracked = trackedTable();
  tracked.add(item);
  tracked.setDispatchedTo(item, ['a']);
  const session = { name: 'a', live: true, misnamed: () => undefined } as unknown as SpokeSession;
  const dispatching = createDispatching({
    dispatcher: { send: async () => outcome },
    fleet: { session: () => session },
    intents: { get: () => undefined },
    inventory: { leaving: () => undefined, get: () => undefined },
    mode: { observing: undefined },
    tracked,
    clusterBudget: { keeps: () => undefined },
    epoch: () => 1,
    heldBack: () => undefined,
    onNews: () => {},
    onClaim: () => {},
    onGone: () => {},
  } as unknown as DispatchingOptions);
  await dispatching.bring('a', KEY);
  return dispatching.awaitingWordOf('a');
}

it('waits for the word of a spoke that is to have nothing: it may keep what an order brought that somebody deleted', async () => {
  const settled: DispatchOutcome = { outcome: 'dispatched', settled: true };
  expect(await awaited([], settled)).toEqual([KEY]);
  expect(await awaited([settings], settled)).toEqual([]);
  expect(await awaited([settings], { outcome: 'behind' })).toEqual([KEY]);
});
