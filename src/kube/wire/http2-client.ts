import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { type Handler, type Request, type Response, type Upgrader, upgradeProtocol } from '../exchange.ts';
import { failure } from '../status-error.ts';
import { text, validateHeaderValue } from './header-texts.ts';
import { http2RawStream } from './raw-stream.ts';
import { UPGRADE_METHOD_HEADER } from './upgrade-stream.ts';

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

/** Streams that were asked for on a session. Whoever hands it in reads it. */
export interface StreamCounts {
  opened: number;
  open: number;
}

export interface SessionClientOptions {
  readonly counts?: StreamCounts;
  /** Makes the error of an exchange that the connection could not carry; the one that it is given otherwise. */
  readonly failed?: (error: ExchangeError) => Error;
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
  session.on('connect', () => {
    // It is told a turn later, when the session may be over already.
    if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW);
  });
  session.on('error', (error) => runtime.log.debug('an HTTP/2 session failed', { error: errorText(error) }));
  return session;
}

/**
 * A {@link Handler} that sends requests on a session. Aborting a request, or leaving the loop over its response, resets
 * its stream, so that the other end stops. `peer` names the other end in errors.
 */
export function http2Handler(
  session: ClientHttp2Session,
  peer: string,
  options: SessionClientOptions = {},
): Handler {
  const failed = (message: string, cause?: unknown): Error =>
    failureOf(options, `${peer}: ${message}`, cause);
  return (request) =>
    new Promise<Response>((resolve, reject) => {
      const { signal } = request;
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      if (session.closed || session.destroyed) {
        reject(failed('the connection is closed'));
        return;
      }
      const body = request.body !== undefined && request.body.byteLength > 0 ? request.body : undefined;
      let stream: ClientHttp2Stream;
      try {
        stream = session.request(requestHeaders(request, body), { endStream: body === undefined });
      } catch (error) {
        reject(failed('the request cannot be sent', error));
        return;
      }
      counted(stream, options.counts);
      const progress: Progress = { answered: false, ended: false, closed: false, error: undefined };
      const abort = (): void => {
        progress.error ??= signal?.reason;
        stream.close(constants.NGHTTP2_CANCEL);
      };
      signal?.addEventListener('abort', abort, { once: true });
      stream.on('error', (error) => {
        progress.error ??= failed(`${request.method} ${pathOnly(request.path)} failed`, error);
      });
      // `on` for what comes once as well: a thousand streams wait for their end for hours, and `once` keeps two objects for each word.
      stream.on('end', () => {
        progress.ended = true;
      });
      stream.on('close', () => {
        progress.closed = true;
        signal?.removeEventListener('abort', abort);
        // `end` comes also when the other end or the socket broke the stream off; only the code tells.
        if (!progress.ended || stream.rstCode !== constants.NGHTTP2_NO_ERROR) {
          progress.error ??= failed(brokenOff(request, stream, progress.answered));
        }
        if (!progress.answered) reject(progress.error ?? failed('no answer'));
      });
      stream.on('response', (head) => {
        progress.answered = true;
        const { status, headers } = responseHead(head);
        resolve({ status, headers, body: responseBody(stream, progress) });
      });
      if (body !== undefined) stream.end(body);
    });
}

/**
 * An {@link Upgrader} that asks on a session, by extended CONNECT (RFC 8441) with the protocol that the request names. What
 * the other end does not switch is an ordinary response; a peer that knows no extended CONNECT is one that answers 501.
 */
export function http2Upgrader(
  session: ClientHttp2Session,
  peer: string,
  options: SessionClientOptions = {},
): Upgrader {
  const ask = http2Handler(session, peer, options);
  const failed = (message: string, cause?: unknown): Error =>
    failureOf(options, `${peer}: ${message}`, cause);
  return (request) => {
    const protocol = upgradeProtocol(request);
    if (protocol === undefined) return ask(request);
    return new Promise((resolve, reject) => {
      const { signal } = request;
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      if (session.closed || session.destroyed) {
        reject(failed('the connection is closed'));
        return;
      }
      if (session.remoteSettings.enableConnectProtocol !== true) {
        resolve(notImplemented(peer, protocol));
        return;
      }
      let stream: ClientHttp2Stream;
      try {
        // What follows is no body, whatever length the request itself was said to have.
        const { 'content-length': _length, ...headers } = requestHeaders(request, undefined);
        stream = session.request(
          {
            ...headers,
            ':method': 'CONNECT',
            ':protocol': protocol,
            [UPGRADE_METHOD_HEADER]: request.method,
          },
          { endStream: false },
        );
      } catch (error) {
        reject(failed('the request cannot be sent', error));
        return;
      }
      counted(stream, options.counts);
      const progress: Progress = { answered: false, ended: false, closed: false, error: undefined };
      const abort = (): void => {
        progress.error ??= signal?.reason;
        stream.close(constants.NGHTTP2_CANCEL);
      };
      const unanswered = (): void => {
        signal?.removeEventListener('abort', abort);
        reject(progress.error ?? failed(brokenOff(request, stream, false)));
      };
      const broken = (): Error => failed(brokenOff(request, stream, true), progress.error);
      signal?.addEventListener('abort', abort, { once: true });
      stream.on('error', (error) => {
        progress.error ??= failed(`${request.method} ${pathOnly(request.path)} failed`, error);
      });
      stream.once('close', unanswered);
      stream.once('response', (head) => {
        stream.off('close', unanswered);
        signal?.removeEventListener('abort', abort);
        const { status, headers } = responseHead(head);
        if (status >= 200 && status < 300) {
          resolve({
            status: 101,
            headers: { ...headers, upgrade: protocol },
            socket: http2RawStream(stream, broken),
          });
          return;
        }
        progress.answered = true;
        stream.once('end', () => {
          progress.ended = true;
        });
        stream.once('close', () => {
          progress.closed = true;
          if (!progress.ended || stream.rstCode !== constants.NGHTTP2_NO_ERROR) progress.error ??= broken();
        });
        stream.end();
        resolve({ status, headers, body: responseBody(stream, progress) });
      });
    });
  };
}

function failureOf(options: SessionClientOptions, message: string, cause: unknown): Error {
  const error = new ExchangeError(message, cause);
  return options.failed?.(error) ?? error;
}

function counted(stream: ClientHttp2Stream, counts: StreamCounts | undefined): void {
  if (counts === undefined) return;
  counts.opened += 1;
  counts.open += 1;
  stream.on('close', () => {
    counts.open -= 1;
  });
}

function notImplemented(peer: string, protocol: string): Response {
  const { status, code } = failure(501, 'NotImplemented', `${peer} cannot switch to ${protocol}`);
  return {
    status: code,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(status)),
  };
}

interface Progress {
  answered: boolean;
  ended: boolean;
  /** Only with that it is known whether it was broken off: a stream is destroyed before anything tells why. */
  closed: boolean;
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

/**
 * The chunks as they come, at the reader's pace. Throws when the stream is broken off before its end. No generator: one that
 * waits would keep the last chunk.
 */
function responseBody(stream: ClientHttp2Stream, progress: Progress): AsyncIterable<Uint8Array> {
  let wake = (): void => {};
  const notify = (): void => wake();

  function leave(): void {
    stream.off('readable', notify).off('end', notify);
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Whether it has ended. Throws when it was broken off. */
  function isOver(): boolean {
    if (!progress.closed) return false;
    leave();
    if (progress.error !== undefined) throw progress.error;
    return true;
  }

  async function next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const chunk = stream.read() as Buffer | null;
      if (chunk !== null) return { value: chunk, done: false };
      if (isOver()) return { value: undefined, done: true };
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  return {
    [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
      stream.on('readable', notify).on('end', notify).on('close', notify);
      return {
        next,
        async return(): Promise<IteratorResult<Uint8Array, undefined>> {
          leave();
          return { value: undefined, done: true };
        },
      };
    },
  };
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
