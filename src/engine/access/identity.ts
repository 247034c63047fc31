import { HUB_GROUPS, HUB_PREFIX, HUB_USERS_GROUP } from './words.ts';

/** Who acts on a spoke. That they are authenticated every API server adds by itself. */
export interface SpokeIdentity {
  readonly name: string;
  readonly groups: readonly string[];
}

const SYSTEM = 'system:';
const UNAUTHENTICATED = 'system:unauthenticated';
/** Names travel in headers. */
const HEADER_TEXT = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const MAX_NAME = 512;
/** A header has an end, and so has what a spoke looks through for each request. */
const MAX_GROUPS = 200;

/**
 * Who a user of the hub is on a spoke: the same name and groups behind `hub:`, and one of {@link HUB_USERS_GROUP}. Groups that
 * begin with `system:` stay at the hub, so that its administrators are nobody's administrators; so do groups whose names
 * cannot travel. `extra` are groups that the hub itself gives. Undefined for whoever is not known by name.
 */
export function userOnSpoke(
  user: { readonly name: string; readonly groups: readonly string[] },
  extra: readonly string[] = [],
): SpokeIdentity | undefined {
  if (!HEADER_TEXT.test(user.name) || user.name.length > MAX_NAME) return undefined;
  if (user.groups.includes(UNAUTHENTICATED) || user.name === 'system:anonymous') return undefined;
  const own = user.groups
    .filter((group) => !group.startsWith(SYSTEM) && canTravel(group))
    .slice(0, MAX_GROUPS)
    .map((group) => HUB_PREFIX + group);
  return {
    name: HUB_PREFIX + user.name,
    groups: [...new Set([HUB_USERS_GROUP, ...extra, ...own])],
  };
}

/** A comma parts groups in a header. */
function canTravel(group: string): boolean {
  return group.length <= MAX_NAME && HEADER_TEXT.test(group) && !group.includes(',');
}

/** The headers that say so to a Kubernetes API. Groups are joined; a transport that must repeat the header parts them again. */
export function impersonationHeaders({ name, groups }: SpokeIdentity): Record<string, string> {
  return { 'impersonate-user': name, 'impersonate-group': groups.join(', ') };
}

/**
 * Reads such headers as the spoke that gets them. Undefined where there are none; a text where they ask for what no hub may:
 * a name without prefix, a group that is not the hub's to give.
 */
export function readImpersonation(
  headers: Readonly<Record<string, string>>,
): SpokeIdentity | { readonly refused: string } | undefined {
  const names = Object.keys(headers).filter((name) => name.startsWith('impersonate-'));
  if (names.length === 0) return undefined;
  const other = names.find((name) => name !== 'impersonate-user' && name !== 'impersonate-group');
  if (other !== undefined) return { refused: `a hub may not set ${other}` };
  const name = headers['impersonate-user'] ?? '';
  if (!name.startsWith(HUB_PREFIX) || name === HUB_PREFIX)
    return { refused: `users of a hub begin with ${HUB_PREFIX} here` };
  const groups = (headers['impersonate-group'] ?? '').split(',').map((group) => group.trim());
  const foreign = groups.find((group) => !HUB_GROUPS.has(group) && !isPrefixed(group));
  if (foreign !== undefined)
    return { refused: `the group ${JSON.stringify(foreign.slice(0, 100))} is not one that a hub gives` };
  return { name, groups };
}

function isPrefixed(group: string): boolean {
  return group.startsWith(HUB_PREFIX) && group !== HUB_PREFIX;
}
