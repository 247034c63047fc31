import { createHmac, generateKeyPairSync, webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Fixture, fixtureOf, startServer } from '../server.fixture.ts';
import type { ApiServerOptions } from '../server-options.ts';
import { generateSigningKey } from './index.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const SECRETS = '/api/v1/namespaces/default/secrets';
const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
const WHOAMI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ISSUER = 'https://kubernetes.default.svc';

/** A client that comes with a bearer token. */
function bearer({ runtime, server }: Fixture, token: string): Fixture {
  return fixtureOf(runtime, server, (request) =>
    server.handle({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }, {}),
  );
}

async function whoami(fixture: Fixture, token: string, prefix: string = ''): Promise<string> {
  const answer = await bearer(fixture, token).post(`${prefix}${WHOAMI}`, {});
  return answer.status === 201 ? answer.body.status.userInfo.username : String(answer.status);
}

async function tokenFor(fixture: Fixture, spec: object = {}, name: string = 'bot'): Promise<string> {
  const answer = await fixture.post(`${ACCOUNTS}/${name}/token`, { spec });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.status.token;
}

async function withAccount(options: Partial<ApiServerOptions> = {}): Promise<Fixture> {
  const fixture = await startServer(options);
  await fixture.post(ACCOUNTS, { metadata: { name: 'bot' } });
  return fixture;
}

function partsOf(token: string): { header: Record<string, unknown>; claims: Record<string, never> } {
  const [header = '', claims = ''] = token.split('.');
  const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  return { header: decode(header), claims: decode(claims) };
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

describe('service account tokens', () => {
  it('[V58] name the account, and are verified by anyone who has the published keys', async () => {
    const fixture = await withAccount();
    const { runtime, get, post } = fixture;
    const made = await post(`${ACCOUNTS}/bot/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: ['vault', ISSUER], expirationSeconds: 7200 },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      kind: 'TokenRequest',
      metadata: { name: 'bot', namespace: 'default' },
      spec: { audiences: ['vault', ISSUER], expirationSeconds: 7200, boundObjectRef: null },
      status: { expirationTimestamp: '2026-01-01T02:00:00Z' },
    });
    const token: string = made.body.status.token;
    const { header, claims } = partsOf(token);
    const now = Math.floor(runtime.clock.now() / 1000);
    const account = (await get(`${ACCOUNTS}/bot`)).body;
    expect(claims).toMatchObject({
      iss: ISSUER,
      sub: 'system:serviceaccount:default:bot',
      aud: ['vault', ISSUER],
      iat: now,
      nbf: now,
      exp: now + 7200,
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'bot', uid: account.metadata.uid } },
    });

    const found = await get('/.well-known/openid-configuration');
    expect(found.body).toEqual({
      issuer: ISSUER,
      jwks_uri: 'https://127.0.0.1:6443/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
    const keys = await get('/openid/v1/jwks');
    expect(keys.headers['content-type']).toBe('application/jwk-set+json');
    const [jwk] = keys.body.keys;
    expect(jwk.kid).toBe(header.kid);
    expect(Object.keys(jwk)).not.toContain('d');
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const key = await webcrypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify']);
    const [head, body, signature = ''] = token.split('.');
    const good = await webcrypto.subtle.verify(
      algorithm,
      key,
      Buffer.from(signature, 'base64url'),
      Buffer.from(`${head}.${body}`),
    );
    expect(good).toBe(true);
  });

  it('[V58] let their account in, with its groups and uid, and nothing more', async () => {
    const fixture = await withAccount();
    const { get } = fixture;
    const client = bearer(fixture, await tokenFor(fixture));
    const { userInfo } = (await client.post(WHOAMI, {})).body.status;
    expect(userInfo).toMatchObject({
      username: 'system:serviceaccount:default:bot',
      uid: (await get(`${ACCOUNTS}/bot`)).body.metadata.uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
    });
    expect(userInfo.extra['authentication.kubernetes.io/credential-id'][0]).toMatch(/^JTI=[0-9a-f-]{36}$/);
    expect((await client.get(SECRETS)).status).toBe(403);
    expect((await client.get('/openid/v1/jwks')).status).toBe(200);
  });

  it('[V58] end with their time, their account, and when the account is another of the same name', async () => {
    const fixture = await withAccount();
    const token = await tokenFor(fixture, { expirationSeconds: 600 });
    const longer = await tokenFor(fixture);
    await fixture.runtime.clock.advance(599_000);
    expect(await whoami(fixture, token)).toBe('system:serviceaccount:default:bot');
    await fixture.runtime.clock.advance(1_000);
    expect(await whoami(fixture, token)).toBe('401');
    expect(await whoami(fixture, longer)).toBe('system:serviceaccount:default:bot');
    await fixture.delete(`${ACCOUNTS}/bot`);
    expect(await whoami(fixture, longer)).toBe('401');
    await fixture.post(ACCOUNTS, { metadata: { name: 'bot' } });
    expect(await whoami(fixture, longer)).toBe('401');
  });

  it('[V58] are refused when they were changed, signed otherwise, or meant for others', async () => {
    const fixture = await withAccount();
    const token = await tokenFor(fixture);
    const [head = '', body = '', signature = ''] = token.split('.');
    const { header, claims } = partsOf(token);
    const other = encoded({ ...claims, sub: 'system:serviceaccount:kube-system:default' });
    const [jwk] = (await fixture.get('/openid/v1/jwks')).body.keys;
    const confused = `${encoded({ ...header, alg: 'HS256' })}.${body}`;
    const forged = [
      `${head}.${other}.${signature}`,
      `${encoded({ alg: 'none' })}.${body}.`,
      `${encoded({ alg: 'none' })}.${body}.AA`,
      `${confused}.${createHmac('sha256', JSON.stringify(jwk)).update(confused).digest('base64url')}`,
      `${head}.${body}.${'A'.repeat(86)}`,
      `${head}.${body}`,
      `${token}A`,
      `${encoded({ ...header, crit: ['x'] })}.${body}.${signature}`,
      await tokenFor(fixture, { audiences: ['vault'] }),
    ];
    for (const bad of forged) expect(await whoami(fixture, bad), bad).toBe('401');
  });

  it('[V58] bound to an object end with it, a minute after its deletion at the latest', async () => {
    const fixture = await withAccount({ controllers: false, disableAdmissionPlugins: [] });
    const pods = '/api/v1/namespaces/default/pods';
    const spec = { serviceAccountName: 'bot', nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] };
    const pod = await fixture.post(pods, { metadata: { name: 'p' }, spec });
    expect(pod.status, pod.text).toBe(201);
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p' };
    const token = await tokenFor(fixture, { boundObjectRef });
    const { userInfo } = (await bearer(fixture, token).post(WHOAMI, {})).body.status;
    expect(userInfo.extra).toMatchObject({
      'authentication.kubernetes.io/pod-name': ['p'],
      'authentication.kubernetes.io/pod-uid': [pod.body.metadata.uid],
    });
    await fixture.delete(`${pods}/p`, { gracePeriodSeconds: 30 });
    await fixture.runtime.clock.advance(89_000);
    expect(await whoami(fixture, token)).toBe('system:serviceaccount:default:bot');
    await fixture.runtime.clock.advance(2_000);
    expect(await whoami(fixture, token)).toBe('401');

    const ask = (boundObjectRef: object) =>
      fixture.post(`${ACCOUNTS}/bot/token`, { spec: { boundObjectRef } });
    expect((await ask({ apiVersion: 'v1', kind: 'Pod', name: 'none' })).body.message).toBe(
      'pods "none" not found',
    );
    expect((await ask({ apiVersion: 'v1', kind: 'ConfigMap', name: 'x' })).body).toMatchObject({
      code: 400,
      message: 'cannot bind token to object of type /v1, Kind=ConfigMap',
    });
    expect((await ask({ ...boundObjectRef, uid: 'another' })).body).toMatchObject({ code: 409 });
    await fixture.post(pods, {
      metadata: { name: 'q' },
      spec: { containers: spec.containers, serviceAccountName: 'bot' },
    });
    await fixture.post(ACCOUNTS, { metadata: { name: 'other' } });
    const elsewhere = await fixture.post(`${ACCOUNTS}/other/token`, {
      spec: { boundObjectRef: { ...boundObjectRef, name: 'q' } },
    });
    expect(elsewhere.body).toMatchObject({ code: 400 });
  });

  it('[V58] are refused where the request is: too short, too long, for nobody, elsewhere', async () => {
    const fixture = await withAccount();
    const ask = (spec: object, metadata: object = {}) =>
      fixture.post(`${ACCOUNTS}/bot/token`, { metadata, spec });
    expect((await ask({ expirationSeconds: 599 })).body.message).toBe(
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    );
    expect((await ask({ expirationSeconds: 2 ** 32 + 1 })).status).toBe(422);
    expect((await ask({}, { name: 'else' })).status).toBe(422);
    expect((await fixture.post(`${ACCOUNTS}/none/token`, { spec: {} })).body.message).toBe(
      'serviceaccounts "none" not found',
    );
    const rehearsed = await fixture.post(`${ACCOUNTS}/bot/token?dryRun=All`, { spec: {} });
    expect(rehearsed.body.status.token).toBe('');
  });

  it('[V77] mean nothing in another logical cluster', async () => {
    const fixture = await withAccount();
    const { server, runtime, get } = fixture;
    for (const name of ['red', 'blue']) {
      const created = server.createCluster(name);
      await runtime.clock.settle();
      await created;
    }
    const made = await fixture.post(`/clusters/red${ACCOUNTS}/default/token`, { spec: {} });
    const red: string = made.body.status.token;
    expect(partsOf(red).claims).toMatchObject({
      iss: `${ISSUER}/clusters/red`,
      aud: [`${ISSUER}/clusters/red`],
    });
    expect(await whoami(fixture, red, '/clusters/red')).toBe('system:serviceaccount:default:default');
    expect(await whoami(fixture, red, '/clusters/blue')).toBe('401');
    expect(await whoami(fixture, red)).toBe('401');
    const root = await tokenFor(fixture);
    expect(await whoami(fixture, root, '/clusters/red')).toBe('401');
    expect((await get('/clusters/red/.well-known/openid-configuration')).body).toMatchObject({
      issuer: `${ISSUER}/clusters/red`,
      jwks_uri: 'https://127.0.0.1:6443/clusters/red/openid/v1/jwks',
    });
  });

  it('[V58] outlive a restart with the key that the caller keeps, EC or RSA', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString();
    for (const [serviceAccountKey, algorithm] of [
      [generateSigningKey(), 'ES256'],
      [rsa, 'RS256'],
    ] as const) {
      const fixture = await withAccount({ serviceAccountKey });
      const token = await tokenFor(fixture);
      expect(partsOf(token).header.alg).toBe(algorithm);
      expect(await whoami(fixture, token)).toBe('system:serviceaccount:default:bot');
      // The same seed gives the second server's account the same uid: only the key tells them apart.
      expect(await whoami(await withAccount({ serviceAccountKey }), token)).toBe(
        'system:serviceaccount:default:bot',
      );
      expect(await whoami(await withAccount(), token)).toBe('401');
    }
    await expect(startServer({ serviceAccountKey: 'nonsense' })).rejects.toThrow(
      'the service account key is not a private key in PEM form',
    );
  });
});

describe('token reviews', () => {
  it('[V58] tell whose token it is, for the audiences that were asked for', async () => {
    const fixture = await withAccount();
    const token = await tokenFor(fixture, { audiences: ['vault', 'x'] });
    const review = async (spec: object) => (await fixture.post(REVIEWS, { spec })).body.status;
    expect(await review({ token, audiences: ['vault', 'y'] })).toMatchObject({
      authenticated: true,
      audiences: ['vault'],
      user: { username: 'system:serviceaccount:default:bot' },
    });
    expect(await review({ token })).toEqual({
      user: {},
      error:
        '[invalid bearer token, token audiences ["vault" "x"] is invalid for the target audiences ["https://kubernetes.default.svc"]]',
    });
    expect(await review({ token: 'nope' })).toEqual({ user: {}, error: 'invalid bearer token' });
    expect((await fixture.post(REVIEWS, { spec: {} })).status).toBe(400);
  });
});

describe('Secrets of service accounts', () => {
  const secret = (name: string, account: string) => ({
    metadata: { name, annotations: { 'kubernetes.io/service-account.name': account } },
    type: 'kubernetes.io/service-account-token',
  });

  it('[V58] are filled with a token, and go with their account', async () => {
    const fixture = await withAccount({ caCertificate: 'CA' });
    const { post, get } = fixture;
    await post(SECRETS, secret('bot-token', 'bot'));
    const { data, metadata } = (await get(`${SECRETS}/bot-token`)).body;
    const text = (key: string) => Buffer.from(data[key], 'base64').toString();
    expect([text('namespace'), text('ca.crt')]).toEqual(['default', 'CA']);
    expect(metadata.annotations['kubernetes.io/service-account.uid']).toBe(
      (await get(`${ACCOUNTS}/bot`)).body.metadata.uid,
    );
    const token = text('token');
    expect(await whoami(fixture, token)).toBe('system:serviceaccount:default:bot');

    // Whoever removes the token from the Secret gets a new one; the old one ends with the Secret that held it.
    await fixture.merge(`${SECRETS}/bot-token`, { data: { token: Buffer.from('x').toString('base64') } });
    expect((await get(`${SECRETS}/bot-token`)).body.data.token).not.toBe(Buffer.from('x').toString('base64'));
    await fixture.delete(`${ACCOUNTS}/bot`);
    expect((await get(`${SECRETS}/bot-token`)).status).toBe(404);
    expect(await whoami(fixture, token)).toBe('401');
  });

  it('[V58] of an account that is not there are removed, others let be', async () => {
    const { post, get } = await withAccount();
    await post(SECRETS, secret('stray', 'nobody'));
    await post(SECRETS, { metadata: { name: 'mine' }, data: {} });
    expect((await get(`${SECRETS}/stray`)).status).toBe(404);
    expect((await get(`${SECRETS}/mine`)).status).toBe(200);
  });
});

describe('bootstrap tokens', () => {
  const SYSTEM = '/api/v1/namespaces/kube-system/secrets';
  const value = (text: string) => Buffer.from(text).toString('base64');
  const bootstrap = (id: string, more: Record<string, string> = {}) => ({
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(
      Object.entries({
        'token-id': id,
        'token-secret': '0123456789abcdef',
        'usage-bootstrap-authentication': 'true',
        'usage-bootstrap-signing': 'true',
        ...more,
      }).map(([key, text]) => [key, value(text)]),
    ),
  });

  it('[V59] let in whoever has one, until it expires and is removed', async () => {
    const fixture = await startServer();
    await fixture.post(
      SYSTEM,
      bootstrap('abcdef', {
        expiration: '2026-01-01T01:00:00Z',
        'auth-extra-groups': 'system:bootstrappers:edge',
      }),
    );
    const token = 'abcdef.0123456789abcdef';
    const { userInfo } = (await bearer(fixture, token).post(WHOAMI, {})).body.status;
    expect(userInfo).toMatchObject({
      username: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:bootstrappers:edge', 'system:authenticated'],
    });
    expect(await whoami(fixture, 'abcdef.0123456789abcdee')).toBe('401');
    expect(await whoami(fixture, 'abcdeg.0123456789abcdef')).toBe('401');
    await fixture.runtime.clock.advance(3_600_000);
    expect(await whoami(fixture, token)).toBe('401');
    await fixture.runtime.clock.advance(2_000);
    expect((await fixture.get(`${SYSTEM}/bootstrap-token-abcdef`)).status).toBe(404);
  });

  it('[V59] are no credentials when they are not meant for it or ask for groups of others', async () => {
    const fixture = await startServer();
    await fixture.post(SYSTEM, bootstrap('aaaaaa', { 'usage-bootstrap-authentication': 'false' }));
    await fixture.post(SYSTEM, bootstrap('bbbbbb', { 'auth-extra-groups': 'system:masters' }));
    await fixture.post(SYSTEM, { ...bootstrap('cccccc'), type: 'Opaque' });
    await fixture.post('/api/v1/namespaces/default/secrets', bootstrap('dddddd'));
    for (const id of ['aaaaaa', 'bbbbbb', 'cccccc', 'dddddd'])
      expect(await whoami(fixture, `${id}.0123456789abcdef`), id).toBe('401');
    const review = await fixture.post(REVIEWS, {
      spec: { token: 'eeeeee.0123456789abcdef', audiences: ['vault'] },
    });
    expect(review.body.status.authenticated).toBeUndefined();
  });

  it('[V59] sign the cluster-info that newcomers read, as long as they are there', async () => {
    const fixture = await startServer();
    const info = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
    const kubeconfig = 'apiVersion: v1\nkind: Config\n';
    await fixture.post(SYSTEM, bootstrap('abcdef', { expiration: '2026-01-01T01:00:00Z' }));
    await fixture.post('/api/v1/namespaces/kube-public/configmaps', {
      metadata: { name: 'cluster-info' },
      data: { kubeconfig },
    });
    await fixture.post(SYSTEM, bootstrap('fedcba'));
    await fixture.post(SYSTEM, bootstrap('nosign', { 'usage-bootstrap-signing': 'false' }));
    const { data } = (await fixture.get(info)).body;
    expect(Object.keys(data).sort()).toEqual([
      'jws-kubeconfig-abcdef',
      'jws-kubeconfig-fedcba',
      'kubeconfig',
    ]);
    const [head, content, signature] = data['jws-kubeconfig-abcdef'].split('.');
    expect(Buffer.from(head, 'base64url').toString()).toBe('{"alg":"HS256","kid":"abcdef"}');
    expect(content).toBe('');
    const expected = createHmac('sha256', '0123456789abcdef')
      .update(`${head}.${Buffer.from(kubeconfig).toString('base64url')}`)
      .digest('base64url');
    expect(signature).toBe(expected);

    await fixture.merge(info, { data: { kubeconfig: `${kubeconfig}#` } });
    expect((await fixture.get(info)).body.data['jws-kubeconfig-abcdef']).not.toBe(
      data['jws-kubeconfig-abcdef'],
    );
    await fixture.delete(`${SYSTEM}/bootstrap-token-fedcba`);
    await fixture.runtime.clock.advance(3_602_000);
    expect(Object.keys((await fixture.get(info)).body.data)).toEqual(['kubeconfig']);
  });
});

describe('requests without credentials', () => {
  it('[V57] are refused, or made by system:anonymous where the server allows it', async () => {
    const call = async (anonymous: boolean, path: string, authorization?: string) => {
      const { server, runtime } = await startServer({ anonymous });
      const asked = server.handle(
        { method: 'GET', path, headers: authorization ? { authorization } : {} },
        {},
      );
      await runtime.clock.settle();
      return (await asked).status;
    };
    expect(await call(false, '/api/v1/pods')).toBe(401);
    expect(await call(true, '/api/v1/pods')).toBe(403);
    expect(await call(true, '/healthz')).toBe(200);
    expect(await call(true, '/metrics')).toBe(403);
    expect(await call(true, '/api/v1/pods', 'Basic YTpi')).toBe(403);
    expect(await call(true, '/api/v1/pods', 'Bearer nope')).toBe(401);
    expect(await call(true, '/version', 'Bearer nope')).toBe(401);
    expect(await call(false, '/version')).toBe(200);
  });
});
