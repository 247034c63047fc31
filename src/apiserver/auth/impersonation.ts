import type { Request } from '../../kube/exchange.ts';
import { type Authorizer, forbidden, type RequestAttributes, resourceAttributes } from './attributes.ts';
import {
  ANONYMOUS_USER,
  AUTHENTICATED_GROUP,
  isMaster,
  parseServiceAccount,
  serviceAccountGroups,
  UNAUTHENTICATED_GROUP,
  type UserInfo,
} from './user.ts';

const PREFIX = 'impersonate-';
const EXTRA_PREFIX = 'impersonate-extra-';
const AUTHENTICATION_GROUP = 'authentication.k8s.io';

export interface Impersonated {
  /** Whom the request acts as. */
  readonly user: UserInfo;
  /** Who really asks, for the audit. */
  readonly impersonator: UserInfo;
  /** The request without its impersonation headers. */
  readonly request: Request;
}

/**
 * What a request with `Impersonate-*` headers acts as; `undefined` when it has none. Whoever asks must hold the verb
 * `impersonate` for the user and for each group, uid and extra value; otherwise the 403 is thrown. Groups and extras
 * without a user are a 400: guessing whom they mean would be wrong.
 *
 * Repeated headers arrive joined by `, `, so a group whose name holds that is seen as two, each of which is checked.
 */
export function impersonate(
  authorizer: Authorizer,
  requester: UserInfo,
  cluster: string,
  request: Request,
): Impersonated | undefined {
  const names = Object.keys(request.headers).filter((name) => name.startsWith(PREFIX));
  if (names.length === 0) return undefined;
  const { headers } = request;
  const name = headers['impersonate-user'] ?? '';
  const uid = headers['impersonate-uid'] ?? '';
  const asked = listOf(headers['impersonate-group']);
  // Own properties, whatever the keys are called.
  const extra: Record<string, string[]> = Object.fromEntries(
    names
      .filter((header) => header.startsWith(EXTRA_PREFIX))
      .map((header) => [extraKey(header.slice(EXTRA_PREFIX.length)), listOf(headers[header])]),
  );
  if (name === '') {
    const whom = described(asked, extra, uid);
    if (whom === '') return undefined;
    throw new UnnamedImpersonation(`requested [${whom}] without impersonating a user`);
  }

  const check = (attributes: RequestAttributes): void => {
    const decision = authorizer.authorize(attributes);
    if (!decision.allowed) throw forbidden(attributes, decision.reason);
  };
  const ask = (what: {
    resource: string;
    name: string;
    group?: string;
    namespace?: string;
    subresource?: string;
  }) => check(resourceAttributes(requester, cluster, { verb: 'impersonate', version: 'v1', ...what }));

  const account = parseServiceAccount(name);
  if (account) ask({ resource: 'serviceaccounts', name: account.name, namespace: account.namespace });
  else ask({ resource: 'users', name });
  for (const group of asked) ask({ resource: 'groups', name: group });
  for (const key of Object.keys(extra).sort()) {
    for (const value of extra[key] ?? []) {
      ask({ group: AUTHENTICATION_GROUP, resource: 'userextras', subresource: key, name: value });
    }
  }
  if (uid !== '') ask({ group: AUTHENTICATION_GROUP, resource: 'uids', name: uid });

  const groups = asked.length === 0 && account ? serviceAccountGroups(account.namespace) : asked;
  const rest: Record<string, string> = {};
  for (const header in headers) if (!header.startsWith(PREFIX)) rest[header] = headers[header] ?? '';
  return {
    user: {
      name,
      groups: withStanding(name, groups),
      ...(uid === '' ? {} : { uid }),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
      // Whoever rules one logical cluster may be anybody there, and must not become somebody elsewhere.
      ...(isMaster(requester) ? {} : { within: cluster }),
    },
    impersonator: requester,
    request: { ...request, headers: rest },
  };
}

/** Whether a request asks to be somebody else's. */
export function impersonates({ headers }: Request): boolean {
  return Object.keys(headers).some((name) => name.startsWith(PREFIX));
}

/** Groups, a uid or extras of nobody. Other servers answer that with a bare 500, before it comes to handling the request. */
export class UnnamedImpersonation extends Error {}

/** Whom headers without a user speak of, in Go's words for references; empty for nobody. */
function described(
  groups: readonly string[],
  extra: Readonly<Record<string, readonly string[]>>,
  uid: string,
): string {
  const version = `${AUTHENTICATION_GROUP}/v1`;
  return [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...Object.keys(extra)
      .sort()
      .flatMap((key) => (extra[key] ?? []).map((value) => `{UserExtra  ${value}  ${version}  ${key}}`)),
    ...(uid === '' ? [] : [`{UID  ${uid}  ${version}  }`]),
  ].join(' ');
}

/** Everyone is either authenticated or not; the group that says so need not be asked for. */
function withStanding(name: string, groups: readonly string[]): string[] {
  if (groups.includes(UNAUTHENTICATED_GROUP)) return [...groups];
  if (name === ANONYMOUS_USER) return [...groups, UNAUTHENTICATED_GROUP];
  return groups.includes(AUTHENTICATED_GROUP) ? [...groups] : [...groups, AUTHENTICATED_GROUP];
}

function listOf(header: string | undefined): string[] {
  return (header ?? '')
    .split(', ')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Keys are percent-encoded where a header name cannot hold them. */
function extraKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    // As it stands, then: the right to use the key is checked all the same.
    return encoded;
  }
}
