import { healthOf } from '../engine/health/health.ts';
import { gvkOf } from '../kube/object.ts';
import { noteReturned } from './held.ts';
import type { Holdings } from './holdings.ts';
import type { Rules } from './rules.ts';
import type { ManagedWatches } from './watches.ts';

/** An object to look at again, since what is known of its kind changed. */
export interface Rejudged {
  readonly dispatch: string;
  /** As the correction of drift knows it; absent where the object was never applied. */
  readonly id: string | undefined;
}

/** Tells the health of all objects of a kind (`group/kind`) anew, by the rules as they are now. */
export function judgeAgain(
  holdings: Holdings,
  watches: Pick<ManagedWatches, 'seen'>,
  rules: Pick<Rules, 'of'>,
  kind: string,
): Rejudged[] {
  const out: Rejudged[] = [];
  const { claims } = holdings;
  for (const held of holdings.all()) {
    const { name, states } = held;
    for (const [key, state] of states) {
      const gvk = gvkOf(state.ref);
      if (
        `${gvk.group}/${gvk.kind}` !== kind ||
        (claims.claimant(key) !== name && !claims.readers(key).has(name))
      )
        continue;
      const seen = watches.seen(state.ref);
      if (seen) {
        state.health = state.update?.health ?? healthOf(seen, rules.of(seen)?.health);
        noteReturned(held, state, seen, rules.of(seen));
      }
      out.push({ dispatch: name, id: state.settled ? `${name}\n${key}` : undefined });
    }
  }
  return out;
}
