/** Bytes in order, taken piece by piece. */
export interface ByteSource {
  /** What comes next, never empty; `undefined` at the end. One reader at a time. */
  read(): Promise<Uint8Array | undefined>;
  /** Nobody reads any more: whoever writes is told. */
  cancel(): void;
}

export interface ByteSink {
  /** Resolves when there is room for more. Rejects with {@link BrokenPipe} when nobody reads any more. */
  write(chunk: Uint8Array): Promise<void>;
  /** There is no more to come. */
  end(): void;
}

/** Whoever should read has stopped. */
export class BrokenPipe extends Error {
  constructor() {
    super('write error: Broken pipe');
    this.name = 'BrokenPipe';
  }
}

const DEFAULT_LIMIT = 256 * 1024;

/** What is written at one end is read at the other. A writer waits once `limit` bytes are unread. */
export function bytePipe(limit: number = DEFAULT_LIMIT): ByteSource & ByteSink {
  let queue: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  let broken = false;
  let wakeReader: (() => void) | undefined;
  let waiting: (() => void)[] = [];

  function wakeWriters(): void {
    const all = waiting;
    waiting = [];
    for (const wake of all) wake();
  }

  return {
    async read() {
      while (queue.length === 0 && !ended && !broken)
        await new Promise<void>((resolve) => {
          wakeReader = resolve;
        });
      const chunk = queue.shift();
      if (chunk === undefined) return undefined;
      size -= chunk.byteLength;
      if (size < limit) wakeWriters();
      return chunk;
    },
    cancel() {
      broken = true;
      queue = [];
      size = 0;
      wakeWriters();
      wakeReader?.();
    },
    async write(chunk) {
      if (broken || ended) throw new BrokenPipe();
      if (chunk.byteLength === 0) return;
      queue.push(chunk);
      size += chunk.byteLength;
      wakeReader?.();
      while (size >= limit && !broken && !ended)
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      if (broken) throw new BrokenPipe();
    },
    end() {
      ended = true;
      wakeWriters();
      wakeReader?.();
    },
  };
}

/** A source that is over before it begins. */
export const noBytes: ByteSource = { read: () => Promise.resolve(undefined), cancel: () => {} };

/** Takes everything and keeps nothing. */
export const discard: ByteSink = { write: () => Promise.resolve(), end: () => {} };

/** Passes all of a source on, then ends the sink. */
export async function pump(source: ByteSource, sink: ByteSink): Promise<void> {
  try {
    for (let chunk = await source.read(); chunk !== undefined; chunk = await source.read())
      await sink.write(chunk);
  } catch (error) {
    if (!(error instanceof BrokenPipe)) throw error;
    source.cancel();
  } finally {
    sink.end();
  }
}
