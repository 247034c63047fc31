import { close, closeSync, fdatasync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { errorText } from '../../runtime/index.ts';
import type { StorageDriver, StorageState, StoredChange, StoredValue } from './driver.ts';
import { decodeValue, encodeValue } from './stored-bytes.ts';

/** Marks our files in SQLite's header ("Atol"), so that another application's database is never touched. */
const APPLICATION_ID = 0x41746f6c;
const SCHEMA_VERSION = 1;

/**
 * `kv` is the present state. `log` holds, for each change that is kept, the value *before* it: the value after it is that
 * of the next change of the same key, or the present one. So each value is written once and moved once, compressed as it is.
 *
 * `kv` is an ordinary table: one WITHOUT ROWID puts rows above a quarter of a page on pages of their own, which made
 * inserts of usual objects three times slower and the file twice as large.
 */
const SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE kv (
    key TEXT PRIMARY KEY, create_rev INTEGER NOT NULL, mod_rev INTEGER NOT NULL, value BLOB NOT NULL
  );
  CREATE TABLE log (
    rev INTEGER PRIMARY KEY, key TEXT NOT NULL, create_rev INTEGER NOT NULL, deleted INTEGER NOT NULL, previous BLOB
  );
  INSERT INTO meta VALUES ('schema', ${SCHEMA_VERSION}), ('compacted', 0);
  PRAGMA application_id = ${APPLICATION_ID};
`;

/** SQLite's result codes that have a plain meaning for whoever runs this. */
const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

interface Connection {
  readonly db: DatabaseSync;
  /** SQLite's log of what is committed, open for syncing. */
  readonly wal: number;
  readonly begin: StatementSync;
  readonly commit: StatementSync;
  readonly logChange: StatementSync;
  readonly put: StatementSync;
  readonly remove: StatementSync;
}

/**
 * Storage in one SQLite file (with its `-wal` beside it), created with its folder when absent and readable by its owner
 * only. The file is locked as long as it is open: a second process fails to open it with an error that says so.
 * A commit is one transaction and has reached the disk when it resolves.
 *
 * That is what `synchronous = FULL` promises, and how it does it: the log is synced behind each transaction. SQLite would do so
 * while everything waits. So it is left to sync what concerns the file's consistency (NORMAL), and the log is synced here, by a
 * thread of the pool, while requests are served and the next transaction gathers.
 */
export function sqliteDriver(path: string): StorageDriver {
  let connection: Connection | undefined;
  let revision = 0;
  /** Why the log could not be synced: nobody knows what of it is on the disk then, so nothing more is promised. */
  let unsynced: Error | undefined;

  function connected(): Connection {
    if (connection === undefined) throw new Error(`the storage ${path} is not open`);
    return connection;
  }

  async function open(): Promise<StorageState> {
    if (connection !== undefined) throw new Error(`the storage ${path} is open already`);
    const opened = guarded(path, 'opened', () => openDatabase(path));
    connection = opened.connection;
    revision = opened.state.revision;
    return opened.state;
  }

  async function* load(): AsyncGenerator<StoredValue> {
    const rows = connected()
      .db.prepare('SELECT key, create_rev, mod_rev, value FROM kv ORDER BY key')
      .iterate();
    for (const row of guardedRows(path, rows)) {
      yield {
        key: text(row.key),
        value: guarded(path, 'read', () => decodeValue(blob(row.value))),
        createRevision: number(row.create_rev),
        modRevision: number(row.mod_rev),
      };
    }
  }

  async function* changesSince(since: number): AsyncGenerator<StoredChange> {
    const { db } = connected();
    const next = guarded(path, 'read', () => nextRevisions(db, since));
    const previousAt = db.prepare('SELECT previous FROM log WHERE rev = ?');
    const presentOf = db.prepare('SELECT value FROM kv WHERE key = ?');
    const rows = db
      .prepare('SELECT rev, key, create_rev, deleted, previous FROM log WHERE rev > ? ORDER BY rev')
      .iterate(since);
    /** The value of each key after the last change given, so that its next change shares the bytes. */
    const last = new Map<string, Uint8Array>();
    for (const row of guardedRows(path, rows)) {
      const key = text(row.key);
      const changed = number(row.rev);
      const change = guarded(path, 'read', (): StoredChange => {
        const previous = row.previous === null ? null : (last.get(key) ?? decodeValue(blob(row.previous)));
        let value: Uint8Array | null = null;
        if (row.deleted === 0) {
          const following = next.get(changed);
          const stored =
            following === undefined ? presentOf.get(key)?.value : previousAt.get(following)?.previous;
          value = decodeValue(blob(stored));
        }
        return { revision: changed, key, value, createRevision: number(row.create_rev), previous };
      });
      if (change.value === null) last.delete(key);
      else last.set(key, change.value);
      yield change;
    }
  }

  async function commit(changes: readonly StoredChange[]): Promise<void> {
    const { db, wal, begin, commit: end, logChange, put, remove } = connected();
    if (unsynced !== undefined) throw unsynced;
    guarded(path, 'written', () => {
      begin.run();
      try {
        for (const { key, revision: changed, createRevision, value } of changes) {
          logChange.run(changed, key, createRevision, value === null ? 1 : 0, key);
          if (value === null) remove.run(key);
          else put.run(key, createRevision, changed, encodeValue(value));
        }
        end.run();
      } catch (error) {
        // SQLite has rolled back by itself after some errors, such as a full disk.
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
    });
    revision = changes[changes.length - 1]?.revision ?? revision;
    try {
      await syncFile(wal);
    } catch (error) {
      unsynced = new Error(
        `the storage ${path} cannot be synced to its disk: ${errorText(error)}; it takes no more writes until it is opened again`,
        { cause: error },
      );
      throw unsynced;
    }
  }

  async function compact(upTo: number): Promise<void> {
    const { db } = connected();
    const bound = Math.min(upTo, revision);
    guarded(path, 'written', () => {
      db.exec('BEGIN IMMEDIATE');
      try {
        db.prepare('DELETE FROM log WHERE rev <= ?').run(bound);
        db.prepare("UPDATE meta SET value = max(value, ?) WHERE name = 'compacted'").run(bound);
        db.exec('COMMIT');
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
    });
  }

  async function close(): Promise<void> {
    const closing = connection;
    connection = undefined;
    if (closing === undefined) return;
    // First the file: the last connection of SQLite removes it.
    await closeFile(closing.wal);
    guarded(path, 'closed', () => closing.db.close());
  }

  return { open, load, changesSince, commit, compact, broken: () => unsynced?.message, close };
}

function openDatabase(path: string): { connection: Connection; state: StorageState } {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // SQLite would create it readable by all; the files beside it take over the mode.
  closeSync(openSync(path, 'a', 0o600));
  const db = new DatabaseSync(path);
  try {
    // Exclusive locking keeps a second process out, and the index of the log in our memory instead of a shared file.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -2048;');
    const fresh = checkIdentity(db);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 8388608;');
    db.exec(`BEGIN EXCLUSIVE; ${fresh ? SCHEMA : ''} COMMIT;`);
    // From here on a commit is synced by whoever makes it; see above.
    db.exec('PRAGMA synchronous = NORMAL');
    const state = readState(db);
    const connection: Connection = {
      db,
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      logChange: db.prepare(
        'INSERT INTO log (rev, key, create_rev, deleted, previous) VALUES (?, ?, ?, ?, (SELECT value FROM kv WHERE key = ?))',
      ),
      put: db.prepare(
        'INSERT INTO kv (key, create_rev, mod_rev, value) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET create_rev = excluded.create_rev, mod_rev = excluded.mod_rev, value = excluded.value',
      ),
      remove: db.prepare('DELETE FROM kv WHERE key = ?'),
      wal: openSync(`${path}-wal`, 'r+'),
    };
    return { connection, state };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Whether the file is empty; throws when it is someone else's. Changes nothing. */
function checkIdentity(db: DatabaseSync): boolean {
  const tables = number(db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n);
  const application = number(db.prepare('PRAGMA application_id').get()?.application_id);
  if (tables === 0 && application === 0) return true;
  if (application !== APPLICATION_ID)
    throw new Error('it is a database of another application: choose another file');
  const version = metaValue(db, 'schema');
  if (version !== SCHEMA_VERSION)
    throw new Error(
      `it has version ${version} of the storage format and this program knows ${SCHEMA_VERSION}: use the version of atoll that wrote it`,
    );
  return false;
}

function readState(db: DatabaseSync): StorageState {
  const compactedRevision = metaValue(db, 'compacted');
  const logged = number(db.prepare('SELECT coalesce(max(rev), 0) AS rev FROM log').get()?.rev);
  return { revision: Math.max(compactedRevision, logged), compactedRevision };
}

function metaValue(db: DatabaseSync, name: string): number {
  return number(db.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.value);
}

/** For each change above `since` the next change of the same key, where there is one. */
function nextRevisions(db: DatabaseSync, since: number): Map<number, number> {
  const next = new Map<number, number>();
  const last = new Map<string, number>();
  for (const row of db.prepare('SELECT rev, key FROM log WHERE rev > ? ORDER BY rev').iterate(since)) {
    const key = text(row.key);
    const changed = number(row.rev);
    const before = last.get(key);
    if (before !== undefined) next.set(before, changed);
    last.set(key, changed);
  }
  return next;
}

function* guardedRows<T>(path: string, rows: Iterator<T>): Generator<T> {
  const next = (): IteratorResult<T> => guarded(path, 'read', () => rows.next());
  try {
    for (let row = next(); !row.done; row = next()) yield row.value;
  } finally {
    rows.return?.();
  }
}

/** Runs `action` and says in plain words what an error of SQLite means for this file. */
function guarded<T>(path: string, what: 'opened' | 'read' | 'written' | 'closed', action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new Error(`the storage ${path} cannot be ${what}: ${meaning(error)}`, { cause: error });
  }
}

function meaning(error: unknown): string {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  switch (code) {
    case BUSY:
    case LOCKED:
      return 'another atoll process uses it: stop that process, or choose another file';
    case CORRUPT:
      return 'the file is damaged: restore it from a backup, or move it away to start empty';
    case NOT_A_DATABASE:
      return 'it is not a database of atoll: choose another file, or restore this one from a backup';
    case FULL:
      return 'the disk is full';
    case READ_ONLY:
      return 'the file or its folder is read-only';
    case CANNOT_OPEN:
      return 'it is no readable file, or its folder cannot be used';
    default:
      return errorText(error);
  }
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error('the file is damaged: a text is missing');
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new Error('the file is damaged: a number is missing');
  return value;
}

function blob(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error('the file is damaged: a value is missing');
  return value;
}
