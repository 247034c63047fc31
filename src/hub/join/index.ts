/**
 * How a spoke becomes one of the fleet, the hub's side. The hub tells where and who it is ({@link LinkNotice}); a spoke shows
 * a token, which is good for one name and one key ({@link createJoinToken}) or for many spokes that have to be approved
 * ({@link createBootstrapToken}); and its SpokeCluster says whether the hub lets it in ({@link admitsSpoke}), at each connection
 * and each renewal anew. Tokens are kept as digests, and end. Taking the acceptance back cuts what is open; letting a spoke go makes
 * its certificates void ({@link recordLetGo}), so that its name can be another's.
 */
export {
  admits,
  admitsSpoke,
  createSpokeCluster,
  type NewSpokeCluster,
  setAccepted,
  spokeClusterNamed,
  tunnelCluster,
} from './acceptance.ts';
export { type BootstrapTokenOptions, createBootstrapToken } from './bootstrap-token.ts';
export {
  decideEnrolment,
  decideRequest,
  type Enrolment,
  LINK_SIGNER,
  linkRequests,
  pendingRequests,
  requestsOf,
} from './enrolment.ts';
export { createJoinToken, revokeJoinToken } from './join-token.ts';
export { followJoins, JOINED_LABEL, type Joins } from './joins.ts';
export { certificatesFrom, RENEW_EXPIRED_FOR_MS, recordLetGo } from './letting-go.ts';
export { linkAuthority } from './link-authority.ts';
export { type LinkNotice, publishLinkNotice, readLinkNotice } from './link-notice.ts';
