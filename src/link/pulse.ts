import type { Http2Session } from 'node:http2';
import type { Runtime, Timer } from '../runtime/index.ts';

/** Finds connections whose other end vanished without a word. One timer serves any number of them. */
export interface Pulse {
  /**
   * Pings the other end of a session at every interval; calls `onDead` once when a ping is not answered in time, so at most
   * interval + timeout after the other end vanished. Returns what stops that.
   */
  watch(session: Http2Session, onDead: () => void): () => void;
}

interface Entry {
  readonly session: Http2Session;
  readonly onDead: () => void;
  readonly onAnswer: (error: Error | null) => void;
  readonly slot: Set<Entry>;
  /** Of the newest ping, and of the newest answer. */
  sent: number;
  answered: number;
  stopped: boolean;
}

interface Waiting {
  readonly entry: Entry;
  readonly ping: number;
  readonly deadline: number;
}

/** Ticks of an interval. Sessions are spread over them, so that the pings of thousands do not come at once. */
const TICKS = 16;

/**
 * Each session is pinged once in `TICKS - 1` ticks, so that the tick by which a timeout may be noticed late is made up for.
 * A process that was stopped or busy gives everybody that time on top: silence that it slept through proves nothing.
 */
export function pulse(runtime: Runtime, intervalMs: number, timeoutMs: number): Pulse {
  const { clock } = runtime;
  const tickMs = Math.max(1, Math.min(intervalMs, timeoutMs) / TICKS);
  const slots = Array.from(
    { length: Math.max(1, Math.floor(intervalMs / tickMs) - 1) },
    () => new Set<Entry>(),
  );
  /** In the order of their deadlines: all timeouts are alike. */
  let waiting: Waiting[] = [];
  let head = 0;
  let entries = 0;
  let current = 0;
  let placed = 0;
  let timer: Timer | undefined;
  let expectedAt = 0;
  let slept = 0;

  function schedule(): void {
    expectedAt = clock.monotonic() + tickMs;
    timer = clock.after(tickMs, tick);
  }

  function tick(): void {
    const now = clock.monotonic();
    const late = now - expectedAt;
    if (late > tickMs) slept += late;
    for (let next = waiting[head]; next !== undefined && next.deadline + slept <= now; next = waiting[head]) {
      head += 1;
      if (!next.entry.stopped && next.entry.answered < next.ping) die(next.entry);
    }
    if (head > 1024 && head * 2 > waiting.length) {
      waiting = waiting.slice(head);
      head = 0;
    }
    current = (current + 1) % slots.length;
    for (const entry of slots[current] ?? []) ping(entry, now);
    if (entries > 0) schedule();
    else timer = undefined;
  }

  function ping(entry: Entry, now: number): void {
    // A ping that still waits for its answer has a deadline of its own.
    if (entry.answered < entry.sent) return;
    entry.sent += 1;
    waiting.push({ entry, ping: entry.sent, deadline: now + timeoutMs - slept });
    // False when it cannot be sent; the deadline tells then.
    if (!entry.session.destroyed) entry.session.ping(entry.onAnswer);
  }

  function die(entry: Entry): void {
    stop(entry);
    entry.onDead();
  }

  function stop(entry: Entry): void {
    if (entry.stopped) return;
    entry.stopped = true;
    entry.slot.delete(entry);
    entries -= 1;
    if (entries > 0) return;
    timer?.cancel();
    timer = undefined;
    waiting = [];
    head = 0;
  }

  return {
    watch(session, onDead): () => void {
      placed += 1;
      const slot = slots[placed % slots.length] as Set<Entry>;
      const entry: Entry = {
        session,
        onDead,
        slot,
        sent: 0,
        answered: 0,
        stopped: false,
        onAnswer: (error) => {
          if (error === null) entry.answered = entry.sent;
        },
      };
      slot.add(entry);
      entries += 1;
      const stopThis = (): void => stop(entry);
      session.on('close', stopThis);
      if (timer === undefined) schedule();
      return stopThis;
    },
  };
}

/** Whether the other end answers an HTTP/2 ping in time. */
export function answersPing(runtime: Runtime, session: Http2Session, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    if (session.destroyed || session.closed) {
      resolve(false);
      return;
    }
    const timer = runtime.clock.after(timeoutMs, () => resolve(false));
    const onAnswer = (error: Error | null): void => {
      timer.cancel();
      resolve(error === null);
    };
    // False when too many pings are unanswered already.
    if (!session.ping(onAnswer)) {
      timer.cancel();
      resolve(false);
    }
  });
}
