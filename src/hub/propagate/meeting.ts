import { type DispatchSpec, verifyDispatch } from '../../engine/dispatch/index.ts';
import type { Result } from '../../kube/controller.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { HubIdentity } from '../dispatch/identity.ts';
import type { Fleet, SpokeSession } from '../fleet.ts';
import type { Intents } from '../intents/index.ts';
import type { HubMode } from '../mode.ts';
import type { Retractions } from './retractions.ts';
import { RETRACTION_KEY, type Tracked, type TrackedTable } from './tracked.ts';

export interface MeetingOptions {
  readonly identity: HubIdentity;
  readonly epoch: () => number;
  readonly fleet: Fleet;
  readonly dispatcher: Pick<Dispatcher, 'accepted'>;
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
  const { identity, fleet, dispatcher, mode, intents, retractions, tracked } = options;
  /** Orders that nobody knows and that were asked for, with their generations. */
  const asked = new WeakMap<SpokeSession, Map<string, number>>();

  function claim(spoke: string, item: Tracked | undefined): void {
    if (!item || item.dispatchedTo.has(spoke) || item.found.has(spoke)) return;
    item.found.add(spoke);
    options.onFound(item.key);
  }

  async function meetOrder(spoke: string, name: string, spec: DispatchSpec): Promise<void> {
    const { lineage, epoch } = spec.position;
    if (lineage !== identity.lineage) return;
    const item = tracked.ofDispatch(name);
    if (item?.dispatchedTo.has(spoke)) return;
    if (!verifyDispatch(identity.publicKey, spoke, name, spec)) return;
    if (item) claim(spoke, item);
    else if (options.remembers(name)) return;
    else if (epoch >= options.epoch() && spec.objects.length > 0) {
      await mode.observe(
        `${spoke} has the order ${name}, which this hub does not remember: it was restored from an old state`,
      );
    }
  }

  /** Of an order that nobody knows and that is not there any more, what the spoke keeps of it says who gave it. */
  async function meetKept(session: SpokeSession, name: string, generation: number): Promise<void> {
    const before = asked.get(session) ?? new Map<string, number>();
    if (before.get(name) === generation) return;
    const order = await dispatcher.accepted(session, name);
    if (!('lacks' in order)) await meetOrder(session.name, name, order);
    asked.set(session, before.set(name, generation));
  }

  /** A spoke may make up other names each time. */
  function forgetUntold(session: SpokeSession, told: ReadonlySet<string>): void {
    const known = asked.get(session);
    for (const name of known?.keys() ?? []) if (!told.has(name)) known?.delete(name);
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
    for (const { metadata, spec } of session.dispatches()) await meetOrder(spoke, metadata.name ?? '', spec);
    // Orders that someone deleted on the spoke are still kept there.
    const told = session.cluster()?.status?.dispatches ?? [];
    forgetUntold(session, new Set(told.map(({ name }) => name)));
    for (const { name, kept, generation } of told) {
      if (!kept) continue;
      const item = tracked.ofDispatch(name);
      if (item) claim(spoke, item);
      else if (kept.length > 0 && !session.dispatch(name)) await meetKept(session, name, generation);
    }
    return undefined;
  };
}
