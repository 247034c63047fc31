import { createHash } from 'node:crypto';
import { bearerToken, unauthorized } from '../../apiserver/auth/index.ts';
import type { AskedRight, Authenticator, UserInfo } from '../../apiserver/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Clock } from '../../runtime/clock.ts';

const TOKEN_REVIEWS: ResourceId = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};
const ACCESS_REVIEWS: ResourceId = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/** What was taken away counts no longer than this. */
const REMEMBER_MS = 10_000;
/** What was just given counts after this. */
const REMEMBER_REFUSAL_MS = 1_000;
const MOST_REMEMBERED = 4096;

interface ReviewedToken extends KubeObject {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

interface ReviewedAccess extends KubeObject {
  readonly status?: { readonly allowed?: boolean; readonly denied?: boolean };
}

/** Believes the bearer tokens that an API server believes, by TokenReview. */
export function reviewingAuthenticator(clock: Clock, client: Client): Authenticator {
  const remembered = memory<UserInfo | undefined>(clock, (user) => user !== undefined);
  return async (request) => {
    const token = bearerToken(request);
    if (token === undefined) return undefined;
    // Tokens are kept as digests only.
    const key = createHash('sha256').update(token).digest('base64');
    const user = await remembered(key, async () => {
      const review = await client.create<ReviewedToken>(TOKEN_REVIEWS, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        metadata: {},
        spec: { token },
      });
      const { authenticated, user: found } = review.status ?? {};
      if (authenticated !== true || !found?.username) return undefined;
      const { username, uid, groups = [], extra } = found;
      return {
        name: username,
        groups,
        ...(uid === undefined ? {} : { uid }),
        ...(extra === undefined ? {} : { extra }),
      };
    });
    if (user === undefined) throw unauthorized();
    return user;
  };
}

/** Authorizes as an API server does, by SubjectAccessReview. */
export function reviewingAuthorizer(
  clock: Clock,
  client: Client,
): (user: UserInfo, right: AskedRight) => Promise<boolean> {
  const remembered = memory<boolean>(clock, (allowed) => allowed);
  return (user, right) => {
    const { verb, group, version, resource, subresource, name, namespace, path } = right;
    const attributes = right.isResource
      ? { resourceAttributes: { verb, group, version, resource, subresource, name, namespace } }
      : { nonResourceAttributes: { verb, path } };
    const spec = {
      user: user.name,
      groups: [...user.groups],
      ...(user.uid === undefined ? {} : { uid: user.uid }),
      ...(user.extra === undefined ? {} : { extra: user.extra }),
      ...attributes,
    };
    return remembered(JSON.stringify(spec), async () => {
      const review = await client.create<ReviewedAccess>(ACCESS_REVIEWS, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec,
      });
      return review.status?.allowed === true && review.status.denied !== true;
    });
  };
}

/** Answers by key for a while, so that a stream of requests asks once. Failures are not remembered. */
function memory<T>(
  clock: Clock,
  isGood: (answer: T) => boolean,
): (key: string, ask: () => Promise<T>) => Promise<T> {
  const known = new Map<string, { readonly until: number; readonly answer: Promise<T> }>();
  return (key, ask) => {
    const now = clock.monotonic();
    const found = known.get(key);
    if (found && found.until > now) return found.answer;
    const answer = ask();
    const keepUntil = (until: number): void => {
      if (known.get(key)?.answer === answer) known.set(key, { until, answer });
    };
    known.delete(key);
    known.set(key, { until: now + REMEMBER_MS, answer });
    answer.then(
      (found) => (isGood(found) ? undefined : keepUntil(now + REMEMBER_REFUSAL_MS)),
      () => keepUntil(now),
    );
    for (const oldest of known.keys()) {
      if (known.size <= MOST_REMEMBERED) break;
      known.delete(oldest);
    }
    return answer;
  };
}
