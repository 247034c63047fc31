import type { DispatchSpec, DispatchStatus } from '../engine/dispatch/index.ts';
import { setCondition } from '../kube/conditions.ts';
import { type ObjectRef, refText } from '../kube/object.ts';

/** An object that several dispatches want. Whoever had it first keeps it, until it lets it go. */
export interface Conflict {
  readonly ref: ObjectRef;
  /** Whether the dispatch that this is told of has the object. */
  readonly has: boolean;
  /** The others that want it; where it has not got it, the one that has comes first. */
  readonly others: readonly Pick<DispatchSpec, 'source'>[];
}

/** Which objects more than one dispatch wants, by key. Holds nothing of the others. */
export interface Contests {
  /** A dispatch wants what another one has. */
  join(key: string, name: string, claimant: string): void;
  /** It does not want it any more. */
  leave(key: string, name: string): void;
  of(name: string): readonly { readonly key: string; readonly names: ReadonlySet<string> }[];
}

/** `onChange` is told each dispatch whose conflicts are others now. */
export function createContests(onChange: (name: string) => void): Contests {
  const contests = new Map<string, Set<string>>();
  return {
    join(key, name, claimant): void {
      const names = contests.get(key) ?? new Set();
      if (names.has(name) && names.has(claimant)) return;
      contests.set(key, names.add(claimant).add(name));
      for (const one of names) onChange(one);
    },
    leave(key, name): void {
      const names = contests.get(key);
      if (!names?.delete(name)) return;
      if (names.size < 2) contests.delete(key);
      for (const one of names) onChange(one);
    },
    of: (name) =>
      [...contests].filter(([, names]) => names.has(name)).map(([key, names]) => ({ key, names })),
  };
}

/** A status with what is to be said of conflicts, on both sides of each. */
export function withConflicts(
  status: DispatchStatus,
  conflicts: readonly Conflict[],
  now: number,
): DispatchStatus {
  const [first] = conflicts;
  if (!first && !status.conditions?.some(({ type }) => type === 'Conflict')) return status;
  const more = conflicts.length > 1 ? ` (and ${conflicts.length - 1} more objects)` : '';
  const { conditions } = setCondition(
    status.conditions,
    first
      ? { type: 'Conflict', status: 'True', reason: 'AlsoWanted', message: `${conflictText(first)}${more}` }
      : { type: 'Conflict', status: 'False', reason: 'Settled', message: 'nobody else wants its objects' },
    now,
  );
  return { ...status, conditions };
}

function conflictText({ ref, has, others }: Conflict): string {
  const names = others.map(sourceText);
  return has
    ? `${refText(ref)} is wanted by ${names.join(', ')} as well; it stays here, where it was first; select it in one only`
    : `${refText(ref)} stays with ${names[0]}, which had it first; select it in one only`;
}

function sourceText({ source }: Pick<DispatchSpec, 'source'>): string {
  return `${source.kind} ${source.namespace === '' ? '' : `${source.namespace}/`}${source.name}`;
}
