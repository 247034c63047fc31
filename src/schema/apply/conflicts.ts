import type { Operation } from './managed-fields.ts';
import { compareText } from './managed-fields.ts';

/** A field that another manager owns and whose value the apply would change. */
export interface Conflict {
  readonly manager: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  readonly subresource: string;
  /** Such as `.spec.replicas`. */
  readonly path: string;
}

export interface ConflictCause {
  readonly reason: 'FieldManagerConflict';
  readonly message: string;
  readonly field: string;
}

/** The message and causes of the 409 Conflict with which the API server answers. */
export function formatConflicts(conflicts: readonly Conflict[]): {
  message: string;
  causes: ConflictCause[];
} {
  const causes = conflicts.map(
    (conflict): ConflictCause => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${describe(conflict)}`,
      field: conflict.path,
    }),
  );
  const only = conflicts.length === 1 ? conflicts[0] : undefined;
  if (only !== undefined) {
    return { message: `Apply failed with 1 conflict: conflict with ${describe(only)}: ${only.path}`, causes };
  }
  const byManager = new Map<string, string[]>();
  for (const conflict of conflicts) {
    const who = describe(conflict);
    const paths = byManager.get(who);
    if (paths === undefined) byManager.set(who, [conflict.path]);
    else paths.push(conflict.path);
  }
  const lines: string[] = [];
  for (const [who, paths] of [...byManager].sort((a, b) => compareText(a[0], b[0]))) {
    lines.push(`conflicts with ${who}:`);
    for (const path of paths) lines.push(`- ${path}`);
  }
  return { message: `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`, causes };
}

/** `"kubectl" with subresource "scale" using apps/v1`: the version says something about updates only. */
function describe(conflict: Conflict): string {
  let text = JSON.stringify(conflict.manager);
  if (conflict.subresource !== '') text += ` with subresource ${JSON.stringify(conflict.subresource)}`;
  if (conflict.operation === 'Update') text += ` using ${conflict.apiVersion}`;
  return text;
}
