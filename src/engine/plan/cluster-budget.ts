import { budgetOf } from './plan.ts';

/**
 * Why clusters keep what they have though they are not chosen any more: `left` of the `before` clusters of an intent are more than
 * may be left at once. Clusters that a copy moved away from are among neither.
 */
export function beyondClusterBudget(
  budget: number | string | undefined,
  before: number,
  left: number,
): string | undefined {
  if (budget === undefined || left <= budgetOf(budget, before)) return undefined;
  return `${left} of ${before} clusters would be left by no longer being chosen, more than spec.clusterBudget ${budget} allows: what is there stays; raise it to go on`;
}
