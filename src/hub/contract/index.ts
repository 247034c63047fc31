/**
 * The contracts of the spokes at the hub: read to tell beforehand what will be refused, never to enforce. What the spoke says of
 * itself names its contracts by one word, so that they are read when they change and at no other time.
 */
export { type ForeseenRefusals, foreseenRefusals, type PermittedFinding } from './foreseen.ts';
export { type SpokeContracts, spokeContracts } from './spoke-contracts.ts';
