import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request } from '../../kube/exchange.ts';
import { type CertificateIdentity, certificateIdentity } from '../../kube/pki.ts';
import { failure, StatusError } from '../../kube/status-error.ts';
import type { Connection } from '../../kube/wire/index.ts';
import type { Clock } from '../../runtime/index.ts';
import { ANONYMOUS_USER, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, type UserInfo } from './user.ts';

/**
 * Finds out who asks. `undefined` when the request holds no credentials of this kind; throws a 401 `StatusError` when it
 * does and they are bad.
 */
export type Authenticator = (request: Request, connection: Connection) => Promise<UserInfo | undefined>;

/** The only paths that are answered to someone unknown, and only these exactly: nothing below them. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/livez', '/readyz', '/version']);

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/** `why` is for reviews of tokens: who asks with a bad one is not told. */
export function unauthorized(why?: string): StatusError {
  return new StatusError(failure(401, 'Unauthorized', 'Unauthorized').status, { cause: why });
}

/** `path` may hold a query. */
export function isPublicPath(path: string): boolean {
  const mark = path.indexOf('?');
  return PUBLIC_PATHS.has(mark < 0 ? path : path.slice(0, mark));
}

/**
 * The user that a verified client certificate names: its common name, with every organization as a group. A certificate
 * with no common name or with two is refused. Validity is checked for each request, since a connection may outlive it.
 */
export function clientCertificateAuthenticator(clock: Clock): Authenticator {
  const parsed = new WeakMap<Uint8Array, CertificateIdentity>();
  return async (_request, connection) => {
    const der = connection.peerCertificate;
    if (der === undefined) return undefined;
    let identity = parsed.get(der);
    if (identity === undefined) {
      identity = certificateIdentity(der);
      parsed.set(der, identity);
    }
    const now = clock.now();
    const [name, ...others] = identity.commonNames;
    if (!name || others.length > 0 || now < identity.notBefore || now > identity.notAfter)
      throw unauthorized();
    return {
      name,
      groups: [...new Set(identity.organizations)],
      extra: { [CREDENTIAL_ID]: [`X509SHA256=${identity.fingerprint}`] },
    };
  };
}

export interface StaticToken {
  readonly token: string;
  readonly user: UserInfo;
}

/** Bearer tokens that are known beforehand. Only digests are kept, and all are compared in constant time. */
export function staticTokenAuthenticator(tokens: readonly StaticToken[]): Authenticator {
  const known = tokens
    .filter(({ token }) => token !== '')
    .map(({ token, user }) => ({ digest: digest(token), user }));
  /** What a connection has shown last: clients show the same token with each request. */
  const shown = new WeakMap<Connection, { readonly token: string; readonly digest: Buffer }>();
  const digestOf = (connection: Connection, token: string): Buffer => {
    let last = shown.get(connection);
    if (last?.token !== token) {
      last = { token, digest: digest(token) };
      shown.set(connection, last);
    }
    return last.digest;
  };
  return async (request, connection) => {
    const token = bearerToken(request);
    if (token === undefined) return undefined;
    const asked = digestOf(connection, token);
    let found: UserInfo | undefined;
    for (const entry of known) if (timingSafeEqual(entry.digest, asked)) found = entry.user;
    if (found === undefined) throw unauthorized();
    return found;
  };
}

/**
 * The first user that any of `authenticators` finds, in order. Bad credentials count only when no other kind is good:
 * then their 401 is thrown.
 */
export function unionAuthenticator(...authenticators: readonly Authenticator[]): Authenticator {
  return async (request, connection) => {
    let refusal: StatusError | undefined;
    for (const authenticator of authenticators) {
      try {
        const user = await authenticator(request, connection);
        if (user !== undefined) return user;
      } catch (error) {
        if (!(error instanceof StatusError) || error.code !== 401) throw error;
        refusal = error;
      }
    }
    if (refusal !== undefined) throw refusal;
    return undefined;
  };
}

/**
 * Who asks, for sure: a member of `system:authenticated`, or a 401 is thrown. With `anonymous`, a request that brings no
 * credentials at all is of `system:anonymous`; one with a token that nobody knows is still refused.
 */
export async function authenticate(
  authenticator: Authenticator,
  request: Request,
  connection: Connection,
  anonymous: boolean = false,
): Promise<UserInfo> {
  const user = await authenticator(request, connection);
  if (user === undefined || user.name === '') {
    if (anonymous && user === undefined && bearerToken(request) === undefined)
      return { name: ANONYMOUS_USER, groups: [UNAUTHENTICATED_GROUP] };
    throw unauthorized();
  }
  return user.groups.includes(AUTHENTICATED_GROUP)
    ? user
    : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}

/** The token of `Authorization: Bearer`, `undefined` without one. */
export function bearerToken(request: Request): string | undefined {
  // What stands behind the token is not looked at.
  const [scheme = '', token = ''] = (request.headers.authorization ?? '').trim().split(' ', 2);
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** What is said of a second space before the token, with which there is none. */
export function spacedToken({ headers }: Request): string | undefined {
  return /^bearer {2}/i.test((headers.authorization ?? '').trim())
    ? 'the provided Authorization header contains extra space before the bearer token, and is ignored'
    : undefined;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
