import type { Duplex } from 'node:stream';

/** The first line and the headers of an HTTP/1.1 message. */
export interface HttpHead {
  readonly startLine: string;
  /** Lower-case names; a name that comes twice has its values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
}

const MAX_HEAD_BYTES = 16 * 1024;
const END = Buffer.from('\r\n\r\n');

/**
 * Reads the head of one HTTP/1.1 message and leaves what follows it in the stream, unread. Rejects when it is too long, is
 * no HTTP, or the stream ends first; then the stream is of no more use. For the few messages around a raw stream
 * (CONNECT, upgrades); whole exchanges are `node:http`'s.
 */
export function readHttpHead(stream: Duplex, what: string, signal?: AbortSignal): Promise<HttpHead> {
  return new Promise((resolve, reject) => {
    let seen: Buffer = Buffer.alloc(0);
    const settle = (act: () => void): void => {
      stream.off('readable', onReadable).off('end', onEnd).off('close', onEnd).off('error', onError);
      signal?.removeEventListener('abort', onAbort);
      act();
    };
    const fail = (error: unknown): void => settle(() => reject(error));
    const onEnd = (): void => fail(new Error(`${what} closed the connection before its answer`));
    const onError = (error: unknown): void => fail(error);
    const onAbort = (): void => fail(signal?.reason);
    const onReadable = (): void => {
      for (;;) {
        const chunk = stream.read() as Buffer | null;
        if (chunk === null) return;
        // A head that arrives byte by byte is searched from the last three bytes on only.
        const from = Math.max(0, seen.byteLength - 3);
        seen = seen.byteLength === 0 ? chunk : Buffer.concat([seen, chunk]);
        const end = seen.indexOf(END, from);
        if (end > MAX_HEAD_BYTES || (end < 0 && seen.byteLength > MAX_HEAD_BYTES)) {
          fail(new Error(`${what} sent a head of more than ${MAX_HEAD_BYTES} bytes`));
          return;
        }
        if (end < 0) continue;
        const head = parseHttpHead(seen.toString('latin1', 0, end));
        const rest = seen.subarray(end + END.byteLength);
        settle(() => {
          if (rest.byteLength > 0) stream.unshift(rest);
          if (head === undefined) reject(new Error(`${what} did not answer in HTTP`));
          else resolve(head);
        });
        return;
      }
    };
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    if (stream.destroyed || stream.readableEnded) {
      reject(new Error(`${what} closed the connection`));
      return;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    stream.on('readable', onReadable).on('end', onEnd).on('close', onEnd).on('error', onError);
    onReadable();
  });
}

/** The status of a response's first line; `undefined` when it is none. */
export function statusOf({ startLine }: HttpHead): number | undefined {
  const match = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(startLine);
  return match === null ? undefined : Number(match[1]);
}

function parseHttpHead(text: string): HttpHead | undefined {
  const [startLine = '', ...lines] = text.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line);
    if (match === null) return undefined;
    const name = (match[1] ?? '').toLowerCase();
    const value = match[2] ?? '';
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return { startLine, headers };
}
