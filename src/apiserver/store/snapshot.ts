import type { History } from './history.ts';
import type { SortedMap } from './sorted-map.ts';
import type { StoreList, StoreRecord } from './store.ts';

/**
 * The keys of a prefix as a half-open range, behind `after` when given. A prefix ends with a slash, or is one whole key,
 * which stands for itself only; '' is everything.
 */
export function rangeOf(prefix: string, after?: string): { start: string; end: string } {
  // '0' follows '/' and '\0' comes before all that a key may hold.
  const start = after === undefined || after < prefix ? prefix : `${after}\0`;
  const end = prefix === '' ? '0' : prefix.endsWith('/') ? `${prefix.slice(0, -1)}0` : `${prefix}\0`;
  return { start, end };
}

/** At most `most` of the present records of a range. */
export function listPresent(
  index: SortedMap<StoreRecord>,
  start: string,
  end: string,
  most: number,
  revision: number,
): StoreList {
  const records: StoreRecord[] = [];
  let more = false;
  index.scan(start, (key, record) => {
    if (key >= end) return false;
    more = records.length >= most;
    if (more) return false;
    records.push(record);
    return true;
  });
  const last = records[records.length - 1];
  const remaining = more && last !== undefined ? index.countBetween(`${last.key}\0`, end) : 0;
  return { revision, records, more, remaining };
}

/** The state at `revision`: the present one with all later events taken back. */
export function listPast(
  index: SortedMap<StoreRecord>,
  past: History,
  start: string,
  end: string,
  most: number,
  revision: number,
): StoreList {
  const before = new Map<string, StoreRecord | undefined>();
  past.backward(revision, (event) => {
    const { key } = event.record;
    if (key >= start && key < end) before.set(key, event.previous);
  });
  const gone: StoreRecord[] = [];
  for (const [key, record] of before)
    if (record !== undefined && index.get(key) === undefined) gone.push(record);
  gone.sort((a, b) => (a.key < b.key ? -1 : 1));

  const records: StoreRecord[] = [];
  let remaining = 0;
  const take = (record: StoreRecord): void => {
    if (records.length < most) records.push(record);
    else remaining += 1;
  };
  let next = 0;
  const takeGone = (bound: string): void => {
    for (let record = gone[next]; record !== undefined && record.key < bound; record = gone[++next])
      take(record);
  };
  index.scan(start, (key, present) => {
    if (key >= end) return false;
    takeGone(key);
    const record = before.has(key) ? before.get(key) : present;
    if (record !== undefined) take(record);
    return true;
  });
  takeGone(end);
  return { revision, records, more: remaining > 0, remaining };
}
