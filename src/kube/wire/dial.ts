import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import type { Clock } from '../../runtime/index.ts';
import { readHttpHead, statusOf } from './http-head.ts';
import type { ForwardProxy } from './proxy.ts';

export interface Destination {
  readonly host: string;
  readonly port: number;
  /** Leads there; names are resolved by it, not here. */
  readonly proxy?: ForwardProxy;
}

export interface DialLimits {
  readonly clock: Clock;
  /** From the dial to a connection that can be used, proxies and TLS included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Whether the end of what the server sends leaves the other direction open. False by default. */
  readonly allowHalfOpen?: boolean;
}

/**
 * Opens a connection to a server, through a proxy where there is one. Rejects with what went wrong and where; credentials are in no message.
 */
export function dial(destination: Destination, limits: DialLimits): Promise<Socket> {
  return bounded(limits, (attempt) => dialWithin(destination, attempt));
}

/** {@link dial}, then TLS with the server. `options` are those of `node:tls`; `host` there is the name that its certificate must hold. */
export function dialTls(
  destination: Destination,
  options: ConnectionOptions,
  limits: DialLimits,
): Promise<TLSSocket> {
  return bounded(limits, async (attempt) => {
    const socket = await dialWithin(destination, attempt);
    return secure(socket, destination.host, options, attempt);
  });
}

/** What is open while an attempt lasts; all of it is closed when the attempt fails. */
interface Attempt {
  readonly signal: AbortSignal;
  readonly opened: Set<Socket>;
  readonly allowHalfOpen: boolean;
}

async function bounded<S extends Socket>(
  limits: DialLimits,
  act: (attempt: Attempt) => Promise<S>,
): Promise<S> {
  const { signal } = limits;
  if (signal?.aborted) throw signal.reason;
  const end = new AbortController();
  const opened = new Set<Socket>();
  const onAbort = (): void => end.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const timer = limits.clock.after(limits.timeoutMs, () =>
    end.abort(new Error(`no connection within ${limits.timeoutMs} ms`)),
  );
  try {
    const socket = await act({ signal: end.signal, opened, allowHalfOpen: limits.allowHalfOpen === true });
    for (const each of opened) each.off('error', ignore);
    return socket;
  } catch (error) {
    for (const each of opened) each.destroy();
    throw error;
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Sockets that are given up may still fail; the attempt has said what there is to say. */
function ignore(): void {}

async function dialWithin(destination: Destination, attempt: Attempt): Promise<Socket> {
  const { proxy } = destination;
  if (proxy === undefined) return open(destination.host, destination.port, attempt);
  const where = `the ${proxy.kind} proxy at ${hostPort(proxy.host, proxy.port)}`;
  try {
    let socket = await open(proxy.host, proxy.port, attempt);
    if (proxy.kind === 'https') {
      const ca = proxy.ca === undefined ? {} : { ca: proxy.ca };
      socket = await secure(socket, proxy.host, { ...ca, ALPNProtocols: ['http/1.1'] }, attempt);
    }
    if (proxy.kind === 'socks5') await askSocks(socket, proxy, destination, attempt.signal);
    else await askConnect(socket, proxy, destination, where, attempt.signal);
    return socket;
  } catch (error) {
    if (attempt.signal.aborted) throw error;
    throw new Error(`${where} does not lead to ${hostPort(destination.host, destination.port)}`, {
      cause: error,
    });
  }
}

function open(host: string, port: number, attempt: Attempt): Promise<Socket> {
  const socket = connect({
    host,
    port,
    allowHalfOpen: attempt.allowHalfOpen,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  });
  return until(socket, 'connect', attempt);
}

function secure(
  socket: Socket,
  host: string,
  options: ConnectionOptions,
  attempt: Attempt,
): Promise<TLSSocket> {
  const secured = connectTls({
    // The name that the certificate must hold; nothing is looked up, since the socket is given.
    host,
    ...(isIP(options.host ?? host) !== 0 ? {} : { servername: options.host ?? host }),
    ...options,
    socket,
  });
  return until(secured, 'secureConnect', attempt);
}

function until<S extends Socket>(socket: S, event: string, { signal, opened }: Attempt): Promise<S> {
  opened.add(socket.on('error', ignore));
  return new Promise<S>((resolve, reject) => {
    const settle = (act: () => void): void => {
      socket.off(event, onEvent).off('error', onError).off('close', onClose);
      signal.removeEventListener('abort', onAbort);
      act();
    };
    const onEvent = (): void => settle(() => resolve(socket));
    const onError = (error: unknown): void => settle(() => reject(error));
    const onClose = (): void => settle(() => reject(new Error('the connection was closed')));
    const onAbort = (): void => settle(() => reject(signal.reason));
    socket.on(event, onEvent).on('error', onError).on('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

async function askConnect(
  socket: Socket,
  proxy: ForwardProxy,
  destination: Destination,
  where: string,
  signal: AbortSignal,
): Promise<void> {
  const target = hostPort(destination.host, destination.port);
  if (/[\s/@]/.test(target)) throw new Error(`${JSON.stringify(target)} is not an address`);
  const credentials = `${proxy.user ?? ''}:${proxy.password ?? ''}`;
  const authorization =
    proxy.user === undefined && proxy.password === undefined
      ? ''
      : `Proxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  const head = await readHttpHead(socket, where, signal);
  const status = statusOf(head);
  if (status === 407) {
    throw new Error(
      proxy.user === undefined
        ? 'it asks for a user and password (407)'
        : 'it does not accept the user and password (407)',
    );
  }
  if (status === undefined || status < 200 || status > 299)
    throw new Error(`it answered ${JSON.stringify(head.startLine.slice(0, 100))}`);
}

const SOCKS_FAILURES: Readonly<Record<number, string>> = {
  1: 'general failure',
  2: 'not allowed by its rules',
  3: 'the network cannot be reached',
  4: 'the host cannot be reached',
  5: 'the connection was refused',
  6: 'the time to live ran out',
  7: 'the command is not supported',
  8: 'the type of address is not supported',
};

/** RFC 1928, with user and password as in RFC 1929. */
async function askSocks(
  socket: Socket,
  proxy: ForwardProxy,
  destination: Destination,
  signal: AbortSignal,
): Promise<void> {
  const hasUser = proxy.user !== undefined || proxy.password !== undefined;
  socket.write(Uint8Array.from(hasUser ? [5, 2, 0, 2] : [5, 1, 0]));
  const [version, method] = await readBytes(socket, 2, signal);
  if (version !== 5) throw new Error('it does not speak SOCKS5');
  if (method === 2 && hasUser) {
    const user = short(Buffer.from(proxy.user ?? ''), 'user');
    const password = short(Buffer.from(proxy.password ?? ''), 'password');
    socket.write(Buffer.concat([Uint8Array.of(1), user, password]));
    const [, verdict] = await readBytes(socket, 2, signal);
    if (verdict !== 0) throw new Error('it does not accept the user and password');
  } else if (method !== 0) throw new Error('it asks for a way to log in that is not given');
  const port = Uint8Array.of(destination.port >> 8, destination.port & 255);
  socket.write(Buffer.concat([Uint8Array.of(5, 1, 0), socksAddress(destination.host), port]));
  const [, reply = 1, , type] = await readBytes(socket, 4, signal);
  if (reply !== 0) throw new Error(SOCKS_FAILURES[reply] ?? `failure ${reply}`);
  const length = type === 1 ? 4 : type === 4 ? 16 : type === 3 ? (await readBytes(socket, 1, signal))[0] : 0;
  if (!length) throw new Error('its answer names no address');
  await readBytes(socket, length + 2, signal);
}

function socksAddress(host: string): Uint8Array {
  switch (isIP(host)) {
    case 4:
      return Uint8Array.of(1, ...host.split('.').map(Number));
    default:
      // Also IPv6, as text: proxies read it, and it needs no second parser here.
      return Buffer.concat([Uint8Array.of(3), short(Buffer.from(host), 'name of the host')]);
  }
}

/** A text with its length in front, in one byte. */
function short(bytes: Uint8Array, what: string): Uint8Array {
  if (bytes.byteLength === 0 || bytes.byteLength > 255)
    throw new Error(`the ${what} has to have 1 to 255 bytes for SOCKS5`);
  return Buffer.concat([Uint8Array.of(bytes.byteLength), bytes]);
}

/** Exactly `count` bytes; what follows stays in the stream. */
function readBytes(socket: Socket, count: number, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      socket.off('readable', look).off('end', onEnd).off('close', onEnd).off('error', reject);
      signal.removeEventListener('abort', onAbort);
      act();
    };
    const onEnd = (): void => settle(() => reject(new Error('it closed the connection')));
    const onAbort = (): void => settle(() => reject(signal.reason));
    const look = (): void => {
      const bytes = socket.read(count) as Buffer | null;
      if (bytes === null) return;
      settle(() =>
        bytes.byteLength === count ? resolve(bytes) : reject(new Error('its answer is cut off')),
      );
    };
    socket.on('readable', look).on('end', onEnd).on('close', onEnd).on('error', reject);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    else look();
  });
}

export function hostPort(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
