import { describe, expect, it } from 'vitest';
import type { Cluster } from '../../dialects/kubevela/types.ts';
import { type Dispatch, dispatchName } from '../../engine/dispatch/index.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Handler } from '../../kube/exchange.ts';
import type { ObjectRef } from '../../kube/object.ts';
import { notFound } from '../../kube/status-error.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import type { SpokeSession } from '../fleet.ts';
import { createDispatcher, type Order } from './dispatcher.ts';
import { createSigningKey } from './signing-key.ts';

const source = { apiVersion: 'v1', kind: 'Any', namespace: 'n', name: 'n', uid: 'u', generation: 1 };
const AWAY: Order = {
  plan: undefined,
  source,
  generation: 2,
  digest: '',
  history: [],
  origin: () => '',
};

/** A spoke without a dispatch of this name, that says something of itself while it is asked for one. */
function spokeSaying(word: Cluster['status']): SpokeSession {
  let status: Cluster['status'];
  const client = {
    async get(): Promise<never> {
      status = word;
      throw notFound('atoll.dev', 'dispatches', 'any');
    },
  };
  const told = { name: 'a', dispatch: () => undefined, cluster: () => ({ status }), client };
  return told as unknown as SpokeSession;
}

function dispatcher(
  stillAtHub: () => Promise<boolean> = async () => false,
): ReturnType<typeof createDispatcher> {
  const identity = { ...createSigningKey(), lineage: 'l', epoch: 1 };
  return createDispatcher(virtualRuntime(1), identity, () => 1, stillAtHub, {
    lacks: () => false,
    recall: () => {},
    spend: () => undefined,
  });
}

it('forgets a spoke that has nothing of what is taken away', async () => {
  expect(await dispatcher().send(spokeSaying(undefined), AWAY)).toEqual({ outcome: 'gone' });
});

it('looks again where the spoke says meanwhile that it keeps what an order brought that somebody deleted', async () => {
  const kept = [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'm' }];
  const word = { dispatches: [{ name: dispatchName(source), generation: 1, kept }] };
  expect(await dispatcher().send(spokeSaying(word as unknown as Cluster['status']), AWAY)).toEqual({
    outcome: 'behind',
  });
});

it('looks again where a spoke remembers an order that somebody deleted, and has not said so yet', async () => {
  const { send } = dispatcher();
  let there: Dispatch | undefined;
  const session = {
    name: 'a',
    dispatch: () => undefined,
    cluster: () => undefined,
    client: {
      handler: (async ({ body }) => {
        there = JSON.parse(Buffer.from(body as Uint8Array).toString('utf8'));
        return { status: 201, headers: {}, body: new Uint8Array() };
      }) satisfies Handler,
      async get({ resource }: { resource: string }): Promise<object> {
        if (resource === 'dispatches') throw notFound('atoll.dev', resource, 'any');
        return { spec: { accepted: there?.spec } };
      },
    },
  } as unknown as SpokeSession;
  const plan = { objects: [], revision: 'r', patches: new Map(), apply: {}, bundles: [], deletionBudget: 1 };
  const objects = [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'm' }];
  await send(session, { ...AWAY, generation: 1, plan: { ...plan, objects } as unknown as Plan });
  expect(await send(session, AWAY)).toEqual({ outcome: 'behind' });
  there = undefined;
  expect(await send(session, AWAY)).toEqual({ outcome: 'gone' });
});

it('takes an order for gone that was carried out, though its removal came twice', async () => {
  const kept = [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'm' }];
  let there: Dispatch | undefined;
  const session = {
    name: 'a',
    dispatch: () => there,
    cluster: () => ({ status: { dispatches: [{ name: dispatchName(source), generation: 1, kept }] } }),
    client: {
      handler: (async ({ body }) => {
        there = JSON.parse(Buffer.from(body as Uint8Array).toString('utf8'));
        return { status: 201, headers: {}, body: new Uint8Array() };
      }) satisfies Handler,
      delete: () => Promise.reject(notFound('atoll.dev', 'dispatches', 'any')),
    },
  } as unknown as SpokeSession;
  const { send } = dispatcher();
  expect(await send(session, AWAY)).toEqual({ outcome: 'dispatched', settled: false });
  there = { ...(there as unknown as Dispatch), status: { appliedGeneration: AWAY.generation } };
  expect(await send(session, AWAY)).toEqual({ outcome: 'gone' });
});

it('counts what a spoke keeps of an order that somebody deleted there when it takes away by selecting less', async () => {
  const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name });
  const word = {
    dispatches: [{ name: dispatchName(source), generation: 1, kept: ['a', 'b', 'c', 'd'].map(ref) }],
  };
  const plan = { objects: [ref('a')], deletionBudget: '50%' } as unknown as Plan;
  const session = {
    name: 'a',
    dispatch: () => undefined,
    cluster: () => ({ status: word }),
    client: {},
  } as unknown as SpokeSession;
  expect(await dispatcher(async () => true).send(session, { ...AWAY, plan })).toMatchObject({
    outcome: 'held',
    message: expect.stringContaining('would remove 3 of 4 objects'),
  });
});

describe('what a spoke keeps and does not name', () => {
  const ref = (name: string): ObjectRef => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name });
  const word = {
    dispatches: [{ name: dispatchName(source), generation: 1, kept: [ref('a')], keptMore: 3 }],
  };
  const sent = (client: object, objects: readonly string[]): Promise<object> => {
    const plan = { objects: objects.map(ref), deletionBudget: '50%' } as unknown as Plan;
    const session = { name: 'a', dispatch: () => undefined, cluster: () => ({ status: word }), client };
    return dispatcher(async () => true).send(session as unknown as SpokeSession, { ...AWAY, plan });
  };

  it('counts as what is taken away, as far as nothing that stays can be it', async () => {
    const client = { get: () => Promise.reject(notFound('atoll.dev', 'ownershiprecords', 'any')) };
    expect(await sent(client, ['a'])).toMatchObject({
      outcome: 'held',
      message: expect.stringContaining('would remove 3 of 4 objects'),
    });
    expect(await sent(client, ['x'])).toMatchObject({
      message: expect.stringContaining('would remove 3 of 4 objects'),
    });
  });
});

it('holds nothing back from a spoke whose earlier order says the same, and a newer word from others', async () => {
  const objects = [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'm' }];
  const plan = {
    source,
    objects,
    revision: 'r',
    patches: new Map(),
    apply: {},
    bundles: [],
    deletionBudget: 1,
  };
  const written: Dispatch[] = [];
  const handler: Handler = async ({ body }) => {
    written.push(JSON.parse(Buffer.from(body as Uint8Array).toString('utf8')));
    return { status: 201, headers: {}, body: new Uint8Array() };
  };
  const session = {
    name: 'a',
    dispatch: () => written[0],
    cluster: () => undefined,
    client: { handler },
  } as unknown as SpokeSession;
  const { send } = dispatcher();
  const order = { ...AWAY, plan: plan as unknown as Plan, mayStand: true };
  await send(session, { ...order, generation: 1 });
  const withheld = 'its suspension holds generation 2 back';
  expect(await send(session, { ...order, withheld })).toMatchObject({ outcome: 'dispatched' });
  const changed = { ...plan, revision: 's' } as unknown as Plan;
  const held = { outcome: 'held', message: withheld };
  expect(await send(session, { ...order, plan: changed, withheld })).toMatchObject(held);
  expect(written).toHaveLength(1);
  // The content of what it was told is brought again where that is missing.
  const [first] = written as [Dispatch];
  const missing = { type: 'Applied', status: 'False', reason: 'ContentMissing', message: '' };
  written[0] = { ...first, status: { conditions: [missing] } } as unknown as Dispatch;
  const bundle = { kind: 'Bundle', metadata: { name: 'b', namespace: 'n' }, spec: { data: '' } };
  const whole = { ...plan, bundles: [bundle] } as unknown as Plan;
  expect(await send(session, { ...order, plan: whole, withheld })).toMatchObject({ outcome: 'dispatched' });
  expect(written.slice(1)).toMatchObject([bundle]);
});
