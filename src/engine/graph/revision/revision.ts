import { fnv32a } from '../fnv.ts';

/** What is known of a revision of a definition. */
export interface RevisionRecord {
  /** From 1; never given twice. */
  readonly number: number;
  /** Of its content. */
  readonly hash: string;
  readonly state: 'Pending' | 'Active' | 'Failed';
  /** It is being deleted. */
  readonly terminating?: boolean;
  /** Why it is Failed. */
  readonly message?: string;
}

export type RevisionDecision =
  /** Nothing can be decided yet. */
  | {
      readonly kind: 'Wait';
      readonly reason:
        | 'WaitingForGraphRevisionSettlement'
        | 'WaitingForGraphRevisionWarmup'
        | 'WaitingForGraphRevisionCompilation';
      readonly message: string;
    }
  /** The definition says something new: check it, and if it is right write the revision with this number. */
  | { readonly kind: 'Issue'; readonly number: number }
  /** The newest revision is what the definition says, and it works. */
  | { readonly kind: 'Serve'; readonly number: number }
  | { readonly kind: 'Failed'; readonly number: number; readonly message: string };

export interface RevisionFacts {
  /** Of the definition as it is now. */
  readonly hash: string;
  readonly revisions: readonly RevisionRecord[];
  /** The highest number ever given, as the status of the definition remembers it. */
  readonly lastIssued: number;
  /** Whether all revisions that are stored were looked at since this process started. */
  readonly warm: boolean;
}

/** What to do about the revisions of a definition. */
export function decideRevision({ hash, revisions, lastIssued, warm }: RevisionFacts): RevisionDecision {
  const leaving = revisions.find(({ terminating }) => terminating === true);
  if (leaving)
    return {
      kind: 'Wait',
      reason: 'WaitingForGraphRevisionSettlement',
      message: `revision ${leaving.number} is being deleted`,
    };
  if (!warm)
    return {
      kind: 'Wait',
      reason: 'WaitingForGraphRevisionWarmup',
      message: 'the revisions that are stored are being read',
    };
  const newest = newestOf(revisions);
  if (newest?.hash !== hash) return { kind: 'Issue', number: nextRevision(revisions, lastIssued) };
  const { number } = newest;
  if (newest.state === 'Active') return { kind: 'Serve', number };
  if (newest.state === 'Failed')
    return { kind: 'Failed', number, message: newest.message ?? `revision ${number} does not compile` };
  return {
    kind: 'Wait',
    reason: 'WaitingForGraphRevisionCompilation',
    message: `revision ${number} is being compiled`,
  };
}

export function newestOf<T extends RevisionRecord>(revisions: readonly T[]): T | undefined {
  return revisions.reduce<T | undefined>(
    (newest, revision) => (newest && newest.number > revision.number ? newest : revision),
    undefined,
  );
}

/** One more than any number that was ever given, also when all revisions are gone. */
export function nextRevision(revisions: readonly RevisionRecord[], lastIssued: number): number {
  return Math.max(lastIssued, newestOf(revisions)?.number ?? 0) + 1;
}

export const KEPT_REVISIONS = 5;

/** Revisions that nobody needs: all but the newest ones and those in use. Oldest first. */
export function obsoleteRevisions<T extends RevisionRecord>(
  revisions: readonly T[],
  inUse: ReadonlySet<number>,
  keep: number = KEPT_REVISIONS,
): readonly T[] {
  const sorted = revisions.toSorted((a, b) => b.number - a.number);
  return sorted
    .slice(Math.max(1, keep))
    .filter(({ number }) => !inUse.has(number))
    .reverse();
}

/** Which revision serves an instance: the one it is pinned to, otherwise the newest. */
export type RevisionChoice =
  | { readonly kind: 'Use'; readonly number: number }
  | { readonly kind: 'Wait'; readonly message: string }
  | { readonly kind: 'Failed'; readonly message: string };

export function chooseRevision(
  revisions: readonly RevisionRecord[],
  pinned: number | undefined,
): RevisionChoice {
  const wanted =
    pinned === undefined ? newestOf(revisions) : revisions.find(({ number }) => number === pinned);
  if (!wanted)
    return pinned === undefined
      ? { kind: 'Wait', message: 'there is no revision yet' }
      : { kind: 'Failed', message: `there is no revision ${pinned}, to which it is pinned` };
  if (wanted.state === 'Active') return { kind: 'Use', number: wanted.number };
  if (wanted.state === 'Pending')
    return { kind: 'Wait', message: `revision ${wanted.number} is being compiled` };
  return { kind: 'Failed', message: wanted.message ?? `revision ${wanted.number} does not compile` };
}

const MAX_NAME = 253;

/** `web-r00003`; of a name that is too long a part, told apart by a digest. */
export function revisionName(graph: string, number: number): string {
  const suffix = `-r${String(number).padStart(5, '0')}`;
  if (graph.length + suffix.length <= MAX_NAME) return graph + suffix;
  const digest = fnv32a(Buffer.from(graph, 'utf8')).toString(16).padStart(8, '0');
  const head = graph.slice(0, MAX_NAME - suffix.length - digest.length - 1).replace(/[^a-z0-9]+$/, '');
  return `${head}-${digest}${suffix}`;
}
