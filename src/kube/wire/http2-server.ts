import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import { errorText, type Runtime, type Timer } from '../../runtime/index.ts';
import type { Handler, Upgrader } from '../exchange.ts';
import { type ExchangeLimits, type ExchangeServer, exchangeServer } from './exchange-server.ts';
import { CONNECTION_HEADERS, plainHeaders, text, validateHeaderValue } from './header-texts.ts';
import { serveUpgradeStream } from './upgrade-stream.ts';
import { withWarningLines } from './warning-lines.ts';

/** Bytes of request headers. Kubernetes clients send below 4 KiB, tokens with many groups up to 16. */
export const MAX_HEADER_BYTES: number = 64 * 1024;

export interface Http2SessionOptions extends ExchangeLimits {
  /** Streams of one connection at a time: all watches of a client share one. */
  readonly maxConcurrentStreams?: number;
  /** Answers extended CONNECT (RFC 8441), by which a client asks for another protocol on a stream. Refused when absent. */
  readonly upgrade?: Upgrader;
  /** Upgraded streams of one connection at a time; more are answered with 429. 500 by default. */
  readonly maxUpgrades?: number;
  /**
   * A session that has had no stream for so long is closed with a GOAWAY, after which clients dial anew by themselves. Watches and
   * upgraded streams are streams; pings are answered, and keep nothing open. Without it a session lives until an end closes it.
   */
  readonly idleTimeoutMs?: number;
}

/** Of sessions to clients: what kube-apiserver allows, and as long as clients written in Go keep one that they do not use. */
export const IDLE_SESSION_MS = 90_000;
/** How long a peer that is told to go may take to close its end. */
const IDLE_CLOSE_MS = 1_000;

export interface ServedSession {
  readonly session: ServerHttp2Session;
  /** Ends open streams, lets exchanges under way finish, and destroys what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * Serves HTTP/2 to the other end of an existing socket. Used by the API server for its connections and by the link, where
 * the spoke dials and then answers the hub's requests on the socket that it dialled.
 */
export function serveHttp2Session(
  runtime: Runtime,
  socket: Duplex,
  handle: Handler,
  options: Http2SessionOptions = {},
): ServedSession {
  const server = exchangeServer(runtime, options);
  const session = openSession(runtime, socket, server, handle, options);
  return {
    session,
    async close(graceMs: number): Promise<void> {
      server.drain();
      await closeSession(runtime, session, socket, graceMs);
    },
  };
}

/** A session whose exchanges are counted by a shared {@link ExchangeServer}. */
export function openSession(
  runtime: Runtime,
  socket: Duplex,
  server: ExchangeServer,
  handle: Handler,
  options: Http2SessionOptions = {},
): ServerHttp2Session {
  const session = performServerHandshake(socket, {
    settings: {
      maxConcurrentStreams: options.maxConcurrentStreams ?? 10_000,
      maxHeaderListSize: MAX_HEADER_BYTES,
      initialWindowSize: 1024 * 1024,
      ...(options.upgrade === undefined ? {} : { enableConnectProtocol: true }),
    },
    // Megabytes. Each blocked watch may hold a chunk; beyond this, new streams are refused.
    maxSessionMemory: 256,
    maxHeaderListPairs: 256,
  });
  const { upgrade, maxUpgrades = 500 } = options;
  let upgrades = 0;
  session.on('stream', (stream, headers, flags) => {
    if (upgrade !== undefined && headers[':protocol'] !== undefined) {
      upgrades += 1;
      stream.once('close', () => {
        upgrades -= 1;
      });
      void serveUpgradeStream(runtime, stream, headers, upgrades > maxUpgrades ? undefined : upgrade);
      return;
    }
    void server.serve(http2Wire(stream, headers, flags), handle);
  });
  session.on('error', (error) => runtime.log.debug('an HTTP/2 session failed', { error: errorText(error) }));
  if (options.idleTimeoutMs !== undefined) closeWhenIdle(runtime, session, socket, options.idleTimeoutMs);
  return session;
}

/** One timer at most, and none while streams are open; requests that follow each other do not set it anew each time. */
function closeWhenIdle(
  runtime: Runtime,
  session: ServerHttp2Session,
  socket: Duplex,
  idleTimeoutMs: number,
): void {
  const { clock } = runtime;
  let open = 0;
  let idleSince = clock.monotonic();
  let timer: Timer | undefined;
  const look = (): void => {
    timer = undefined;
    if (open > 0 || session.closed) return;
    const leftMs = idleSince + idleTimeoutMs - clock.monotonic();
    if (leftMs > 0) timer = clock.after(leftMs, look);
    else void closeSession(runtime, session, socket, IDLE_CLOSE_MS);
  };
  const onStreamEnd = (): void => {
    open -= 1;
    if (open > 0) return;
    idleSince = clock.monotonic();
    if (timer === undefined) look();
  };
  session.on('stream', (stream) => {
    open += 1;
    stream.once('close', onStreamEnd);
  });
  session.once('close', () => timer?.cancel());
  look();
}

/**
 * Lets what is under way finish, then ends the session; after `graceMs` by destroying its socket, since a session that is
 * closing would wait for ever for a peer that vanished.
 */
export function closeSession(
  runtime: Runtime,
  session: ServerHttp2Session,
  socket: Duplex,
  graceMs: number,
): Promise<void> {
  return new Promise((resolve) => {
    if (session.destroyed) {
      resolve();
      return;
    }
    const timer = runtime.clock.after(graceMs, () => socket.destroy());
    session.once('close', () => {
      timer.cancel();
      resolve();
    });
    session.close();
  });
}

function http2Wire(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders & Record<string, string | string[] | undefined>,
  flags: number,
): Parameters<ExchangeServer['serve']>[0] {
  const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0;
  return {
    method: text(headers[':method']) || 'GET',
    path: text(headers[':path']) || '/',
    headers: plainHeaders(headers),
    ...(hasBody ? { source: stream } : {}),
    sink: stream,
    respond(status, responseHeaders, withBody): void {
      const out: Record<string, string | string[] | number> = { ':status': status };
      const lines = withWarningLines(responseHeaders);
      for (const name in lines) {
        if (CONNECTION_HEADERS.has(name)) continue;
        validateHeaderValue(name, responseHeaders[name] ?? '');
        out[name] = lines[name] ?? '';
      }
      stream.respond(out, { endStream: !withBody });
      // A client that still sends when it has its answer (413, 401) is told to stop.
      if (hasBody && !stream.readableEnded) {
        stream.once('finish', () => {
          if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
        });
      }
    },
    reset(): void {
      if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    },
  };
}
