import { errorText, type Runtime, sleep, uuid } from '../../runtime/index.ts';
import type { StorageDriver, StorageState, StoredChange, StoredValue } from './driver.ts';
import { base64, type EtcdClient, EtcdRefusal, etcdClient, type Operation } from './etcd-client.ts';
import { decodeValue, encodeValue } from './stored-bytes.ts';

export interface EtcdOptions {
  /** `http://host:port` of a member. */
  readonly url: string;
  /** Below which all keys are; `/atoll/` by default. */
  readonly prefix?: string;
}

/** How long a process that died holds the storage. */
const LEASE_SECONDS = 10;
const RENEW_MS = 3_000;
/** etcd takes 128 operations in a transaction: two for each change, and one for `meta`. */
const CHANGES_AT_ONCE = 60;
/** etcd takes 1.5 MiB in a request. */
const BYTES_AT_ONCE = 1_000_000;
const PAGE = 500;
const RETRY_MS = 500;

interface Meta {
  readonly revision: number;
  readonly compacted: number;
}

interface Session {
  readonly client: EtcdClient;
  readonly lease: string;
  /** What the lock holds while it is ours. */
  readonly holder: string;
  meta: Meta;
  /** Why nothing may be written any more. */
  broken?: Error;
  closed: boolean;
}

/**
 * Storage in etcd, by its JSON gateway. `kv/` is the present state, `log/` holds for each change that is kept the value before
 * it, `meta` the revision. One process writes: it holds `lock` by a lease, and every transaction requires that it still does, so
 * that one which was taken for dead can do no harm. A process that lost the lock rejects every commit; start it anew.
 *
 * A batch that is larger than etcd takes is written in several transactions; when a later one fails the driver writes no more.
 */
export function etcdDriver(runtime: Runtime, options: EtcdOptions): StorageDriver {
  const { clock, log } = runtime;
  const prefix = options.prefix ?? '/atoll/';
  const name = `the storage ${options.url}${prefix}`;
  const lockKey = `${prefix}lock`;
  const metaKey = `${prefix}meta`;
  let session: Session | undefined;

  function opened(): Session {
    if (session === undefined) throw new Error(`${name} is not open`);
    return session;
  }

  async function open(): Promise<StorageState> {
    if (session !== undefined) throw new Error(`${name} is open already`);
    const client = await etcdClient(options.url);
    try {
      const lease = await client.grant(LEASE_SECONDS);
      const holder = uuid(runtime.random);
      await takeLock(client, lease, holder);
      const text = await client.get(metaKey);
      const meta = text === undefined ? { revision: 0, compacted: 0 } : parseMeta(text);
      if (text === undefined) await client.put(metaKey, metaText(meta));
      session = { client, lease, holder, meta, closed: false };
      keepLease(session);
      return { revision: meta.revision, compactedRevision: meta.compacted };
    } catch (error) {
      await client.close();
      throw new Error(`${name} cannot be opened: ${errorText(error)}`, { cause: error });
    }
  }

  /** Waits for the lease of a process that died; one that lives keeps its own. */
  async function takeLock(client: EtcdClient, lease: string, holder: string): Promise<void> {
    const deadline = clock.monotonic() + (LEASE_SECONDS + 2) * 1000;
    for (;;) {
      const { succeeded } = await client.transact(
        [{ key: base64(lockKey), target: 'CREATE', result: 'EQUAL', createRevision: '0' }],
        [{ requestPut: { key: base64(lockKey), value: base64(holder), lease } }],
        [],
      );
      if (succeeded) return;
      if (clock.monotonic() > deadline)
        throw new Error('another atoll process uses it: stop that process, or choose another prefix');
      await sleep(clock, RETRY_MS);
    }
  }

  function keepLease(held: Session): void {
    clock.after(RENEW_MS, () => {
      if (held.closed) return;
      held.client.renew(held.lease).then(
        (alive) => {
          if (!alive) held.broken ??= new Error(`${name} was lost to another process: its lease ran out`);
        },
        (error: unknown) =>
          log.warn('the lease of the storage could not be renewed', { why: errorText(error) }),
      );
      keepLease(held);
    });
  }

  /**
   * One transaction that takes `meta` from what it is to `next`. May be asked again when the answer was lost: then it finds that
   * it was done.
   */
  async function advance(held: Session, next: Meta, operations: readonly Operation[]): Promise<void> {
    if (held.broken) throw held.broken;
    const { client, holder } = held;
    const compare = [
      { key: base64(lockKey), target: 'VALUE', result: 'EQUAL', value: base64(holder) },
      { key: base64(metaKey), target: 'VALUE', result: 'EQUAL', value: base64(metaText(held.meta)) },
    ];
    const write = [...operations, { requestPut: { key: base64(metaKey), value: base64(metaText(next)) } }];
    const deadline = clock.monotonic() + LEASE_SECONDS * 1000;
    for (;;) {
      try {
        const { succeeded } = await client.transact(compare, write, []);
        if (succeeded || (await isDone(held, next))) {
          held.meta = next;
          return;
        }
        held.broken = new Error(`${name} was lost to another process`);
        throw held.broken;
      } catch (error) {
        if (held.broken || error instanceof EtcdRefusal) throw error;
        if (clock.monotonic() > deadline) {
          held.broken = new Error(`${name} does not answer: ${errorText(error)}`, { cause: error });
          throw held.broken;
        }
        log.warn('the storage does not answer', { why: errorText(error) });
        await sleep(clock, RETRY_MS);
      }
    }
  }

  async function isDone(held: Session, next: Meta): Promise<boolean> {
    const [holder, meta] = [await held.client.get(lockKey), await held.client.get(metaKey)];
    return holder?.toString() === held.holder && meta?.toString() === metaText(next);
  }

  async function* load(): AsyncGenerator<StoredValue> {
    const start = `${prefix}kv/`;
    for await (const { key, value } of opened().client.list(start, PAGE)) {
      yield {
        key: key.slice(start.length),
        createRevision: Number(value.readBigUInt64BE(0)),
        modRevision: Number(value.readBigUInt64BE(8)),
        value: decodeValue(value.subarray(16)),
      };
    }
  }

  async function* changesSince(since: number): AsyncGenerator<StoredChange> {
    const { client } = opened();
    const entries: LogEntry[] = [];
    for await (const { key, value } of client.list(`${prefix}log/`, PAGE, logKey(prefix, since + 1)))
      entries.push(logEntry(Number.parseInt(key.slice(-REVISION_DIGITS), 16), value));
    // From the newest back: what a change made is what the next one of its key found, or what is there now.
    const after = new Map<string, Uint8Array | null>();
    const changes: StoredChange[] = [];
    for (const entry of entries.reverse()) {
      let value: Uint8Array | null = null;
      if (!entry.deleted) {
        const known = after.get(entry.key);
        const present =
          known === undefined ? (await client.get(`${prefix}kv/${entry.key}`))?.subarray(16) : undefined;
        value = known ?? (present === undefined ? null : decodeValue(present));
        if (value === null)
          throw new Error(`${name} cannot be read: revision ${entry.revision} has no value`);
      }
      after.set(entry.key, entry.previous);
      const { revision, key, createRevision, previous } = entry;
      changes.push({ revision, key, value, createRevision, previous });
    }
    yield* changes.reverse();
  }

  async function commit(changes: readonly StoredChange[]): Promise<void> {
    const held = opened();
    let last = held.meta.revision;
    for (const { revision } of changes) {
      if (revision <= last)
        throw new Error(`revision ${revision} comes after ${last} already: it must be higher`);
      last = revision;
    }
    let written = false;
    for (const batch of batches(changes)) {
      const revision = batch.at(-1)?.revision ?? last;
      try {
        await advance(held, { ...held.meta, revision }, operationsOf(prefix, batch));
      } catch (error) {
        // The first part is durable although nobody will believe it: only a new start knows what is there.
        if (written) held.broken ??= new Error(`${name} took a part of a batch only`, { cause: error });
        throw error;
      }
      written = true;
    }
  }

  async function compact(upTo: number): Promise<void> {
    const held = opened();
    const compacted = Math.min(upTo, held.meta.revision);
    if (compacted <= held.meta.compacted) return;
    await advance(held, { ...held.meta, compacted }, [
      {
        requestDeleteRange: { key: base64(`${prefix}log/`), rangeEnd: base64(logKey(prefix, compacted + 1)) },
      },
    ]);
    // etcd's own history of these keys is of no use to anybody.
    await held.client.forgetHistory();
  }

  return {
    open,
    load,
    changesSince,
    commit,
    compact,
    broken: () => session?.broken?.message,
    async close() {
      const held = session;
      if (held === undefined) return;
      session = undefined;
      held.closed = true;
      await held.client.revoke(held.lease).catch((error: unknown) => {
        log.warn('the lease of the storage could not be given back: it runs out by itself', {
          why: errorText(error),
        });
      });
      await held.client.close();
    },
  };
}

function parseMeta(text: Buffer): Meta {
  const { revision, compacted } = JSON.parse(text.toString()) as Partial<Meta>;
  if (typeof revision !== 'number' || typeof compacted !== 'number')
    throw new Error('its meta data is not of this version of atoll');
  return { revision, compacted };
}

function metaText({ revision, compacted }: Meta): string {
  return JSON.stringify({ revision, compacted });
}

const REVISION_DIGITS = 14;

function logKey(prefix: string, revision: number): string {
  return `${prefix}log/${revision.toString(16).padStart(REVISION_DIGITS, '0')}`;
}

/** A transaction may write a key once only: of several changes of a key the last makes what is there. */
function operationsOf(prefix: string, changes: readonly StoredChange[]): Operation[] {
  const last = new Map(changes.map((change) => [change.key, change]));
  const present = [...last.values()].map((change): Operation => {
    const key = base64(`${prefix}kv/${change.key}`);
    return change.value === null
      ? { requestDeleteRange: { key } }
      : { requestPut: { key, value: base64(presentBytes(change, change.value)) } };
  });
  const kept = changes.map((change): Operation => {
    const key = base64(logKey(prefix, change.revision));
    return { requestPut: { key, value: base64(logBytes(change)) } };
  });
  return [...present, ...kept];
}

function presentBytes(change: StoredChange, value: Uint8Array): Buffer {
  const head = Buffer.alloc(16);
  head.writeBigUInt64BE(BigInt(change.createRevision), 0);
  head.writeBigUInt64BE(BigInt(change.revision), 8);
  return Buffer.concat([head, encodeValue(value)]);
}

interface LogEntry {
  readonly revision: number;
  readonly key: string;
  readonly createRevision: number;
  readonly deleted: boolean;
  readonly previous: Uint8Array | null;
}

const DELETED = 1;
const HAS_PREVIOUS = 2;
const LOG_HEAD = 13;

function logBytes({ key, createRevision, value, previous }: StoredChange): Buffer {
  const head = Buffer.alloc(LOG_HEAD);
  const name = Buffer.from(key);
  head.writeBigUInt64BE(BigInt(createRevision), 0);
  head.writeUInt8((value === null ? DELETED : 0) | (previous === null ? 0 : HAS_PREVIOUS), 8);
  head.writeUInt32BE(name.byteLength, 9);
  return Buffer.concat([head, name, ...(previous === null ? [] : [encodeValue(previous)])]);
}

function logEntry(revision: number, bytes: Buffer): LogEntry {
  const flags = bytes.readUInt8(8);
  const end = LOG_HEAD + bytes.readUInt32BE(9);
  return {
    revision,
    key: bytes.subarray(LOG_HEAD, end).toString(),
    createRevision: Number(bytes.readBigUInt64BE(0)),
    deleted: (flags & DELETED) !== 0,
    previous: (flags & HAS_PREVIOUS) === 0 ? null : decodeValue(bytes.subarray(end)),
  };
}

/** Parts that etcd takes in one transaction each. Sizes are before compression, so they are on the safe side. */
function batches(changes: readonly StoredChange[]): StoredChange[][] {
  const parts: StoredChange[][] = [];
  let part: StoredChange[] = [];
  let size = 0;
  for (const change of changes) {
    const bytes = (change.value?.byteLength ?? 0) + (change.previous?.byteLength ?? 0);
    if (part.length > 0 && (part.length >= CHANGES_AT_ONCE || size + bytes > BYTES_AT_ONCE)) {
      parts.push(part);
      part = [];
      size = 0;
    }
    part.push(change);
    size += bytes;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
