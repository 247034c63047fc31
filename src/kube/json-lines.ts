import { bodyChunks, type Response } from './exchange.ts';

const NEWLINE = 10;

/** The longest line of a watch stream that is accepted: more than five times the largest object that is stored. */
export const LINE_LIMIT: number = 8 * 1024 * 1024;

/**
 * The lines of a streamed body, without their ends. A line that comes in many chunks is joined once, when it is
 * complete. Throws RangeError when a line is longer than `limit` bytes.
 */
export async function* lines(
  response: Response,
  limit: number = LINE_LIMIT,
): AsyncGenerator<string, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  const tooLong = (): RangeError => new RangeError(`a line of the stream exceeds ${limit} bytes`);
  for await (const chunk of bodyChunks(response)) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
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
      if (line !== '') yield line;
    }
    if (start < buffer.length) {
      size += buffer.length - start;
      if (size > limit) throw tooLong();
      parts.push(buffer.subarray(start));
    }
  }
  if (parts.length > 0) yield Buffer.concat(parts).toString('utf8');
}
