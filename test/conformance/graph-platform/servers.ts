import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiServer, memoryDriver } from '../../../src/apiserver/index.ts';
import type { Handler } from '../../../src/kube/exchange.ts';
import { httpHandler } from '../../../src/kube/http-handler.ts';
import { systemRuntime } from '../../../src/runtime/index.ts';

/** An API server that cases are run on. */
export interface Subject {
  /** With the administrator's rights. */
  readonly handler: Handler;
  stop(): Promise<void>;
}

const assets: string | undefined = process.env['KUBEBUILDER_ASSETS'] || undefined;
if (assets === undefined)
  process.stderr.write(
    '\n!! KUBEBUILDER_ASSETS is not set: the platform of resource graphs is NOT held against a kube-apiserver (SKIPPED).\n\n',
  );

export const hasRealServer: boolean = assets !== undefined;

export async function startEmbedded(): Promise<Subject> {
  const server = await createApiServer({ runtime: systemRuntime(), storage: memoryDriver() });
  return {
    handler: server.as({ name: 'admin', groups: ['system:masters'] }),
    stop: () => server.close(),
  };
}

const READY_MS = 60_000;
const TOKEN = 'conformance';

/** A kube-apiserver on an etcd of its own, without controllers. */
export async function startReal(): Promise<Subject> {
  if (assets === undefined) throw new Error('KUBEBUILDER_ASSETS is not set');
  const home = mkdtempSync(join(tmpdir(), 'graph-platform-'));
  const children: ChildProcess[] = [];
  let log = '';
  const start = (binary: string, args: readonly string[]): void => {
    const child = spawn(join(assets, binary), args, { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        log = (log + chunk.toString()).slice(-10_000);
      });
    children.push(child);
  };
  const stop = async (): Promise<void> => {
    for (const child of children.reverse()) {
      const ended = new Promise((resolve) => child.once('close', resolve));
      if (child.exitCode === null && child.kill('SIGKILL')) await ended;
    }
    rmSync(home, { recursive: true, force: true });
  };
  const file = (name: string, text: string): string => {
    writeFileSync(join(home, name), text, { mode: 0o600 });
    return join(home, name);
  };
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [client, peer, secure] = [await freePort(), await freePort(), await freePort()];
  start('etcd', [
    ...['--data-dir', join(home, 'etcd'), '--unsafe-no-fsync', '--log-level', 'error'],
    ...[
      `--listen-client-urls=http://127.0.0.1:${client}`,
      `--advertise-client-urls=http://127.0.0.1:${client}`,
    ],
    ...[
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    ],
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
  ]);
  start('kube-apiserver', [
    `--etcd-servers=http://127.0.0.1:${client}`,
    ...[`--cert-dir=${join(home, 'pki')}`, `--secure-port=${secure}`, '--bind-address=127.0.0.1'],
    ...[
      '--endpoint-reconciler-type=none',
      '--authorization-mode=RBAC',
      '--disable-admission-plugins=ServiceAccount',
    ],
    `--token-auth-file=${file('tokens.csv', `${TOKEN},admin,admin,"system:masters"\n`)}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${file('sa.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())}`,
    `--service-account-key-file=${file('sa.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString())}`,
  ]);
  const certificate = join(home, 'pki', 'apiserver.crt');
  const until = performance.now() + READY_MS;
  for (;;) {
    if (performance.now() > until || children.some(({ exitCode }) => exitCode !== null)) {
      await stop();
      throw new Error(`the kube-apiserver is not ready: ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (!existsSync(certificate)) continue;
    const handler = httpHandler({
      url: `https://127.0.0.1:${secure}`,
      ca: readFileSync(certificate, 'utf8'),
      token: TOKEN,
    });
    try {
      const { status } = await handler({ method: 'GET', path: '/readyz', headers: {} });
      if (status === 200) return { handler, stop };
    } catch {
      // Not there yet; what it says goes into the error above.
    }
  }
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
