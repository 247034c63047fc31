/**
 * Who a user of the hub is on a spoke, and what short-lived grants let them do there. Pure: names, matching, judging.
 * The hub uses it to ask ({@link userOnSpoke}), the spoke to believe no more than it must ({@link readImpersonation}).
 */
export {
  type AccessGrant,
  type AccessGrantSpec,
  type AccessGrantStatus,
  findGrant,
  type GrantedAct,
  type GrantState,
  grantCovers,
  grantState,
  LONGEST_GRANT_MS,
} from './grant.ts';
export { impersonationHeaders, readImpersonation, type SpokeIdentity, userOnSpoke } from './identity.ts';
export { ACCESS_GRANT } from './kind.ts';
export {
  AUTHENTICATED_GROUP,
  DISPATCH_READERS_GROUP,
  GRANTABLE,
  type Grantable,
  grantGroup,
  HUB_GROUPS,
  HUB_PREFIX,
  HUB_USERS_GROUP,
} from './words.ts';
