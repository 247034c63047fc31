import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient, httpHandler } from '../../kube/index.ts';
import { createCertificateAuthority, issueCertificate } from '../../kube/pki.ts';
import { namespaces, serviceAccounts } from '../../kube/well-known.ts';
import { systemRuntime } from '../../runtime/index.ts';
import { untilHolds } from '../../testing/moving-time.ts';
import { runEtcd } from './etcd.ts';
import { runKubeApiServer } from './kube-apiserver.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const runtime = systemRuntime();
const children: ChildProcess[] = [];
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atoll-envtest-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(directory, { recursive: true, force: true });
});

function run(...args: string[]): { child: ChildProcess; text: () => string; ended: Promise<number> } {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  return { child, text: () => text, ended: once(child, 'exit').then(([code]) => code as number) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}

describe('[V88] stand-ins for envtest', () => {
  it('[V88] kube-apiserver serves with the certificates, authorities and tokens that it is given', async () => {
    const authority = await createCertificateAuthority(runtime, 'clients');
    const issue = (usage: 'client' | 'server', commonName: string, organizations: string[] = []) =>
      issueCertificate(runtime, authority, {
        commonName,
        organizations,
        ipAddresses: usage === 'server' ? ['127.0.0.1'] : [],
        usage,
        lifetimeMs: 3_600_000,
      });
    const serving = await issue('server', 'kube-apiserver');
    const admin = await issue('client', 'default', ['system:masters']);
    const write = (name: string, text: string) => {
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    };
    write('apiserver.crt', serving.certificate);
    write('apiserver.key', serving.key);
    const port = await freePort();
    const server = run(
      'kube-apiserver',
      '--allow-privileged=true',
      '--authorization-mode=RBAC',
      '--bind-address=127.0.0.1',
      `--cert-dir=${directory}`,
      `--client-ca-file=${write('ca.crt', authority.certificate)}`,
      '--disable-admission-plugins=ServiceAccount',
      '--etcd-servers=http://127.0.0.1:2379',
      `--secure-port=${port}`,
      `--service-account-issuer=https://127.0.0.1:${port}/`,
      `--service-account-key-file=${directory}/sa.crt`,
      `--service-account-signing-key-file=${write('sa.key', admin.key)}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      `--token-auth-file=${write('tokens', 'secret,ada,1,"readers"\n')}`,
      '--made-up',
    );
    const base = { url: `https://127.0.0.1:${port}`, ca: authority.certificate };
    const anonymous = httpHandler(base);
    await untilHolds(
      runtime.clock,
      async () => {
        const answer = await anonymous({ method: 'GET', path: '/healthz', headers: {} }).catch(
          () => undefined,
        );
        return answer?.status === 200;
      },
      `that the server is healthy: ${server.text()}`,
      20_000,
    );
    const http = httpHandler({ ...base, clientCertificate: admin.certificate, clientKey: admin.key });
    const client = createClient(http);
    expect((await client.get(namespaces, '', 'default')).metadata.name).toBe('default');
    // Nobody but a controller would make this, and there is none.
    await expect(client.get(serviceAccounts, 'default', 'default')).rejects.toMatchObject({ code: 404 });
    const ada = httpHandler({ ...base, token: 'secret' });
    await expect(createClient(ada).list(namespaces, '')).rejects.toMatchObject({
      message: expect.stringContaining('User "ada" cannot list'),
    });
    await Promise.all([anonymous.close(), http.close(), ada.close()]);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(server.text()).toContain('these flags make no difference here: --made-up');
  }, 30_000);

  it('[V88] kube-apiserver leaves its certificate where its clients look for it', async () => {
    const certificates = join(directory, 'pki');
    const port = await freePort();
    const server = run('kube-apiserver', `--cert-dir=${certificates}`, `--secure-port=${port}`);
    const isHealthy = async (): Promise<boolean> => {
      const ca = readFileSync(join(certificates, 'apiserver.crt'), 'utf8');
      const http = httpHandler({ url: `https://127.0.0.1:${port}`, ca });
      try {
        return (await http({ method: 'GET', path: '/healthz', headers: {} })).status === 200;
      } finally {
        await http.close();
      }
    };
    await untilHolds(
      runtime.clock,
      () => isHealthy().catch(() => false),
      `that the server is believed: ${server.text()}`,
      20_000,
    );
    expect(statSync(join(certificates, 'apiserver.key')).mode & 0o777).toBe(0o600);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  }, 30_000);

  it('[V88] etcd says that it is well', async () => {
    const port = await freePort();
    const etcd = run(
      'etcd',
      `--listen-client-urls=http://127.0.0.1:${port}`,
      `--advertise-client-urls=http://127.0.0.1:${port}`,
      '--listen-peer-urls=http://localhost:0',
      `--data-dir=${directory}`,
      '--unsafe-no-fsync=true',
    );
    await untilHolds(
      runtime.clock,
      async () => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined))?.ok === true,
      'that etcd is healthy',
      20_000,
    );
    etcd.child.kill('SIGTERM');
    expect(await etcd.ended).toBe(0);
  }, 30_000);

  it('[V88] names the flag that is wrong', async () => {
    await expect(runKubeApiServer(['--secure-port=high'])).rejects.toThrow('--secure-port: high is no port');
    await expect(runKubeApiServer(['--controllers=some'])).rejects.toThrow('none, core, all');
    await expect(runKubeApiServer(['--authorization-mode=Webhook'])).rejects.toThrow(
      'there are RBAC, Node and AlwaysAllow',
    );
    await expect(runKubeApiServer(['--client-ca-file=/nowhere'])).rejects.toThrow('--client-ca-file');
    await expect(runEtcd(['--listen-client-urls=unix:///x'])).rejects.toThrow('is no http:// address');
  });

  it('[V88] help ends well and names flags, since envtest looks there for them', async () => {
    const help = run('kube-apiserver', '--help');
    const etcd = run('etcd', '--help');
    expect(await help.ended).toBe(0);
    expect(help.text()).toMatch(/^\s*--secure-port\b/m);
    expect(help.text()).not.toMatch(/^\s*--insecure-port\b/m);
    expect(await etcd.ended).toBe(0);
    expect(etcd.text()).toMatch(/^\s*--unsafe-no-fsync\b/m);
  }, 30_000);
});
