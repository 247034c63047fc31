import { beyondClusterBudget } from '../../engine/plan/cluster-budget.ts';
import type { Inventory } from '../inventory/index.ts';
import { isChosen, type Tracked } from './tracked.ts';

/** How many of its clusters an intent may leave at once. */
export interface ClusterBudget {
  /** Why clusters keep what they have though they are not chosen any more: too many would be left at once. */
  exceeded(item: Tracked): string | undefined;
  /** The same for one cluster; undefined where it is left for another reason, or not at all. */
  keeps(item: Tracked, cluster: string): string | undefined;
}

export function createClusterBudget({
  inventory,
  isMoved,
}: {
  readonly inventory: Pick<Inventory, 'has' | 'leaving'>;
  /** Whether a copy moved away from a cluster: nobody chose that. */
  readonly isMoved: (key: string, cluster: string) => boolean;
}): ClusterBudget {
  /** Whether a cluster is left because it is not chosen any more, and not because it, the copy or the intent goes. */
  const isDeselected = (item: Tracked, cluster: string): boolean =>
    !item.retracting &&
    !isChosen(item, cluster) &&
    inventory.leaving(cluster) === undefined &&
    !isMoved(item.key, cluster);

  function exceeded(item: Tracked): string | undefined {
    const budget = item.compiled?.intent.clusterBudget;
    if (budget === undefined || item.plan === undefined) return undefined;
    const before = [...item.dispatchedTo].filter(
      (name) => inventory.has(name) && (isChosen(item, name) || !isMoved(item.key, name)),
    );
    const left = before.filter((name) => isDeselected(item, name));
    return beyondClusterBudget(budget, before.length, left.length);
  }

  return {
    exceeded,
    keeps: (item, cluster) => (isDeselected(item, cluster) ? exceeded(item) : undefined),
  };
}
