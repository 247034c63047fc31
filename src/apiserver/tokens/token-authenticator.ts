import type { Request } from '../../kube/exchange.ts';
import { StatusError } from '../../kube/status-error.ts';
import { type Authenticator, bearerToken, type UserInfo } from '../auth/index.ts';

/** Who a token stands for, and for which of the asked audiences it is meant. */
export interface TokenIdentity {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

/**
 * Finds out whose token this is in a logical cluster. `undefined` when it is not of this kind; throws a 401 `StatusError`
 * when it is and is bad. A token that is meant for none of `audiences` is bad.
 */
export type TokenAuthenticator = (
  token: string,
  cluster: string,
  audiences: readonly string[],
) => TokenIdentity | undefined;

/** Bearer tokens of requests. `clusterOf` names the logical cluster whose accounts may ask, from the request's path. */
export function bearerAuthenticator(
  authenticators: readonly TokenAuthenticator[],
  clusterOf: (request: Request) => string,
  audiences: (cluster: string) => readonly string[],
): Authenticator {
  return async (request) => {
    const token = bearerToken(request);
    if (token === undefined) return undefined;
    const cluster = clusterOf(request);
    return identify(authenticators, token, cluster, audiences(cluster))?.user;
  };
}

/** The first identity that any authenticator finds. Throws the last 401 when none does and one refused. */
export function identify(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  cluster: string,
  audiences: readonly string[],
): TokenIdentity | undefined {
  let refusal: StatusError | undefined;
  for (const authenticate of authenticators) {
    try {
      const identity = authenticate(token, cluster, audiences);
      if (identity !== undefined) return identity;
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 401) throw error;
      refusal = error;
    }
  }
  if (refusal !== undefined) throw refusal;
  return undefined;
}
