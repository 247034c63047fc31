import { describe, expect, it } from 'vitest';
import type { SpokeCluster, SpokeClusterSpec } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import type { EndpointRules } from '../../kube/cluster-endpoint.ts';
import { credentials, type Materialized } from './index.ts';

const CA = 'the authority';
type Arm = NonNullable<SpokeClusterSpec['credential']['kubeconfig']>;

interface Given {
  readonly cluster?: object;
  readonly relaxed?: NonNullable<Arm['disabledTLSValidations']>;
  readonly rules?: EndpointRules;
}

const INLINE = { 'certificate-authority-data': Buffer.from(CA).toString('base64') };

function materialize({ cluster = INLINE, relaxed, rules = {} }: Given): Promise<Materialized> {
  const text = JSON.stringify({
    kind: 'Config',
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
    clusters: [{ name: 'main', cluster: { server: 'https://far.test', ...cluster } }],
    users: [{ name: 'main', user: { token: 'sesame' } }],
  });
  const client = {
    get: async () => ({ data: { kubeconfig: Buffer.from(text).toString('base64') } }),
  } as unknown as Client;
  const made = credentials({
    client,
    now: () => 0,
    resolve: async (host) => [host === 'inside.test' ? '127.0.0.1' : '10.0.0.5'],
    rules,
  });
  const kubeconfig: Arm = {
    secretRef: { name: 'far' },
    ...(relaxed === undefined ? {} : { disabledTLSValidations: relaxed }),
  };
  const spoke: SpokeCluster = {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: { name: 'far', namespace: 'default' },
    spec: { credential: { type: 'kubeconfig', kubeconfig } },
  };
  return made.materialize(spoke);
}

const base = { url: 'https://far.test', ca: CA, token: 'sesame' };

describe('a stored kubeconfig', () => {
  it('[F2] may leave out a part of the check of the certificate, which its SpokeCluster names', async () => {
    expect(await materialize({ relaxed: ['SubjectName', 'ValidityPeriod'] })).toEqual({
      way: 'direct',
      endpoint: { ...base, tlsRelaxations: ['SubjectName', 'ValidityPeriod'] },
    });
    expect(await materialize({})).toEqual({ way: 'direct', endpoint: base });
  });

  it('leaves out all of it only where the operator of the hub allows that', async () => {
    const refused = await materialize({ relaxed: ['*'] });
    expect(refused).toMatchObject({
      way: 'none',
      message: expect.stringContaining('--allow-unverified-tls'),
    });
    const rules = { allowUnverifiedTls: true };
    expect(await materialize({ relaxed: ['*'], rules })).toEqual({
      way: 'direct',
      endpoint: { ...base, insecureSkipTlsVerify: true },
    });
    // Then no authority is needed; otherwise there must be one.
    const { ca: _ca, ...without } = base;
    expect(await materialize({ cluster: {}, relaxed: ['*'], rules })).toEqual({
      way: 'direct',
      endpoint: { ...without, insecureSkipTlsVerify: true },
    });
    expect(await materialize({ cluster: {}, relaxed: ['SubjectName'], rules })).toMatchObject({
      way: 'none',
    });
  });

  it('[F3] names the proxy that leads to its cluster', async () => {
    const cluster = { ...INLINE, 'proxy-url': 'socks5://me:pass@proxy.test:1080' };
    expect(await materialize({ cluster })).toEqual({
      way: 'direct',
      endpoint: { ...base, proxyUrl: 'socks5://me:pass@proxy.test:1080' },
    });
  });

  it.each(['http://127.0.0.1:3128', 'http://inside.test:3128', 'https://169.254.169.254', 'http://x.svc'])(
    '[K11] leads through no proxy inside the network of the hub: %s',
    async (proxy) => {
      const refused = await materialize({ cluster: { ...INLINE, 'proxy-url': proxy } });
      expect(refused).toMatchObject({
        way: 'none',
        message: expect.stringContaining('the proxy may not be used'),
      });
    },
  );

  it('tells of a proxy that cannot be used, and not its password', async () => {
    const refused = await materialize({ cluster: { ...INLINE, 'proxy-url': 'ftp://me:hush@proxy.test' } });
    expect(refused).toMatchObject({ way: 'none', message: expect.stringContaining('a proxy is http') });
    expect(JSON.stringify(refused)).not.toContain('hush');
  });
});
