/** A revision of an intent: content that never changes, named by its digest. */
export interface Revision {
  readonly digest: string;
  /** Counts up; the same content coming back gets the next number. */
  readonly number: number;
  readonly at: number;
  /** Who wanted it. */
  readonly by: string;
  /** Why: a message of a commit, `rollback to 3`. */
  readonly cause?: string;
  /** Stays however many come after it. */
  readonly pinned?: boolean;
  /** Set when it was rolled out to all clusters. */
  readonly succeededAt?: number;
}

/** Oldest first; the last one is wanted now. JSON. */
export type RevisionHistory = readonly Revision[];

export const DEFAULT_HISTORY_LIMIT = 10;

/**
 * A history with a revision on top. What is wanted already is not added again; content that was there before moves to the
 * top under a new number, as `kubectl rollout undo` has it. Beyond `limit` the oldest go, but never those that are pinned, that
 * some cluster still has (`inUse`), or the last that was everywhere.
 */
export function withRevision(
  history: RevisionHistory,
  revision: Omit<Revision, 'number'>,
  limit: number = DEFAULT_HISTORY_LIMIT,
  inUse: ReadonlySet<string> = new Set(),
): RevisionHistory {
  const newest = history.at(-1);
  if (newest?.digest === revision.digest) return history;
  const before = history.find(({ digest }) => digest === revision.digest);
  const rest = history.filter(({ digest }) => digest !== revision.digest);
  const { pinned } = before ?? {};
  const next: Revision = {
    ...(pinned === undefined ? {} : { pinned }),
    ...revision,
    number: (newest?.number ?? 0) + 1,
  };
  return trimmed([...rest, next], limit, inUse);
}

/** Marks a revision as rolled out everywhere. */
export function withSuccess(history: RevisionHistory, digest: string, at: number): RevisionHistory {
  return history.map((revision) =>
    revision.digest === digest ? { ...revision, succeededAt: at } : revision,
  );
}

export function withPin(history: RevisionHistory, number: number, pinned: boolean): RevisionHistory {
  return history.map((revision) => (revision.number === number ? { ...revision, pinned } : revision));
}

/** What to go back to: the revision of a number, or the last that was everywhere before the one that is wanted now. */
export function revisionToRestore(history: RevisionHistory, number?: number): Revision | undefined {
  if (number !== undefined) return history.find((revision) => revision.number === number);
  const before = history.slice(0, -1);
  return before.findLast(({ succeededAt }) => succeededAt !== undefined) ?? before.at(-1);
}

function trimmed(history: RevisionHistory, limit: number, inUse: ReadonlySet<string>): RevisionHistory {
  let excess = history.length - Math.max(1, limit);
  if (excess <= 0) return history;
  const good = history.findLast(({ succeededAt }) => succeededAt !== undefined);
  return history.filter((revision, index) => {
    const stays =
      revision.pinned === true ||
      revision === good ||
      inUse.has(revision.digest) ||
      index === history.length - 1;
    if (stays || excess <= 0) return true;
    excess -= 1;
    return false;
  });
}
