/**
 * `atoll hub recover`: a hub was lost, its spokes were not. They keep the signed orders with the content, and with the objects of
 * the hub that asked for it. From those the hub's objects are made again; what is at the hub already is left as it is. Without
 * `--yes` nothing is written.
 */
export { type Found, foundOn } from './found.ts';
export { type RecoveryPlan, recoveryPlan } from './plan.ts';
export { type RecoverOptions, recover } from './recover.ts';
