/**
 * Resource graphs of the hub beside their intents (`hub/intents/graphs`): whether the clusters that definitions name can have what
 * they are to have, said on the definition as soon as it is known, and again whenever the fleet changes.
 */
export { type GraphTargets, startGraphTargets } from './graph-targets.ts';
