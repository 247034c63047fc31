import { bodyChunks, type Response } from './exchange.ts';

const NEWLINE = 10;

/** The longest line of a watch stream that is accepted: more than five times the largest object that is stored. */
export const LINE_LIMIT: number = 8 * 1024 * 1024;

/**
 * The lines of a streamed body, without their ends. A line that comes in many chunks is joined once, when it is
 * complete. Throws RangeError when a line is longer than `limit` bytes.
 */
export function lines(
  response: Response,
  limit: number = LINE_LIMIT,
): AsyncGenerator<string, void, undefined> {
  return decodedLines(response, (line) => line, limit);
}

/**
 * What `decode` makes of each line. A stream that waits for its next line, mostly for long, keeps neither the last line nor
 * its bytes: a generator that waits would keep what its variables hold, so that only calls which are over have seen them.
 */
export async function* decodedLines<T>(
  response: Response,
  decode: (line: string) => T,
  limit: number = LINE_LIMIT,
): AsyncGenerator<T, void, undefined> {
  const { body } = response;
  const chunks = (body instanceof Uint8Array ? bodyChunks(response) : body)[Symbol.asyncIterator]();
  const split = lineSplitter(decode, limit);
  const more = async (): Promise<T[] | undefined> => {
    const next = await chunks.next();
    return next.done === true ? undefined : split.take(next.value);
  };
  let isOver = false;
  try {
    for (let batch = await more(); batch !== undefined; batch = await more()) yield* batch;
    isOver = true;
    yield* split.end();
  } finally {
    if (!isOver) await chunks.return?.();
  }
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
