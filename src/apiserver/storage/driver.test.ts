import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemRuntime } from '../../runtime/index.ts';
import type { StorageDriver, StoredChange } from './driver.ts';
import { findEtcd, type RealEtcd, startEtcd } from './etcd.fixture.ts';
import { etcdDriver } from './etcd-driver.ts';
import { memoryDriver } from './memory-driver.ts';
import { sqliteDriver } from './sqlite-driver.ts';
import { decodeValue, encodeValue } from './stored-bytes.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atoll-storage-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const etcdBinary = findEtcd();
let etcd: RealEtcd | undefined;
let etcdStorages = 0;
beforeAll(async () => {
  etcd = etcdBinary === undefined ? undefined : await startEtcd(etcdBinary);
}, 20_000);
afterAll(() => etcd?.stop());

/** A storage of its own, or that of the call before. */
function onEtcd(fresh: boolean): StorageDriver {
  if (fresh) etcdStorages += 1;
  return etcdDriver(systemRuntime(), { url: etcd?.url ?? '', prefix: `/test-${etcdStorages}/` });
}

const bytes = (text: string): Uint8Array => Buffer.from(text);

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) out.push(item);
  return out;
}

const plain = (changes: readonly StoredChange[]): unknown[] =>
  changes.map(({ revision, key, value, createRevision, previous }) => [
    revision,
    key,
    value === null ? null : Buffer.from(value).toString(),
    createRevision,
    previous === null ? null : Buffer.from(previous).toString(),
  ]);

const big = JSON.stringify({ text: 'abc '.repeat(2000) });
const HISTORY: StoredChange[] = [
  { revision: 2, key: '/b', value: bytes('b1'), createRevision: 2, previous: null },
  { revision: 3, key: '/a', value: bytes(big), createRevision: 3, previous: null },
  { revision: 4, key: '/b', value: bytes('b2'), createRevision: 2, previous: bytes('b1') },
  { revision: 5, key: '/a', value: null, createRevision: 3, previous: bytes(big) },
  { revision: 7, key: '/a', value: bytes('a2'), createRevision: 7, previous: null },
];

describe.each<{ name: string; make: () => StorageDriver; reopen: (driver: StorageDriver) => StorageDriver }>([
  { name: 'memory', make: memoryDriver, reopen: (driver) => driver },
  {
    name: 'sqlite',
    make: () => sqliteDriver(join(folder, 'deep', 'store.db')),
    reopen: () => sqliteDriver(join(folder, 'deep', 'store.db')),
  },
  ...(etcdBinary === undefined
    ? []
    : [{ name: 'etcd', make: () => onEtcd(true), reopen: () => onEtcd(false) }]),
])('$name driver', { timeout: 20_000 }, ({ make, reopen }) => {
  it('[V73] starts empty', async () => {
    const driver = make();
    expect(await driver.open()).toEqual({ revision: 0, compactedRevision: 0 });
    expect(await all(driver.load())).toEqual([]);
    expect(await all(driver.changesSince(0))).toEqual([]);
    await driver.close();
  });

  it('[V71] gives back the present state and every change after it was closed and opened', async () => {
    let driver = make();
    await driver.open();
    await driver.commit(HISTORY.slice(0, 3));
    await driver.commit(HISTORY.slice(3));
    await driver.close();
    driver = reopen(driver);
    expect(await driver.open()).toEqual({ revision: 7, compactedRevision: 0 });
    const present = await all(driver.load());
    expect(
      present.map((v) => [v.key, Buffer.from(v.value).toString(), v.createRevision, v.modRevision]),
    ).toEqual([
      ['/a', 'a2', 7, 7],
      ['/b', 'b2', 2, 4],
    ]);
    expect(plain(await all(driver.changesSince(0)))).toEqual(plain(HISTORY));
    expect(plain(await all(driver.changesSince(3)))).toEqual(plain(HISTORY.slice(2)));
    await driver.close();
  });

  it('[V74] compaction forgets changes, keeps the state, and never lets the revision go back', async () => {
    let driver = make();
    await driver.open();
    await driver.commit(HISTORY);
    await driver.compact(4);
    expect(plain(await all(driver.changesSince(0)))).toEqual(plain(HISTORY.slice(3)));
    await driver.compact(100);
    await driver.compact(5);
    await driver.close();
    driver = reopen(driver);
    expect(await driver.open()).toEqual({ revision: 7, compactedRevision: 7 });
    expect(await all(driver.changesSince(0))).toEqual([]);
    expect((await all(driver.load())).map((v) => v.key)).toEqual(['/a', '/b']);
    await driver.close();
  });

  it('makes a batch durable as a whole or not at all', async () => {
    const driver = make();
    await driver.open();
    await driver.commit(HISTORY.slice(0, 1));
    const repeated = [
      { ...HISTORY[1]!, key: '/c' },
      { ...HISTORY[1]!, key: '/d' },
    ];
    await expect(driver.commit(repeated)).rejects.toThrow();
    expect((await all(driver.load())).map((v) => v.key)).toEqual(['/b']);
    await driver.commit(HISTORY.slice(1));
    expect(plain(await all(driver.changesSince(0)))).toEqual(plain(HISTORY));
    await driver.close();
  });
});

describe('sqlite driver', () => {
  it('is locked against another process, which is told why', async () => {
    const path = join(folder, 'store.db');
    const driver = sqliteDriver(path);
    await driver.open();
    const script = `import { sqliteDriver } from ${JSON.stringify(new URL('./sqlite-driver.ts', import.meta.url).href)};
      await sqliteDriver(${JSON.stringify(path)}).open().then(() => console.log('opened'), (e) => console.log(e.message));`;
    const open = (): string =>
      spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stdout;
    expect(open()).toBe(
      `the storage ${path} cannot be opened: another atoll process uses it: stop that process, or choose another file\n`,
    );
    await expect(sqliteDriver(path).open()).rejects.toThrow('another atoll process uses it');
    await driver.commit(HISTORY.slice(0, 1));
    await driver.close();
    expect(open()).toBe('opened\n');
  });

  it('keeps its file private and leaves no log behind when closed', async () => {
    const path = join(folder, 'new', 'store.db');
    const driver = sqliteDriver(path);
    await driver.open();
    await driver.commit(HISTORY);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    await driver.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it('refuses what is not its own, and leaves it alone', async () => {
    const text = join(folder, 'notes.txt');
    writeFileSync(text, 'not a database, but long enough to look at: '.repeat(100));
    await expect(sqliteDriver(text).open()).rejects.toThrow(
      `the storage ${text} cannot be opened: it is not a database of atoll: choose another file`,
    );
    const other = join(folder, 'other.db');
    const db = new DatabaseSync(other);
    db.exec('CREATE TABLE t (x)');
    db.close();
    const before = statSync(other);
    await expect(sqliteDriver(other).open()).rejects.toThrow('a database of another application');
    expect(statSync(other).mtimeMs).toBe(before.mtimeMs);
    mkdirSync(join(folder, 'directory'));
    await expect(sqliteDriver(join(folder, 'directory')).open()).rejects.toThrow(
      'directory cannot be opened',
    );
  });

  it('refuses a newer format', async () => {
    const path = join(folder, 'store.db');
    const driver = sqliteDriver(path);
    await driver.open();
    await driver.close();
    const db = new DatabaseSync(path);
    db.exec("UPDATE meta SET value = 99 WHERE name = 'schema'");
    db.close();
    await expect(sqliteDriver(path).open()).rejects.toThrow('version 99 of the storage format');
  });

  it('tells of damage', async () => {
    const path = join(folder, 'store.db');
    const driver = sqliteDriver(path);
    await driver.open();
    await driver.commit(HISTORY);
    await driver.close();
    const db = new DatabaseSync(path);
    db.exec("UPDATE kv SET value = x'01ffff' WHERE key = '/a'");
    db.close();
    await driver.open();
    await expect(all(driver.load())).rejects.toThrow(`the storage ${path} cannot be read`);
    await driver.close();
  });

  it('fails clearly when it is not open, or open twice', async () => {
    const driver = sqliteDriver(join(folder, 'store.db'));
    await expect(driver.commit(HISTORY)).rejects.toThrow('is not open');
    await driver.open();
    await expect(driver.open()).rejects.toThrow('is open already');
    await driver.close();
    await driver.close();
  });
});

describe('values at rest', () => {
  it('come back as they were, whatever they begin with, and are small when repetitive', () => {
    const values = ['', '{}', '\0x', '\x01x', big, `\x01${big}`, `{${big.repeat(20)}`];
    for (const value of values) {
      const stored = encodeValue(bytes(value));
      expect(Buffer.from(decodeValue(stored)).toString()).toBe(value);
      if (value.length > 1024) expect(stored.byteLength).toBeLessThan(value.length / 10);
    }
    const noise = Uint8Array.from({ length: 5000 }, (_, i) => Math.imul(i + 1, 2654435761) >>> 24);
    expect(Uint8Array.from(decodeValue(encodeValue(noise)))).toEqual(noise);
  });
});
