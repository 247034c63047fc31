import { describe, expect, it } from 'vitest';
import {
  emptyKubeconfig,
  formatKubeconfig,
  KubeconfigError,
  mergeKubeconfigs,
  parseKubeconfig,
  withoutContexts,
} from './kubeconfig.ts';
import { endpointFromKubeconfig } from './kubeconfig-endpoint.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function config(cluster: object, user: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.5:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'main', context: { cluster: 'c', user: 'u' } },
      { name: 'other', context: { cluster: 'c', user: 'nobody' } },
    ],
    'current-context': 'main',
  });
}

const ca = { 'certificate-authority-data': base64('CA') };
const token = { token: 'T' };

describe('endpointFromKubeconfig', () => {
  it('[K4] takes the current context with inline CA and token or certificate', () => {
    expect(endpointFromKubeconfig(config(ca, token), { stored: true, context: 'other' })).toEqual({
      url: 'https://10.0.0.5:6443',
      ca: 'CA',
      token: 'T',
    });
    const certificate = { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') };
    expect(
      endpointFromKubeconfig(config({ ...ca, 'tls-server-name': 'api' }, certificate), { stored: true }),
    ).toEqual({
      url: 'https://10.0.0.5:6443',
      ca: 'CA',
      serverName: 'api',
      clientCertificate: 'CERT',
      clientKey: 'KEY',
    });
  });

  const refusals: [string, string, string][] = [
    ['an exec plugin', config(ca, { exec: { command: 'aws' } }), 'ExecPlugin'],
    ['an auth provider', config(ca, { 'auth-provider': { name: 'gcp' } }), 'AuthProvider'],
    ['a CA in a file', config({ 'certificate-authority': '/etc/ca' }, token), 'CaFile'],
    ['a missing CA', config({}, token), 'CaMissing'],
    [
      'insecure-skip-tls-verify',
      config({ 'insecure-skip-tls-verify': true }, token),
      'InsecureSkipTlsVerify',
    ],
    ['a token in a file', config(ca, { tokenFile: '/var/run/token' }), 'CredentialFile'],
    [
      'a certificate in a file',
      config(ca, { 'client-certificate': 'a', 'client-key': 'b' }),
      'CredentialFile',
    ],
    ['user and password', config(ca, { username: 'a', password: 'b' }), 'BasicAuth'],
    ['impersonation', config(ca, { ...token, as: 'root' }), 'Impersonation'],
    ['a proxy of another kind', config({ ...ca, 'proxy-url': 'ftp://p' }, token), 'Proxy'],
    ['no credentials', config(ca, {}), 'NoCredentials'],
    ['a certificate without key', config(ca, { 'client-certificate-data': base64('x') }), 'NoCredentials'],
    ['no server', config({ ...ca, server: 'nowhere' }, token), 'NoServer'],
    ['no context', '{"kind":"Config"}', 'NoContext'],
    ['text that is no YAML', 'a: [', 'Malformed'],
    ['another kind', 'kind: Secret', 'Malformed'],
    ['aliases', 'a: &a [1]\nclusters: *a', 'Malformed'],
  ];

  it.each(refusals)('[K4] refuses %s of a stored kubeconfig', (_what, text, reason) => {
    try {
      endpointFromKubeconfig(text, { stored: true });
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(KubeconfigError);
      expect((error as KubeconfigError).reason).toBe(reason);
    }
  });

  it('[K4] has a message of its own for each refusal', () => {
    const messages = refusals.slice(0, -1).map(([, text]) => {
      try {
        endpointFromKubeconfig(text, { stored: true });
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    });
    expect(new Set(messages).size).toBe(messages.length);
  });

  it('never quotes the content in a message', () => {
    const secret = 'token: "s3cr3t';
    expect(() => parseKubeconfig(secret)).toThrow(/^the kubeconfig is not valid YAML$/);
  });

  it("reads files and other contexts of the user's own kubeconfig", () => {
    const readFile = (path: string): string => `<${path}>`;
    const text = config(
      { 'certificate-authority': 'ca.pem' },
      { 'client-certificate': 'c.pem', 'client-key': 'k.pem' },
    );
    expect(endpointFromKubeconfig(text, { stored: false, readFile })).toEqual({
      url: 'https://10.0.0.5:6443',
      ca: '<ca.pem>',
      clientCertificate: '<c.pem>',
      clientKey: '<k.pem>',
    });
    expect(endpointFromKubeconfig(text, { stored: false, readFile, context: 'other' }).token).toBeUndefined();
    expect(() => endpointFromKubeconfig(text, { stored: false })).toThrow(/none may be read here/);
    expect(() => endpointFromKubeconfig(text, { stored: false, context: 'gone' })).toThrow(
      /no context "gone"/,
    );
  });
});

describe('mergeKubeconfigs', () => {
  const one = parseKubeconfig(config(ca, token));

  it('replaces entries of the same name and keeps all else, unknown fields included', () => {
    const base = parseKubeconfig(`${formatKubeconfig(one)}\npreferences: {colors: true}\n`);
    const added = {
      ...emptyKubeconfig(),
      clusters: [
        { name: 'c', cluster: { server: 'https://new' } },
        { name: 'd', cluster: {} },
      ],
      contexts: [{ name: 'hub', context: { cluster: 'd', user: 'u' } }],
      'current-context': 'hub',
    };
    const merged = mergeKubeconfigs(base, added);
    expect(merged.clusters.map((item) => [item.name, item.cluster.server])).toEqual([
      ['c', 'https://new'],
      ['d', undefined],
    ]);
    expect(merged.contexts.map((item) => item.name)).toEqual(['main', 'other', 'hub']);
    expect(merged['current-context']).toBe('main');
    expect(merged.preferences).toEqual({ colors: true });
    expect(mergeKubeconfigs(emptyKubeconfig(), added)['current-context']).toBe('hub');
    expect(parseKubeconfig(formatKubeconfig(merged))).toEqual(merged);
  });

  it('refuses stored ones that would keep the parser busy, before it begins', () => {
    const full = config({ 'certificate-authority-data': base64('ca') }, { token: 't' });
    const tangled = [
      'a: b\n'.repeat(100_000),
      '['.repeat(50_000),
      '- '.repeat(50_000),
      `{${Array.from({ length: 20_000 }, (_, index) => `k${index}`).join(',')}}`,
      `${full}\n${'# \n'.repeat(10_000)}`,
    ];
    for (const text of tangled)
      expect(() => endpointFromKubeconfig(text, { stored: true })).toThrow(
        'more entries than one for a cluster',
      );
    // Large alone is not tangled; and people's own may have as many entries as they like.
    const large = config({ 'certificate-authority-data': base64('ca'.repeat(200_000)) }, { token: 't' });
    expect(endpointFromKubeconfig(large, { stored: true }).token).toBe('t');
    expect(endpointFromKubeconfig(tangled[4] ?? '', { stored: false }).token).toBe('t');
  });

  it('takes contexts out with what only they used', () => {
    const merged = mergeKubeconfigs(one, {
      ...emptyKubeconfig(),
      clusters: [{ name: 'd', cluster: {} }],
      contexts: [{ name: 'hub', context: { cluster: 'd', user: 'u' } }],
    });
    const left = withoutContexts(merged, ['hub']);
    expect(left.clusters.map((item) => item.name)).toEqual(['c']);
    expect(left.users.map((item) => item.name)).toEqual(['u']);
  });
});
