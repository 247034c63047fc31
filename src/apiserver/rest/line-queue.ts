import type { BodyFlow, FlowingBody } from '../../kube/exchange.ts';
import { joined } from './event-line.ts';

/** Lines on their way to a connection. */
export interface LineQueue extends FlowingBody {
  readonly ended: boolean;
  /** Adds a line to what the next `flush` sends. */
  readonly push: (line: Uint8Array) => void;
  readonly flush: () => void;
  end(): void;
  onOverflow(callback: () => void): void;
}

/** Lines wait until the connection takes them, all at once. What waits beyond `limit` bytes is told by `onOverflow`. */
export function lineQueue(limit: number): LineQueue {
  // Nearly always there is one: what is told to a thousand watchers at once makes no thousand lists.
  let first: Uint8Array | undefined;
  let more: Uint8Array[] | undefined;
  let size = 0;
  let ended = false;
  let reading = false;
  /** Tells whoever reads that there is something, or that nothing more comes. */
  let wake: (() => void) | undefined;
  let overflow: () => void = () => {};

  /** All that waits. To be called where something does. */
  function taken(): Uint8Array {
    const whole = first ?? new Uint8Array();
    const chunk = more === undefined ? whole : joined([whole, ...more]);
    drop();
    return chunk;
  }

  function drop(): void {
    first = undefined;
    more = undefined;
    size = 0;
  }

  function flow(take: (chunk: Uint8Array) => boolean, over: () => void): BodyFlow {
    let blocked = false;
    let isOver = false;
    reading = true;
    const go = (): void => {
      if (isOver) return;
      while (first !== undefined && !blocked) blocked = !take(taken());
      if (!ended || blocked) return;
      isOver = true;
      over();
    };
    wake = go;
    go();
    return {
      resume() {
        blocked = false;
        go();
      },
      stop() {
        ended = true;
        drop();
        blocked = false;
        go();
      },
    };
  }

  return {
    get ended(): boolean {
      return ended;
    },
    push: (line) => {
      if (ended || line.byteLength === 0) return;
      if (first === undefined) first = line;
      else {
        more ??= [];
        more.push(line);
      }
      size += line.byteLength;
      // Initial events may exceed the limit before anyone reads; only what piles up behind a reader counts.
      if (reading && size > limit) overflow();
    },
    flush: () => wake?.(),
    end() {
      ended = true;
      wake?.();
    },
    onOverflow(callback) {
      overflow = callback;
    },
    flow,
    async *[Symbol.asyncIterator]() {
      reading = true;
      for (;;) {
        if (first !== undefined) yield taken();
        else if (ended) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
