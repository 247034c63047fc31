import type { Condition } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import { parseKey } from '../store/key.ts';
import type { StoreRecord } from '../store/store.ts';
import type { NamespaceCondition } from './actions.ts';

/** Types, reasons and texts are Kubernetes' own, as `kubectl describe` and scripts know them. */
function conditionsNow(content: readonly StoreRecord[], failures: readonly string[]): Fresh[] {
  const resources = new Map<string, number>();
  const finalizers = new Map<string, number>();
  for (const { key, object } of content) {
    const { group, resource } = parseKey(key);
    count(resources, `${resource}.${group}`);
    for (const finalizer of object.metadata.finalizers ?? []) count(finalizers, finalizer);
  }
  return [
    fresh(
      'NamespaceDeletionDiscoveryFailure',
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ),
    fresh(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    failures.length === 0
      ? fresh(
          'NamespaceDeletionContentFailure',
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        )
      : fresh(
          'NamespaceDeletionContentFailure',
          'ContentDeletionFailed',
          `Failed to delete all resource types, ${failures.length} remaining: ${failures.slice(0, 10).join(', ')}`,
          true,
        ),
    resources.size === 0
      ? fresh('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed')
      : fresh(
          'NamespaceContentRemaining',
          'SomeResourcesRemain',
          `Some resources are remaining: ${listed(resources, ' has ', ' resource instances')}`,
          true,
        ),
    finalizers.size === 0
      ? fresh(
          'NamespaceFinalizersRemaining',
          'ContentHasNoFinalizers',
          'All content-preserving finalizers finished',
        )
      : fresh(
          'NamespaceFinalizersRemaining',
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${listed(finalizers, ' in ', ' resource instances')}`,
          true,
        ),
  ];
}

type Fresh = Omit<NamespaceCondition, 'lastTransitionTime'>;

function fresh(type: string, reason: string, message: string, holds: boolean = false): Fresh {
  return { type, status: holds ? 'True' : 'False', reason, message };
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function listed(counts: ReadonlyMap<string, number>, between: string, behind: string): string {
  return [...counts]
    .map(([name, number]) => `${name}${between}${number}${behind}`)
    .sort()
    .join(', ');
}

/**
 * The conditions of a namespace being deleted with this content left and these failures, or `undefined` when `present`
 * says the same already. A condition keeps its time as long as its status stays.
 */
export function namespaceConditions(
  present: readonly Condition[],
  content: readonly StoreRecord[],
  failures: readonly string[],
  nowMs: number,
): NamespaceCondition[] | undefined {
  let changed = false;
  const conditions = conditionsNow(content, failures).map((condition): NamespaceCondition => {
    const before = present.find(({ type }) => type === condition.type);
    const sameStatus = before?.status === condition.status;
    changed ||= !sameStatus || before.reason !== condition.reason || before.message !== condition.message;
    return { ...condition, lastTransitionTime: sameStatus ? before.lastTransitionTime : formatTime(nowMs) };
  });
  return changed ? conditions : undefined;
}
