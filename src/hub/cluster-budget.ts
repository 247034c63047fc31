import { budgetOf } from '../engine/plan/plan.ts';
import type { Inventory } from './inventory/index.ts';
import { isChosen, type Tracked } from './tracked.ts';

type Clusters = Pick<Inventory, 'has' | 'leaving'>;

/** Whether a cluster is left because it is not chosen any more, and not because it or the intent goes. */
export function isDeselected(item: Tracked, clusters: Clusters, name: string): boolean {
  return !item.retracting && !isChosen(item, name) && clusters.leaving(name) === undefined;
}

/** Why clusters keep what they have though they are not chosen any more: too many would be left at once. */
export function leavesTooMany(item: Tracked, clusters: Clusters): string | undefined {
  const budget = item.compiled?.intent.clusterBudget;
  if (budget === undefined || item.plan === undefined) return undefined;
  const before = [...item.dispatchedTo].filter((name) => clusters.has(name));
  const left = before.filter((name) => isDeselected(item, clusters, name)).length;
  if (left <= budgetOf(budget, before.length)) return undefined;
  return `${left} of ${before.length} clusters would be left by no longer being chosen, more than spec.clusterBudget ${budget} allows: what is there stays; raise it to go on`;
}
