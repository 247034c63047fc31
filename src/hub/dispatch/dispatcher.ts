import {
  comparePositions,
  type Dispatch,
  type DispatchSpec,
  dispatchName,
  type OwnershipRecord,
  SYSTEM_NAMESPACE,
} from '../../engine/dispatch/index.ts';
import type { Author } from '../../engine/intent.ts';
import { applyOn, type Plan, tombstonesBetween } from '../../engine/plan/plan.ts';
import { stands } from '../../engine/plan/standing.ts';
import { type ObjectRef, refKey } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { isObject } from '../../schema/json.ts';
import type { SpokeSession } from '../fleet.ts';
import type { ByteBudget } from './byte-budget.ts';
import { beyondBudget } from './deletion-budget.ts';
import { claimOf, isPassed, type OwnWord, proofOfRestore, refusalOf } from './evidence.ts';
import type { HubIdentity } from './identity.ts';
import { createSignatures } from './signatures.ts';
import { createSpokeApi } from './spoke-api.ts';
import { heldOf, leftOn, toldOf } from './told.ts';

/** What shall be on one spoke for one intent. `plan` undefined takes everything away. */
export interface Order {
  readonly plan: Plan | undefined;
  readonly source: Plan['source'];
  readonly generation: number;
  /** What the generation stands for, and those before it (see `DispatchSpec`). */
  readonly digest: string;
  readonly history: readonly string[];
  /** Where everything is taken away: for whom. That of the order before where nothing is said. */
  readonly author?: Author | undefined;
  /** Where everything is taken away: let the objects stay, without marks. */
  readonly release?: boolean;
  /** The spoke is not to take it yet, unless it has. */
  readonly hold?: boolean;
  /** Keys of objects that are not ordered away yet, though it does not want them: another order is to have them first. */
  readonly staying?: ReadonlySet<string>;
  /** Why it is not given now. What the spoke has is looked at all the same: it may prove that the hub was restored. */
  readonly withheld?: string;
  /** An earlier order that says the same stands. */
  readonly mayStand?: boolean;
  /** The hub's own objects behind the order, packed; '' where they are gone. Asked for when the order is written only. */
  readonly origin: () => string;
}

export type DispatchOutcome =
  /** The spoke has the order. `settled`: it also carried it out. */
  (
    | { readonly outcome: 'dispatched'; readonly settled: boolean }
    /** Nothing is left of the intent on the spoke. */
    | { readonly outcome: 'gone' }
    /** The copy of the spoke's state is older than what is there: ask again when it has caught up. */
    | { readonly outcome: 'behind' }
    | {
        readonly outcome: 'held';
        readonly message: string;
        /** The spoke has an order that this hub signed and does not remember. */
        readonly restored?: true;
        /** Set where only time has to pass. */
        readonly againMs?: number;
      }
  ) & {
    /** What the spoke says of orders of this hub that it cannot show: nothing came of it. */
    readonly unproven?: string;
  };

/** What a spoke holds of an order that is not there. */
interface Kept extends Pick<DispatchSpec, 'objects' | 'tombstones'> {
  /** How many objects it holds beside. */
  readonly unnamed: number;
}

/** What there is of an order on its spoke. */
interface OnSpoke {
  readonly name: string;
  readonly present: Dispatch | undefined;
  /** The same where it is as its hub signed it. */
  readonly genuine: Dispatch | undefined;
  readonly kept: Kept | undefined;
}

export interface Dispatcher {
  /** Brings an order to a spoke; idempotent. Rejects when the spoke cannot be reached. */
  send(session: SpokeSession, order: Order): Promise<DispatchOutcome>;
  /** The order of this hub that a spoke keeps as accepted, with the signature; why there is none to see otherwise. */
  accepted(session: SpokeSession, name: string): Promise<DispatchSpec | { readonly lacks: string }>;
}

/**
 * Writes dispatches: bundles first, then the small signed order that names them. Only the newest state is ever sent; what
 * was in between is never seen by the spoke. These are the only objects that a hub writes on a spoke.
 */
export function createDispatcher(
  runtime: Runtime,
  identity: HubIdentity,
  epoch: () => number,
  stillAtHub: (ref: ObjectRef) => Promise<boolean>,
  byteBudget: ByteBudget,
): Dispatcher {
  const api = createSpokeApi(runtime.clock, byteBudget);
  const signatures = createSignatures(identity);
  const position = (generation: number): DispatchSpec['position'] => ({
    lineage: identity.lineage,
    epoch: epoch(),
    generation,
  });

  async function send(session: SpokeSession, order: Order): Promise<DispatchOutcome> {
    const name = dispatchName(order.source);
    const present = session.dispatch(name);
    const kept = present ? undefined : keptOn(session, name);
    if (kept === 'unknown') return { outcome: 'behind' };
    // A first order of nothing says nothing.
    if (!present && !kept && order.plan?.objects.length === 0)
      return { outcome: 'dispatched', settled: true };
    if (!present && !kept && !order.plan) {
      // It may have taken an order that somebody has deleted since, and says so soon, or meanwhile.
      const keepsNone = (await api.isAbsent(session, name)) && 'lacks' in (await accepted(session, name));
      return { outcome: keepsNone && toldOf(session, name) === undefined ? 'gone' : 'behind' };
    }
    const genuine = present && signatures.isGenuine(session, name, present) ? present : undefined;
    const foreign = ofAnotherHub(present, genuine);
    if (foreign !== undefined) return { outcome: 'held', message: foreign };
    const { plan, history } = order;
    const own: OwnWord = { spoke: session.name, position: position(order.generation), plan, history };
    const proof = genuine && proofOfRestore(genuine.spec, own);
    if (proof !== undefined) return { outcome: 'held', message: proof, restored: true };
    const there = { name, present, genuine, kept };
    const claim = claimOf(present, own);
    if (claim === undefined) return bring(session, order, there);
    const shown = await proofOn(session, name, own);
    if ('proof' in shown) return { outcome: 'held', message: shown.proof, restored: true };
    const unproven = `${claim}. ${shown.lacks}, so nothing came of it. Look at who writes that there: kubectl -n ${SYSTEM_NAMESPACE} get dispatch ${name} -o yaml --show-managed-fields`;
    return { ...(await bring(session, order, there)), unproven };
  }

  /**
   * With what a spoke keeps and does not name, as far as the order that it keeps does: what leaves is to be counted whole. Only what
   * the spoke names is ordered away: who else wants it was looked up for that alone.
   */
  async function wholeOf(session: SpokeSession, name: string, named: Kept): Promise<Kept> {
    if (named.unnamed === 0) return named;
    const order = await accepted(session, name);
    if ('lacks' in order) return named;
    const known = new Set(named.objects.map(refKey));
    const more = order.objects.filter((ref) => !known.has(refKey(ref)));
    return {
      ...named,
      objects: [...named.objects, ...more],
      unnamed: Math.max(0, named.unnamed - more.length),
    };
  }

  /** Nothing speaks against it: what the spoke has becomes what it is to have. */
  async function bring(
    session: SpokeSession,
    order: Order,
    { name, present, genuine, kept }: OnSpoke,
  ): Promise<DispatchOutcome> {
    const carriedOut =
      genuine !== undefined && genuine.status?.appliedGeneration === genuine.spec.position.generation;
    const told = genuine !== undefined && isTold(genuine, session.name, order);
    // Of what was said already nothing is kept back.
    if (order.withheld !== undefined && !told) return { outcome: 'held', message: order.withheld };
    if (told) return uphold(session, order, name, genuine, carriedOut);
    const objects = order.plan?.objects ?? [];
    const overBudget = order.plan
      ? await beyondBudget(
          genuine?.spec ?? (kept && (await wholeOf(session, name, kept))),
          objects,
          order.plan.deletionBudget,
          stillAtHub,
        )
      : undefined;
    if (overBudget !== undefined) return { outcome: 'held', message: overBudget };
    const reason = order.plan
      ? 'no longer selected'
      : `the cluster is no longer chosen, or the ${order.source.kind} is gone`;
    const before = present
      ? { objects: heldOf(session, name, present.spec), tombstones: present.spec.tombstones }
      : kept;
    const tombstones = tombstonesBetween(before, carriedOut, objects, reason).filter(
      ({ ref }) => !order.staying?.has(refKey(ref)),
    );
    const origin = order.origin();
    const spec = signatures.sign(session, name, {
      source: order.source,
      position: position(order.generation),
      digest: order.digest,
      history: order.history,
      ...(origin === '' ? {} : { origin }),
      revision: order.plan?.revision ?? '',
      bundles: order.plan?.bundles.map((bundle) => bundle.metadata.name ?? '') ?? [],
      objects,
      patches: order.plan?.patches.get(session.name) ?? [],
      tombstones: order.release ? tombstones.map((item) => ({ ...item, orphan: true })) : tombstones,
      ...(order.hold ? { hold: true } : {}),
      ...(order.plan ? applyOn(order.plan, session.name) : authorOf(order, genuine)),
      publicKey: identity.publicKey,
    });
    const spent = await api.sendBundles(session, order.plan?.bundles ?? [], false);
    if (spent) return { outcome: 'held', ...spent };
    await write(session, name, present, spec);
    runtime.log.info('dispatched', {
      spoke: session.name,
      dispatch: name,
      generation: order.generation,
      objects: objects.length,
      tombstones: spec.tombstones.length,
    });
    return { outcome: 'dispatched', settled: false };
  }

  /** The spoke was told: what is missing is sent again, what has changed since is said, what is over is taken away. */
  async function uphold(
    session: SpokeSession,
    order: Order,
    name: string,
    genuine: Dispatch,
    carriedOut: boolean,
  ): Promise<DispatchOutcome> {
    if (order.plan && lacksContent(genuine)) {
      const spent = await api.sendBundles(session, order.plan.bundles, true);
      if (spent) return { outcome: 'held', ...spent };
    }
    const amended = amendedFor(session, order, name, genuine);
    if (amended) {
      await write(session, name, genuine, signatures.sign(session, name, amended));
      return { outcome: 'dispatched', settled: false };
    }
    if (order.plan || !carriedOut) return { outcome: 'dispatched', settled: carriedOut };
    await api.remove(session, genuine);
    signatures.note(session, name);
    return { outcome: 'gone' };
  }

  async function write(
    session: SpokeSession,
    name: string,
    present: Dispatch | undefined,
    spec: DispatchSpec,
  ): Promise<void> {
    signatures.note(session, name, spec);
    await api.write(session, name, present, spec);
  }

  /** Whether a spoke was told an order, or all that it says. */
  function isTold(present: Dispatch, spoke: string, { plan, generation, mayStand }: Order): boolean {
    const { spec } = present;
    const relation = comparePositions(spec.position, position(generation));
    if (relation === 0) return true;
    return (
      mayStand === true &&
      !isPassed(present) &&
      relation !== undefined &&
      spec.position.epoch === epoch() &&
      plan !== undefined &&
      stands(spec, spoke, plan, generation)
    );
  }

  /** Why an order is left alone that another hub gave, or that the spoke does not take from this one. */
  function ofAnotherHub(present: Dispatch | undefined, genuine: Dispatch | undefined): string | undefined {
    for (const there of [genuine?.spec.position, present?.status?.position])
      if (there && there.lineage !== identity.lineage)
        return `the spoke holds a dispatch of another hub (${there.lineage.slice(0, 8)}); nothing is changed there`;
    const refusal = refusalOf(present);
    return refusal?.reason === 'AnotherHub' ? refusal.message : undefined;
  }

  /**
   * Whether a spoke that says so has an order of this hub that the hub does not remember: the one that it keeps as accepted, with
   * the signature. Asked for in the rare case only.
   */
  async function proofOn(
    session: SpokeSession,
    name: string,
    own: OwnWord,
  ): Promise<{ readonly proof: string } | { readonly lacks: string }> {
    const order = await accepted(session, name);
    if ('lacks' in order) return order;
    const proof = proofOfRestore(order, own);
    return proof === undefined ? { lacks: 'The order that it keeps says nothing of the kind' } : { proof };
  }

  async function accepted(
    session: SpokeSession,
    name: string,
  ): Promise<DispatchSpec | { readonly lacks: string }> {
    let record: Partial<OwnershipRecord>;
    try {
      record = await api.record(session, name);
    } catch (error) {
      if (hasCode(error, 404)) return { lacks: 'It keeps no order that this hub signed' };
      if (!hasCode(error, 403)) throw error;
      return {
        lacks: `The hub may not read what it keeps (ownershiprecords in ${SYSTEM_NAMESPACE}: apply there what \`atoll join\` prints now)`,
      };
    }
    const order: unknown = record.spec?.accepted;
    if (!isObject(order) || !signatures.isOwn(session, name, order as unknown as DispatchSpec))
      return { lacks: 'The order that it keeps was not signed by this hub' };
    return order as unknown as DispatchSpec;
  }

  return { send, accepted };
}

/**
 * What a spoke still holds of a dispatch that is not there: someone deleted it. The order may have to be given again, and
 * it has to name what goes. `unknown` where the spoke has not yet told.
 */
function keptOn(session: SpokeSession, name: string): Kept | 'unknown' | undefined {
  const held = toldOf(session, name);
  if (!held) return undefined;
  return held.kept ? { objects: held.kept, tombstones: [], unnamed: held.keptMore ?? 0 } : 'unknown';
}

/** What an order that the spoke has is to say besides, or no more; `undefined` where it says it all. */
function amendedFor(
  session: SpokeSession,
  { staying, hold }: Order,
  name: string,
  genuine: Dispatch,
): DispatchSpec | undefined {
  const { spec } = genuine;
  const left = leftOn(session, name, spec).filter((ref) => !staying?.has(refKey(ref)));
  if (left.length > 0) {
    const more = left.map((ref) => ({ ref, reason: 'left over from an earlier order' }));
    return { ...spec, tombstones: [...spec.tombstones, ...more] };
  }
  if (spec.hold === true && hold !== true) {
    const { hold: _hold, ...released } = spec;
    return released;
  }
  // What was taken is not held any more: only a word that the spoke has not heard can be.
  if (hold === true && spec.hold !== true && !isTaken(genuine)) return { ...spec, hold: true };
  return undefined;
}

function authorOf({ author }: Order, before: Dispatch | undefined): Pick<DispatchSpec, 'author'> {
  const known = author ?? before?.spec.author;
  return known === undefined ? {} : { author: known };
}

/** Whether a spoke took the order that it has, as far as it told. */
function isTaken({ spec, status }: Dispatch): boolean {
  return status?.position !== undefined && comparePositions(status.position, spec.position) === 0;
}

/** Whether a spoke reports that the bundles of a dispatch are not there, or are not what they claim to be. */
function lacksContent(dispatch: Dispatch | undefined): boolean {
  return (dispatch?.status?.conditions ?? []).some(
    (condition) => condition.status === 'False' && condition.reason === 'ContentMissing',
  );
}

/**
 * Whether a spoke says something of its order that the hub has to look at: it did not take it, has no content for it, or says
 * that it took a later one.
 */
export function isObjectedTo(dispatch: Dispatch | undefined): boolean {
  const taken = dispatch?.status?.position;
  const isAhead = taken && (comparePositions(taken, dispatch.spec.position) ?? 0) > 0;
  return isAhead === true || refusalOf(dispatch) !== undefined || lacksContent(dispatch);
}
