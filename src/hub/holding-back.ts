import { refKey } from '../kube/object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Claims } from './claims/index.ts';
import type { SpokeSession } from './fleet.ts';
import { isChosen, orderOf, type Tracked, type TrackedTable } from './tracked.ts';

/** Why a spoke is not given its order now. */
export type HeldBack =
  /** It keeps what it has, and that is as it should be. */
  | { readonly why: 'kept' }
  | { readonly why: 'suspended'; readonly message: string }
  /** Another order has to come first. */
  | { readonly why: 'handOver'; readonly againMs: number };

export interface HoldingBackOptions {
  readonly clock: Clock;
  readonly claims: Claims;
  readonly tracked: TrackedTable;
  /** Whether a cluster that is no longer chosen keeps its copy for now. */
  readonly keeps: (item: Tracked, cluster: string) => boolean;
}

const HAND_OVER_MS = 1_000;
/** A successor that never comes does not hold up the rest for longer. */
const LONGEST_HAND_OVER_MS = 30_000;

/** Whether a spoke is given its order now: not while it keeps a copy, is suspended, or would lose what another order brings first. */
export function createHoldingBack({
  clock,
  claims,
  tracked,
  keeps,
}: HoldingBackOptions): (item: Tracked, session: SpokeSession) => HeldBack | undefined {
  /** Since when orders wait for those of successors. */
  const handOvers = new Map<string, number>();
  return (item, session) => {
    const { name: spoke } = session;
    if (!item.retracting && !isChosen(item, spoke) && keeps(item, spoke)) return { why: 'kept' };
    const order = orderOf(item, spoke);
    if (!order) return undefined;
    const present = session.dispatch(item.dispatch)?.spec;
    if (
      !item.retracting &&
      item.compiled?.intent.suspendedOn?.includes(spoke) === true &&
      present?.position.generation !== order.generation
    )
      return {
        why: 'suspended',
        message: `spec.suspension holds generation ${order.generation} back from ${spoke}; it keeps what it has`,
      };
    const lane = `${spoke} ${item.key}`;
    const staying = new Set(order.plan?.objects.map(refKey));
    const awaited = (present?.objects ?? []).flatMap((ref) => {
      if (staying.has(refKey(ref))) return [];
      const heir = tracked.get(claims.heirOf(item.key, ref) ?? '');
      if (!heir || heir.retracting || (heir.plan && !isChosen(heir, spoke))) return [];
      const theirs = session.dispatch(heir.dispatch)?.spec.objects ?? [];
      return theirs.some((other) => refKey(other) === refKey(ref)) ? [] : [heir];
    });
    if (awaited.length === 0) {
      handOvers.delete(lane);
      return undefined;
    }
    // One that is on its way to a spoke that does not answer still comes: meanwhile nothing may be taken away in its stead.
    const isOnItsWay = awaited.some((heir) => heir.problems.get(spoke)?.late === true);
    const since = (isOnItsWay ? undefined : handOvers.get(lane)) ?? clock.monotonic();
    handOvers.set(lane, since);
    return clock.monotonic() - since < LONGEST_HAND_OVER_MS
      ? { why: 'handOver', againMs: HAND_OVER_MS }
      : undefined;
  };
}
