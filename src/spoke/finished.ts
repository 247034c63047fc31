import type { OwnedObject } from '../engine/dispatch/index.ts';
import type { KubeObject } from '../kube/object.ts';
import { gvkOf } from '../kube/object.ts';
import { formatTime, parseTime } from '../runtime/clock.ts';
import { isObject, listAt, stringAt } from '../schema/json.ts';
import type { Held, LocalState } from './held.ts';

/** Whether an object has come to its end by itself, well or not: a Job or a Pod that will not run any more. */
export function hasFinished(object: KubeObject): boolean {
  const { group, kind } = gvkOf(object);
  if (group === 'batch' && kind === 'Job')
    return listAt(object, 'status', 'conditions').some(
      (condition) =>
        isObject(condition) &&
        (condition['type'] === 'Complete' || condition['type'] === 'Failed') &&
        condition['status'] === 'True',
    );
  if (group === '' && kind === 'Pod')
    return ['Succeeded', 'Failed'].includes(stringAt(object, 'status', 'phase') ?? '');
  return false;
}

/**
 * Notes that an object that is left alone at its end has come to it, if it is the one that was made. Whoever sees it notes it: it may
 * be gone before it is looked at. True where that is new.
 */
export function noteEnd({ owned, strategies }: Held, key: string, object: KubeObject, now: number): boolean {
  const known = owned.get(key);
  if (known === undefined || known.finished !== undefined || known.uid !== object.metadata.uid) return false;
  if (strategies.get(key)?.onFinish === undefined || !hasFinished(object)) return false;
  owned.set(key, { ...known, finished: formatTime(now) });
  return true;
}

/** Notes of an object that finished that nothing is left to do about it, whatever becomes of it on the cluster. */
export function leaveAlone(state: LocalState, { finished = '', uid }: OwnedObject): void {
  state.settled = true;
  state.failure = undefined;
  state.waiting = undefined;
  state.seenFingerprint = state.fingerprint;
  const message = `it finished at ${finished} and is left alone${uid === '' ? '; it was removed since' : ''}`;
  // How it ended stays what is told of it while it is there.
  if (uid === '') state.returned = undefined;
  if (uid === '' || state.health.reason === 'Applying' || state.health.reason === 'Missing')
    state.health = { state: 'Healthy', reason: 'Finished', message };
}

/** In how many milliseconds an object that finished is to be removed; undefined where it stays. */
export function removalDueMs(
  { finished, uid }: OwnedObject,
  ttlSeconds: number | undefined,
  now: number,
): number | undefined {
  const at = finished === undefined ? undefined : parseTime(finished);
  if (ttlSeconds === undefined || at === undefined || uid === '') return undefined;
  return Math.max(0, at + ttlSeconds * 1000 - now);
}
