import { wordAt } from './frame.ts';

/** A stream (0: the session) and the bytes that its other end may send besides. */
export type WindowUpdate = readonly [streamId: number, delta: number];

/**
 * The windows of SPDY/3.1, in both directions. Not every client counts them, and one that does not never makes them grow: so
 * they hold nobody up until the client has shown, by SETTINGS or WINDOW_UPDATE, that it does.
 */
export interface SendWindows {
  open(id: number): void;
  forget(id: number): void;
  /** Resolves with how many of `wanted` bytes may be sent on a stream now, and counts them as sent. */
  room(id: number, wanted: number): Promise<number>;
  /** The client lets more be sent. Returns what is owed to it by now. */
  grow(id: number, delta: number): WindowUpdate[];
  settings(payload: Uint8Array): WindowUpdate[];
  /** Bytes of the client were taken. Returns what to tell it. */
  consumed(id: number, bytes: number, isOpen: boolean): WindowUpdate[];
  /** Lets everybody go on who waits. */
  close(): void;
}

const INITIAL_WINDOW = 65_536;
const INITIAL_WINDOW_SETTING = 7;
const MAX_WINDOW = 0x7fff_ffff;

export function sendWindows(): SendWindows {
  const left = new Map<number, number>();
  const owed = new Map<number, number>();
  let session = INITIAL_WINDOW;
  let initial = INITIAL_WINDOW;
  let counting = false;
  let closed = false;
  let waiting: (() => void)[] = [];

  function wake(): void {
    const all = waiting;
    waiting = [];
    for (const each of all) each();
  }

  /** The client counts: what it was not told of before, it learns now. */
  function begin(): WindowUpdate[] {
    counting = true;
    const updates = [...owed];
    owed.clear();
    wake();
    return updates;
  }

  return {
    open(id) {
      left.set(id, initial);
    },
    forget(id) {
      left.delete(id);
      owed.delete(id);
      wake();
    },
    async room(id, wanted) {
      let room = wanted;
      for (;;) {
        if (!counting || closed || !left.has(id)) break;
        room = Math.min(wanted, session, left.get(id) ?? 0);
        if (room > 0) break;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
        room = wanted;
      }
      session -= room;
      const own = left.get(id);
      if (own !== undefined) left.set(id, own - room);
      return room;
    },
    grow(id, delta) {
      if (id === 0) session = Math.min(MAX_WINDOW, session + delta);
      else {
        const own = left.get(id);
        if (own !== undefined) left.set(id, Math.min(MAX_WINDOW, own + delta));
      }
      return begin();
    },
    settings(payload) {
      const count = Math.min(wordAt(payload, 0), 100);
      for (let index = 0; index < count; index++) {
        if ((wordAt(payload, 1 + index * 2) & 0xff_ffff) !== INITIAL_WINDOW_SETTING) continue;
        const next = Math.min(MAX_WINDOW, wordAt(payload, 2 + index * 2));
        for (const [id, own] of left) left.set(id, own + next - initial);
        initial = next;
      }
      return begin();
    },
    consumed(id, bytes, isOpen) {
      if (bytes === 0) return [];
      const updates: WindowUpdate[] = [[0, bytes]];
      if (isOpen) updates.push([id, bytes]);
      if (counting) return updates;
      for (const [stream, delta] of updates) owed.set(stream, (owed.get(stream) ?? 0) + delta);
      return [];
    },
    close() {
      closed = true;
      wake();
    },
  };
}
