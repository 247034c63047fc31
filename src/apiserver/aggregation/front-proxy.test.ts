import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { type Handler, readBody } from '../../kube/exchange.ts';
import { certificateIdentity, createCertificateAuthority, issueCertificate } from '../../kube/pki.ts';
import { systemRuntime } from '../../runtime/index.ts';
import { createApiServer } from '../server.ts';
import { memoryDriver } from '../storage/index.ts';
import { FRONT_PROXY_NAME } from './index.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function json(handler: Handler, method: string, path: string, body?: unknown) {
  const response = await handler({
    method,
    path,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
  });
  return { status: response.status, text: Buffer.from(await readBody(response)).toString() };
}

it('[V67] shows its certificate to an extension API server, which learns each group by itself and streams back', async () => {
  const runtime = systemRuntime();
  const lifetimeMs = 3_600_000;
  const frontCa = await createCertificateAuthority(runtime, 'front-proxy');
  const issue = (): ReturnType<typeof issueCertificate> =>
    issueCertificate(runtime, frontCa, { commonName: FRONT_PROXY_NAME, usage: 'client', lifetimeMs });
  let client = await issue();
  const backendCa = await createCertificateAuthority(runtime, 'backend');
  const serving = await issueCertificate(runtime, backendCa, {
    commonName: 'metrics',
    dnsNames: ['metrics.monitoring.svc'],
    usage: 'server',
    lifetimeMs,
  });
  const requests: IncomingMessage[] = [];
  const names: unknown[] = [];
  const shown: string[] = [];
  const backend = createServer(
    { cert: serving.certificate, key: serving.key, ca: frontCa.certificate, requestCert: true },
    (request, response) => {
      requests.push(request);
      const peer = (request.socket as TLSSocket).getPeerCertificate();
      names.push(peer.subject?.CN);
      shown.push(peer.fingerprint256.replaceAll(':', '').toLowerCase());
      response.setHeader('content-type', 'application/json');
      if (request.url?.includes('watch')) {
        response.write('{"type":"ADDED"}\n');
        response.end('{"type":"DELETED"}\n');
      } else
        response.end(
          JSON.stringify({ kind: 'APIResourceList', groupVersion: 'x.example.com/v1', resources: [] }),
        );
    },
  );
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  cleanups.push(
    () =>
      new Promise((resolve) => {
        backend.close(resolve);
        backend.closeAllConnections();
      }),
  );
  const server = await createApiServer({
    runtime,
    storage: memoryDriver(),
    controllers: false,
    frontProxy: { authority: frontCa.certificate, client: () => client },
    resolveService: () => ({ host: '127.0.0.1', port: (backend.address() as AddressInfo).port }),
  });
  cleanups.push(() => server.close());
  const admin = server.as({ name: 'admin', groups: ['system:masters', 'dev, ops'] });
  const made = await json(admin, 'POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: 'v1.x.example.com' },
    spec: {
      group: 'x.example.com',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 10,
      service: { namespace: 'monitoring', name: 'metrics' },
      caBundle: Buffer.from(backendCa.certificate).toString('base64'),
    },
  });
  expect(made.status).toBe(201);
  const watched = await json(admin, 'GET', '/apis/x.example.com/v1/things?watch=1');
  expect(watched.text).toBe('{"type":"ADDED"}\n{"type":"DELETED"}\n');
  const asked = requests.find(({ url }) => url === '/apis/x.example.com/v1/things?watch=1');
  const groups = asked?.rawHeaders.filter(
    (_, index, all) => all[index - 1]?.toLowerCase() === 'x-remote-group',
  );
  expect(groups).toEqual(['system:masters', 'dev, ops', 'system:authenticated']);
  expect(asked?.headers['x-remote-user']).toBe('admin');
  expect(asked?.headers.host).toBe('metrics.monitoring.svc');
  expect(new Set(names)).toEqual(new Set([FRONT_PROXY_NAME]));

  const path = '/apis/x.example.com/v1/things';
  client = await issue();
  expect((await json(admin, 'GET', path)).status).toBe(200);
  expect(shown[requests.findIndex(({ url }) => url === path)]).toBe(
    certificateIdentity(client.certificate).fingerprint,
  );
});

it('[V67] is not sent where nobody may send the server, whatever a Service says', async () => {
  const runtime = systemRuntime();
  for (const host of ['169.254.169.254', 'fe80::1', '224.0.0.1']) {
    const server = await createApiServer({
      runtime,
      storage: memoryDriver(),
      controllers: false,
      resolveService: () => ({ host, port: 80 }),
    });
    cleanups.push(() => server.close());
    const admin = server.as({ name: 'admin', groups: ['system:masters'] });
    await json(admin, 'POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: 'v1.x.example.com' },
      spec: {
        group: 'x.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { namespace: 'a', name: 'b' },
      },
    });
    const refused = await json(admin, 'GET', '/apis/x.example.com/v1/things');
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('the server does not connect to');
  }
});
