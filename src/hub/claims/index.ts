/**
 * Claims: which of several intents has an object that all of them select. {@link createClaims} knows what every intent of the hub
 * claims, also of those that were not looked at yet, so that the answer does not depend on who is looked at first.
 *
 * One that has an object keeps it until it lets go, or until one that goes before it preempts (`settleClaims` in `engine/select` has
 * the order). Who lost is remembered with the one that lost, durable before anything is sent: a hub that starts again gives
 * the same answer. Whoever loses an object goes on without it; the spoke hands the object over as it is.
 */
export {
  type Claims,
  type ClaimsOptions,
  type ClaimTerms,
  createClaims,
  type LostClaim,
  type WantedByOthers,
} from './claims.ts';
