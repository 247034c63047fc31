/**
 * What a placement has to mind beside what its intent says: which clusters people let be used ({@link followPlacementPolicies}), and
 * where the workloads are that it goes together with or keeps away from ({@link peersOf}).
 */
export { type Peers, peersOf } from './peers.ts';
export {
  followPlacementPolicies,
  PLACEMENT_POLICY,
  type PlacementPolicies,
  type PlacementPolicy,
} from './policies.ts';
