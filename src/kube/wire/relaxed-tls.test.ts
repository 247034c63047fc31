import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Runtime, systemRuntime } from '../../runtime/index.ts';
import type { ClusterEndpoint, TlsRelaxation } from '../cluster-endpoint.ts';
import { readBody } from '../exchange.ts';
import { httpHandler } from '../http-handler.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../pki.ts';

const HOUR = 3_600_000;
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const runtime = systemRuntime();
/** Certificates of three hours ago have ended. */
const past: Runtime = { ...runtime, clock: { ...runtime.clock, now: () => runtime.clock.now() - 3 * HOUR } };

interface Served {
  readonly at?: Runtime;
  readonly address?: string;
  readonly usage?: 'server' | 'client';
  readonly authority?: KeyPair;
}

/** A server with a certificate of `authority`, and what trusts another one too. */
async function serve({
  at = runtime,
  address = '127.0.0.1',
  usage = 'server',
  authority,
}: Served = {}): Promise<{
  url: string;
  ca: string;
}> {
  const known = await createCertificateAuthority(past, 'known');
  const own = await issueCertificate(at, authority ?? known, {
    commonName: 'server',
    ipAddresses: [address],
    usage,
    lifetimeMs: HOUR,
  });
  const server = createServer(
    { cert: own.certificate, key: own.key },
    (_request, response) => void response.end('ok'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => server.close(resolve)));
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, ca: known.certificate };
}

async function ask(endpoint: ClusterEndpoint, ...tlsRelaxations: TlsRelaxation[]): Promise<string> {
  const handler = httpHandler({ ...endpoint, tlsRelaxations });
  open.push(() => handler.close());
  const signal = AbortSignal.timeout(5_000);
  const response = await handler({ method: 'GET', path: '/livez', headers: {}, signal }).catch(
    (error: Error) => {
      throw error.cause;
    },
  );
  return Buffer.from(await readBody(response, 1024)).toString('utf8');
}

describe('a check of certificates that leaves something out', () => {
  it('[F2] lets a server of another name in with SubjectName, and with nothing else', async () => {
    const other = await serve({ address: '10.9.8.7' });
    await expect(ask(other)).rejects.toThrow(/does not match/);
    await expect(ask(other, 'ValidityPeriod')).rejects.toThrow(/ALTNAME_INVALID/);
    expect(await ask(other, 'SubjectName')).toBe('ok');
  });

  it('[F2] lets a server in whose certificate has ended with ValidityPeriod, and with nothing else', async () => {
    const ended = await serve({ at: past });
    await expect(ask(ended)).rejects.toThrow(/expired/);
    await expect(ask(ended, 'SubjectName')).rejects.toThrow(/expired/);
    expect(await ask(ended, 'ValidityPeriod')).toBe('ok');
  });

  it('needs both for both', async () => {
    const both = await serve({ at: past, address: '10.9.8.7' });
    await expect(ask(both, 'SubjectName')).rejects.toThrow(/expired/);
    await expect(ask(both, 'ValidityPeriod')).rejects.toThrow(/does not hold that name/);
    expect(await ask(both, 'SubjectName', 'ValidityPeriod')).toBe('ok');
  });

  it('never lets a stranger in, whatever his certificate says of its time', async () => {
    const stranger = await createCertificateAuthority(past, 'known');
    for (const at of [runtime, past]) {
      const forged = await serve({ at, authority: stranger });
      await expect(ask(forged, 'SubjectName', 'ValidityPeriod')).rejects.toThrow(/refused/);
    }
  });

  it('does not take the certificate of a client for one of a server', async () => {
    const client = await serve({ at: past, usage: 'client' });
    await expect(ask(client, 'ValidityPeriod')).rejects.toThrow(/not one of a server|purpose/);
  });

  it('[F2] checks nothing where nothing shall be checked', async () => {
    const stranger = await createCertificateAuthority(past, 'unknown');
    const forged = await serve({ at: past, address: '10.9.8.7', authority: stranger });
    const handler = httpHandler({ ...forged, insecureSkipTlsVerify: true });
    open.push(() => handler.close());
    expect((await handler({ method: 'GET', path: '/livez', headers: {} })).status).toBe(200);
  });
});
