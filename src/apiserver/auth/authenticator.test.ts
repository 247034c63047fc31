import { describe, expect, it } from 'vitest';
import type { Request } from '../../kube/exchange.ts';
import { createCertificateAuthority, issueCertificate } from '../../kube/pki.ts';
import type { Connection } from '../../kube/wire/index.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import {
  authenticate,
  clientCertificateAuthenticator,
  isPublicPath,
  staticTokenAuthenticator,
  unionAuthenticator,
} from './index.ts';

const runtime = virtualRuntime(1);
const authority = await createCertificateAuthority(runtime, 'ca');
const HOUR = 3_600_000;

async function connectionOf(commonName: string, organizations: string[]): Promise<Connection> {
  const pair = await issueCertificate(runtime, authority, {
    commonName,
    organizations,
    usage: 'client',
    lifetimeMs: HOUR,
  });
  const base64 = pair.certificate.replace(/-----[^-]+-----|\s/g, '');
  return { peerCertificate: Buffer.from(base64, 'base64') };
}

function request(headers: Record<string, string> = {}): Request {
  return { method: 'GET', path: '/api', headers };
}

const bearer = (token: string): Request => request({ authorization: `Bearer ${token}` });

describe('authentication', () => {
  it('[V57] takes the user from the common name of a certificate and the groups from its organizations', async () => {
    const authenticator = clientCertificateAuthenticator(runtime.clock);
    const connection = await connectionOf('ann', ['dev', 'CN=root, O=system:masters', 'dev']);
    expect(await authenticate(authenticator, request(), connection)).toEqual({
      name: 'ann',
      groups: ['dev', 'CN=root, O=system:masters', 'system:authenticated'],
      extra: {
        'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)],
      },
    });
  });

  it('[V57] refuses a certificate that has expired while its connection was open, or names nobody', async () => {
    const clocked = virtualRuntime(1);
    const authenticator = clientCertificateAuthenticator(clocked.clock);
    const connection = await connectionOf('ann', []);
    await authenticate(authenticator, request(), connection);
    await clocked.clock.advance(HOUR + 1000);
    await expect(authenticate(authenticator, request(), connection)).rejects.toMatchObject({ code: 401 });
    const nameless = await connectionOf('', ['system:masters']);
    await expect(
      authenticate(clientCertificateAuthenticator(runtime.clock), request(), nameless),
    ).rejects.toMatchObject({ code: 401, message: 'Unauthorized' });
  });

  it('[V57] knows static tokens by their whole text only', async () => {
    const admin = { name: 'admin', groups: ['system:masters'] };
    const authenticator = staticTokenAuthenticator([
      { token: 'secret', user: admin },
      { token: '', user: admin },
    ]);
    expect(await authenticate(authenticator, bearer('secret'), {})).toEqual({
      name: 'admin',
      groups: ['system:masters', 'system:authenticated'],
    });
    expect(await authenticator(request({ authorization: ' bearer secret more' }), {})).toEqual(admin);
    expect(await authenticator(request({ authorization: 'Bearer  secret' }), {})).toBeUndefined();
    for (const headers of [
      { authorization: 'Bearer secre' },
      { authorization: 'Bearer secret2' },
      { authorization: 'Bearer SECRET' },
    ]) {
      await expect(authenticator(request(headers), {})).rejects.toMatchObject({ code: 401 });
    }
    for (const headers of [{ authorization: 'Bearer ' }, { authorization: 'Basic secret' }, {}]) {
      await expect(authenticate(authenticator, request(headers), {})).rejects.toMatchObject({ code: 401 });
    }
  });

  it('[V57] has no anonymous user, and takes any kind of good credentials', async () => {
    const authenticator = unionAuthenticator(
      clientCertificateAuthenticator(runtime.clock),
      staticTokenAuthenticator([{ token: 't', user: { name: 'bob', groups: [] } }]),
    );
    await expect(authenticate(authenticator, request(), {})).rejects.toMatchObject({ code: 401 });
    await expect(authenticate(authenticator, bearer('x'), {})).rejects.toMatchObject({ code: 401 });
    expect((await authenticate(authenticator, bearer('t'), {})).name).toBe('bob');
    expect((await authenticate(authenticator, bearer('x'), await connectionOf('ann', []))).name).toBe('ann');
  });

  it('answers the unknown on three exact paths only', () => {
    for (const path of ['/livez', '/readyz', '/version', '/livez?verbose'])
      expect(isPublicPath(path)).toBe(true);
    for (const path of [
      '/',
      '/livez/',
      '/livez/ping',
      '/healthz',
      '/metrics',
      '//livez',
      '/LIVEZ',
      '/livez%3f',
      '/api',
    ]) {
      expect(isPublicPath(path)).toBe(false);
    }
  });
});
