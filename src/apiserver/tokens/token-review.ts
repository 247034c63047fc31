import type { KubeObject } from '../../kube/object.ts';
import { badRequest, StatusError } from '../../kube/status-error.ts';
import { type JsonObject, listAt, stringAt } from '../../schema/json.ts';
import { AUTHENTICATED_GROUP, type Authenticator, type UserInfo } from '../auth/index.ts';
import { identify, type TokenAuthenticator, type TokenIdentity } from './token-authenticator.ts';

export interface TokenReviewer {
  /** Kinds of tokens that know their audiences. */
  readonly authenticators: readonly TokenAuthenticator[];
  /** For tokens of other kinds, which are meant for this server alone. */
  readonly other: Authenticator | undefined;
  /** Whom a token must be meant for when the review names nobody. */
  audiences(cluster: string): readonly string[];
}

/** Whose token is this? Answers a TokenReview. Throws 400 for one without a token; a bad token is an answer. */
export async function tokenReview(
  reviewer: TokenReviewer,
  cluster: string,
  body: KubeObject,
): Promise<KubeObject> {
  const token = stringAt(body, 'spec', 'token') ?? '';
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const named = listAt(body, 'spec', 'audiences').filter((audience) => typeof audience === 'string');
  const identity = await identityOf(reviewer, cluster, token, named);
  if (identity === undefined || typeof identity === 'string') {
    // Each kind of token has its say: those that have nothing more to say than that it is bad say it once.
    const error = identity === undefined ? BAD_TOKEN : `[${BAD_TOKEN}, ${identity}]`;
    return { ...body, status: { user: {}, error } };
  }
  return {
    ...body,
    status: {
      authenticated: true,
      user: userJson(identity.user),
      audiences: [...identity.audiences],
    },
  };
}

const BAD_TOKEN = 'invalid bearer token';

/** Whose token it is, or what is wrong with one that this server has issued. */
async function identityOf(
  reviewer: TokenReviewer,
  cluster: string,
  token: string,
  named: readonly string[],
): Promise<TokenIdentity | string | undefined> {
  const own = reviewer.audiences(cluster);
  const audiences = named.length > 0 ? named : own;
  try {
    const identity = identify(reviewer.authenticators, token, cluster, audiences);
    const shared = audiences.filter((audience) => own.includes(audience));
    if (identity !== undefined) return known(identity);
    if (shared.length === 0) return undefined;
    const user = await reviewer.other?.(
      { method: 'GET', path: '/', headers: { authorization: `Bearer ${token}` } },
      {},
    );
    return user && known({ user, audiences: shared });
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 401) throw error;
    return typeof error.cause === 'string' ? error.cause : undefined;
  }
}

function known({ user, audiences }: TokenIdentity): TokenIdentity {
  if (user.groups.includes(AUTHENTICATED_GROUP)) return { user, audiences };
  return { user: { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] }, audiences };
}

function userJson({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.entries(extra).map(([key, list]) => [key, [...list]])) }),
  };
}
