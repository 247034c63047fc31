/**
 * `atoll get`: objects of all spokes (and of the hub) in one table, read through the hub with the user's own rights on each
 * spoke. Clusters whose part is missing are told on stderr with their age, and the exit code is 2.
 */
export { type GetOptions, showFleet } from './show-fleet.ts';
