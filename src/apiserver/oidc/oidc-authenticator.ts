import { failure } from '../../kube/status-error.ts';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { at, type JsonObject, numberAt, stringAt } from '../../schema/json.ts';
import { type Authenticator, bearerToken, type UserInfo, unauthorized } from '../auth/index.ts';
import type { Outbound } from '../outbound/index.ts';
import { readClaims, readHeader } from '../tokens/index.ts';
import { issuerKeys } from './issuer-keys.ts';
import { ALGORITHMS, type Algorithm, isSignedBy } from './verify-signature.ts';

/** An issuer of OpenID Connect whose ID tokens are believed. */
export interface OidcOptions {
  /** Its `https://` URL, exactly as it is in tokens. */
  readonly issuer: string;
  /** Tokens have to be meant for it. */
  readonly clientId: string;
  /** The claim that is the name of the user. `sub` by default. */
  readonly usernameClaim?: string;
  /** What is put before the name. By default the issuer and `#`, and nothing before a name that is an email address; `-` is nothing. */
  readonly usernamePrefix?: string;
  /** The claim that holds the user's groups: a text or a list. None by default. */
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  /** Claims that tokens must have, with these values. */
  readonly requiredClaims?: Readonly<Record<string, string>>;
  /** RS256 by default. */
  readonly signingAlgorithms?: readonly string[];
  /** PEM of the authorities of the issuer's certificate. Those of the system by default. */
  readonly caBundle?: string;
}

const NOT_BEFORE_LEEWAY_S = 300;
/** Names and groups that mean something to the server itself are nobody else's to give. */
const RESERVED = 'system:';

/**
 * Believes the ID tokens of an issuer: signed with a key that it publishes, for this client, and not over. Tokens of other
 * issuers are none of its business. Throws an Error for options that make no sense.
 */
export function oidcAuthenticator(runtime: Runtime, outbound: Outbound, options: OidcOptions): Authenticator {
  const { clock } = runtime;
  const { issuer, clientId, usernameClaim = 'sub' } = options;
  if (!URL.canParse(issuer) || new URL(issuer).protocol !== 'https:')
    throw new Error(`the OIDC issuer ${JSON.stringify(issuer)} is no https:// URL`);
  if (clientId === '') throw new Error('the OIDC client id is empty');
  const algorithms = (options.signingAlgorithms ?? ['RS256']).map((name): Algorithm => {
    const algorithm = ALGORITHMS.find((one) => one === name);
    if (algorithm === undefined)
      throw new Error(
        `the OIDC signing algorithm ${JSON.stringify(name)} is none of ${ALGORITHMS.join(', ')}`,
      );
    return algorithm;
  });
  const prefix = options.usernamePrefix ?? (usernameClaim === 'email' ? '-' : `${issuer}#`);
  const namePrefix = prefix === '-' ? '' : prefix;
  const keys = issuerKeys(clock, outbound, issuer, options.caBundle);

  async function isSigned(token: string): Promise<boolean> {
    const header = readHeader(token);
    const algorithm = algorithms.find((one) => one === header?.alg);
    // A header that must be understood says something that is not understood here (RFC 7515, 4.1.11).
    if (header === undefined || algorithm === undefined || header.crit !== undefined) return false;
    const [head = '', body = '', signature = ''] = token.split('.');
    const found = await keys.find(typeof header.kid === 'string' ? header.kid : undefined);
    const bytes = Buffer.from(signature, 'base64url');
    return found.some((key) => isSignedBy(key, algorithm, `${head}.${body}`, bytes));
  }

  return async (request) => {
    const token = bearerToken(request);
    const claims = token === undefined ? undefined : readClaims(token);
    if (token === undefined || claims === undefined || claims.iss !== issuer) return undefined;
    let signed: boolean;
    try {
      signed = await isSigned(token);
    } catch (error) {
      runtime.log.warn('the keys of the OIDC issuer cannot be had', { issuer, error: errorText(error) });
      throw failure(401, 'Unauthorized', 'Unauthorized');
    }
    const user = signed && isCurrent(claims) ? userOf(claims) : undefined;
    if (user === undefined) throw unauthorized();
    return user;
  };

  function isCurrent(claims: JsonObject): boolean {
    const now = clock.now() / 1000;
    const audiences = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
    return (
      now < (numberAt(claims, 'exp') ?? Number.NEGATIVE_INFINITY) &&
      now + NOT_BEFORE_LEEWAY_S >=
        (claims.nbf === undefined ? 0 : (numberAt(claims, 'nbf') ?? Number.POSITIVE_INFINITY)) &&
      audiences.includes(clientId) &&
      Object.entries(options.requiredClaims ?? {}).every(([name, value]) => own(claims, name) === value)
    );
  }

  function userOf(claims: JsonObject): UserInfo | undefined {
    const claimed = own(claims, usernameClaim);
    if (typeof claimed !== 'string' || claimed === '') return undefined;
    // An address that the issuer has not verified may be somebody else's.
    const verified = own(claims, 'email_verified');
    if (usernameClaim === 'email' && verified !== undefined && verified !== true) return undefined;
    const name = `${namePrefix}${claimed}`;
    if (name.startsWith(RESERVED)) return undefined;
    const jti = stringAt(claims, 'jti');
    return {
      name,
      groups: groupsOf(claims),
      ...(jti === undefined
        ? {}
        : { extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] } }),
    };
  }

  function groupsOf(claims: JsonObject): string[] {
    const { groupsClaim, groupsPrefix = '' } = options;
    const claimed = groupsClaim === undefined ? undefined : own(claims, groupsClaim);
    const groups = typeof claimed === 'string' ? [claimed] : Array.isArray(claimed) ? claimed : [];
    return groups
      .filter((group) => typeof group === 'string')
      .map((group) => `${groupsPrefix}${group}`)
      .filter((group) => !group.startsWith(RESERVED));
  }
}

/** Claims may have dots in their names. */
function own(claims: JsonObject, name: string): unknown {
  return Object.hasOwn(claims, name) ? at(claims, name) : undefined;
}
