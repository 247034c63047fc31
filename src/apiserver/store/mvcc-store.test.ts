import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/index.ts';
import type { StorageDriver, StoredChange } from '../storage/driver.ts';
import { memoryDriver } from '../storage/memory-driver.ts';
import { sqliteDriver } from '../storage/sqlite-driver.ts';
import { openStore, type StoreOptions } from './mvcc-store.ts';
import { Compacted, type Store, type StoreEvent, type StoreRecord, TooLarge } from './store.ts';

const PREFIX = '/core/configmaps/c/ns/';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atoll-store-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function configMap(name: string, value: unknown): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns' }, data: { value } };
}

function dataOf(record: StoreRecord | undefined): unknown {
  return (record?.object.data as { value?: unknown } | undefined)?.value;
}

interface Rig {
  readonly runtime: VirtualRuntime;
  store: Store;
  put(name: string, value: unknown): Promise<number>;
  remove(name: string): Promise<number>;
  restart(options?: StoreOptions): Promise<void>;
}

async function rig(driver: StorageDriver, options: StoreOptions = {}): Promise<Rig> {
  const runtime = virtualRuntime(1);
  const it: Rig = {
    runtime,
    store: await openStore(runtime, driver, options),
    async put(name, value) {
      const write = it.store.write(PREFIX + name, () => configMap(name, value));
      const [{ record }] = await Promise.all([write, runtime.clock.settle()]);
      return record.revision;
    },
    async remove(name) {
      const write = it.store.write(PREFIX + name, () => null);
      const [{ record }] = await Promise.all([write, runtime.clock.settle()]);
      return record.revision;
    },
    async restart(next = options) {
      await it.store.close();
      it.store = await openStore(runtime, driver, next);
    },
  };
  return it;
}

const names = (records: readonly StoreRecord[]): string[] => records.map((r) => r.object.metadata.name ?? '');
const brief = (events: readonly StoreEvent[]): string[] =>
  events.map((e) => `${e.type} ${e.record.object.metadata.name} ${e.revision}`);

/** A driver whose next commits can be held back, or made to fail. */
function controlled(inner: StorageDriver): StorageDriver & {
  hold: boolean;
  readonly held: { release: () => void; fail: () => void }[];
  readonly commits: StoredChange[][];
  readonly compactions: number[];
} {
  const it = {
    ...inner,
    hold: false,
    held: [] as { release: () => void; fail: () => void }[],
    commits: [] as StoredChange[][],
    compactions: [] as number[],
    async commit(changes: readonly StoredChange[]) {
      it.commits.push([...changes]);
      if (it.hold)
        await new Promise<void>((resolve, reject) => {
          it.held.push({ release: resolve, fail: () => reject(new Error('the disk is gone')) });
        });
      await inner.commit(changes);
    },
    async compact(revision: number) {
      it.compactions.push(revision);
      await inner.compact(revision);
    },
  };
  return it;
}

describe.each<{ name: string; driver: () => StorageDriver }>([
  { name: 'memory', driver: memoryDriver },
  { name: 'sqlite', driver: () => sqliteDriver(join(folder, 'store.db')) },
])('store over $name', ({ driver }) => {
  it('creates, updates and deletes under one revision', async () => {
    const { runtime, store, put, remove } = await rig(driver());
    expect(store.revision).toBe(1);
    const created = await put('a', 1);
    const updated = await put('a', 2);
    expect([created, updated]).toEqual([2, 3]);
    const record = store.get(`${PREFIX}a`);
    expect(record?.object.metadata.resourceVersion).toBe('3');
    expect(record?.createRevision).toBe(2);
    expect(JSON.parse(Buffer.from(record?.bytes ?? []).toString())).toEqual(record?.object);

    const deletion = store.write(`${PREFIX}a`, () => null);
    await runtime.clock.settle();
    const { record: last, outcome } = await deletion;
    expect(outcome).toBe('deleted');
    expect(last.object.metadata.resourceVersion).toBe('4');
    expect(JSON.parse(Buffer.from(last.bytes).toString())).toEqual(last.object);
    expect(dataOf(last)).toBe(2);
    expect(store.get(`${PREFIX}a`)).toBeUndefined();
    await expect(remove('a')).rejects.toThrow(`nothing is stored under ${PREFIX}a`);
    expect(store.revision).toBe(4);
    await store.close();
  });

  it('[V71] restarts with everything, at no lower revision, and resumes watches', async () => {
    const server = await rig(driver());
    await server.put('a', 1);
    const from = await server.put('b', 1);
    await server.put('b', 'x'.repeat(5000));
    await server.remove('a');
    await server.put('a', 3);
    const live: StoreEvent[] = [];
    server.store.watch(PREFIX, from, (events) => live.push(...events));
    const listed = server.store.list(PREFIX, { revision: from });
    await server.restart();

    const { store } = server;
    expect(store.revision).toBe(6);
    expect(names(store.list('/').records)).toEqual(['a', 'b']);
    const resumed: StoreEvent[] = [];
    store.watch(PREFIX, from, (events) => resumed.push(...events)).stop();
    expect(brief(resumed)).toEqual(['updated b 4', 'deleted a 5', 'created a 6']);
    expect(brief(resumed)).toEqual(brief(live));
    for (const [i, event] of resumed.entries()) {
      expect(event.record.object).toEqual(live[i]?.record.object);
      expect(event.record.createRevision).toBe(live[i]?.record.createRevision);
      expect(event.previous?.object).toEqual(live[i]?.previous?.object);
      expect(event.previous?.revision).toBe(live[i]?.previous?.revision);
    }
    const again = store.list(PREFIX, { revision: from });
    expect(again.records.map((r) => r.object)).toEqual(listed.records.map((r) => r.object));
    expect(await server.put('c', 1)).toBe(7);
    await server.remove('c');
    await server.restart();
    expect(server.store.revision).toBe(8);
    await server.store.close();
  });

  it('[V74] forgets by number: older lists and watches fail, newer are exact, over a restart too', async () => {
    const server = await rig(driver(), { historyEvents: 10 });
    for (let i = 0; i < 30; i++) await server.put(`n${i % 3}`, i);
    const check = (): void => {
      const { store } = server;
      expect(store.revision).toBe(31);
      expect(store.compactedRevision).toBe(21);
      expect(() => store.list(PREFIX, { revision: 20 })).toThrow(Compacted);
      expect(() => store.watch(PREFIX, 20, () => {})).toThrow(
        'revision is older than 21, the oldest that is kept',
      );
      expect(store.list(PREFIX, { revision: 21 }).records.map(dataOf)).toEqual([18, 19, 17]);
      const events: StoreEvent[] = [];
      store.watch(PREFIX, 21, (kept) => events.push(...kept)).stop();
      expect(events.map((event) => dataOf(event.record))).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
    };
    check();
    await server.restart();
    check();
    await server.store.close();
  });

  it('agrees with a naive model: state, lists of the past, watches from anywhere, restarts', async () => {
    const name = fc.constantFrom('a', 'ab', 'b', 'c', 'd');
    const place = fc.constantFrom(
      '/core/pods/c/ns/',
      '/core/pods/c/ns-2/',
      '/core/pods/d/ns/',
      '/apps/x/c/ns/',
    );
    const step = fc.record({ name, place, value: fc.option(fc.nat(3), { nil: null }) });
    const turns = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 12 });
    const prefixes = ['/', '/core/pods/', '/core/pods/c/', '/core/pods/c/ns/', '/core/pods/c/ns/a', '/none/'];
    const under = (key: string, prefix: string): boolean =>
      prefix.endsWith('/') ? key.startsWith(prefix) : key === prefix;
    type State = Map<string, number>;
    const listOf = (state: State, prefix: string): [string, number][] =>
      [...state].filter(([key]) => under(key, prefix)).sort((a, b) => (a[0] < b[0] ? -1 : 1));
    let run = 0;

    await fc.assert(
      fc.asyncProperty(turns, fc.nat(), async (plan, pick) => {
        run += 1;
        const storage =
          driver === memoryDriver ? memoryDriver() : sqliteDriver(join(folder, `property-${run}.db`));
        const runtime = virtualRuntime(run);
        let store = await openStore(runtime, storage);
        let state: State = new Map();
        const snapshots = new Map<number, State>([[store.revision, state]]);
        const replicas = prefixes.map((prefix) => ({ prefix, state: new Map<string, number>() }));
        const follow = (from: number): void => {
          for (const replica of replicas)
            store.watch(replica.prefix, from, (events) => {
              for (const { type, record } of events) {
                if (type === 'deleted') replica.state.delete(record.key);
                else replica.state.set(record.key, Number(dataOf(record)));
              }
            });
        };
        follow(store.revision);
        const restartAt = pick % plan.length;
        for (const [turn, steps] of plan.entries()) {
          let { revision } = store;
          const writes = steps.map(({ place, name, value }) => {
            const key = `${place}${name}`;
            // The model decides at the same moment as the store does, on the steps of this turn before it too.
            const before = state.get(key);
            const after = value === null && before === undefined ? 9 : value;
            if (after !== before) {
              state = new Map(state);
              if (after === null) state.delete(key);
              else state.set(key, after);
              revision += 1;
              snapshots.set(revision, state);
            }
            return store.write(key, (current) => {
              expect(dataOf(current)).toBe(before);
              return after === null ? null : configMap(name, after);
            });
          });
          await Promise.all([...writes, runtime.clock.settle()]);
          expect(store.revision).toBe(revision);
          for (const replica of replicas)
            expect(listOf(replica.state, '/')).toEqual(listOf(state, replica.prefix));
          if (turn === restartAt) {
            await store.close();
            store = await openStore(runtime, storage);
            expect(store.revision).toBe(revision);
            follow(revision);
          }
        }
        for (const [revision, snapshot] of snapshots) {
          for (const prefix of prefixes) {
            const expected = listOf(snapshot, prefix);
            const { records } = store.list(prefix, { revision });
            expect(records.map((r) => [r.key, dataOf(r)])).toEqual(expected);
            const paged: string[] = [];
            let after: string | undefined;
            do {
              const page = store.list(prefix, { revision, limit: 2, ...(after ? { after } : {}) });
              paged.push(...page.records.map((r) => r.key));
              expect(page.remaining).toBe(expected.length - paged.length);
              expect(page.more).toBe(page.remaining > 0);
              after = page.more ? paged[paged.length - 1] : undefined;
            } while (after !== undefined);
            expect(paged).toEqual(expected.map(([key]) => key));
            // A watch from then on leads from the list of then to the list of now.
            const replica = new Map(expected);
            store
              .watch(prefix, revision, (events) => {
                for (const { type, record } of events) {
                  if (type === 'deleted') replica.delete(record.key);
                  else replica.set(record.key, Number(dataOf(record)));
                }
              })
              .stop();
            expect(listOf(replica, '/')).toEqual(listOf(state, prefix));
            expect(store.count(prefix)).toBe(listOf(state, prefix).length);
          }
        }
        await store.close();
      }),
      { numRuns: driver === memoryDriver ? 60 : 15 },
    );
  });
});

describe('concurrent writes', () => {
  it('of one turn see each other and share a commit, and are invisible until it is durable', async () => {
    const driver = controlled(memoryDriver());
    const { runtime, store } = await rig(driver);
    const seen: StoreEvent[][] = [];
    store.watch(PREFIX, store.revision, (events) => seen.push([...events]));
    const writes = Array.from({ length: 100 }, () =>
      store.write(`${PREFIX}n`, (current) => configMap('n', Number(dataOf(current) ?? 0) + 1)),
    );
    expect(store.get(`${PREFIX}n`)).toBeUndefined();
    expect(store.revision).toBe(1);
    await runtime.clock.settle();
    const results = await Promise.all(writes);
    expect(results.map((r) => r.record.revision)).toEqual(Array.from({ length: 100 }, (_, i) => i + 2));
    expect(dataOf(store.get(`${PREFIX}n`))).toBe(100);
    expect(driver.commits.map((changes) => changes.length)).toEqual([100]);
    expect(seen.map((events) => events.length)).toEqual([100]);
    expect(seen[0]?.map((event) => event.previous?.revision)).toEqual([
      undefined,
      ...Array.from({ length: 99 }, (_, i) => i + 2),
    ]);
  });

  it('lose exactly one race for one version', async () => {
    const { runtime, store, put } = await rig(memoryDriver());
    const version = await put('n', 0);
    const writes = Array.from({ length: 20 }, (_, i) =>
      store.write(`${PREFIX}n`, (current) => {
        if (current?.revision !== version) throw new Error(`conflict at ${current?.revision}`);
        return configMap('n', i + 1);
      }),
    );
    const settled = Promise.allSettled(writes);
    await runtime.clock.settle();
    expect((await settled).map((r) => r.status).filter((status) => status === 'fulfilled')).toHaveLength(1);
    expect(dataOf(store.get(`${PREFIX}n`))).toBe(1);
    expect(store.revision).toBe(version + 1);
  });

  it('queue for the next commit while one is in flight', async () => {
    const driver = controlled(memoryDriver());
    driver.hold = true;
    const { runtime, store } = await rig(driver);
    const first = store.write(`${PREFIX}a`, () => configMap('a', 1));
    await runtime.clock.settle();
    const second = store.write(`${PREFIX}a`, (current) => configMap('a', Number(dataOf(current)) + 1));
    const third = store.write(`${PREFIX}b`, () => configMap('b', 1));
    await runtime.clock.settle();
    expect(driver.commits).toHaveLength(1);
    driver.held.shift()?.release();
    await runtime.clock.settle();
    expect((await first).record.revision).toBe(2);
    expect(dataOf(store.get(`${PREFIX}a`))).toBe(1);
    expect(driver.commits.map((changes) => changes.length)).toEqual([1, 2]);
    driver.held.shift()?.release();
    await runtime.clock.settle();
    expect([(await second).record.revision, (await third).record.revision]).toEqual([3, 4]);
    expect(dataOf(store.get(`${PREFIX}a`))).toBe(2);
  });

  it('that change nothing answer when what they saw is durable', async () => {
    const driver = controlled(memoryDriver());
    driver.hold = true;
    const { runtime, store } = await rig(driver);
    const told: string[] = [];
    const note = (name: string, write: Promise<unknown>): void => {
      write.then(
        () => told.push(name),
        (error: Error) => told.push(`${name}: ${error.message}`),
      );
    };
    note(
      'create',
      store.write(`${PREFIX}a`, () => configMap('a', 1)),
    );
    note(
      'same',
      store.write(`${PREFIX}a`, () => configMap('a', 1)),
    );
    note(
      'conflict',
      store.write(`${PREFIX}a`, (current) => {
        if (current) throw new Error('exists');
        return configMap('a', 2);
      }),
    );
    await runtime.clock.settle();
    expect(told).toEqual([]);
    driver.held.shift()?.release();
    await runtime.clock.settle();
    expect(told).toEqual(['create', 'same', 'conflict: exists']);
    expect(driver.commits.flat()).toHaveLength(1);
  });
});

describe('a failed commit', () => {
  it('rejects its writes and all that built on them, shows nothing, and uses no revision twice', async () => {
    const driver = controlled(memoryDriver());
    const { runtime, store, put } = await rig(driver);
    await put('a', 1);
    driver.hold = true;
    const events: StoreEvent[] = [];
    store.watch('/', store.revision, (batch) => events.push(...batch));
    const failing = [
      store.write(`${PREFIX}a`, () => configMap('a', 2)),
      store.write(`${PREFIX}new`, () => configMap('new', 1)),
      store.write(`${PREFIX}new`, () => undefined),
    ];
    await runtime.clock.settle();
    const built = [
      store.write(`${PREFIX}a`, (current) => configMap('a', Number(dataOf(current)) + 10)),
      store.write(`${PREFIX}new`, () => null),
      store.write(`${PREFIX}new`, () => configMap('new', 5)),
    ];
    const other = store.write(`${PREFIX}other`, () => configMap('other', 1));
    const outcomes = Promise.allSettled([...failing, ...built]);
    driver.held.shift()?.fail();
    await runtime.clock.settle();
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: 'the write could not be made durable: the disk is gone' },
      });
    expect(dataOf(store.get(`${PREFIX}a`))).toBe(1);
    expect(events).toEqual([]);
    driver.hold = false;
    driver.held.shift()?.release();
    await runtime.clock.settle();
    expect((await other).record.revision).toBe(8);
    expect(await put('a', 3)).toBe(9);
    expect(brief(events)).toEqual(['created other 8', 'updated a 9']);
    expect(dataOf(events[1]?.previous)).toBe(1);
  });
});

describe('write', () => {
  it('of an equal object is no change, whatever its resourceVersion and key order', async () => {
    const driver = controlled(memoryDriver());
    const { runtime, store, put } = await rig(driver);
    const revision = await put('a', { x: 1, y: [1, 2] });
    const current = store.get(`${PREFIX}a`);
    const same = {
      data: { value: { y: [1, 2], x: 1, z: undefined } },
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { namespace: 'ns', name: 'a', resourceVersion: '77', labels: undefined as never },
    };
    for (const object of [same, current!.object, undefined]) {
      const result = await store.write(`${PREFIX}a`, () => object);
      expect(result).toEqual({ record: current, outcome: 'unchanged' });
    }
    await runtime.clock.settle();
    expect(store.revision).toBe(revision);
    expect(driver.commits).toHaveLength(1);
    const moved = store.write(`${PREFIX}a`, () => configMap('a', { x: 1, y: [2, 1] }));
    await runtime.clock.settle();
    expect((await moved).outcome).toBe('updated');
  });

  it('refuses what is too large, and stays usable', async () => {
    const { store, put } = await rig(memoryDriver(), { maxObjectBytes: 500 });
    await expect(put('a', 'x'.repeat(500))).rejects.toThrow(TooLarge);
    await expect(put('a', 'x'.repeat(500))).rejects.toMatchObject({ limit: 500 });
    expect(await put('a', 'x'.repeat(100))).toBe(store.revision);
    expect(store.revision).toBe(2);
  });

  it('passes on what the decision throws', async () => {
    const { store } = await rig(memoryDriver());
    await expect(
      store.write(`${PREFIX}a`, () => {
        throw new RangeError('no');
      }),
    ).rejects.toThrow(RangeError);
  });

  it('does not touch the object that it is given', async () => {
    const { runtime, store } = await rig(memoryDriver());
    const object = configMap('a', 1);
    const write = store.write(`${PREFIX}a`, () => object);
    await runtime.clock.settle();
    expect(object.metadata).toEqual({ name: 'a', namespace: 'ns' });
    expect((await write).record.object.metadata.resourceVersion).toBe('2');
  });
});

describe('list', () => {
  it('[V18] tells a revision that is not reached yet from one that is forgotten', async () => {
    const { store, put } = await rig(memoryDriver());
    await put('a', 1);
    expect(() => store.list(PREFIX, { revision: 9 })).toThrow(RangeError);
    expect(store.list(PREFIX, { revision: 1 }).records).toEqual([]);
    expect(store.list(PREFIX).revision).toBe(2);
  });

  it('[V19] continues behind a key at the revision of the first page', async () => {
    const { store, put, remove } = await rig(memoryDriver());
    for (const name of ['a', 'b', 'c', 'd', 'e']) await put(name, 1);
    const first = store.list(PREFIX, { limit: 2 });
    expect([names(first.records), first.more, first.remaining]).toEqual([['a', 'b'], true, 3]);
    await remove('c');
    await put('bb', 1);
    await put('d', 2);
    const rest = store.list(PREFIX, { limit: 10, after: `${PREFIX}b`, revision: first.revision });
    expect([names(rest.records), rest.records.map(dataOf), rest.more]).toEqual([
      ['c', 'd', 'e'],
      [1, 1, 1],
      false,
    ]);
    expect(names(store.list(PREFIX, { after: `${PREFIX}b` }).records)).toEqual(['bb', 'd', 'e']);
  });
});

describe('watch', () => {
  it('[V20] gets each turn at once, in order, and only what is under its prefix', async () => {
    const { runtime, store } = await rig(memoryDriver());
    const seen = new Map<string, string[][]>();
    for (const prefix of [
      '/',
      '/core/configmaps/',
      '/core/configmaps/c/',
      PREFIX,
      `${PREFIX}a`,
      '/core/config/',
    ])
      store.watch(prefix, store.revision, (events) => {
        seen.set(prefix, [...(seen.get(prefix) ?? []), brief(events)]);
      });
    void store.write(`${PREFIX}a`, () => configMap('a', 1));
    void store.write(`${PREFIX}ab`, () => configMap('ab', 1));
    void store.write('/core/configmaps/d/ns/x', () => configMap('x', 1));
    await runtime.clock.settle();
    const everything = ['created a 2', 'created ab 3', 'created x 4'];
    expect(Object.fromEntries(seen)).toEqual({
      '/': [everything],
      '/core/configmaps/': [everything],
      '/core/configmaps/c/': [everything.slice(0, 2)],
      [PREFIX]: [everything.slice(0, 2)],
      [`${PREFIX}a`]: [everything.slice(0, 1)],
    });
  });

  it('[V20] starts from the past or the future without a gap or a repetition', async () => {
    const { runtime, store, put } = await rig(memoryDriver());
    await put('a', 1);
    await put('a', 2);
    const seen: Record<string, string[]> = { past: [], future: [], nested: [] };
    const add =
      (name: string) =>
      (events: readonly StoreEvent[]): void => {
        seen[name]?.push(...brief(events));
      };
    store.watch(PREFIX, 2, add('past'));
    store.watch(PREFIX, 4, add('future'));
    let nested = false;
    store.watch(PREFIX, 3, () => {
      if (nested) return;
      nested = true;
      // Joins in the middle of a delivery, from before it.
      store.watch(PREFIX, 3, add('nested'));
    });
    expect(seen.past).toEqual(['updated a 3']);
    void store.write(`${PREFIX}a`, () => configMap('a', 3));
    void store.write(`${PREFIX}a`, () => configMap('a', 4));
    await runtime.clock.settle();
    await put('a', 5);
    expect(seen).toEqual({
      past: ['updated a 3', 'updated a 4', 'updated a 5', 'updated a 6'],
      future: ['updated a 5', 'updated a 6'],
      nested: ['updated a 4', 'updated a 5', 'updated a 6'],
    });
  });

  it('[V75] that fails or stops leaves the others alone', async () => {
    const { store, put } = await rig(memoryDriver());
    const seen: string[] = [];
    store.watch(PREFIX, store.revision, () => {
      throw new Error('broken');
    });
    const stopped = store.watch(PREFIX, store.revision, () => seen.push('stopped'));
    store.watch(PREFIX, store.revision, (events) => {
      seen.push(...brief(events));
      stopped.stop();
    });
    await put('a', 1);
    await put('a', 2);
    expect(seen).toEqual(['stopped', 'created a 2', 'updated a 3']);
    stopped.stop();
  });
});

describe('history', () => {
  it('[V74] forgets by age, by itself, and trims the log of the driver with the next write', async () => {
    const driver = controlled(memoryDriver());
    const { runtime, store, put } = await rig(driver, { historyMs: 1000, historyEvents: 40 });
    for (let i = 0; i < 5; i++) await put('a', i);
    await runtime.clock.advance(900);
    expect(store.list(PREFIX, { revision: 5 }).records.map(dataOf)).toEqual([3]);
    await runtime.clock.advance(1200);
    expect(store.compactedRevision).toBe(6);
    // Nothing waits for anything any more, and nothing was written.
    expect([runtime.clock.pending(), driver.compactions]).toEqual([0, []]);
    await put('a', 9);
    expect(driver.compactions).toEqual([6]);
    expect(() => store.list(PREFIX, { revision: 5 })).toThrow(Compacted);
    expect(store.list(PREFIX, { revision: 6 }).records.map(dataOf)).toEqual([4]);
  });

  it('[V74] tells from a history that was made small what happened, and what was there', async () => {
    const { runtime, store, put, remove } = await rig(memoryDriver());
    const value = (name: string, i: number): string => `${name} ${i} ${'ä😀x'.repeat(300 + 40 * (i % 7))}`;
    for (let i = 0; i < 50; i++) {
      await put('a', value('a', i));
      if (i % 5 === 0) await put('b', value('b', i));
      if (i % 10 === 5) await remove('b');
    }
    await put('large', 'y'.repeat(100_000));
    await put('large', 'z'.repeat(200_000));
    const first: StoreEvent[] = [];
    store.watch(PREFIX, 1, (events) => first.push(...events)).stop();
    const told = (events: readonly StoreEvent[]): unknown[] =>
      events.map(({ type, record, previous }) => [
        type,
        record.revision,
        Buffer.from(record.bytes).toString(),
        previous && Buffer.from(previous.bytes).toString(),
      ]);
    const past = (): unknown[] =>
      Array.from({ length: store.revision - 1 }, (_, i) =>
        store.list(PREFIX, { revision: i + 2 }).records.map(({ bytes }) => Buffer.from(bytes).toString()),
      );
    const before = [told(first), past()];
    await runtime.clock.advance(20_000);
    const again: StoreEvent[] = [];
    store.watch(PREFIX, 1, (events) => again.push(...events)).stop();
    expect([told(again), past()]).toEqual(before);
    expect(again.map(({ record }) => record.object.metadata.resourceVersion)).toEqual(
      first.map(({ record }) => String(record.revision)),
    );
    // Also once what the last of them is told by is small itself.
    for (let i = 0; i < 5; i++) {
      await put('a', value('a', i));
      await put('b', value('b', i));
      await runtime.clock.advance(20_000);
    }
    expect(told(again)).toEqual(before[0]);
    expect(past().slice(0, first.length)).toEqual(before[1]);
  });

  it('makes what was replaced small also after a lull, long before it ends', async () => {
    const { runtime, store, put } = await rig(memoryDriver());
    const events: StoreEvent[] = [];
    store.watch(PREFIX, store.revision, (told) => events.push(...told));
    // What is small is made again for each who reads it.
    const isSmall = (): boolean[] =>
      events.flatMap(({ previous }) =>
        previous ? [new Set([previous.bytes, previous.bytes]).size === 2] : [],
      );
    for (let i = 0; i < 3; i++) {
      await put('a', `${i}`.padEnd(2000, '.'));
      await put('a', `${i}`.padEnd(2001, '.'));
      expect(isSmall().at(-1)).toBe(false);
      await runtime.clock.advance(20_000);
      expect(isSmall()).not.toContain(false);
    }
  });

  it('[V74] forgets by bytes, so that large objects do not fill the memory', async () => {
    const { store, put } = await rig(memoryDriver(), { historyBytes: 50_000 });
    for (let i = 0; i < 20; i++) await put('a', `${i}`.padEnd(10_000, '.'));
    expect(store.revision - store.compactedRevision).toBe(4);
  });

  it('[V74] begins anew when told to, and the driver with the next commit', async () => {
    const driver = memoryDriver();
    const { store, put } = await rig(driver);
    for (let i = 0; i < 3; i++) await put('a', i);
    const seen: number[] = [];
    store.watch('', store.revision, (events) => seen.push(...events.map(({ revision }) => revision)));
    store.beginHistory();
    expect(store.compactedRevision).toBe(store.revision);
    expect(() => store.watch('', store.revision - 1, () => {})).toThrow(Compacted);
    expect(() => store.list('', { revision: store.revision - 1 })).toThrow(Compacted);
    expect(store.list('', { revision: store.revision }).records).toHaveLength(1);
    const begun = store.revision;
    await put('b', 1);
    expect(seen).toEqual([begun + 1]);
    await store.close();
    expect((await driver.open()).compactedRevision).toBe(begun);
  });

  it('survives a compaction that fails', async () => {
    const driver = controlled(memoryDriver());
    driver.compact = async () => {
      throw new Error('no');
    };
    const { store, put } = await rig(driver, { historyEvents: 2 });
    for (let i = 0; i < 5; i++) await put('a', i);
    expect([store.revision, store.compactedRevision]).toEqual([6, 4]);
  });
});

describe('waitFor', () => {
  it('tells whether a revision was reached in time', async () => {
    const { runtime, store, put } = await rig(memoryDriver());
    expect(await store.waitFor(1, 0)).toBe(true);
    const soon = store.waitFor(2, 3000);
    const late = store.waitFor(3, 3000);
    await put('a', 1);
    expect(await soon).toBe(true);
    await runtime.clock.advance(3000);
    expect(await late).toBe(false);
    // What tends the history, which has one change.
    expect(runtime.clock.pending()).toBe(1);
    await store.close();
    expect(runtime.clock.pending()).toBe(0);
  });
});

describe('close', () => {
  it('waits for what was written, then refuses', async () => {
    const driver = memoryDriver();
    const { runtime, store } = await rig(driver);
    const write = store.write(`${PREFIX}a`, () => configMap('a', 1));
    const waiting = store.waitFor(99, 1000);
    const closed = store.close();
    await runtime.clock.settle();
    await closed;
    await store.close();
    expect((await write).outcome).toBe('created');
    expect(await waiting).toBe(false);
    await expect(store.write(`${PREFIX}a`, () => null)).rejects.toThrow('the store is closed');
    const again = await openStore(virtualRuntime(1), driver);
    expect(names(again.list('/').records)).toEqual(['a']);
  });

  it('happens by itself when the storage turns out damaged', async () => {
    const inner = memoryDriver();
    let closed = 0;
    const driver: StorageDriver = {
      ...inner,
      async *changesSince() {
        yield { revision: 2, key: '/a', value: null, createRevision: 1, previous: null };
      },
      close: async () => {
        closed += 1;
      },
    };
    await expect(openStore(virtualRuntime(1), driver)).rejects.toThrow('the storage is damaged');
    expect(closed).toBe(1);
  });
});
