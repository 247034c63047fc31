import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemRuntime } from '../../runtime/index.ts';
import { createApiServer } from '../server.ts';
import type { StorageDriver, StoredChange } from './driver.ts';
import { findEtcd, type RealEtcd, startEtcd } from './etcd.fixture.ts';
import { base64, etcdClient } from './etcd-client.ts';
import { etcdDriver } from './etcd-driver.ts';

const binary = findEtcd();
const runtime = systemRuntime();
const bytes = (text: string): Uint8Array => Buffer.from(text);

/** A history with creations, updates and deletions, over several of etcd's transactions. */
const HISTORY: readonly StoredChange[] = [
  { revision: 2, key: '/b', value: bytes('b1'), createRevision: 2, previous: null },
  { revision: 3, key: '/a', value: bytes('a1'), createRevision: 3, previous: null },
  { revision: 4, key: '/b', value: bytes('b2'), createRevision: 2, previous: bytes('b1') },
  { revision: 5, key: '/a', value: null, createRevision: 3, previous: bytes('a1') },
  { revision: 7, key: '/a', value: bytes('a2'), createRevision: 7, previous: null },
];

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) out.push(item);
  return out;
}

const plain = (changes: readonly StoredChange[]): unknown[] =>
  changes.map((change) => ({
    ...change,
    value: change.value && Buffer.from(change.value).toString(),
    previous: change.previous && Buffer.from(change.previous).toString(),
  }));

describe.skipIf(binary === undefined)('etcd driver', { timeout: 20_000 }, () => {
  let etcd: RealEtcd;
  let prefix = '';
  let count = 0;
  const drivers: StorageDriver[] = [];
  beforeAll(async () => {
    etcd = await startEtcd(binary!);
  }, 20_000);
  afterEach(async () => {
    for (const driver of drivers.splice(0)) await driver.close();
  });
  afterAll(() => etcd?.stop());

  /** Of the same storage until the next call with `fresh`. */
  function make(fresh = false): StorageDriver {
    if (fresh) prefix = `/test-${++count}/`;
    const driver = etcdDriver(runtime, { url: etcd.url, prefix });
    drivers.push(driver);
    return driver;
  }

  it('[V72] takes batches and lists that are larger than a transaction or a page', async () => {
    const driver = make(true);
    await driver.open();
    const many = Array.from({ length: 1_100 }, (_, index) => ({
      revision: index + 1,
      key: `/many/${String(index).padStart(5, '0')}`,
      value: bytes(`{"n":${index}}`),
      createRevision: index + 1,
      previous: null,
    }));
    await driver.commit(many);
    const present = await all(driver.load());
    expect(present.map(({ key }) => key)).toEqual(many.map(({ key }) => key));
    expect(await all(driver.changesSince(0))).toHaveLength(many.length);
    await expect(driver.commit(many.slice(0, 1))).rejects.toThrow('it must be higher');
  });

  it('[V72] a process that lost the storage writes nothing', async () => {
    const driver = make(true);
    await driver.open();
    await driver.commit(HISTORY.slice(0, 1));
    // What the end of a lease does.
    const client = await etcdClient(etcd.url);
    await client.transact([], [{ requestDeleteRange: { key: base64(`${prefix}lock`) } }], []);
    await client.close();
    const successor = make();
    expect((await successor.open()).revision).toBe(2);
    expect(driver.broken?.()).toBeUndefined();
    await expect(driver.commit(HISTORY.slice(1, 2))).rejects.toThrow('was lost to another process');
    // Whoever looks after the process hears of it, and starts it anew.
    expect(driver.broken?.()).toContain('was lost to another process');
    expect(successor.broken?.()).toBeUndefined();
    await successor.commit(HISTORY.slice(1));
    await expect(driver.compact(3)).rejects.toThrow('was lost to another process');
    expect(plain(await all(successor.changesSince(0)))).toEqual(plain(HISTORY));
  });

  it('[V72] carries an API server over a restart', async () => {
    const start = (fresh: boolean) => createApiServer({ runtime, storage: make(fresh), controllers: false });
    const first = await start(true);
    const admin = first.as({ name: 'admin', groups: ['system:masters'] });
    const body = Buffer.from(
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'greeting' } }),
    );
    const made = await admin({
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(made.status).toBe(201);
    const { revision } = first.store;
    await first.close();
    const second = await start(false);
    expect(second.store.revision).toBeGreaterThanOrEqual(revision);
    expect(second.store.get('/core/configmaps/root/default/greeting')?.object.kind).toBe('ConfigMap');
    await second.close();
  });
});

describe('an address that is no etcd', () => {
  it('is refused with an error that says so', async () => {
    await expect(etcdDriver(runtime, { url: 'unix:///etcd' }).open()).rejects.toThrow(
      'is no http:// address',
    );
    await expect(etcdDriver(runtime, { url: 'http://127.0.0.1:1' }).open()).rejects.toThrow(
      'the storage http://127.0.0.1:1/atoll/ cannot be opened',
    );
    await expect(etcdDriver(runtime, { url: 'http://127.0.0.1:1' }).commit([])).rejects.toThrow(
      'is not open',
    );
  });
});
