import { createHash } from 'node:crypto';
import type { KubeObject } from '../../kube/object.ts';
import { parseTime, type Runtime, uuid } from '../../runtime/index.ts';
import { type JsonObject, type JsonValue, numberAt, objectAt, stringAt } from '../../schema/json.ts';
import { serviceAccountGroups, serviceAccountName, unauthorized } from '../auth/index.ts';
import { objectKey } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { readClaims, signJwt, verifyJwt } from './jwt.ts';
import { sameSecret, secretText } from './secret-data.ts';
import { generateSigningKey, type SigningKey, signingKey } from './signing-key.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

export const DEFAULT_ISSUER = 'https://kubernetes.default.svc';
export const LEGACY_TOKEN_TYPE = 'kubernetes.io/service-account-token';
export const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
export const ACCOUNT_UID = 'kubernetes.io/service-account.uid';

const LEGACY_ISSUER = 'kubernetes/serviceaccount';
const LEGACY_CLAIMS = 'kubernetes.io/serviceaccount/';
const CLAIM = 'kubernetes.io';
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
const ROOT_CLUSTER = 'root';
/** How long a token outlives the deletion of what it is bound to, as long as that lingers. */
const DELETION_GRACE_MS = 60_000;
/** How far ahead a token may begin, should the clock have been set back. */
const CLOCK_SKEW_S = 60;
/** Signatures that were verified lately are not verified again; the rest of a token is checked every time. */
const VERIFIED_LIMIT = 256;

export interface ObjectIdentity {
  readonly name: string;
  readonly uid: string;
}

/** What a token stands for and as long as what it holds. */
export interface TokenSubject {
  readonly namespace: string;
  readonly serviceaccount: ObjectIdentity;
  readonly pod?: ObjectIdentity;
  readonly secret?: ObjectIdentity;
  readonly node?: ObjectIdentity;
}

/** Issues and verifies the tokens of service accounts of all logical clusters. */
export interface ServiceAccountTokens {
  /** Each logical cluster is an issuer of its own, so that a token of one says nothing in another. */
  issuer(cluster: string): string;
  /** Whom tokens are for that name nobody: this server. */
  audiences(cluster: string): readonly string[];
  issue(
    cluster: string,
    subject: TokenSubject,
    audiences: readonly string[],
    seconds: number,
  ): { readonly token: string; readonly expiresAt: number };
  /** The token of a Secret: without an end, good as long as the Secret holds it. */
  issueForSecret(account: KubeObject, secret: string): string;
  /** Whether this server's key signed a token, whatever else holds of it. */
  signed(token: string): boolean;
  readonly authenticate: TokenAuthenticator;
  /** OpenID Connect discovery of an issuer; `address` is where clients reach this server. */
  configuration(cluster: string, address: string): JsonObject;
  keySet(): JsonObject;
}

export interface ServiceAccountTokenOptions {
  readonly store: Store;
  /** One is made when it is first needed otherwise, and its tokens end with the process. */
  readonly key?: SigningKey;
  readonly issuer?: string;
}

export function serviceAccountTokens(
  runtime: Runtime,
  { store, key: given, issuer = DEFAULT_ISSUER }: ServiceAccountTokenOptions,
): ServiceAccountTokens {
  const { clock, random } = runtime;
  let made = given;
  const key = (): SigningKey => {
    made ??= signingKey(generateSigningKey());
    return made;
  };
  const verified = new Map<string, JsonObject>();
  const issuerOf = (cluster: string): string =>
    cluster === ROOT_CLUSTER ? issuer : `${issuer}/clusters/${cluster}`;

  function claimsOf(token: string): JsonObject | undefined {
    const digest = createHash('sha256').update(token).digest('base64');
    const known = verified.get(digest);
    if (known !== undefined) return known;
    const claims = verifyJwt(key(), token);
    if (claims === undefined) return undefined;
    const [oldest] = verified.keys();
    if (verified.size >= VERIFIED_LIMIT && oldest !== undefined) verified.delete(oldest);
    verified.set(digest, claims);
    return claims;
  }

  /** The object if it is there with this uid, and not long gone. */
  function live(
    group: string,
    resource: string,
    cluster: string,
    namespace: string,
    identity: ObjectIdentity,
  ): KubeObject {
    const object = store.get(objectKey(group, resource, cluster, namespace, identity.name))?.object;
    const deletedAt = parseTime(object?.metadata.deletionTimestamp);
    if (object === undefined) throw unauthorized('service account token has been invalidated');
    if (object.metadata.uid !== identity.uid)
      throw unauthorized(
        resource === 'serviceaccounts'
          ? `service account UID (${object.metadata.uid ?? ''}) does not match claim (${identity.uid})`
          : 'service account token has been invalidated',
      );
    if (deletedAt !== undefined && deletedAt + DELETION_GRACE_MS < clock.now())
      throw unauthorized('service account token has been invalidated');
    return object;
  }

  /** Throws 401 unless everything that the token speaks of still stands. */
  function checkSubject(cluster: string, subject: TokenSubject): void {
    const { namespace, serviceaccount, pod, secret, node } = subject;
    live('', 'serviceaccounts', cluster, namespace, serviceaccount);
    if (secret) live('', 'secrets', cluster, namespace, secret);
    if (pod) live('', 'pods', cluster, namespace, pod);
    // With a pod the node is only told of; without one the token is bound to it.
    if (node && !pod) live('', 'nodes', cluster, '', node);
  }

  function checkTimes(claims: JsonObject): void {
    const now = clock.now() / 1000;
    const expires = numberAt(claims, 'exp');
    const begins = numberAt(claims, 'nbf');
    if (expires === undefined || now >= expires) throw unauthorized('service account token has expired');
    if (begins !== undefined && now + CLOCK_SKEW_S < begins) throw unauthorized();
  }

  const authenticate: TokenAuthenticator = (token, cluster, audiences) => {
    // Whose token it says it is decides who looks at it; it is believed only after that.
    const said = stringAt(readClaims(token), 'iss');
    if (said === LEGACY_ISSUER) return fromSecret(token, cluster, audiences);
    if (said === undefined || said !== issuerOf(cluster)) return undefined;
    const claims = claimsOf(token);
    if (claims === undefined) throw unauthorized();
    checkTimes(claims);
    const meant = texts(Array.isArray(claims.aud) ? claims.aud : [claims.aud ?? null]);
    const shared = [...new Set(audiences)].filter((audience) => meant.includes(audience));
    const subject = subjectOf(claims);
    if (shared.length === 0)
      throw unauthorized(
        `token audiences ${listText(meant)} is invalid for the target audiences ${listText(audiences)}`,
      );
    if (subject === undefined) throw unauthorized();
    if (claims.sub !== serviceAccountName(subject.namespace, subject.serviceaccount.name))
      throw unauthorized();
    checkSubject(cluster, subject);
    return { user: userOf(subject, stringAt(claims, 'jti')), audiences: shared };
  };

  function fromSecret(
    token: string,
    cluster: string,
    audiences: readonly string[],
  ): ReturnType<TokenAuthenticator> {
    const claims = claimsOf(token);
    const claim = (name: string): string => stringAt(claims, LEGACY_CLAIMS + name) ?? '';
    if (claims === undefined) throw unauthorized();
    const namespace = claim('namespace');
    const account = { name: claim('service-account.name'), uid: claim('service-account.uid') };
    live('', 'serviceaccounts', cluster, namespace, account);
    const secret = store.get(objectKey('', 'secrets', cluster, namespace, claim('secret.name')))?.object;
    const held = secret === undefined ? undefined : secretText(secret, 'token');
    if (!secret || secret.metadata.deletionTimestamp !== undefined || held === undefined)
      throw unauthorized();
    if (!sameSecret(held, token)) throw unauthorized();
    // It names no audience, so it is meant for this server and nobody else.
    const own = issuerOf(cluster);
    if (!audiences.includes(own)) throw unauthorized();
    return { user: userOf({ namespace, serviceaccount: account }, undefined), audiences: [own] };
  }

  return {
    issuer: issuerOf,
    audiences: (cluster) => [issuerOf(cluster)],
    issue(cluster, subject, audiences, seconds) {
      const now = Math.floor(clock.now() / 1000);
      const expires = now + seconds;
      const { namespace, serviceaccount, pod, secret, node } = subject;
      const token = signJwt(key(), {
        aud: [...audiences],
        exp: expires,
        iat: now,
        iss: issuerOf(cluster),
        jti: uuid(random),
        [CLAIM]: {
          namespace,
          ...(node ? { node: { ...node } } : {}),
          ...(pod ? { pod: { ...pod } } : {}),
          ...(secret ? { secret: { ...secret } } : {}),
          serviceaccount: { ...serviceaccount },
        },
        nbf: now,
        sub: serviceAccountName(namespace, serviceaccount.name),
      });
      return { token, expiresAt: expires * 1000 };
    },
    issueForSecret(account, secret) {
      const { namespace = '', name = '', uid = '' } = account.metadata;
      return signJwt(key(), {
        iss: LEGACY_ISSUER,
        [`${LEGACY_CLAIMS}namespace`]: namespace,
        [`${LEGACY_CLAIMS}secret.name`]: secret,
        [`${LEGACY_CLAIMS}service-account.name`]: name,
        [`${LEGACY_CLAIMS}service-account.uid`]: uid,
        sub: serviceAccountName(namespace, name),
      });
    },
    signed: (token) => verifyJwt(key(), token) !== undefined,
    authenticate,
    configuration: (cluster, address) => ({
      issuer: issuerOf(cluster),
      jwks_uri: `https://${address}${cluster === ROOT_CLUSTER ? '' : `/clusters/${cluster}`}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [key().algorithm],
    }),
    keySet: () => ({ keys: [key().jwk as unknown as JsonObject] }),
  };
}

function userOf(
  subject: TokenSubject,
  id: string | undefined,
): NonNullable<ReturnType<TokenAuthenticator>>['user'] {
  const { namespace, serviceaccount, pod, node } = subject;
  const extra: Record<string, string[]> = {};
  if (id !== undefined) extra[CREDENTIAL_ID] = [`JTI=${id}`];
  const tell = (kind: string, identity: ObjectIdentity | undefined): void => {
    if (identity === undefined) return;
    extra[`authentication.kubernetes.io/${kind}-name`] = [identity.name];
    extra[`authentication.kubernetes.io/${kind}-uid`] = [identity.uid];
  };
  tell('node', node);
  tell('pod', pod);
  return {
    name: serviceAccountName(namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    groups: serviceAccountGroups(namespace),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function subjectOf(claims: JsonObject): TokenSubject | undefined {
  const own = objectAt(claims, CLAIM);
  const namespace = stringAt(own, 'namespace');
  const serviceaccount = identityAt(own, 'serviceaccount');
  if (namespace === undefined || serviceaccount === undefined) return undefined;
  const pod = identityAt(own, 'pod');
  const secret = identityAt(own, 'secret');
  const node = identityAt(own, 'node');
  return {
    namespace,
    serviceaccount,
    ...(pod ? { pod } : {}),
    ...(secret ? { secret } : {}),
    ...(node ? { node } : {}),
  };
}

function identityAt(claims: JsonObject | undefined, key: string): ObjectIdentity | undefined {
  const name = stringAt(claims, key, 'name');
  const uid = stringAt(claims, key, 'uid');
  return name === undefined || uid === undefined ? undefined : { name, uid };
}

function texts(values: readonly JsonValue[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

/** As Go prints a list of texts. */
function listText(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
}
