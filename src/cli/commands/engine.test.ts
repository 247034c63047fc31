import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  clientCertificateAuthenticator,
  createApiServer,
  memoryDriver,
  serveHttps,
} from '../../apiserver/index.ts';
import type { Client } from '../../kube/client.ts';
import { contextKubeconfig } from '../../kube/context-kubeconfig.ts';
import { formatKubeconfig } from '../../kube/kubeconfig.ts';
import { createCertificateAuthority, issueCertificate } from '../../kube/pki.ts';
import { createClient } from '../../kube/rest-client.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import { systemRuntime } from '../../runtime/runtime.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
const HOUR_MS = 3_600_000;
const runtime = systemRuntime();
const ends: (() => Promise<unknown> | unknown)[] = [];
let dir: string;
let client: Client;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'atoll-engine-'));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  const authority = await createCertificateAuthority(runtime, 'api');
  const server = await createApiServer({
    runtime,
    storage: memoryDriver(),
    authenticate: clientCertificateAuthenticator(runtime.clock),
  });
  ends.push(() => server.close());
  client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }));
  const [serving, admin] = await Promise.all([
    issueCertificate(runtime, authority, {
      ...{ commonName: 'api', ipAddresses: ['127.0.0.1'], usage: 'server', lifetimeMs: HOUR_MS },
    }),
    issueCertificate(runtime, authority, {
      ...{ commonName: 'admin', organizations: ['system:masters'], usage: 'client', lifetimeMs: HOUR_MS },
    }),
  ]);
  const https = await serveHttps(runtime, {
    port: 0,
    certificate: serving.certificate,
    key: serving.key,
    clientCa: authority.certificate,
    handle: (request, connection) => server.handle(request, connection),
  });
  ends.push(() => https.close(500));
  const context = {
    ...{ name: 'api', server: `https://127.0.0.1:${https.port}`, authority: authority.certificate },
    ...{ user: 'admin', credentials: admin },
  };
  writeFileSync(join(dir, 'kubeconfig'), formatKubeconfig(contextKubeconfig([context])));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A port that somebody else listens on. */
async function takenPort(): Promise<number> {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  ends.push(() => once(other.close(), 'close'));
  return (other.address() as AddressInfo).port;
}

/** `atoll hub` on the API server, until it ends by itself. */
async function hub(...options: string[]): Promise<{ code: number | null; errors: string }> {
  const args = ['hub', '--kubeconfig', join(dir, 'kubeconfig'), '--data', join(dir, 'data'), ...options];
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  ends.push(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors += text.toString();
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, errors };
}

it('a hub that cannot listen for spokes ends before it does anything', { timeout: 120_000 }, async () => {
  const port = await takenPort();
  const { code, errors } = await hub('--link-port', String(port));
  expect(code).toBe(1);
  expect(errors).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}`);
  expect((await client.list(customResourceDefinitions, '')).items).toEqual([]);
});

it('a hub whose way for people is taken does not go on without it', { timeout: 120_000 }, async () => {
  const port = await takenPort();
  const { code, errors } = await hub('--access-port', String(port));
  expect(code).toBe(1);
  expect(errors).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}`);
});

it('what is no port, and no level of a log, is told before anything begins', {
  timeout: 120_000,
}, async () => {
  for (const [option, value, message] of [
    ['--link-port', '99999', 'It must be a port, from 0 to 65535.'],
    ['--log-level', 'loud', 'Allowed choices are debug, info, warn, error.'],
  ] as const) {
    const { code, errors } = await hub(option, value);
    expect(code).toBe(1);
    expect(errors).toContain(message);
  }
});
