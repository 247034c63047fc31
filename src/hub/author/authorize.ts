import type { Author, Intent } from '../../engine/intent.ts';
import { type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import type { PoliciesInForce } from '../policies/index.ts';
import type { ReadingRights } from './reading-rights.ts';

/** Why an intent is not, or not wholly, carried out for its author; for the condition `Selected`. */
export interface AuthorProblem {
  readonly ok: false;
  readonly reason: 'AuthorUnknown' | 'AuthorNotAllowed' | 'AuthorNotChecked';
  readonly message: string;
}

export type Authorized =
  | {
      readonly intent: Intent;
      /** What was left out. */
      readonly problem?: AuthorProblem;
    }
  /** Nothing of it is sent; what is on the spokes stays. */
  | { readonly intent?: undefined; readonly problem: AuthorProblem };

/**
 * The hub acts with its authors' rights: an intent brings along what its author may read at the hub, and no more. What was
 * sent before and may not be read any more holds the whole intent up instead of being taken away: that somebody lost a right is no
 * order to delete. `mayBeThere` tells whether a spoke may hold an object of the intent.
 */
export async function authorize(
  intent: Intent,
  policies: PoliciesInForce,
  rights: ReadingRights,
  mayBeThere: (ref: ObjectRef) => boolean,
): Promise<Authorized> {
  const { author } = intent;
  if (policies.authors === 'unknown')
    return held('AuthorUnknown', `${policies.problem ?? 'authors are not known'}. ${STAYS}`);
  if (author === undefined || author.username === '')
    return held(
      'AuthorUnknown',
      `spec.author is empty: the spec was written before the hub knew who writes. Next, to be the author: kubectl patch it with --type merge -p '{"spec":{"author":{}}}'. ${STAYS}`,
    );
  const refs = intent.objects.map(refOf);
  let unreadable: ReadonlySet<string>;
  try {
    unreadable = await rights.unreadable(author, refs);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return held(
      'AuthorNotChecked',
      `the hub cannot ask what ${author.username} may read (create on subjectaccessreviews.authorization.k8s.io): ${error.message}. ${STAYS}`,
    );
  }
  if (unreadable.size === 0) return { intent };
  const missing = refs.filter((ref) => unreadable.has(refKey(ref)));
  const there = missing.find(mayBeThere);
  if (there)
    return held(
      'AuthorNotAllowed',
      `${whoMayNot(author, missing)}; ${refText(there)} was sent before. ${next(author)}, or take it out of the selection. ${STAYS}`,
    );
  return {
    intent: { ...intent, objects: intent.objects.filter((object) => !unreadable.has(refKey(refOf(object)))) },
    problem: {
      ok: false,
      reason: 'AuthorNotAllowed',
      message: `${whoMayNot(author, missing)}: not sent. ${next(author)}`,
    },
  };
}

const STAYS = 'Nothing is changed on the spokes meanwhile';

function held(reason: AuthorProblem['reason'], message: string): Authorized {
  return { problem: { ok: false, reason, message } };
}

function whoMayNot({ username }: Author, missing: readonly ObjectRef[]): string {
  const some = missing.slice(0, 3).map(refText).join(', ');
  return `${username}, who wrote this, may not get ${some}${missing.length > 3 ? ` and ${missing.length - 3} more` : ''} at the hub`;
}

function next({ username }: Author): string {
  return `Next: give ${username} the verb get there, or let somebody write the spec who has it`;
}
