import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createApiServer, sqliteDriver } from '../src/apiserver/index.ts';
import { type Handler, readBody } from '../src/kube/exchange.ts';
import { systemRuntime } from '../src/runtime/index.ts';
import { connectFrames, type FrameClient } from './frame-client.ts';
import { residentMiB, root } from './measure.ts';

/** A server under measurement, however it is reached. */
export interface Subject {
  /** The body of a successful answer; rejects for any other. */
  call(method: string, path: string, body?: Uint8Array, type?: string): Promise<Uint8Array>;
  /** Resolves when the stream is open; `onChunk` gets whatever comes. */
  watch(path: string, onChunk: (chunk: Uint8Array) => void): Promise<{ stop(): void }>;
  close(): Promise<void>;
}

/** A server of its own process or processes. */
export interface ProcessSubject extends Subject {
  /** From the start of the process until /readyz answers 200. */
  readonly readyMs: number;
  /** Resident memory now, of all its processes. */
  rssMiB(): number;
}

const TOKEN = 'bench';
/** Streams on one connection: what kube-apiserver lets a client open is more, but so is its own client's habit. */
const STREAMS = 100;
const CONNECTIONS = 4;
const READY_TIMEOUT_MS = 60_000;

/** The server within this process, over a SQLite file. */
export async function inProcessSubject(folder: string): Promise<Subject> {
  const server = await createApiServer({
    runtime: systemRuntime(),
    storage: sqliteDriver(join(folder, 'in-process.db')),
  });
  const handler: Handler = server.as({ name: 'bench', groups: ['system:masters'] });
  return {
    async call(method, path, body, type = 'application/json') {
      const headers: Record<string, string> = body ? { 'content-type': type } : {};
      const response = await handler({ method, path, headers, ...(body ? { body } : {}) });
      const bytes = await readBody(response);
      if (response.status >= 300) throw failure(method, path, response.status, bytes);
      return bytes;
    },
    async watch(path, onChunk) {
      const abort = new AbortController();
      const { status, body } = await handler({ method: 'GET', path, headers: {}, signal: abort.signal });
      if (body instanceof Uint8Array) throw failure('GET', path, status, body);
      const follow = async (): Promise<void> => {
        for await (const chunk of body) onChunk(chunk);
      };
      follow().catch((error: unknown) => {
        if (!abort.signal.aborted) throw error;
      });
      return { stop: () => abort.abort() };
    },
    close: () => server.close(),
  };
}

/** `atoll apiserver` on SQLite with FULL sync, as it is started by hand but for simulated workloads. */
export async function atollSubject(folder: string): Promise<ProcessSubject> {
  const port = await freePort();
  const data = join(folder, 'atoll');
  const args = [
    'apiserver',
    '--port',
    String(port),
    '--data',
    data,
    '--admin-token',
    TOKEN,
    '--controllers',
    'core',
  ];
  return processSubject(port, () => [
    start(process.execPath, [join(root, 'dist', 'cli', 'main.js'), ...args]),
  ]);
}

/** kube-apiserver and etcd of a folder as envtest has it (`KUBEBUILDER_ASSETS`), with etcd syncing to disk as it does by default. */
export async function kubeApiServerSubject(assets: string, folder: string): Promise<ProcessSubject> {
  for (const name of ['etcd', 'kube-apiserver'])
    if (!existsSync(join(assets, name))) throw new Error(`KUBEBUILDER_ASSETS has no ${name}: ${assets}`);
  const [port, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()];
  const home = join(folder, 'kube-apiserver');
  mkdirSync(home, { recursive: true });
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = join(home, 'sa.key');
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(join(home, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  writeFileSync(join(home, 'tokens.csv'), `${TOKEN},bench,bench,system:masters\n`, { mode: 0o600 });
  const etcd = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return processSubject(port, () => [
    start(join(assets, 'etcd'), [
      ...['--data-dir', join(home, 'etcd'), '--listen-client-urls', etcd, '--advertise-client-urls', etcd],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', `default=${peer}`],
    ]),
    start(join(assets, 'kube-apiserver'), [
      `--etcd-servers=${etcd}`,
      `--cert-dir=${join(home, 'pki')}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--token-auth-file=${join(home, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://bench',
      `--service-account-signing-key-file=${keyFile}`,
      `--service-account-key-file=${join(home, 'sa.pub')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--disable-admission-plugins=ServiceAccount',
    ]),
  ]);
}

/** The least that any server must do (`bare-server.ts`). */
export async function bareSubject(folder: string): Promise<ProcessSubject> {
  const port = await freePort();
  const args = [join(root, 'bench', 'bare-server.ts'), String(port), join(folder, 'bare.db')];
  return processSubject(port, () => [start(process.execPath, args)]);
}

interface Started {
  readonly child: ChildProcess;
  log(): string;
}

function start(file: string, args: readonly string[]): Started {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-4000);
    });
  return { child, log: () => text };
}

async function processSubject(port: number, launch: () => readonly Started[]): Promise<ProcessSubject> {
  const began = performance.now();
  const started = launch();
  const stop = async (): Promise<void> => {
    // The server before its storage.
    for (const { child } of [...started].reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(killer);
    }
  };
  const sessions: FrameClient[] = [];
  try {
    await untilReady(port, started, began);
    const readyMs = performance.now() - began;
    const calls = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectFrames(port, TOKEN)));
    sessions.push(...calls);
    let next = 0;
    let watches: FrameClient | undefined;
    let streams = 0;
    return {
      readyMs,
      rssMiB: () => started.reduce((sum, { child }) => sum + residentMiB(child.pid ?? 0), 0),
      async call(method, path, body, type = 'application/json') {
        const session = calls[next++ % calls.length] as FrameClient;
        const { status, bytes } = await session.ask(method, path, body, body && type);
        if (status >= 300) throw failure(method, path, status, bytes);
        return bytes;
      },
      async watch(path, onChunk) {
        if (watches === undefined || streams % STREAMS === 0) {
          watches = await connectFrames(port, TOKEN);
          sessions.push(watches);
        }
        streams += 1;
        const { status, stop: stopWatch } = await watches.stream(path, onChunk);
        if (status !== 200) throw new Error(`GET ${path}: ${status}`);
        return { stop: stopWatch };
      },
      async close() {
        for (const session of sessions) session.destroy();
        await stop();
      },
    };
  } catch (error) {
    for (const session of sessions) session.destroy();
    await stop();
    throw error;
  }
}

async function untilReady(port: number, started: readonly Started[], began: number): Promise<void> {
  for (;;) {
    for (const { child, log } of started)
      if (child.exitCode !== null)
        throw new Error(`${child.spawnfile} ended with ${child.exitCode}:\n${log()}`);
    if (performance.now() - began > READY_TIMEOUT_MS)
      throw new Error(
        `not ready in ${READY_TIMEOUT_MS / 1000} s:\n${started.map(({ log }) => log()).join('\n')}`,
      );
    try {
      const session = await connectFrames(port, TOKEN);
      try {
        if ((await session.ask('GET', '/readyz')).status === 200) return;
      } finally {
        session.destroy();
      }
    } catch {
      // Nobody listens yet, or not for long: asked again until the time is over.
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function failure(method: string, path: string, status: number, bytes: Uint8Array): Error {
  return new Error(`${method} ${path}: ${status} ${Buffer.from(bytes).toString().slice(0, 500)}`);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
