/**
 * The clusters of the fleet and the upkeep of their SpokeCluster objects. One pass over a cluster reads its credential, sees
 * to its registration, opens its link, probes it, and writes what changed: `looking.ts` is that pass, `start-inventory.ts` the
 * controller around it. A cluster that cannot be reached is state, not a fault; a pass that finds nothing new writes nothing.
 * A change is told once it is stored: as an Event on the SpokeCluster, and in counters.
 */
export type { ClosableLink, Inventory, LinkSource } from './inventory.ts';
export { followClusters } from './known-clusters.ts';
export { DETACH_FINALIZER, startInventory } from './start-inventory.ts';
export { INVENTORY_EVENTS, INVENTORY_METRICS } from './transitions.ts';
