import { type Dispatch, verifyDispatch } from '../engine/dispatch/index.ts';
import type { Result } from '../kube/controller.ts';
import type { Fleet } from './fleet.ts';
import type { HubIdentity } from './identity.ts';
import type { Intents } from './intents/index.ts';
import type { HubMode } from './mode.ts';
import type { Retractions } from './retractions.ts';
import { RETRACTION_KEY, type Tracked, type TrackedTable } from './tracked.ts';

export interface MeetingOptions {
  readonly identity: HubIdentity;
  readonly epoch: () => number;
  readonly fleet: Fleet;
  readonly mode: HubMode;
  readonly intents: Intents;
  readonly retractions: Retractions;
  readonly tracked: TrackedTable;
  /** Whether the hub remembers an order of an object that it may not look at now. */
  readonly remembers: (dispatch: string) => boolean;
  /** A spoke holds something of what is tracked under this key, and nobody knew. */
  readonly onFound: (key: string) => void;
}

/** Until what is at the hub is known, after a start. */
const UNKNOWN_MS = 250;

/**
 * Looks through the orders that a spoke has. One that this hub does not know of there means that the spoke was restored from a
 * backup, or the hub was. What the hub remembers having taken back is taken back again; what it does not remember it must have
 * forgotten.
 */
export function createMeeting(options: MeetingOptions): (spoke: string) => Promise<Result | undefined> {
  const { identity, fleet, mode, intents, retractions, tracked } = options;

  function claim(spoke: string, item: Tracked | undefined): void {
    if (!item || item.dispatchedTo.has(spoke) || item.found.has(spoke)) return;
    item.found.add(spoke);
    options.onFound(item.key);
  }

  async function meetOrder(spoke: string, dispatch: Dispatch): Promise<void> {
    const name = dispatch.metadata.name ?? '';
    const { lineage, epoch } = dispatch.spec.position;
    if (lineage !== identity.lineage) return;
    const item = tracked.ofDispatch(name);
    if (item?.dispatchedTo.has(spoke)) return;
    if (!verifyDispatch(identity.publicKey, spoke, name, dispatch.spec)) return;
    if (item) claim(spoke, item);
    else if (options.remembers(name)) return;
    else if (epoch >= options.epoch() && dispatch.spec.objects.length > 0) {
      await mode.observe(
        `${spoke} has the order ${name}, which this hub does not remember: it was restored from an old state`,
      );
    }
  }

  /** Before that, an order that is not known may only not be known yet. */
  function everythingKnown(): boolean {
    if (!intents.synced || !retractions.synced) return false;
    for (const key of intents.keys()) if (!tracked.has(key)) return false;
    for (const { metadata } of retractions.entries())
      if (!tracked.has(RETRACTION_KEY + (metadata.name ?? ''))) return false;
    return true;
  }

  return async (spoke) => {
    const session = fleet.session(spoke);
    if (!session?.live || mode.observing !== undefined) return undefined;
    if (!everythingKnown()) return { requeueAfterMs: UNKNOWN_MS };
    for (const dispatch of session.dispatches()) await meetOrder(spoke, dispatch);
    // Orders that someone deleted on the spoke are still kept there.
    for (const { name, kept } of session.cluster()?.status?.dispatches ?? [])
      if (kept) claim(spoke, tracked.ofDispatch(name));
    return undefined;
  };
}
