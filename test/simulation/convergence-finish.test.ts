import { afterEach, describe, expect, it } from 'vitest';
import type { ResourceId } from '../../src/kube/client.ts';
import { bodyChunks } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { failure } from '../../src/kube/status-error.ts';
import {
  conditionMessage,
  conditionOf,
  everything,
  type SimulatedFleet,
  simulateFleet,
  stored,
} from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';
import { colour, configMap, paint } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const JOBS: ResourceId = { group: 'batch', version: 'v1', resource: 'jobs', kind: 'Job', namespaced: true };
const SEED: KubeObject = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'seed', namespace: 'shop' },
  spec: {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'seed', image: 'seed:1' }] } },
  },
};

const job = (): KubeObject | undefined => stored(fleet.spoke('a'), 'batch/jobs/shop/seed');
const finished = (orders: Orders): boolean =>
  conditionOf(orders.dispatch('shop'), 'Healthy') === 'True/Healthy';

/** What the Job's controller writes when it is through. */
async function complete(type: 'Complete' | 'Failed'): Promise<void> {
  const at = '2026-01-01T00:00:00Z';
  const conditions =
    type === 'Complete'
      ? [{ type: 'SuccessCriteriaMet', status: 'True', lastTransitionTime: at }]
      : [{ type: 'FailureTarget', status: 'True', lastTransitionTime: at }];
  const status = {
    startTime: at,
    ...(type === 'Complete' ? { completionTime: at, succeeded: 1 } : { failed: 1 }),
    conditions: [...conditions, { type, status: 'True', lastTransitionTime: at }],
  };
  await fleet.run(
    fleet.spoke('a').client.patch(JOBS, 'shop', 'seed', 'merge', { status }, { subresource: 'status' }),
  );
}

/** Keeps the parts of a stream back until one says a word, and gives them in one. */
async function* upTo(word: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let kept: Uint8Array[] = [];
  for await (const chunk of chunks) {
    kept.push(chunk);
    if (!Buffer.from(chunk).includes(word)) continue;
    yield Buffer.concat(kept);
    kept = [];
  }
}

async function open(seed: number, onFinish: { ttlSeconds?: number } | undefined): Promise<Orders> {
  fleet = await simulateFleet(seed, ['a']);
  const orders = ordersFor(fleet, 'a');
  const apply = onFinish ? { onFinish } : {};
  await orders.fulfil('shop', [SEED, configMap('settings', 'red')], { apply });
  return orders;
}

describe('an object that comes to its end by itself', () => {
  it.each(['Complete', 'Failed'] as const)(
    '[S62] is left alone once it is %s: neither kept up nor made again, over restarts too',
    async (type) => {
      const orders = await open(101, {});
      const deleting = fleet.spoke('a').client;
      // Until then it is kept up as any other.
      await fleet.run(deleting.delete(JOBS, 'shop', 'seed'));
      await fleet.until(() => job() !== undefined, 'the Job again', 5_000);
      await complete(type);
      await fleet.rest(5_000);
      await fleet.run(deleting.delete(JOBS, 'shop', 'seed'));
      await fleet.rest(60_000);
      expect(job()).toBeUndefined();
      await fleet.kill('a');
      await fleet.start('a');
      await orders.fulfil('shop', [SEED, configMap('settings', 'blue')], { apply: { onFinish: {} } });
      await fleet.rest(60_000);
      expect(job()).toBeUndefined();
      expect(colour(fleet.spoke('a'))).toBe('blue');
      // What does not end is kept up.
      await paint(fleet, fleet.spoke('a'), 'black');
      await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the edit undone', 5_000);
      expect(conditionOf(orders.dispatch('shop'), 'Applied')).toBe('True/Applied');
    },
  );

  it('[S62] is removed when its time is over, counted from its end, over a restart too', async () => {
    const orders = await open(102, { ttlSeconds: 600 });
    await complete('Complete');
    await fleet.until(() => finished(orders), 'its end');
    await fleet.rest(300_000);
    expect(job()).toBeDefined();
    await fleet.kill('a');
    await fleet.start('a');
    await fleet.rest(290_000);
    expect(job()).toBeDefined();
    await fleet.until(() => job() === undefined, 'its removal', 30_000);
    await fleet.rest(10_000);
    const before = everything(fleet.spoke('a'));
    await fleet.kill('a');
    await fleet.start('a');
    await fleet.rest(3_600_000);
    expect(everything(fleet.spoke('a'))).toEqual(before);
    expect(conditionOf(orders.dispatch('shop'), 'Applied')).toBe('True/Applied');
    expect(finished(orders)).toBe(true);
    expect(colour(fleet.spoke('a'))).toBe('red');
    // It is still the order's to take away, which is done at once.
    await orders.fulfil('shop', [configMap('settings', 'red')]);
    await orders.fulfil('shop', [configMap('settings', 'red'), SEED]);
    expect(job()).toBeDefined();
  });

  it('[S62] is not made again where its end was seen together with its removal', async () => {
    fleet = await simulateFleet(104, ['a'], {
      engineApi: (_name, api) => async (request) => {
        const response = await api(request);
        const isWatch = request.path.includes('/jobs?') && request.path.includes('watch=');
        return isWatch ? { ...response, body: upTo('DELETED', bodyChunks(response)) } : response;
      },
    });
    const orders = ordersFor(fleet, 'a');
    await orders.fulfil('shop', [SEED], { apply: { onFinish: {} } });
    await complete('Complete');
    await fleet.rest(1_000);
    // As the API server's own controller does with ttlSecondsAfterFinished.
    await fleet.run(fleet.spoke('a').client.delete(JOBS, 'shop', 'seed'));
    await fleet.rest(60_000);
    expect(job()).toBeUndefined();
    expect(conditionMessage(orders.dispatch('shop'), 'Healthy')).toBe('all objects are healthy');
  });

  it('[S62] is not made again after a crash between its removal and the note of that', async () => {
    const isFull = { now: false };
    fleet = await simulateFleet(105, ['a'], {
      engineApi: (_name, api) => async (request) => {
        if (isFull.now && request.method === 'PUT' && request.path.includes('/ownershiprecords/'))
          throw failure(507, 'InsufficientStorage', 'the disk is full');
        return api(request);
      },
    });
    const orders = ordersFor(fleet, 'a');
    await orders.fulfil('shop', [SEED], { apply: { onFinish: { ttlSeconds: 0 } } });
    isFull.now = true;
    await complete('Complete');
    await fleet.rest(10_000);
    expect(job()).toBeDefined();
    await fleet.kill('a');
    isFull.now = false;
    await fleet.start('a');
    await fleet.until(() => job() === undefined, 'its removal');
    await fleet.rest(60_000);
    expect(job()).toBeUndefined();
  });

  it('is kept up where nothing is said', async () => {
    await open(103, undefined);
    await complete('Complete');
    await fleet.rest(5_000);
    await fleet.run(fleet.spoke('a').client.delete(JOBS, 'shop', 'seed'));
    await fleet.until(() => job() !== undefined, 'the Job again', 5_000);
  });
});

describe('of the objects of an order', () => {
  it('[S62] those that are to be preserved stay without marks, the others go', async () => {
    fleet = await simulateFleet(104, ['a']);
    const orders = ordersFor(fleet, 'a');
    const maps = ['one', 'two', 'three'].map((name) => configMap(name, 'red'));
    const objectApply = [{ target: { kind: 'ConfigMap', name: 'two' }, preserveOnDeletion: true }];
    await orders.fulfil('shop', maps, { objectApply });
    await orders.fulfil('shop', []);
    expect(['one', 'two', 'three'].map((name) => colour(fleet.spoke('a'), name))).toEqual(['', 'red', '']);
    const kept = stored(fleet.spoke('a'), 'core/configmaps/shop/two');
    expect(kept?.metadata.labels?.['atoll.dev/dispatch']).toBeUndefined();
  });
});
