/**
 * The contract of the cluster's owner, on the spoke, where it is enforced: each apply, adoption and deletion is judged by it just
 * before it is done, with the object as it is on the cluster, and is done with the rights of the service account that the
 * contract maps its author to. What is refused says so in the status of its dispatch and holds up nothing else; it is tried
 * again when a contract changes, or when the time comes. Rates and budgets are counted since the engine started.
 */
export { type Contracts, followContracts } from './contracts.ts';
export { keptInside } from './kept-inside.ts';
export { isAsWanted } from './unchanged.ts';
export { contractWait } from './waiting.ts';
