import type { Server as Http1Server, IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Request, Response } from '../../kube/exchange.ts';
import {
  type Connection,
  closeSession,
  exchangeServer,
  type Http2SessionOptions,
  http1Wire,
  IDLE_SESSION_MS,
  MAX_HEADER_BYTES,
  openSession,
} from '../../kube/wire/index.ts';
import { errorText, type Runtime, type Timer } from '../../runtime/index.ts';
import { isUpgrade } from './upgrade-asked.ts';

export interface HttpsOptions extends Http2SessionOptions {
  /** 0 takes a free port. */
  readonly port: number;
  /** 127.0.0.1 by default: being reachable from other machines is asked for. */
  readonly host?: string;
  /** PEM, with the chain where there is one. */
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authorities whose client certificates are believed. */
  readonly clientCa: string;
  readonly handle: (request: Request, connection: Connection) => Promise<Response>;
  /** Connections at a time; more are closed at once. 10,000 by default. */
  readonly maxConnections?: number;
}

export interface HttpsServer {
  readonly port: number;
  /** For a renewed certificate, and for renewed authorities of clients; connections that exist keep theirs. */
  setCertificate(certificate: string, key: string, clientCa?: string): void;
  /** Takes no more connections, ends open streams, and destroys what is left after `graceMs` (5 s by default). */
  close(graceMs?: number): Promise<void>;
}

/** A connection that has not sent a first request by then is closed. */
const FIRST_REQUEST_MS = 30_000;
/** The same between requests over HTTP/1.1, however busily the head of the next one trickles in. Silent ones are closed before. */
const NEXT_REQUEST_MS = 120_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Serves HTTP/2 and HTTP/1.1 over TLS 1.2 and newer. A client certificate is asked for, not required; the handler learns
 * of it only when `clientCa` vouches for it. Rejects when the port cannot be had or the certificate does not fit its key.
 */
export function serveHttps(runtime: Runtime, options: HttpsOptions): Promise<HttpsServer> {
  const exchanges = exchangeServer(runtime, options);
  const sockets = new Set<TLSSocket>();
  const sessions = new Map<ServerHttp2Session, TLSSocket>();
  const connections = new WeakMap<object, Connection>();
  let closing = false;
  let { clientCa } = options;

  /** HTTP/1.1 sockets with what is under way on them, so that idle ones can be closed at once. */
  const http1Sockets = new Map<
    Socket,
    { requests: number; awaitRequest: (withinMs: number | undefined) => void }
  >();
  let http1: Promise<Http1Server> | undefined;

  /** Made for the first client of the kind: HTTP/1.1 takes memory. */
  async function overHttp1(socket: TLSSocket): Promise<void> {
    http1 ??= http1Server();
    const server = await http1;
    if (!socket.destroyed) server.emit('connection', socket);
  }

  async function http1Server(): Promise<Http1Server> {
    const { createServer } = await import('node:http');
    const { upgradeWire } = await import('./upgrade.ts');
    const made = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: IDLE_SESSION_MS,
      shouldUpgradeCallback: isUpgrade,
    });
    made.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const connection = connections.get(socket) ?? {};
      http1Sockets.get(request.socket)?.awaitRequest(undefined);
      http1Sockets.delete(request.socket);
      void exchanges.serve(upgradeWire(request, socket, head), (asked) => options.handle(asked, connection));
    });
    made.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      const connection = connections.get(socket) ?? {};
      const state = http1Sockets.get(socket);
      if (state !== undefined) {
        state.requests += 1;
        state.awaitRequest(undefined);
        response.once('close', () => {
          state.requests -= 1;
          // One that was given away is no longer waited on.
          if (state.requests > 0 || !http1Sockets.has(socket)) return;
          if (closing) socket.end();
          else state.awaitRequest(NEXT_REQUEST_MS);
        });
      }
      if (closing) response.setHeader('connection', 'close');
      void exchanges.serve(http1Wire(request, response), (asked) => options.handle(asked, connection));
    });
    made.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      runtime.log.debug('a malformed HTTP/1.1 request', { error: errorText(error) });
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      const status =
        error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    });
    return made;
  }

  const server = createTlsServer({
    cert: options.certificate,
    key: options.key,
    ca: clientCa,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  });
  server.maxConnections = options.maxConnections ?? 10_000;

  server.on('secureConnection', (socket: TLSSocket) => {
    if (closing) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', (error) => runtime.log.debug('a connection failed', { error: errorText(error) }));
    const connection = connectionOf(socket);
    connections.set(socket, connection);
    let idle: Timer | undefined;
    const awaitRequest = (withinMs: number | undefined): void => {
      idle?.cancel();
      idle =
        withinMs === undefined || socket.destroyed
          ? undefined
          : runtime.clock.after(withinMs, () => socket.destroy());
    };
    awaitRequest(FIRST_REQUEST_MS);
    socket.once('close', () => awaitRequest(undefined));
    if (socket.alpnProtocol === 'h2') {
      const session = openSession(
        runtime,
        socket,
        exchanges,
        (request) => options.handle(request, connection),
        { idleTimeoutMs: IDLE_SESSION_MS, ...options },
      );
      session.once('stream', () => awaitRequest(undefined));
      sessions.set(session, socket);
      session.once('close', () => sessions.delete(session));
    } else {
      http1Sockets.set(socket, { requests: 0, awaitRequest });
      socket.once('close', () => http1Sockets.delete(socket));
      overHttp1(socket).catch((error: unknown) => {
        runtime.log.error('HTTP/1.1 cannot be served', { error: errorText(error) });
        socket.destroy();
      });
    }
  });
  server.on('tlsClientError', (error) =>
    runtime.log.debug('a TLS handshake failed', { error: errorText(error) }),
  );

  async function close(graceMs: number): Promise<void> {
    closing = true;
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
    exchanges.drain();
    for (const [socket, state] of http1Sockets) {
      if (state.requests === 0) socket.destroy();
    }
    const timer = runtime.clock.after(graceMs, () => {
      for (const socket of sockets) socket.destroy();
    });
    await Promise.all(
      [...sessions].map(([session, socket]) => closeSession(runtime, session, socket, graceMs)),
    );
    await stopped;
    timer.cancel();
  }

  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port, host: options.host ?? '127.0.0.1' }, () => {
      server.off('error', reject);
      server.on('error', (error) =>
        runtime.log.error('the API listener failed', { error: errorText(error) }),
      );
      resolve({
        port: (server.address() as AddressInfo).port,
        setCertificate(certificate, key, ca = clientCa): void {
          clientCa = ca;
          server.setSecureContext({ cert: certificate, key, ca, minVersion: 'TLSv1.2' });
        },
        close: (graceMs = 5_000) => close(graceMs),
      });
    });
  });
}

/**
 * A resumed TLS 1.3 session counts as authorized even when it never had a certificate, so both must hold: the chain was
 * verified and a certificate is there.
 */
function connectionOf(socket: TLSSocket): Connection {
  const remoteAddress = socket.remoteAddress;
  const raw: Buffer | undefined = socket.authorized ? socket.getPeerCertificate(false).raw : undefined;
  return {
    ...(raw === undefined ? {} : { peerCertificate: raw }),
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
  };
}
