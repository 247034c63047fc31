import { connect as connectHttp2 } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { readBody } from '../../kube/exchange.ts';
import { httpHandler } from '../../kube/http-handler.ts';
import { createCertificateAuthority, issueCertificate } from '../../kube/pki.ts';
import { type Runtime, systemRuntime, virtualClock } from '../../runtime/index.ts';
import { serveHttps } from './index.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('connections of the API server that nobody uses', () => {
  it('are closed after 90 s with a GOAWAY that says no error, and a client asks on by a new one', async () => {
    const real = systemRuntime();
    const clock = virtualClock();
    const runtime: Runtime = { ...real, clock: { ...clock, defer: real.clock.defer } };
    const ca = await createCertificateAuthority(real, 'test');
    const own = await issueCertificate(real, ca, {
      commonName: 'server',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
      lifetimeMs: 3_600_000,
    });
    const connections = new Set<unknown>();
    const server = await serveHttps(runtime, {
      port: 0,
      certificate: own.certificate,
      key: own.key,
      clientCa: ca.certificate,
      handle: async (_request, connection) => {
        connections.add(connection);
        return { status: 200, headers: {}, body: Buffer.from('ok') };
      },
    });
    cleanups.push(() => server.close(0));
    const url = `https://127.0.0.1:${server.port}`;

    const session = connectHttp2(url, { ca: ca.certificate });
    cleanups.push(() => session.destroy());
    const told: unknown[] = [];
    session
      .on('goaway', (code) => told.push(code))
      .on('error', (error) => told.push(error))
      .on('close', () => told.push('closed'));
    const stream = session.request({ ':path': '/' });
    await new Promise<void>((resolve) => stream.resume().once('close', resolve).end());
    const ask = httpHandler({ url, ca: ca.certificate });
    cleanups.push(() => ask.close());
    const get = async (): Promise<string> =>
      Buffer.from(await readBody(await ask({ method: 'GET', path: '/', headers: {} }))).toString();
    expect(await get()).toBe('ok');
    expect(connections.size).toBe(2);

    await expect.poll(() => clock.pending()).toBe(2);
    await clock.advance(89_999);
    expect(told).toEqual([]);
    await clock.advance(1);
    await expect.poll(() => told).toEqual([0, 'closed']);
    expect(await get()).toBe('ok');
    expect(connections.size).toBe(3);
  });
});
