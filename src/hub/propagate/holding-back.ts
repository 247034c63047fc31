import type { DispatchSpec } from '../../engine/dispatch/index.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { type ObjectRef, refKey, refOf } from '../../kube/object.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Claims } from '../claims/index.ts';
import { heldOf } from '../dispatch/told.ts';
import type { SpokeSession } from '../fleet.ts';
import { isChosen, isRolledOut, orderOf, type Tracked, type TrackedTable } from './tracked.ts';

/** Why a spoke is not given its order now. */
export type HeldBack =
  /** It keeps what it has, and that is as it should be. */
  | { readonly why: 'kept' }
  | { readonly why: 'suspended'; readonly message: string }
  /** What it would lose it is to have when its turn comes. */
  | { readonly why: 'turn' }
  /** Another order has to come first. Says whose, where that may take long. */
  | { readonly why: 'handOver'; readonly againMs: number; readonly message?: string }
  /** It is given the order, but for the word by which these go: another order has to come before that. */
  | { readonly why: 'staying'; readonly againMs: number; readonly keys: ReadonlySet<string> };

export interface HoldingBackOptions {
  readonly clock: Clock;
  readonly claims: Claims;
  readonly tracked: TrackedTable;
  /** Whether a cluster that is no longer chosen keeps its copy for now. */
  readonly keeps: (item: Tracked, cluster: string) => boolean;
  /** Whether it is known which intents there are. */
  readonly areAllKnown: () => boolean;
  /** Whether an intent was not looked at since it changed, or its objects did. */
  readonly isChanged: (key: string) => boolean;
  /** Whether it was decided where something goes since the fleet changed last. */
  readonly isDecided: (plan: Plan) => boolean;
  /** Whether a cluster is known as away, though it may just have come back. */
  readonly unreachable: (cluster: string) => boolean;
}

/** An intent whose order has to come first for an object, and what keeps it from coming. */
interface Awaited {
  readonly object: string;
  readonly key: string;
  readonly delay?: string | undefined;
  /** It is to have the object, and was not planned since. */
  readonly unplanned?: true;
  /** It selects the object, and was looked at without it: it may not be sent, or not for its author. */
  readonly unwanted?: true;
  /** Whether it has to come at all is not known yet. */
  readonly unknown?: true;
}

const HAND_OVER_MS = 1_000;
/** How often it is looked whether what keeps a successor from coming is over. */
const DELAYED_MS = 5_000;
/** A successor that never comes does not hold up the rest for longer, nor that everything goes. */
const LONGEST_HAND_OVER_MS = 30_000;

/**
 * Whether a spoke is given its order now: not while it keeps a copy, is suspended, or would lose what another order brings first.
 * No order waits that brings something: others may wait for just that, and two that swap objects would wait for each other. It goes
 * without the word by which objects go, which stay where they are until their other order is there.
 */
export function createHoldingBack({
  clock,
  claims,
  tracked,
  keeps,
  areAllKnown,
  isChanged,
  isDecided,
  unreachable,
}: HoldingBackOptions): (item: Tracked, session: SpokeSession) => HeldBack | undefined {
  const handOvers = createWaits(clock);
  /** For those who go without what they select. */
  const looks = createWaits(clock);

  /** Whether an intent whose plan lacks an object may come to one that has it. */
  function mayCome(heir: Tracked, ref: ObjectRef): boolean {
    if (!heir.compiled || isChanged(heir.key) || claims.contends(heir.key, ref)) return true;
    return heir.compiled.intent.objects.some((object) => refKey(refOf(object)) === refKey(ref));
  }

  return (item, session) => {
    const { name: spoke } = session;
    if (!item.retracting && !isChosen(item, spoke) && keeps(item, spoke)) return { why: 'kept' };
    const order = orderOf(item, spoke);
    if (!order) return undefined;
    const present = session.dispatch(item.dispatch)?.spec;
    if (!item.retracting && isSuspendedOn(item, spoke) && present?.position.generation !== order.generation)
      return {
        why: 'suspended',
        message: `${item.compiled?.intent.suspend === true ? 'its ' : 'spec.'}suspension holds generation ${order.generation} back from ${spoke}; it keeps what it has`,
      };
    if (waitsForTurn(item, spoke, present)) return { why: 'turn' };
    const wanted = new Set(order.plan?.objects.map(refKey));
    const coming = comingTo(item, spoke);
    const there = new Set(present?.objects.map(refKey));
    const mayBeAwaited = heldOf(session, item.dispatch, present).flatMap((ref): Awaited[] => {
      const object = refKey(ref);
      if (wanted.has(object)) return [];
      if (!areAllKnown()) return [{ object, key: item.key, unknown: true }];
      const key = claims.heirOf(item.key, ref);
      if (key === undefined) return [];
      const heir = tracked.get(key);
      if (heir === item) {
        // Somebody deleted the order there: it is given again, and what comes with the turn of its cluster stays until then.
        if (coming.has(object)) return [{ object, key, delay: 'its turn has not come' }];
        return isOutdated(item, order.plan, ref) ? [{ object, key, unknown: true }] : [];
      }
      // One that was not looked at yet may want it here.
      if (!heir) return [{ object, key, unknown: true }];
      if (heir.retracting) return [];
      const plan = heir.latest ?? heir.plan;
      if (plan?.decision.chosen.includes(spoke) === false) {
        // Nothing is placed on a cluster that is away. That it is back may be known to its link first, and to decisions last.
        if (unreachable(spoke))
          return [{ object, key, delay: `${spoke} was away, and is not known to be back` }];
        return isDecided(plan) ? [] : [{ object, key, unknown: true }];
      }
      const theirs = session.dispatch(heir.dispatch)?.spec.objects ?? [];
      const isThere = theirs.some((other) => refKey(other) === object);
      if (isThere) return [];
      const isPlanned = plan?.objects.some((other) => refKey(other) === object) === true;
      if (isPlanned) return [{ object, key, delay: delayOf(heir, spoke) }];
      if (!mayCome(heir, ref)) return [{ object, key, unwanted: true }];
      return [{ object, key, delay: delayOf(heir, spoke), unplanned: true }];
    });
    const isUnwanted = mayBeAwaited.some(({ unwanted }) => unwanted);
    if (!isUnwanted) looks.end(item, spoke);
    // It may just have come to mean the object. Who still goes without it after a while leaves it for good.
    const isLeft = isUnwanted && looks.lasted(item, spoke, DELAYED_MS) >= LONGEST_HAND_OVER_MS;
    const awaited = isLeft ? mayBeAwaited.filter(({ unwanted }) => !unwanted) : mayBeAwaited;
    if (awaited.length === 0) {
      handOvers.end(item, spoke);
      return undefined;
    }
    const delayed = awaited.find(({ delay }) => delay !== undefined);
    const againMs = delayed ? DELAYED_MS : HAND_OVER_MS;
    const staying = { why: 'staying', againMs, keys: new Set(awaited.map(({ object }) => object)) } as const;
    const brings = [...wanted].some((object) => !there.has(object));
    const isSplit = brings || !awaited.some(({ object }) => there.has(object));
    if (order.plan && isSplit && !awaited.some(({ unknown }) => unknown)) {
      handOvers.end(item, spoke);
      return staying;
    }
    // One that is kept from coming is no reason to take anything away in its stead.
    if (delayed) {
      handOvers.end(item, spoke);
      const message = `what ${delayed.key} takes over stays until that brings it: ${delayed.delay}`;
      return { why: 'handOver', againMs, message };
    }
    if (handOvers.lasted(item, spoke, againMs) < LONGEST_HAND_OVER_MS) return { why: 'handOver', againMs };
    // Nothing goes in its stead because the hub cannot get on with it.
    const unplanned = order.plan ? undefined : awaited.find((one) => one.unplanned);
    if (unplanned) {
      const message = `what ${unplanned.key} takes over stays until that brings it: it could not be planned yet`;
      return { why: 'handOver', againMs: DELAYED_MS, message };
    }
    return order.plan && staying;
  };
}

/** How long orders have waited, by spoke. */
interface Waits {
  /** So far, of looks that come after `againMs` each. */
  lasted(item: Tracked, spoke: string, againMs: number): number;
  end(item: Tracked, spoke: string): void;
}

/** Time in which nobody looked is none: neither order could come to a spoke that was away. */
function createWaits(clock: Clock): Waits {
  const waits = new WeakMap<Tracked, Map<string, { readonly waitedMs: number; readonly lookedAt: number }>>();
  return {
    lasted(item, spoke, againMs): number {
      const bySpoke = waits.get(item) ?? new Map<string, { waitedMs: number; lookedAt: number }>();
      waits.set(item, bySpoke);
      const before = bySpoke.get(spoke);
      const lookedAt = clock.monotonic();
      const waitedMs = before ? before.waitedMs + Math.min(againMs, lookedAt - before.lookedAt) : 0;
      bySpoke.set(spoke, { waitedMs, lookedAt });
      return waitedMs;
    },
    end(item, spoke): void {
      waits.get(item)?.delete(spoke);
    },
  };
}

/**
 * Whether a cluster keeps what it has until its turn comes: an order that it did not get in time takes away what it is to have again
 * then.
 */
export function waitsForTurn(item: Tracked, spoke: string, present: DispatchSpec | undefined): boolean {
  const order = item.orders?.get(spoke);
  if (item.retracting || !present || !order || present.position.generation >= order.generation) return false;
  const coming = comingTo(item, spoke);
  return present.objects.some((ref) => coming.has(refKey(ref)));
}

/** What an order leaves out that a cluster is to have when its turn comes. */
function comingTo({ orders, retracting }: Tracked, spoke: string): ReadonlySet<string> {
  const order = orders?.get(spoke);
  if (retracting || !order || !('plan' in order) || !order.toCome) return new Set();
  const staying = new Set(order.plan?.objects.map(refKey));
  return new Set(order.toCome.objects.map(refKey).filter((ref) => !staying.has(ref)));
}

/** Whether a cluster is given nothing newer of an intent, what was recorded but did not get there yet included. */
function isSuspendedOn({ compiled }: Tracked, spoke: string): boolean {
  return compiled?.intent.suspend === true || compiled?.intent.suspendedOn?.includes(spoke) === true;
}

/** Whether an order takes away what its intent selects again since it was made: the next one leaves it where it is. */
function isOutdated(item: Tracked, plan: Plan | undefined, ref: ObjectRef): boolean {
  if (!plan) return false;
  const { orders, latest } = item;
  // Orders are still being made of what was planned.
  if (orders === undefined || latest !== item.plan) return true;
  // What is known of it and not in the order is of another revision than the cluster is to have.
  return latest?.objects.some((one) => refKey(one) === refKey(ref)) !== true;
}

/** Why an order that is to come to a spoke does not come yet, and may not for long; undefined where it is on its way. */
function delayOf(item: Tracked, spoke: string): string | undefined {
  const problem = item.problems.get(spoke);
  // Whatever keeps it from coming: a full disk there, a budget, what its spoke refuses.
  if (problem && problem.unproven !== true) return problem.message;
  if (item.latest !== item.plan) return 'its changes are held back';
  if (isSuspendedOn(item, spoke)) return 'it is suspended there';
  if (!isRolledOut(item)) return undefined;
  const order = item.orders?.get(spoke);
  if (!order) return 'its rollout is being looked at';
  return 'withheld' in order ? order.withheld : order.behind;
}
