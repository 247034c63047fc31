import { constants, createInflate } from 'node:zlib';
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID } from './dictionary.ts';
import { SpdyViolation } from './frame.ts';

/** Lower-case names; several values of one name are joined by NUL. */
export type Headers = ReadonlyMap<string, string>;

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 100;

/** Undoes the compression of one direction of a session, whose blocks build on each other. */
export interface HeaderDecoder {
  /** Blocks have to be given in order, each when the one before is done. Rejects with {@link SpdyViolation}. */
  decode(block: Uint8Array): Promise<Headers>;
  close(): void;
}

export function headerDecoder(): HeaderDecoder {
  const inflate = createInflate({
    dictionary: HEADER_DICTIONARY,
    flush: constants.Z_SYNC_FLUSH,
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  let parts: Uint8Array[] = [];
  let size = 0;
  let fail: ((error: Error) => void) | undefined;
  inflate.on('data', (part: Uint8Array) => {
    size += part.byteLength;
    if (size <= MAX_HEADER_BYTES) parts.push(part);
    else fail?.(new SpdyViolation(`headers exceed ${MAX_HEADER_BYTES} bytes`));
  });
  inflate.on('error', (error) => {
    const violation = new SpdyViolation('headers cannot be decompressed');
    violation.cause = error;
    fail?.(violation);
  });

  return {
    async decode(block) {
      const whole = await new Promise<Uint8Array>((resolve, reject) => {
        fail = (error) => {
          inflate.destroy();
          reject(error);
        };
        inflate.write(block, (error) => {
          if (error) return; // told by the event as well
          // What is buffered yet comes now, so that the block is whole.
          while (inflate.read() !== null) {
            // taken by the listener
          }
          const bytes = Buffer.concat(parts, size);
          parts = [];
          size = 0;
          resolve(bytes);
        });
      });
      fail = undefined;
      return parseHeaders(whole);
    },
    close: () => {
      inflate.destroy();
    },
  };
}

export function parseHeaders(bytes: Uint8Array): Headers {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  const number = (): number => {
    if (offset + 4 > buffer.byteLength) throw new SpdyViolation('headers end early');
    offset += 4;
    return buffer.readUInt32BE(offset - 4);
  };
  const text = (): string => {
    const length = number();
    if (offset + length > buffer.byteLength) throw new SpdyViolation('headers end early');
    offset += length;
    return buffer.toString('utf8', offset - length, offset);
  };
  const count = number();
  if (count > MAX_HEADERS) throw new SpdyViolation(`there are more than ${MAX_HEADERS} headers`);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const name = text().toLowerCase();
    if (headers.has(name)) throw new SpdyViolation('a header is there twice');
    headers.set(name, text());
  }
  return headers;
}

export function headerBytes(headers: Headers): Uint8Array {
  const parts: Buffer[] = [wordOf(headers.size)];
  for (const entry of headers)
    for (const text of entry) {
      const bytes = Buffer.from(text);
      parts.push(wordOf(bytes.byteLength), bytes);
    }
  return Buffer.concat(parts);
}

function wordOf(value: number): Buffer {
  const word = Buffer.alloc(4);
  word.writeUInt32BE(value);
  return word;
}

const MAX_STORED = 0xffff;
/** An empty part: what a flush ends with, and what some readers wait for. */
const FLUSHED = Uint8Array.of(0, 0, 0, 0xff, 0xff);

/**
 * Writes header blocks as a compressed stream whose parts are all stored as they are. Servers say next to nothing in
 * headers, so there is nothing to gain by more, and no state but whether the stream has begun.
 */
export function headerEncoder(): (headers: Headers) => Uint8Array {
  let begun = false;
  return (headers) => {
    const bytes = headerBytes(headers);
    const parts: Uint8Array[] = [];
    // Deflate with a window of 32 KiB and a dictionary, which is named.
    if (!begun) parts.push(Uint8Array.of(0x78, 0xbb), wordOf(HEADER_DICTIONARY_ID));
    begun = true;
    for (let start = 0; start < bytes.byteLength; start += MAX_STORED) {
      const stored = bytes.subarray(start, start + MAX_STORED);
      const head = Buffer.alloc(5);
      head.writeUInt16LE(stored.byteLength, 1);
      head.writeUInt16LE(~stored.byteLength & 0xffff, 3);
      parts.push(head, stored);
    }
    return Buffer.concat([...parts, FLUSHED]);
  };
}
