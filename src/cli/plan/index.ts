/**
 * `atoll plan`: what a change at the hub does on every cluster, tried on the clusters' own servers by dry runs, and saved under one
 * word. `atoll apply --plan` carries it out where nothing has moved since, and says what moved otherwise. Nothing is written by a
 * plan, and no value of a Secret is shown or saved.
 */
export { type ApplyOptions, applyPlan } from './apply-plan.ts';
export { type Asked, computePlan, type FleetPlan } from './compute-plan.ts';
export { type PlanOptions, showPlan } from './show-plan.ts';
