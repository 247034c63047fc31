import { budgetOf } from '../../engine/plan/plan.ts';
import { type ObjectRef, refKey, refText } from '../../kube/object.ts';

/** What a spoke has of an order. */
export interface Present {
  readonly objects: readonly ObjectRef[];
  /** How many objects it has beside and does not name. */
  readonly unnamed?: number;
}

/**
 * Why an order is not given that takes away more than a budget allows: removing many objects by a change of the selection is more
 * often a slip than meant. Objects deleted at the hub do not count.
 */
export async function beyondBudget(
  present: Present | undefined,
  next: readonly ObjectRef[],
  budget: number | string,
  stillAtHub: (ref: ObjectRef) => Promise<boolean>,
): Promise<string | undefined> {
  const before = present?.objects ?? [];
  const staying = new Set(next.map(refKey));
  const leaving = before.filter((ref) => !staying.has(refKey(ref)));
  const { unnamed = 0 } = present ?? {};
  // Those that stay and are not named are among those that nobody names; the rest of these leaves.
  const unseen = Math.max(0, unnamed - (next.length - (before.length - leaving.length)));
  const count = before.length + unnamed;
  if (leaving.length + unseen === 0) return undefined;
  const exists = await Promise.all(leaving.map((ref) => stillAtHub(ref)));
  const deselected = leaving.filter((_, index) => exists[index]);
  const removed = deselected.length + unseen;
  if (removed <= budgetOf(budget, count)) return undefined;
  const names = deselected.slice(0, 5).map(refText).join(', ');
  return `the change would remove ${removed} of ${count} objects by no longer selecting them (${names}${removed > Math.min(5, deselected.length) ? ', …' : ''}), more than spec.deletionBudget ${budget} allows; raise it to go on`;
}
