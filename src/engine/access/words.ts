/** Names by which hub and spoke mean the same people and rights. */

/** Before every user and group of a hub that acts on a spoke, so that none is ever taken for one of the spoke's own. */
export const HUB_PREFIX = 'hub:';

/** Everyone whom the hub lets through to a spoke. */
export const HUB_USERS_GROUP = 'atoll:hub-users';
/** Those of them who may see at the hub what is dispatched, Secrets among it. */
export const DISPATCH_READERS_GROUP = 'atoll:dispatch-readers';
export const AUTHENTICATED_GROUP = 'system:authenticated';

/** What an AccessGrant can allow. */
export const GRANTABLE = ['exec', 'port-forward', 'write'] as const;
export type Grantable = (typeof GRANTABLE)[number];

/** The group that a live grant adds to a user on the spoke. */
export function grantGroup(what: Grantable): string {
  return `atoll:grant:${what}`;
}

/** The groups without prefix that a hub may put its users into. */
export const HUB_GROUPS: ReadonlySet<string> = new Set([
  AUTHENTICATED_GROUP,
  HUB_USERS_GROUP,
  DISPATCH_READERS_GROUP,
  ...GRANTABLE.map(grantGroup),
]);
