import type { KubeObject } from '../../kube/object.ts';
import { type LabelSelector, matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type { Mirror } from './mirror.ts';
import { controllerReference, isDeleting } from './owner.ts';

/** Whether a selector of a workload selects these labels. A selector that is not valid, or absent, selects nothing. */
export function selects(
  selector: LabelSelector | undefined,
  labels: Record<string, string> | undefined,
): boolean {
  if (selector === undefined) return false;
  const { selector: parsed, issues } = selectorFromObject(selector);
  return issues.length === 0 && matchesSelector(parsed, labels ?? {});
}

/**
 * The objects that belong to an owner: those it manages already, and those that nobody manages and its selector
 * selects, which it adopts. What it manages and no longer selects is released.
 *
 * Nothing is adopted for an owner that is deleted by now: who orphans what it had wants to keep that, and it would go with its owner.
 */
export async function claim<T extends KubeObject, O extends KubeObject>(
  mirror: Mirror<T>,
  owners: Pick<Mirror<O>, 'stands'>,
  owner: O,
  selector: LabelSelector,
): Promise<T[]> {
  const mine = mirror.ownedBy(owner.metadata.uid ?? '');
  if (isDeleting(owner)) return mine;
  const { selector: parsed, issues } = selectorFromObject(selector);
  if (issues.length > 0) return mine;
  const kept: T[] = [];
  let changed = false;
  for (const object of mine) {
    if (isDeleting(object) || matchesSelector(parsed, object.metadata.labels ?? {})) {
      kept.push(object);
      continue;
    }
    const others = (object.metadata.ownerReferences ?? []).filter((each) => each.uid !== owner.metadata.uid);
    await mirror.patch(object, {
      metadata: { ownerReferences: others.length > 0 ? others.map((each) => ({ ...each })) : null },
    });
    changed = true;
  }
  const orphans = mirror
    .ownedBy('')
    .filter(
      (orphan) =>
        orphan.metadata.namespace === owner.metadata.namespace &&
        !isDeleting(orphan) &&
        matchesSelector(parsed, orphan.metadata.labels ?? {}),
    );
  const mayAdopt = orphans.length > 0 && (await owners.stands(owner));
  for (const orphan of mayAdopt ? orphans : []) {
    const references = [...(orphan.metadata.ownerReferences ?? []), controllerReference(owner)];
    await mirror.patch(orphan, { metadata: { ownerReferences: references.map((each) => ({ ...each })) } });
    changed = true;
  }
  if (!changed) return kept;
  await mirror.caughtUp();
  return mirror.ownedBy(owner.metadata.uid ?? '');
}
