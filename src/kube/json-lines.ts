import { bodyChunks, type Response } from './exchange.ts';

const NEWLINE = 10;

/** The longest line of a watch stream that is accepted: more than five times the largest object that is stored. */
export const LINE_LIMIT: number = 8 * 1024 * 1024;

export interface LineOptions {
  /** The longest line that is accepted, in bytes. */
  readonly limit?: number;
  /** Once it is aborted nothing more comes, and what fails then is the end, no error. */
  readonly signal?: AbortSignal | undefined;
}

/** What an iterator says that has nothing more. */
export const OVER: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * The lines of a streamed body, without their ends. A line that comes in many chunks is joined once, when it is
 * complete. Throws RangeError when a line is longer than `limit` bytes.
 */
export function lines(
  response: Response,
  limit: number = LINE_LIMIT,
): AsyncIterableIterator<string, undefined> {
  return decodedLines(response, (line) => line, { limit });
}

/**
 * What `decode` makes of each line. To be asked for one at a time. A stream mostly waits for its next line: it keeps neither the
 * last one nor its bytes meanwhile, and no generators, which would keep their frames. A hub waits on thousands.
 */
export function decodedLines<T>(
  response: Response,
  decode: (line: string) => T,
  { limit = LINE_LIMIT, signal }: LineOptions = {},
): AsyncIterableIterator<T, undefined> {
  const { body } = response;
  const chunks = (body instanceof Uint8Array ? bodyChunks(response) : body)[Symbol.asyncIterator]();
  const split = lineSplitter(decode, limit);
  /** What came with the last chunk and was not asked for yet, the next one last. */
  let ready: T[] = [];
  let isOver = false;

  function next(): Promise<IteratorResult<T, undefined>> {
    if (signal?.aborted === true) return leave();
    if (ready.length > 0) return Promise.resolve({ value: ready.pop() as T, done: false });
    if (isOver) return Promise.resolve(OVER);
    return chunks.next().then(taken, failed);
  }

  function taken(chunk: IteratorResult<Uint8Array, unknown>): Promise<IteratorResult<T, undefined>> {
    try {
      return take(chunk) ? next() : new Promise(wait);
    } catch (error) {
      return failed(error);
    }
  }

  /** Whether there is something to answer with. */
  function take(chunk: IteratorResult<Uint8Array, unknown>): boolean {
    // Its reader left while it waited.
    if (isOver) return true;
    const values = chunk.done === true ? split.end() : split.take(chunk.value);
    isOver = chunk.done === true;
    ready = values.reverse();
    return isOver || ready.length > 0 || signal?.aborted === true;
  }

  /** For a whole line, however many chunks it takes: promises that follow each other would all be kept until it comes. */
  function wait(resolve: (answer: Promise<IteratorResult<T, undefined>>) => void): void {
    chunks.next().then(
      (chunk) => {
        try {
          if (take(chunk)) resolve(next());
          else wait(resolve);
        } catch (error) {
          resolve(failed(error));
        }
      },
      (error: unknown) => resolve(failed(error)),
    );
  }

  async function failed(error: unknown): Promise<IteratorReturnResult<undefined>> {
    if (isOver) return OVER;
    await leave();
    if (signal?.aborted !== true) throw error;
    return OVER;
  }

  async function leave(): Promise<IteratorReturnResult<undefined>> {
    const wasOver = isOver;
    isOver = true;
    ready = [];
    if (!wasOver) await chunks.return?.();
    return OVER;
  }

  return {
    next,
    return: leave,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function lineSplitter<T>(
  decode: (line: string) => T,
  limit: number,
): { take(chunk: Uint8Array): T[]; end(): T[] } {
  let parts: Buffer[] = [];
  let size = 0;
  const tooLong = (): RangeError => new RangeError(`a line of the stream exceeds ${limit} bytes`);
  return {
    take(chunk): T[] {
      const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const out: T[] = [];
      let start = 0;
      for (let end = buffer.indexOf(NEWLINE); end >= 0; end = buffer.indexOf(NEWLINE, start)) {
        if (size + end - start > limit) throw tooLong();
        let line: string;
        if (parts.length > 0) {
          parts.push(buffer.subarray(start, end));
          line = Buffer.concat(parts).toString('utf8');
          parts = [];
          size = 0;
        } else {
          line = buffer.toString('utf8', start, end);
        }
        start = end + 1;
        if (line !== '') out.push(decode(line));
      }
      if (start < buffer.length) {
        size += buffer.length - start;
        if (size > limit) throw tooLong();
        parts.push(buffer.subarray(start));
      }
      return out;
    },
    end: () => (parts.length > 0 ? [decode(Buffer.concat(parts).toString('utf8'))] : []),
  };
}
