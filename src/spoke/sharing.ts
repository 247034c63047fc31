import { refKey } from '../kube/object.ts';
import { deepEqual } from '../schema/json.ts';
import type { Held, LocalState } from './held.ts';

/**
 * An object that only came along with what one dispatch is about may come with others as well: one makes it, the others look on.
 * When that one lets it go, the next takes it over by UID, as any object is handed over.
 */
export function isShared(a: Held, b: Held, key: string): boolean {
  return [a, b].some(({ accepted }) => accepted.shared?.some((ref) => refKey(ref) === key) === true);
}

/** Notes of an object that another dispatch makes how it is there. */
export function lookOn(current: Held, maker: Held, key: string, state: LocalState): void {
  const theirs = maker.states.get(key);
  state.settled = false;
  state.failure = undefined;
  const same = deepEqual(current.wanted.get(key), maker.wanted.get(key));
  state.lookingOn = same && theirs?.settled === true;
  state.waiting = state.lookingOn
    ? undefined
    : {
        reason: 'Shared',
        message: same
          ? `dispatch ${maker.name} brings it as well and makes it`
          : `dispatch ${maker.name} brings it as well, in another form`,
      };
  if (!theirs || !state.lookingOn) return;
  state.health = theirs.health;
  state.returned = theirs.returned;
}

/** The dispatches that look on, after an object of `maker` changed. */
export function* onlookers(
  all: Iterable<Held>,
  maker: Held,
  key: string,
): Generator<{ readonly held: Held; readonly state: LocalState }> {
  for (const held of all) {
    const state = held === maker ? undefined : held.states.get(key);
    if (state && (state.lookingOn || state.waiting?.reason === 'Shared')) yield { held, state };
  }
}
