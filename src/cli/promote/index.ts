/**
 * `atoll promote`: brings an object that is on one cluster already under the hub's care. It becomes an object of the hub, with what
 * it needs where that is asked for, and a Propagation takes the copy on the cluster over as it is: it keeps its UID and its pods.
 * Deleting that Propagation leaves the copy where it was, without marks: nothing is lost by trying.
 */
export { type PromoteOptions, promoteObject } from './promote-object.ts';
export { carryOutPromotion, type Promotion, readPromotion } from './promotion.ts';
