import { execFile, spawnSync } from 'node:child_process';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { createCertificateAuthority, issueCertificate } from '../../../kube/pki.ts';
import { systemRuntime } from '../../../runtime/index.ts';
import { staticTokenAuthenticator } from '../../auth/index.ts';
import { serveHttps } from '../../http/index.ts';
import { createApiServer } from '../../server.ts';
import { memoryDriver } from '../../storage/index.ts';
import { MAX_ANSWER_BYTES, postReview, type WebhookTarget, webhookConnections } from './webhook-client.ts';

const runtime = systemRuntime();
const authority = await createCertificateAuthority(runtime, 'hooks');
const stranger = await createCertificateAuthority(runtime, 'stranger');
const serving = await issueCertificate(runtime, authority, {
  commonName: 'hooks',
  dnsNames: ['hooks.tools.svc'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
  lifetimeMs: 3_600_000,
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer({ cert: serving.certificate, key: serving.key }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return (server.address() as AddressInfo).port;
}

function post(target: WebhookTarget, timeoutMs: number = 5000): Promise<unknown> {
  const connections = webhookConnections();
  cleanups.push(() => connections.close());
  return postReview(runtime.clock, connections.call, target, { hello: 'hook' }, timeoutMs);
}

describe('the webhook client', () => {
  const caBundle = authority.certificate;

  it('[V52] posts to a URL, and to the address behind a Service under its name', async () => {
    const hosts: unknown[] = [];
    const port = await listen((request, response) => {
      hosts.push(request.headers.host);
      request.pipe(response);
    });
    expect(await post({ url: `https://127.0.0.1:${port}/`, caBundle })).toEqual({ hello: 'hook' });
    const address = { host: '127.0.0.1', port };
    expect(await post({ url: 'https://hooks.tools.svc:443/x', address, caBundle })).toEqual({
      hello: 'hook',
    });
    expect(hosts).toEqual([`127.0.0.1:${port}`, 'hooks.tools.svc']);
  });

  it('[V52] believes nobody but the given authority, and nobody under another name', async () => {
    const port = await listen((request, response) => request.pipe(response));
    const url = `https://127.0.0.1:${port}/`;
    const unknown = 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
    await expect(post({ url, caBundle: stranger.certificate })).rejects.toThrow(
      `failed to call webhook: Post "${url}": ${unknown}`,
    );
    await expect(post({ url })).rejects.toThrow(unknown);
    await expect(
      post({ url: 'https://other.tools.svc:443/', address: { host: '127.0.0.1', port }, caBundle }),
    ).rejects.toThrow('certificate is not valid for other.tools.svc');
  });

  it('[V52] follows no redirect, reads no more than fits, and goes nowhere near metadata', async () => {
    let hits = 0;
    const port = await listen((request, response) => {
      hits += 1;
      if (request.url === '/moved') response.writeHead(307, { location: '/huge' }).end();
      else if (request.url === '/huge') response.end(Buffer.alloc(MAX_ANSWER_BYTES + 1, 32));
      else if (request.url === '/broken') response.writeHead(500).end('oops');
      else response.writeHead(404).end();
    });
    const at = (path: string): WebhookTarget => ({ url: `https://127.0.0.1:${port}${path}`, caBundle });
    await expect(post(at('/moved'))).rejects.toThrow('the server responded with the status code 307');
    expect(hits).toBe(1);
    await expect(post(at('/huge'))).rejects.toThrow('exceeds');
    await expect(post(at('/broken'))).rejects.toThrow(
      'failed to call webhook: an error on the server ("oops") has prevented the request from succeeding',
    );
    await expect(post(at('/absent'))).rejects.toThrow(
      'failed to call webhook: the server could not find the requested resource',
    );
    await expect(post({ url: 'https://169.254.169.254/latest' })).rejects.toThrow('link-local');
    await expect(post({ url: 'https://[::ffff:169.254.169.254]/' })).rejects.toThrow('link-local');
  });

  const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

  it.skipIf(!hasKubectl)(
    '[V52] lets a webhook label what kubectl creates, in the namespaces that it is for',
    async () => {
      const port = await listen((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const { request: asked } = JSON.parse(Buffer.concat(chunks).toString());
          const patch = [{ op: 'add', path: '/metadata/labels', value: { team: 'blue' } }];
          response.setHeader('content-type', 'application/json');
          response.end(
            JSON.stringify({
              apiVersion: 'admission.k8s.io/v1',
              kind: 'AdmissionReview',
              response: {
                uid: asked.uid,
                allowed: true,
                patchType: 'JSONPatch',
                patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
                warnings: ['labelled'],
              },
            }),
          );
        });
      });
      const server = await createApiServer({
        runtime,
        storage: memoryDriver(),
        authenticate: staticTokenAuthenticator([
          { token: 'secret', user: { name: 'me', groups: ['system:masters'] } },
        ]),
        resolveService: (namespace, name) =>
          namespace === 'tools' && name === 'hooks' ? { host: '127.0.0.1', port } : undefined,
      });
      cleanups.push(() => server.close());
      const https = await serveHttps(runtime, {
        port: 0,
        certificate: serving.certificate,
        key: serving.key,
        clientCa: stranger.certificate,
        handle: server.handle,
      });
      cleanups.push(() => https.close(0));
      const run = promisify(execFile);
      const kubectl = (...words: string[]): Promise<{ stdout: string; stderr: string }> =>
        run(
          'kubectl',
          [
            `--server=https://127.0.0.1:${https.port}`,
            '--insecure-skip-tls-verify',
            '--token=secret',
            ...words,
          ],
          { env: { ...process.env, KUBECONFIG: '/dev/null' } },
        );
      await server.as({ name: 'me', groups: ['system:masters'] })({
        method: 'POST',
        path: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(
          JSON.stringify({
            metadata: { name: 'labels' },
            webhooks: [
              {
                name: 'labels.example.com',
                clientConfig: {
                  service: { namespace: 'tools', name: 'hooks' },
                  caBundle: Buffer.from(caBundle).toString('base64'),
                },
                rules: [
                  { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] },
                ],
                namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'blue' } },
                admissionReviewVersions: ['v1'],
                sideEffects: 'None',
              },
            ],
          }),
        ),
      });
      await kubectl('create', 'namespace', 'blue');
      const { stderr } = await kubectl('create', 'configmap', 'm', '-n', 'blue');
      expect(stderr).toContain('Warning: labelled');
      await kubectl('create', 'configmap', 'm', '-n', 'default');
      const label = async (namespace: string): Promise<string> =>
        (await kubectl('get', 'configmap', 'm', '-n', namespace, '-o', 'jsonpath={.metadata.labels.team}'))
          .stdout;
      expect(await label('blue')).toBe('blue');
      expect(await label('default')).toBe('');
    },
    30_000,
  );
});
