/**
 * The way of a hub's users to its spokes: `/clusters/<name>/…` (and the cluster gateway's path) is the API of one spoke,
 * `/fleet/…` that of all.
 *
 * The hub authenticates, and authorizes `get` or `create` on `spokeclusters/proxy`. The spoke then authorizes the user itself:
 * requests arrive there as `hub:<user>` in the group `atoll:hub-users`, which may look. Exec, port-forward and writing need an
 * AccessGrant that is live; it adds a group to the request, of which the spoke's owner decides what it may. Streams end with
 * their grant. Only the API server of the spoke is ever reached, redirects are not followed, and no credential of the
 * client goes there.
 */
export { type Access, type AccessOptions, startAccess } from './access.ts';
export { CLUSTER_ANNOTATION, type MissingCluster } from './fleet/index.ts';
export { accessRoles, grantPolicy } from './install.ts';
export { type AccessListenerOptions, publishedClientCa, startAccessListener } from './listener.ts';
export { followedMembers, type KnownLinks, type Members, sessionMembers } from './members.ts';
export { type AccessNotice, type AccessNoticeWriter, accessNotice, readAccessNotices } from './notice.ts';
export type { AccessRules } from './spoke-access.ts';
