import type { KubeObject } from '../../../kube/object.ts';
import { deepEqual } from '../../../schema/json.ts';
import { addQuantities, type Quantity, subtractQuantities, zeroQuantity } from '../../../schema/quantity.ts';
import { namespacePrefix, parseKey, resourcePrefix } from '../../store/key.ts';
import type { Store, StoreEvent, Watch } from '../../store/store.ts';
import { concerns, type Quota, quotaOf } from './quota.ts';
import { type Usage, usageOf } from './usage.ts';

const QUOTAS = 'resourcequotas';

/** One quota with what is used of it. */
export interface Account {
  readonly quota: Quota;
  /** By what is stored. */
  readonly used: ReadonlyMap<string, Quantity>;
  /** By writes that are decided on and not stored yet. */
  readonly reserved: ReadonlyMap<string, Quantity>;
}

/**
 * How much of its quotas each namespace uses: counted once when a quota is first asked about, then kept up to date by every
 * change of the store. All writes go through this process, so with what is reserved for those under way it is exact.
 */
export interface QuotaLedger {
  /** The quotas of a namespace; none costs next to nothing. */
  accounts(cluster: string, namespace: string): readonly Account[];
  /** Counts a write before it is stored, until its change is seen or `release` is called. */
  reserve(key: string, object: KubeObject, previous: KubeObject | undefined): () => void;
  /** Calls back when what is used of quotas in a namespace may have changed. */
  onChange(listener: (cluster: string, namespace: string) => void): void;
  close(): void;
}

interface MutableAccount extends Account {
  readonly used: Map<string, Quantity>;
  reserved: Map<string, Quantity>;
}

interface Reservation {
  readonly key: string;
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
}

interface Book {
  /** All changes up to here are counted. */
  readonly since: number;
  readonly accounts: MutableAccount[];
  /** Writes under way by key, in their order. */
  readonly reservations: Map<string, Reservation[]>;
}

export function quotaLedger(store: Store): QuotaLedger {
  const books = new Map<string, Book>();
  const listeners: ((cluster: string, namespace: string) => void)[] = [];

  let quotas = store.count(resourcePrefix('', QUOTAS));
  /** Everything is watched only while there is a book to keep. */
  let everything: Watch | undefined;

  function tell(changed: ReadonlySet<string>): void {
    for (const id of changed) {
      const [cluster = '', namespace = ''] = id.split('/');
      for (const listener of listeners) listener(cluster, namespace);
    }
  }

  const quotaWatch = store.watch(resourcePrefix('', QUOTAS), store.revision, (events) => {
    const changed = new Set<string>();
    for (const { type, record } of events) {
      if (type === 'created') quotas += 1;
      if (type === 'deleted') quotas -= 1;
      const { cluster, namespace } = parseKey(record.key);
      const id = `${cluster}/${namespace}`;
      changed.add(id);
      const book = books.get(id);
      const next = type === 'deleted' ? undefined : record.object;
      if (book && !isSameQuota(book, record.key, next))
        books.set(id, open(cluster, namespace, book.reservations));
      if (next === undefined && books.get(id)?.accounts.length === 0) close(id);
    }
    tell(changed);
  });

  function noteEvents(events: readonly StoreEvent[]): void {
    const changed = new Set<string>();
    for (const event of events) {
      const { group, resource, cluster, namespace } = parseKey(event.record.key);
      const id = `${cluster}/${namespace}`;
      const book = books.get(id);
      if (book && noteEvent(book, event, group, resource)) changed.add(id);
    }
    tell(changed);
  }

  /** Whether the event changes what is used, or may have done so before the book was opened. */
  function noteEvent(book: Book, event: StoreEvent, group: string, resource: string): boolean {
    const { key, object } = event.record;
    const [first] = book.reservations.get(key) ?? [];
    if (first) withdraw(book, first);
    if (event.revision <= book.since) return true;
    const previous = event.type === 'created' ? undefined : (event.previous?.object ?? object);
    const next = event.type === 'deleted' ? undefined : object;
    let moved = false;
    for (const account of book.accounts)
      if (move(account.used, account.quota, group, resource, next, previous)) moved = true;
    return moved;
  }

  /** Forgets a namespace without quotas, unless writes are under way that are counted there. */
  function close(id: string): void {
    const book = books.get(id);
    if (!book || book.reservations.size > 0) return;
    books.delete(id);
    if (books.size > 0) return;
    everything?.stop();
    everything = undefined;
  }

  function isSameQuota(book: Book, key: string, object: KubeObject | undefined): boolean {
    const known = book.accounts.find((account) => account.quota.key === key);
    return known === undefined
      ? object === undefined
      : object !== undefined && deepEqual(known.quota.spec, object.spec);
  }

  /** Counts everything in a namespace. */
  function open(cluster: string, namespace: string, reservations: Book['reservations']): Book {
    const accounts = store.list(namespacePrefix('', QUOTAS, cluster, namespace)).records.map(
      ({ key, object }): MutableAccount => ({
        quota: quotaOf(key, object),
        used: new Map(),
        reserved: new Map(),
      }),
    );
    for (const { group, resource } of countedKinds(accounts)) {
      for (const { object } of store.list(namespacePrefix(group, resource, cluster, namespace)).records)
        for (const account of accounts) move(account.used, account.quota, group, resource, object, undefined);
    }
    const book: Book = { since: store.revision, accounts, reservations };
    for (const list of reservations.values()) for (const one of list) enter(book, one);
    return book;
  }

  function enter({ accounts }: Book, { key, object, previous }: Reservation): void {
    const { group, resource } = parseKey(key);
    for (const account of accounts) move(account.reserved, account.quota, group, resource, object, previous);
  }

  /** Takes a reservation back, if it still stands. */
  function withdraw(book: Book, reservation: Reservation): void {
    const { key, object, previous } = reservation;
    const list = book.reservations.get(key);
    const index = list?.indexOf(reservation) ?? -1;
    if (!list || index < 0) return;
    list.splice(index, 1);
    if (list.length === 0) book.reservations.delete(key);
    const { group, resource } = parseKey(key);
    for (const account of book.accounts)
      move(account.reserved, account.quota, group, resource, previous, object);
  }

  return {
    accounts(cluster, namespace) {
      const id = `${cluster}/${namespace}`;
      if (quotas === 0 || store.count(namespacePrefix('', QUOTAS, cluster, namespace)) === 0) {
        if (books.size > 0) close(id);
        return [];
      }
      let book = books.get(id);
      if (!book) {
        everything ??= store.watch('/', store.revision, noteEvents);
        book = open(cluster, namespace, new Map());
        books.set(id, book);
      }
      return book.accounts;
    },
    reserve(key, object, previous) {
      const { cluster, namespace } = parseKey(key);
      const id = `${cluster}/${namespace}`;
      const book = books.get(id);
      if (!book) return () => {};
      const reservation: Reservation = { key, object, previous };
      const list = book.reservations.get(key) ?? [];
      list.push(reservation);
      book.reservations.set(key, list);
      enter(book, reservation);
      return () => {
        // The book may have been opened anew; the reservations went over to that.
        const now = books.get(id);
        if (now) withdraw(now, reservation);
      };
    },
    onChange: (listener) => listeners.push(listener),
    close() {
      quotaWatch.stop();
      everything?.stop();
    },
  };
}

/** Adds what `next` uses to an account of a quota and takes off what `previous` did; whether that makes a difference. */
function move(
  amounts: Map<string, Quantity>,
  quota: Quota,
  group: string,
  resource: string,
  next: KubeObject | undefined,
  previous: KubeObject | undefined,
): boolean {
  const gained = usageUnder(quota, group, resource, next);
  const lost = usageUnder(quota, group, resource, previous);
  let moved = false;
  for (const name of quota.hard.keys()) {
    const more = gained?.get(name) ?? zeroQuantity;
    const less = lost?.get(name) ?? zeroQuantity;
    if (more.nanos === less.nanos) continue;
    moved = true;
    const sum = addQuantities(amounts.get(name) ?? zeroQuantity, more);
    amounts.set(name, subtractQuantities(sum, less));
  }
  return moved;
}

/** What an object uses of a quota, if that is about it. */
export function usageUnder(
  quota: Quota,
  group: string,
  resource: string,
  object: KubeObject | undefined,
): Usage | undefined {
  return object && concerns(quota, group, resource, object) ? usageOf(group, resource, object) : undefined;
}

/** The kinds that any of the quotas counts. */
function countedKinds(accounts: readonly Account[]): { group: string; resource: string }[] {
  const kinds = new Set<string>();
  for (const { quota } of accounts) {
    for (const name of quota.hard.keys()) {
      const [base = ''] = name.split('.');
      if (name.startsWith('count/')) kinds.add(name.slice('count/'.length));
      else if (name.includes('/') && name.includes('.storageclass.')) kinds.add('persistentvolumeclaims');
      else if (name === 'requests.storage') kinds.add('persistentvolumeclaims');
      else if (COUNTED.has(base)) kinds.add(base);
      else kinds.add('pods');
    }
  }
  return [...kinds].map((kind) => {
    const dot = kind.indexOf('.');
    return dot < 0
      ? { group: '', resource: kind }
      : { group: kind.slice(dot + 1), resource: kind.slice(0, dot) };
  });
}

const COUNTED: ReadonlySet<string> = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]);
