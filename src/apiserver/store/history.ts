import { squeezeRecord } from './record.ts';
import type { StoreEvent } from './store.ts';

/** What the history may hold. What lies within all three bounds is kept; the rest goes at the next {@link History.trim}. */
export interface HistoryBounds {
  readonly events: number;
  readonly ageMs: number;
  /** Of the states that are kept for history's sake. */
  readonly bytes: number;
}

/** The newest events of the store, in revision order. */
export interface History {
  /** Events up to this revision are forgotten. */
  readonly floor: number;
  readonly length: number;
  /** When the oldest event will be too old, by the clock that {@link History.push} was told of; `undefined` where there is none. */
  readonly expiresAt: number | undefined;
  /** `now` is monotonic time, in milliseconds. */
  push(event: StoreEvent, now: number): void;
  /** Forgets what is out of bounds; returns how many events that were. */
  trim(now: number): number;
  /**
   * Makes what events before `until` replaced small, oldest first, at most `most` of them. Returns when the next one came that is
   * not small yet; `undefined` where there is none.
   */
  squeeze(until: number, most: number): number | undefined;
  /** Forgets all events up to `revision`, whatever the bounds; returns how many that were. */
  forget(revision: number): number;
  /** Visits the events above `revision`, oldest first. */
  forward(revision: number, visit: (event: StoreEvent) => void): void;
  /** Visits the events above `revision`, newest first. */
  backward(revision: number, visit: (event: StoreEvent) => void): void;
}

interface Entry {
  readonly event: StoreEvent;
  readonly at: number;
  readonly size: number;
}

export function history(bounds: HistoryBounds, initialFloor: number): History {
  // A queue in an array: `head` is the first live entry; the dead ones before it are cut off now and then.
  let entries: (Entry | undefined)[] = [];
  let head = 0;
  /** The first entry whose previous state is not small yet. */
  let loose = 0;
  let size = 0;
  let floor = initialFloor;

  /** Position of the first entry above `revision`. */
  function position(revision: number): number {
    let low = head;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((entries[middle]?.event.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function drop(entry: Entry): void {
    entries[head] = undefined;
    head += 1;
    size -= entry.size;
    floor = entry.event.revision;
  }

  return {
    get floor() {
      return floor;
    },
    get length() {
      return entries.length - head;
    },
    get expiresAt() {
      const oldest = entries[head];
      return oldest === undefined ? undefined : oldest.at + bounds.ageMs;
    },
    push(event, now) {
      // The previous state is what would be free without the history; the new one is the index's as well.
      const bytes = event.previous?.bytes.byteLength ?? 0;
      entries.push({ event, at: now, size: bytes });
      size += bytes;
    },
    trim(now) {
      const before = head;
      for (let entry = entries[head]; entry !== undefined; entry = entries[head]) {
        const inside =
          entries.length - head <= bounds.events && size <= bounds.bytes && now - entry.at <= bounds.ageMs;
        if (inside) break;
        drop(entry);
      }
      const dropped = head - before;
      if (head > 1024 && head > entries.length >>> 1) {
        entries = entries.slice(head);
        loose = Math.max(0, loose - head);
        head = 0;
      }
      return dropped;
    },
    squeeze(until, most) {
      loose = Math.max(loose, head);
      for (let left = most; loose < entries.length; loose++) {
        const entry = entries[loose];
        if (entry === undefined) continue;
        if (entry.at > until || left === 0) return entry.at;
        left -= 1;
        const { previous, record } = entry.event;
        if (previous !== undefined) squeezeRecord(previous, record);
      }
      return undefined;
    },
    forget(revision) {
      const before = head;
      for (let entry = entries[head]; entry !== undefined && entry.event.revision <= revision; ) {
        drop(entry);
        entry = entries[head];
      }
      floor = Math.max(floor, revision);
      return head - before;
    },
    forward(revision, visit) {
      for (let i = position(revision); i < entries.length; i++) {
        const entry = entries[i];
        if (entry !== undefined) visit(entry.event);
      }
    },
    backward(revision, visit) {
      const first = position(revision);
      for (let i = entries.length - 1; i >= first; i--) {
        const entry = entries[i];
        if (entry !== undefined) visit(entry.event);
      }
    },
  };
}
