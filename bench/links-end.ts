/**
 * One end of the links benchmark, in a process of its own so that its memory is its own: the hub, or all the spokes. It is told
 * what to do over IPC. `floor` is the same with bare node:tls and node:http2.
 */
import { type ClientHttp2Session, connect, performServerHandshake } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect as connectTls, createServer } from 'node:tls';
import { type Response, readBody } from '../src/kube/exchange.ts';
import type { KeyPair } from '../src/kube/pki.ts';
import {
  type Link,
  startTunnelDialer,
  startTunnelListener,
  type Transport,
  type TunnelListener,
} from '../src/link/index.ts';
import { systemRuntime } from '../src/runtime/index.ts';
import { rate } from './measure.ts';

export interface Identity extends KeyPair {
  readonly spoke: string;
}

export type Command =
  | {
      readonly do: 'hub' | 'floor-hub';
      readonly serving: KeyPair;
      readonly linkCa: KeyPair;
      readonly port: number;
    }
  | {
      readonly do: 'spokes' | 'floor-spokes';
      readonly port: number;
      readonly hubCa: string;
      readonly identities: readonly Identity[];
      readonly transport?: Transport;
    }
  | { readonly do: 'connected'; readonly count: number }
  | { readonly do: 'memory' | 'cpu' | 'restart' }
  | { readonly do: 'requests' | 'download'; readonly durationMs: number };

const HEARTBEAT_MS = 30_000;
const CHUNK = Buffer.alloc(256 * 1024);

const runtime = systemRuntime();
let listener: TunnelListener | undefined;
let started: Extract<Command, { do: 'hub' | 'floor-hub' }> | undefined;
const sessions = new Set<ClientHttp2Session>();
const waiting = new Set<() => void>();

function wake(): void {
  for (const check of [...waiting]) check();
}

function up(): number {
  if (listener === undefined) return sessions.size;
  let count = 0;
  for (const link of listener.links.values()) if (link.up) count += 1;
  return count;
}

async function startHub(command: Extract<Command, { do: 'hub' | 'floor-hub' }>): Promise<number> {
  started = command;
  const { serving, linkCa, port } = command;
  if (command.do === 'hub') {
    listener = await startTunnelListener(runtime, {
      port,
      certificate: serving.certificate,
      key: serving.key,
      linkCa,
      pingIntervalMs: HEARTBEAT_MS,
      pingTimeoutMs: HEARTBEAT_MS,
      verifySpoke: () => ({ allowed: true }),
      consumeJoinToken: async () => false,
      onLink: (link) => void link.onChange(wake),
    });
    return listener.port;
  }
  const server = createServer({
    cert: serving.certificate,
    key: serving.key,
    ca: linkCa.certificate,
    requestCert: true,
    minVersion: 'TLSv1.3',
  });
  server.on('secureConnection', (socket) => {
    const session = connect('http://peer.invalid', { createConnection: () => socket });
    session.on('error', () => {});
    const ask = session.request({ ':path': '/' });
    ask.resume().on('error', () => {});
    ask.once('close', () => {
      sessions.add(session);
      wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function startSpokes(command: Extract<Command, { do: 'spokes' | 'floor-spokes' }>): void {
  for (const { spoke, key, certificate } of command.identities) {
    if (command.do === 'floor-spokes') {
      const socket = connectTls({
        host: '127.0.0.1',
        port: command.port,
        ca: command.hubCa,
        key,
        cert: certificate,
        minVersion: 'TLSv1.3',
      });
      socket.once('secureConnect', () => {
        const session = performServerHandshake(socket, {});
        session
          .on('error', () => {})
          .on('stream', (stream) => stream.respond({ ':status': 204 }, { endStream: true }));
      });
      continue;
    }
    startTunnelDialer(runtime, {
      hubAddress: `127.0.0.1:${command.port}`,
      hubCaPem: command.hubCa,
      spoke,
      keyStore: { load: async () => ({ key, certificate }), save: async () => {} },
      serve: async (request) =>
        request.path === '/large'
          ? { status: 200, headers: {}, body: chunks(request.signal) }
          : { status: 200, headers: {}, body: Buffer.from('{}') },
      pingIntervalMs: HEARTBEAT_MS,
      pingTimeoutMs: HEARTBEAT_MS,
      ...(command.transport === undefined ? {} : { transports: [command.transport] }),
    });
  }
}

async function* chunks(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  while (signal?.aborted !== true) yield CHUNK;
}

function connected(count: number): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (up() < count) return;
      waiting.delete(check);
      resolve();
    };
    waiting.add(check);
    check();
  });
}

function firstLink(): Link {
  for (const link of listener?.links.values() ?? []) if (link.up) return link;
  throw new Error('no spoke is connected');
}

async function download(durationMs: number): Promise<number> {
  const abort = new AbortController();
  const response: Response = await firstLink().handler({
    method: 'GET',
    path: '/large',
    headers: {},
    signal: abort.signal,
  });
  const began = performance.now();
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (performance.now() - began > durationMs) break;
  }
  return bytes / 2 ** 20 / ((performance.now() - began) / 1000);
}

function bareRequest(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': '/api/v1/pods' });
    stream.resume().once('close', () => resolve());
  });
}

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'hub':
    case 'floor-hub':
      return startHub(command);
    case 'spokes':
    case 'floor-spokes':
      return startSpokes(command);
    case 'connected':
      return connected(command.count);
    case 'memory':
      globalThis.gc?.();
      globalThis.gc?.();
      return process.memoryUsage.rss();
    case 'cpu': {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    }
    case 'restart': {
      if (listener === undefined || started === undefined) throw new Error('there is no hub');
      const { port } = listener;
      const count = up();
      await listener.close();
      const began = performance.now();
      await startHub({ ...started, port });
      await connected(count);
      return performance.now() - began;
    }
    case 'requests': {
      const [session] = sessions;
      if (session !== undefined) return rate(64, command.durationMs, () => bareRequest(session));
      const { handler } = firstLink();
      return rate(64, command.durationMs, async () => {
        await readBody(await handler({ method: 'GET', path: '/api/v1/pods', headers: {} }));
      });
    }
    case 'download':
      return download(command.durationMs);
  }
}

process.on('message', (command: Command) => {
  run(command).then(
    (value) => process.send?.({ value: value ?? null }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
