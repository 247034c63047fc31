/**
 * Admission policies that the engine puts on the API server of a hub: who wrote an intent is what the server knows and not what
 * the object says, and a SpokeCluster uses Secrets of its own namespace only. A server that serves no policies guards nothing;
 * then no author is believed, and nothing is dispatched that needs one.
 */
export {
  AUTHOR_ANNOTATION,
  AUTHOR_GROUPS_ANNOTATION,
  AUTHOR_POLICY,
  type AuthoredKinds,
  authorOf,
  installAuthorPolicy,
} from './dialect-author-policy.ts';
export { installPolicies, type PoliciesInForce } from './install.ts';
