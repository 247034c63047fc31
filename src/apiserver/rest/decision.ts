import type { KubeObject } from '../../kube/object.ts';

/** What to do with the newest state of an object. `object` is what the client gets to see. */
export type Decision =
  | {
      readonly action: 'put';
      readonly object: KubeObject;
      /** Called once when the write is over, however it went: gives back what was reserved for it. */
      readonly release?: () => void;
    }
  /** Removes the key; the client sees `object`, or the last stored state. */
  | {
      readonly action: 'delete';
      readonly object?: KubeObject;
      /** Whether the client sees `object` at the revision of the deletion. */
      readonly atDeletion?: true;
      /** Whether `object` is stored before it goes: whoever watches sees that its time is over, and then that it is gone. */
      readonly marked?: true;
    }
  | { readonly action: 'keep' }
  | Waiting;

/**
 * Somebody else has to be asked first. `next` goes on where this stopped, unless the object has changed in the meantime:
 * then all is decided anew. Nothing is held while waiting, so that a slow answer delays nobody else.
 */
export interface Waiting {
  readonly action: 'wait';
  readonly until: Promise<void>;
  readonly next: () => Decision;
  /** Called instead of `next` when nothing comes of it. */
  readonly abandon?: () => void;
  /** The object as far as it is known, so that nobody gets what was allocated to it. */
  readonly object?: KubeObject;
}

/** Goes on at once where there is nothing to wait for. */
export function afterwards(
  pending: Promise<void> | undefined,
  next: () => Decision,
  object?: KubeObject,
): Decision {
  if (pending === undefined) return next();
  // Whoever waits hears of a failure; until then nobody does.
  pending.catch(() => {});
  return { action: 'wait', until: pending, next, ...(object === undefined ? {} : { object }) };
}

/** Applies `change` to what is decided in the end. */
export function thenDecide(
  decision: Decision,
  change: (settled: Exclude<Decision, Waiting>) => Decision,
): Decision {
  if (decision.action !== 'wait') return change(decision);
  const { next } = decision;
  return { ...decision, next: () => thenDecide(next(), change) };
}
