import type { RevisionDecision, RevisionFacts } from './revision.ts';

/** What to do about the revisions of a definition whose revisions another cluster numbers. */
export type DistributedDecision =
  | RevisionDecision
  /** The number stands for something else here: for what was said before the other cluster was set up anew. */
  | { readonly kind: 'Replace'; readonly number: number };

/**
 * The same as `decideRevision` where the number is given: it may be lower than that of the newest revision there is, when an older
 * one is gone back to.
 */
export function decideDistributed(
  { hash, revisions, warm }: Omit<RevisionFacts, 'lastIssued'>,
  number: number,
): DistributedDecision {
  if (!warm)
    return {
      kind: 'Wait',
      reason: 'WaitingForGraphRevisionWarmup',
      message: 'the revisions that are stored are being read',
    };
  const found = revisions.find((revision) => revision.number === number);
  if (!found) return { kind: 'Issue', number };
  if (found.terminating === true)
    return {
      kind: 'Wait',
      reason: 'WaitingForGraphRevisionSettlement',
      message: `revision ${number} is being deleted`,
    };
  if (found.hash !== hash) return { kind: 'Replace', number };
  if (found.state === 'Active') return { kind: 'Serve', number };
  if (found.state === 'Failed')
    return { kind: 'Failed', number, message: found.message ?? `revision ${number} does not compile` };
  return {
    kind: 'Wait',
    reason: 'WaitingForGraphRevisionCompilation',
    message: `revision ${number} is being compiled`,
  };
}
