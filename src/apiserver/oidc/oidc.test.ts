import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboundTarget } from '../outbound/index.ts';
import { type Fixture, startServer } from '../server.fixture.ts';
import type { OidcOptions } from './index.ts';

const ISSUER = 'https://issuer.example/realm';
const NOW = Date.parse('2026-01-01T00:00:00Z') / 1000;
const WHOAMI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function token(
  claims: Record<string, unknown>,
  { key = rsa.privateKey, header = {} }: { key?: KeyObject; header?: Record<string, unknown> } = {},
): string {
  const isEc = key.asymmetricKeyType === 'ec';
  const head = encode({ alg: isEc ? 'ES256' : 'RS256', kid: isEc ? 'ec' : 'rsa', ...header });
  const body = encode({ iss: ISSUER, aud: 'atoll', sub: 'ann', exp: NOW + 600, ...claims });
  const encoding = isEc ? ({ dsaEncoding: 'ieee-p1363' } as const) : {};
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key, ...encoding });
  return `${head}.${body}.${signature.toString('base64url')}`;
}

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

/** A server that believes an issuer which publishes `keys`. */
async function start(options: Partial<OidcOptions> = {}, issuer: { down?: boolean; keys?: object[] } = {}) {
  const asked: OutboundTarget[] = [];
  const keys = () =>
    issuer.keys ?? [
      { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', use: 'sig', alg: 'RS256' },
      { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec' },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'shared' },
    ];
  const fixture = await startServer({
    controllers: false,
    anonymous: true,
    outbound: {
      async send(target) {
        asked.push(target);
        if (issuer.down) throw new Error('connect ECONNREFUSED');
        const isDiscovery = target.url === `${ISSUER}/.well-known/openid-configuration`;
        const answer = isDiscovery ? { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` } : { keys: keys() };
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) };
      },
      close: async () => {},
    },
    oidc: {
      issuer: ISSUER,
      clientId: 'atoll',
      signingAlgorithms: ['RS256', 'ES256'],
      caBundle: 'its authority',
      ...options,
    },
  });
  open.push(fixture);
  async function whoami(bearer: string): Promise<{ username?: string; groups?: string[] } | number> {
    const asking = fixture.server.handle(
      {
        method: 'POST',
        path: WHOAMI,
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: Buffer.from('{}'),
      },
      {},
    );
    await fixture.runtime.clock.settle();
    const { status, body } = await asking;
    if (status !== 201 || !(body instanceof Uint8Array)) return status;
    const { username, groups } = JSON.parse(Buffer.from(body).toString()).status.userInfo;
    return { username, groups };
  }
  return { ...fixture, whoami, asked };
}

describe('a token of an OpenID Connect issuer', () => {
  it('[V60] is believed when one of its keys has signed it', async () => {
    const { whoami, asked } = await start({ groupsClaim: 'groups', groupsPrefix: 'oidc:' });
    const ann = { username: `${ISSUER}#ann`, groups: ['oidc:dev', 'oidc:ops', 'system:authenticated'] };
    expect(await whoami(token({ groups: ['dev', 'ops'] }))).toEqual(ann);
    expect(await whoami(token({ groups: ['dev', 'ops'] }, { key: ec.privateKey }))).toEqual(ann);
    expect(await whoami(token({ aud: ['other', 'atoll'], groups: 'dev' }))).toMatchObject({
      groups: ['oidc:dev', 'system:authenticated'],
    });
    // Keys are asked for once.
    expect(asked).toEqual([
      { url: `${ISSUER}/.well-known/openid-configuration`, caBundle: 'its authority' },
      { url: `${ISSUER}/keys`, caBundle: 'its authority' },
    ]);
  });

  it.each<[string, string]>([
    ['is over', token({ exp: NOW - 1 })],
    ['never ends', token({ exp: undefined })],
    ['is not yet', token({ nbf: NOW + 3600 })],
    ['is for somebody else', token({ aud: 'other' })],
    ['names nobody', token({ sub: '' })],
    ['is signed by a stranger', token({}, { key: stranger.privateKey })],
    ['is signed with an algorithm that is not allowed', token({}, { header: { alg: 'RS512' } })],
    [
      'says that it is not signed',
      `${encode({ alg: 'none' })}.${encode({ iss: ISSUER, aud: 'atoll', sub: 'ann', exp: NOW + 600 })}.`,
    ],
    ['takes a public key for a secret', token({}, { header: { alg: 'HS256' } })],
    ['takes a key for one of another kind', token({}, { header: { alg: 'ES256', kid: 'rsa' } })],
    ['must be understood in other ways', token({}, { header: { crit: ['b64'], b64: false } })],
    [
      'was changed',
      token({}).replace(
        /\.[^.]+\./,
        `.${encode({ iss: ISSUER, aud: 'atoll', sub: 'admin', exp: NOW + 600 })}.`,
      ),
    ],
    ['is of another issuer', token({ iss: 'https://other.example' })],
  ])('[V60] that %s is refused', async (_title, bearer) => {
    const { whoami } = await start();
    expect(await whoami(bearer)).toBe(401);
  });

  it('[V60] names its user by the claims that the server was told of', async () => {
    const { whoami } = await start({
      usernameClaim: 'email',
      groupsClaim: 'https://example.com/groups',
      requiredClaims: { hd: 'example.com' },
    });
    const claims = { email: 'ann@example.com', hd: 'example.com', 'https://example.com/groups': ['dev'] };
    expect(await whoami(token(claims))).toEqual({
      username: 'ann@example.com',
      groups: ['dev', 'system:authenticated'],
    });
    expect(await whoami(token({ ...claims, email_verified: false }))).toBe(401);
    expect(await whoami(token({ ...claims, email_verified: 'true' }))).toBe(401);
    expect(await whoami(token({ ...claims, hd: undefined }))).toBe(401);
    expect(await whoami(token({ ...claims, email: undefined }))).toBe(401);
  });

  it('[V60] cannot make anybody one of the system', async () => {
    const { whoami } = await start({ usernamePrefix: '-', groupsClaim: 'groups' });
    expect(await whoami(token({ sub: 'system:admin' }))).toBe(401);
    expect(await whoami(token({ groups: ['system:masters', 'dev'] }))).toMatchObject({
      groups: ['dev', 'system:authenticated'],
    });
  });

  it('[V60] is told by TokenReview as well', async () => {
    const { post } = await start();
    const review = await post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: token({}) } });
    expect(review.body.status).toMatchObject({ authenticated: true, user: { username: `${ISSUER}#ann` } });
  });

  it('[V60] of a new key is believed soon, and made-up keys do not make the issuer be asked all the time', async () => {
    const issuer: { keys?: object[]; down?: boolean } = { keys: [] };
    const { whoami, asked, runtime } = await start({}, issuer);
    expect(await whoami(token({}))).toBe(401);
    delete issuer.keys;
    for (let attempt = 0; attempt < 5; attempt++) expect(await whoami(token({}))).toBe(401);
    expect(asked).toHaveLength(2);
    await runtime.clock.advance(10_000);
    expect(await whoami(token({ exp: NOW + 9_000 }))).toMatchObject({ username: `${ISSUER}#ann` });
    expect(asked).toHaveLength(4);
    // An issuer that is away for a while locks nobody out, but not for ever.
    issuer.down = true;
    await runtime.clock.advance(20 * 60_000);
    expect(await whoami(token({ exp: NOW + 9_000 }))).toMatchObject({ username: `${ISSUER}#ann` });
    await runtime.clock.advance(60 * 60_000);
    expect(await whoami(token({ exp: NOW + 9_000 }))).toBe(401);
    issuer.down = false;
    await runtime.clock.advance(10_000);
    expect(await whoami(token({ exp: NOW + 9_000 }))).toMatchObject({ username: `${ISSUER}#ann` });
  });

  it.each([
    ['an issuer without TLS', { issuer: 'http://issuer' }, 'is no https:// URL'],
    ['no client', { clientId: '' }, 'client id is empty'],
    ['a shared secret', { signingAlgorithms: ['HS256'] }, '"HS256" is none of'],
  ])('[V60] options with %s are refused', async (_title, options, why) => {
    await expect(start(options)).rejects.toThrow(why);
  });
});
