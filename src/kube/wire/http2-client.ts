import { validateHeaderValue } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { errorText, type Runtime } from '../../runtime/index.ts';
import type { Handler, Request, Response } from '../exchange.ts';
import { text } from './http2-server.ts';

/** What one slow reader of a stream may leave waiting here. */
const STREAM_WINDOW = 256 * 1024;
/** What all of them may: far above a stream's share, so that a few slow readers do not stop the others. */
const SESSION_WINDOW = 8 * 1024 * 1024;

/** Headers that must not pass from one connection to another. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
  'host',
]);

/** No answer could be had from the other end. */
export class ExchangeError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'ExchangeError';
  }
}

/** Speaks HTTP/2 as the client on an existing socket, whichever end dialled it. */
export function connectHttp2(runtime: Runtime, socket: Duplex): ClientHttp2Session {
  const session = connect('http://peer.invalid', {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    maxSessionMemory: 256,
    // The other end says how many it takes; until it has, as many as it is likely to.
    peerMaxConcurrentStreams: 1000,
  });
  session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW));
  session.on('error', (error) => runtime.log.debug('an HTTP/2 session failed', { error: errorText(error) }));
  return session;
}

/**
 * A {@link Handler} that sends requests on a session. Aborting a request, or leaving the loop over its response, resets
 * its stream, so that the other end stops. `peer` names the other end in errors.
 */
export function http2Handler(session: ClientHttp2Session, peer: string): Handler {
  return (request) =>
    new Promise<Response>((resolve, reject) => {
      const { signal } = request;
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      if (session.closed || session.destroyed) {
        reject(new ExchangeError(`${peer}: the connection is closed`));
        return;
      }
      const body = request.body !== undefined && request.body.byteLength > 0 ? request.body : undefined;
      let stream: ClientHttp2Stream;
      try {
        stream = session.request(requestHeaders(request, body), { endStream: body === undefined });
      } catch (error) {
        reject(new ExchangeError(`${peer}: the request cannot be sent`, error));
        return;
      }
      const progress: Progress = { answered: false, ended: false, error: undefined };
      const abort = (): void => {
        progress.error ??= signal?.reason;
        stream.close(constants.NGHTTP2_CANCEL);
      };
      signal?.addEventListener('abort', abort, { once: true });
      stream.on('error', (error) => {
        progress.error ??= new ExchangeError(
          `${peer}: ${request.method} ${pathOnly(request.path)} failed`,
          error,
        );
      });
      stream.once('end', () => {
        progress.ended = true;
      });
      stream.once('close', () => {
        signal?.removeEventListener('abort', abort);
        // `end` comes also when the other end or the socket broke the stream off; only the code tells.
        if (!progress.ended || stream.rstCode !== constants.NGHTTP2_NO_ERROR) {
          progress.error ??= new ExchangeError(`${peer}: ${brokenOff(request, stream, progress.answered)}`);
        }
        if (!progress.answered) reject(progress.error ?? new ExchangeError(`${peer}: no answer`));
      });
      stream.once('response', (head) => {
        progress.answered = true;
        const { status, headers } = responseHead(head);
        resolve({ status, headers, body: responseBody(stream, progress) });
      });
      if (body !== undefined) stream.end(body);
    });
}

interface Progress {
  answered: boolean;
  ended: boolean;
  error: unknown;
}

function requestHeaders(request: Request, body: Uint8Array | undefined): Record<string, string> {
  const out: Record<string, string> = {
    ':method': request.method,
    ':path': request.path,
    ':scheme': 'https',
    ':authority': request.headers.host ?? 'peer.invalid',
  };
  for (const name in request.headers) {
    if (HOP_HEADERS.has(name)) continue;
    const value = request.headers[name] ?? '';
    validateHeaderValue(name, value);
    out[name] = value;
  }
  if (body !== undefined) out['content-length'] = String(body.byteLength);
  return out;
}

function responseHead(head: Record<string, string | string[] | number | undefined>): {
  status: number;
  headers: Record<string, string>;
} {
  const headers: Record<string, string> = {};
  for (const name in head) {
    const value = head[name];
    if (name.startsWith(':') || value === undefined) continue;
    headers[name] = typeof value === 'number' ? String(value) : text(value);
  }
  return { status: Number(head[':status'] ?? 0), headers };
}

/** The chunks as they come, at the reader's pace. Throws when the stream is broken off before its end. */
async function* responseBody(
  stream: ClientHttp2Stream,
  progress: Progress,
): AsyncGenerator<Uint8Array, void, undefined> {
  let wake = (): void => {};
  const notify = (): void => wake();
  stream.on('readable', notify).on('end', notify).on('close', notify);
  try {
    for (;;) {
      const chunk = stream.read() as Buffer | null;
      if (chunk !== null) {
        yield chunk;
        continue;
      }
      if (stream.destroyed || stream.closed) {
        if (!stream.destroyed) await closed(stream);
        if (progress.error !== undefined) throw progress.error;
        return;
      }
      if (progress.ended) {
        // The code that tells a clean end from a broken one is known with `close`.
        await closed(stream);
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    stream.off('readable', notify).off('end', notify).off('close', notify);
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
}

function closed(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.once('close', () => resolve());
  });
}

function brokenOff(request: Request, stream: ClientHttp2Stream, answered: boolean): string {
  const what = `${request.method} ${pathOnly(request.path)}`;
  const code = stream.rstCode;
  const why =
    code === undefined || code === constants.NGHTTP2_NO_ERROR
      ? 'the connection was closed'
      : code === constants.NGHTTP2_CANCEL
        ? 'the connection was closed or the request was cancelled'
        : code === constants.NGHTTP2_REFUSED_STREAM
          ? 'the other end takes no more requests on this connection'
          : `the other end reset the stream (HTTP/2 code ${code})`;
  return answered ? `the response to ${what} broke off: ${why}` : `${what} was not answered: ${why}`;
}

function pathOnly(path: string): string {
  const mark = path.indexOf('?');
  return mark < 0 ? path : path.slice(0, mark);
}
