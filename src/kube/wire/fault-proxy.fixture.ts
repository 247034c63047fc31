import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import type { Runtime, Timer } from '../../runtime/index.ts';
import { readHttpHead } from './index.ts';

/** What a network between two ends does. All of it can be changed while connections are open. */
export interface FaultProxy {
  readonly port: number;
  /** Bytes of both directions are kept back that long. */
  setDelay(delayMs: number): void;
  /** Accepts bytes and loses them: `both`, or only those `toServer` or `toClient` (a one-way partition). */
  blackHole(direction?: 'both' | 'toServer' | 'toClient'): void;
  /** Ends every connection: with a FIN, or an RST. */
  cut(how?: 'close' | 'reset'): void;
  /** New connections are closed at once, until {@link heal}. */
  refuse(): void;
  /** Every connection is reset when it is that old: what some firewalls do to long ones. */
  setMaxAge(ageMs: number | undefined): void;
  /** Undoes delay, black hole, refusal and maximum age; lost bytes stay lost, so old connections are of no more use. */
  heal(): void;
  /** Connections that go through now. */
  readonly connections: number;
  /** Since the start. */
  readonly accepted: number;
  /** Destinations that clients named, in order (CONNECT and SOCKS5 only). */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  /** Where connections lead; clients of the modes `connect` and `socks5` name it themselves unless it is given. */
  readonly target?: { readonly host?: string; readonly port: number };
  /**
   * - `tcp`, the default: bytes through
   * - `connect`: an HTTP proxy that is asked by CONNECT
   * - `socks5`
   * - `http1`: ends TLS with a certificate of its own and lets only HTTP/1.1 with an upgrade to WebSocket pass, as some
   *   corporate proxies do; it speaks TLS with `http/1.1` to the target
   */
  readonly mode?: 'tcp' | 'connect' | 'socks5' | 'http1';
  /** `user:password` that clients of `connect` and `socks5` have to show. */
  readonly auth?: string;
  /** PEM. Makes `connect` an https proxy; needed for `http1`. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

interface Pair {
  readonly near: Duplex;
  readonly far: Duplex;
  readonly sockets: readonly Socket[];
  timer?: Timer;
}

/** A userspace network with faults, for tests. It listens on loopback. */
export async function startFaultProxy(runtime: Runtime, options: FaultProxyOptions): Promise<FaultProxy> {
  const { mode = 'tcp', auth } = options;
  const pairs = new Set<Pair>();
  const raw = new Set<Socket>();
  const asked: string[] = [];
  let delayMs = 0;
  let hole: 'both' | 'toServer' | 'toClient' | undefined;
  let refusing = false;
  let maxAgeMs: number | undefined;
  let accepted = 0;

  const server: Server =
    options.tls === undefined
      ? createServer({ allowHalfOpen: true }, (socket) => void take(socket))
      : createTlsServer(
          { cert: options.tls.certificate, key: options.tls.key, ALPNProtocols: ['http/1.1'] },
          (socket) => void take(socket),
        ).on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    raw.add(socket.on('error', () => {}));
    socket.once('close', () => raw.delete(socket));
    if (refusing) socket.resetAndDestroy();
  });

  async function take(near: Duplex): Promise<void> {
    near.on('error', () => {});
    if (refusing) return;
    try {
      const far = await onward(near);
      if (far !== undefined) join(near, far);
    } catch {
      // The client gets no way through: that is all that it would see of a real one.
      near.destroy();
    }
  }

  async function onward(near: Duplex): Promise<Duplex | undefined> {
    switch (mode) {
      case 'tcp':
        return reach(options.target?.host ?? '127.0.0.1', options.target?.port ?? 0);
      case 'connect':
        return connectRequest(near);
      case 'socks5':
        return socksRequest(near);
      case 'http1':
        return downgraded(near);
    }
  }

  async function connectRequest(near: Duplex): Promise<Duplex | undefined> {
    const head = await readHttpHead(near, 'the client');
    const match = /^CONNECT (.+):(\d+) HTTP\/1\.1$/.exec(head.startLine);
    if (match === null) {
      near.end('HTTP/1.1 405 Method Not Allowed\r\n\r\n');
      return undefined;
    }
    const expected = auth === undefined ? undefined : `Basic ${Buffer.from(auth).toString('base64')}`;
    if (head.headers['proxy-authorization'] !== expected) {
      near.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n');
      return undefined;
    }
    asked.push(`${match[1]}:${match[2]}`);
    const far = await onwardTo(match[1] ?? '', Number(match[2]));
    near.write('HTTP/1.1 200 Connection established\r\n\r\n');
    return far;
  }

  async function socksRequest(near: Duplex): Promise<Duplex | undefined> {
    const [, count = 0] = await read(near, 2);
    const methods = [...(await read(near, count))];
    const method = auth === undefined ? 0 : 2;
    if (!methods.includes(method)) {
      near.end(Uint8Array.of(5, 255));
      return undefined;
    }
    near.write(Uint8Array.of(5, method));
    if (auth !== undefined) {
      const [, userLength = 0] = await read(near, 2);
      const user = String(await read(near, userLength));
      const [passwordLength = 0] = await read(near, 1);
      const right = `${user}:${String(await read(near, passwordLength))}` === auth;
      near.write(Uint8Array.of(1, right ? 0 : 1));
      if (!right) {
        near.end();
        return undefined;
      }
    }
    const [, , , type] = await read(near, 4);
    const host =
      type === 1
        ? [...(await read(near, 4))].join('.')
        : String(await read(near, (await read(near, 1))[0] ?? 0));
    const port = (await read(near, 2)).readUInt16BE();
    asked.push(`${host}:${port}`);
    const far = await onwardTo(host, port);
    near.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
    return far;
  }

  /** Reads the request, and asks the target anew over TLS with HTTP/1.1: client certificates end here. */
  async function downgraded(near: Duplex): Promise<Duplex | undefined> {
    const head = await readHttpHead(near, 'the client');
    if (head.headers.upgrade?.toLowerCase() !== 'websocket') {
      near.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return undefined;
    }
    const far = tlsConnect({
      host: options.target?.host ?? '127.0.0.1',
      port: options.target?.port ?? 0,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    }).on('error', () => {});
    await new Promise((resolve, reject) => far.once('secureConnect', resolve).once('error', reject));
    const lines = Object.entries(head.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    far.write(`${head.startLine}\r\n${lines.join('')}via: 1.1 corporate\r\n\r\n`);
    return far;
  }

  function onwardTo(host: string, port: number): Promise<Socket> {
    const { target } = options;
    return target === undefined ? reach(host, port) : reach(target.host ?? '127.0.0.1', target.port);
  }

  function reach(host: string, port: number): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, allowHalfOpen: true });
      socket.on('error', reject).once('connect', () => resolve(socket));
      raw.add(socket);
      socket.once('close', () => raw.delete(socket));
    });
  }

  function join(near: Duplex, far: Duplex): void {
    const pair: Pair = { near, far, sockets: [near, far].filter(isSocket) };
    pairs.add(pair);
    if (maxAgeMs !== undefined) limitAge(pair, maxAgeMs);
    carry(near, far, 'toServer');
    carry(far, near, 'toClient');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => {});
      one.once('close', () => {
        pairs.delete(pair);
        pair.timer?.cancel();
        if (!other.writableEnded) other.destroy();
      });
    }
  }

  function carry(from: Duplex, to: Duplex, direction: 'toServer' | 'toClient'): void {
    const pass = (act: () => void): void => {
      if (hole === 'both' || hole === direction) return;
      if (delayMs === 0) act();
      else runtime.clock.after(delayMs, act);
    };
    from.on('data', (chunk: Buffer) =>
      pass(() => {
        if (to.destroyed || to.write(chunk)) return;
        from.pause();
        to.once('drain', () => from.resume());
      }),
    );
    from.on('end', () => pass(() => to.end()));
  }

  function limitAge(pair: Pair, ageMs: number): void {
    pair.timer?.cancel();
    pair.timer = runtime.clock.after(ageMs, () => destroy(pair, 'reset'));
  }

  function setMaxAge(ageMs: number | undefined): void {
    maxAgeMs = ageMs;
    for (const pair of pairs) {
      if (ageMs === undefined) pair.timer?.cancel();
      else limitAge(pair, ageMs);
    }
  }

  function destroy(pair: Pair, how: 'close' | 'reset'): void {
    for (const socket of pair.sockets) {
      if (how === 'reset' && !('encrypted' in socket)) socket.resetAndDestroy();
      else socket.destroy();
    }
    pair.near.destroy();
    pair.far.destroy();
  }

  function cut(how: 'close' | 'reset' = 'close'): void {
    for (const pair of [...pairs]) destroy(pair, how);
    for (const socket of [...raw]) socket.destroy();
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    port: address.port,
    asked,
    setDelay(value): void {
      delayMs = value;
    },
    blackHole(direction = 'both'): void {
      hole = direction;
    },
    cut,
    refuse(): void {
      refusing = true;
    },
    setMaxAge,
    heal(): void {
      delayMs = 0;
      hole = undefined;
      refusing = false;
      setMaxAge(undefined);
    },
    get connections(): number {
      return pairs.size;
    },
    get accepted(): number {
      return accepted;
    },
    async close(): Promise<void> {
      refusing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      await closed;
    },
  };
}

function isSocket(stream: Duplex): stream is Socket {
  return 'resetAndDestroy' in stream;
}

async function read(stream: Duplex, count: number): Promise<Buffer> {
  for (;;) {
    const bytes = stream.read(count) as Buffer | null;
    if (bytes !== null) return bytes;
    if (stream.readableEnded || stream.destroyed) throw new Error('the client closed the connection');
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        stream.off('readable', wake).off('end', wake).off('close', wake);
        resolve();
      };
      stream.on('readable', wake).on('end', wake).on('close', wake);
    });
  }
}
