import {
  type Dispatch,
  type DispatchSpec,
  dispatchRecogniser,
  dispatchSigner,
  verifyDispatch,
} from '../../engine/dispatch/index.ts';
import { deepEqual } from '../../schema/json.ts';
import type { SpokeSession } from '../fleet.ts';
import type { HubIdentity } from './identity.ts';

/** Who signed what is on a spoke: only that says something. Anyone there can write the rest. */
export interface Signatures {
  sign(session: SpokeSession, name: string, spec: DispatchSpec): DispatchSpec;
  /** Whether this hub signed an order for a spoke. */
  isOwn(session: SpokeSession, name: string, spec: DispatchSpec): boolean;
  /**
   * Whether a dispatch is as its hub signed it. What someone on the spoke wrote there says nothing, and is written over; another
   * key that signs as this hub is someone there.
   */
  isGenuine(session: SpokeSession, name: string, present: Dispatch): boolean;
  /** What this hub signed is about to be on a spoke; nothing, where it is absent. */
  note(session: SpokeSession, name: string, spec?: DispatchSpec): void;
}

export function createSignatures(identity: HubIdentity): Signatures {
  const signed = dispatchSigner(identity.privateKey);
  const signedHere = dispatchRecogniser(identity.privateKey);
  /** What is known to be as it was signed, by the name of the dispatch: what was written on a spoke, and what was looked at there. */
  const recognised = new WeakMap<SpokeSession, Map<string, DispatchSpec>>();

  function recognisedOn(session: SpokeSession): Map<string, DispatchSpec> {
    let known = recognised.get(session);
    if (!known) {
      known = new Map();
      recognised.set(session, known);
    }
    return known;
  }

  return {
    sign: (session, name, spec) => signed(session.name, name, spec),
    isOwn: (session, name, spec) => signedHere(session.name, name, spec),
    isGenuine(session, name, present): boolean {
      const known = recognisedOn(session);
      const before = known.get(name);
      // A spec that did not change stays the same object. A look at a signature takes ten times as long as one at what was written.
      if (before === present.spec) return true;
      const isGood =
        (before !== undefined && deepEqual(present.spec, before)) ||
        (present.spec.position.lineage === identity.lineage
          ? signedHere(session.name, name, present.spec)
          : verifyDispatch(present.spec.publicKey, session.name, name, present.spec));
      if (isGood) known.set(name, present.spec);
      return isGood;
    },
    note(session, name, spec): void {
      const known = recognisedOn(session);
      if (spec) known.set(name, spec);
      else known.delete(name);
    },
  };
}
