import {
  ATOLL_API_VERSION,
  BUNDLE,
  type Bundle,
  comparePositions,
  DISPATCH,
  type Dispatch,
  type DispatchSpec,
  dispatchName,
  dispatchRecogniser,
  dispatchSigner,
  OWNERSHIP_RECORD,
  type OwnershipRecord,
  SYSTEM_NAMESPACE,
  verifyDispatch,
} from '../../engine/dispatch/index.ts';
import type { Author } from '../../engine/intent.ts';
import { applyOn, budgetOf, type Plan, tombstonesBetween } from '../../engine/plan/plan.ts';
import { stands } from '../../engine/plan/standing.ts';
import { readFailure } from '../../kube/answer.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { readBody } from '../../kube/exchange.ts';
import { type KubeObject, type ObjectRef, refKey, refText } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, isObject, listAt } from '../../schema/json.ts';
import type { SpokeSession } from '../fleet.ts';
import type { BudgetSpent, ByteBudget } from './byte-budget.ts';
import { claimOf, isPassed, type OwnWord, proofOfRestore, refusalOf } from './evidence.ts';
import type { HubIdentity } from './identity.ts';
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

const DISPATCHES = resourceIdOf(DISPATCH);
const BUNDLES = resourceIdOf(BUNDLE);
const RECORDS = resourceIdOf(OWNERSHIP_RECORD);
const FOLDER = `/apis/${ATOLL_API_VERSION}/namespaces/${SYSTEM_NAMESPACE}`;
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const NAME_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
const USER_AGENT = 'atoll-hub';
const WRITE_TIMEOUT_MS = 15_000;

/** A spoke did not answer a write in time: whether it was done there is not known. */
export class SpokeTimedOut extends Error {
  constructor() {
    super(`the spoke did not answer a write within ${WRITE_TIMEOUT_MS / 1000} s`);
    this.name = 'SpokeTimedOut';
  }
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
  const sign = dispatchSigner(identity.privateKey);
  const signedHere = dispatchRecogniser(identity.privateKey);
  const position = (generation: number): DispatchSpec['position'] => ({
    lineage: identity.lineage,
    epoch: epoch(),
    generation,
  });

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

  async function send(session: SpokeSession, order: Order): Promise<DispatchOutcome> {
    const name = dispatchName(order.source);
    const present = session.dispatch(name);
    const kept = present ? undefined : keptOn(session, name);
    if (kept === 'unknown') return { outcome: 'behind' };
    // A first order of nothing says nothing.
    if (!present && !kept && order.plan?.objects.length === 0)
      return { outcome: 'dispatched', settled: true };
    if (!present && !kept && !order.plan) {
      // Meanwhile it may say that it took an order that somebody has deleted since.
      const isGone = (await isAbsent(session, name)) && toldOf(session, name) === undefined;
      return { outcome: isGone ? 'gone' : 'behind' };
    }
    const genuine = present && isGenuine(session, name, present) ? present : undefined;
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
    if (order.withheld !== undefined)
      return told
        ? { outcome: 'dispatched', settled: carriedOut }
        : { outcome: 'held', message: order.withheld };
    if (told) {
      if (order.plan && lacksContent(genuine)) {
        const spent = await sendBundles(session, order.plan, true);
        if (spent) return { outcome: 'held', ...spent };
      }
      const left = leftOn(session, name, genuine.spec).filter((ref) => !order.staying?.has(refKey(ref)));
      if (left.length > 0) {
        const { signature: _signature, ...said } = genuine.spec;
        const more = left.map((ref) => ({ ref, reason: 'left over from an earlier order' }));
        await write(
          session,
          name,
          genuine,
          sign(session.name, name, { ...said, tombstones: [...said.tombstones, ...more] }),
        );
        return { outcome: 'dispatched', settled: false };
      }
      if (genuine.spec.hold === true && order.hold !== true) {
        const { signature: _signature, hold: _hold, ...said } = genuine.spec;
        await write(session, name, genuine, sign(session.name, name, said));
        return { outcome: 'dispatched', settled: false };
      }
      // What was taken is not held any more: only a word that the spoke has not heard can be.
      if (order.hold === true && genuine.spec.hold !== true && !isTaken(genuine)) {
        const { signature: _signature, ...said } = genuine.spec;
        await write(session, name, genuine, sign(session.name, name, { ...said, hold: true }));
        return { outcome: 'dispatched', settled: false };
      }
      if (order.plan || !carriedOut) return { outcome: 'dispatched', settled: carriedOut };
      await within((signal) =>
        session.client.delete(DISPATCHES, SYSTEM_NAMESPACE, name, {
          signal,
          preconditions: { uid: genuine.metadata.uid ?? '' },
        }),
      );
      recognisedOn(session).delete(name);
      return { outcome: 'gone' };
    }
    const objects = order.plan?.objects ?? [];
    const overBudget = order.plan
      ? await deselectedBeyondBudget(
          genuine?.spec ?? (kept && (await wholeOf(session, name, kept))),
          objects,
          order.plan.deletionBudget,
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
    const spec = sign(session.name, name, {
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
    const spent = await sendBundles(session, order.plan, false);
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

  /**
   * Whether a dispatch is as its hub signed it. What someone on the spoke wrote there says nothing, and is written over; another
   * key that signs as this hub is someone there.
   */
  function isGenuine(session: SpokeSession, name: string, present: Dispatch): boolean {
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
    const { client } = session;
    let record: Partial<OwnershipRecord>;
    try {
      record = await within((signal) =>
        client.get<OwnershipRecord>(RECORDS, SYSTEM_NAMESPACE, name, { signal }),
      );
    } catch (error) {
      if (hasCode(error, 404)) return { lacks: 'It keeps no order that this hub signed' };
      if (!hasCode(error, 403)) throw error;
      return {
        lacks: `The hub may not read what it keeps (ownershiprecords in ${SYSTEM_NAMESPACE}: apply there what \`atoll join\` prints now)`,
      };
    }
    const order: unknown = record.spec?.accepted;
    if (!isObject(order) || !signedHere(session.name, name, order as unknown as DispatchSpec))
      return { lacks: 'The order that it keeps was not signed by this hub' };
    return order as unknown as DispatchSpec;
  }

  /** Removing many objects by a change of the selection is more often a slip than meant. Objects deleted at the hub do not count. */
  async function deselectedBeyondBudget(
    present: (Pick<DispatchSpec, 'objects'> & { readonly unnamed?: number }) | undefined,
    next: readonly ObjectRef[],
    budget: number | string,
  ): Promise<string | undefined> {
    const before = present?.objects ?? [];
    const staying = new Set(next.map(refKey));
    const leaving = before.filter((ref) => !staying.has(refKey(ref)));
    const { unnamed = 0 } = present ?? {};
    // Those that stay and are not named are among those that nobody names; the rest of these leaves.
    const unseen = Math.max(0, unnamed - (next.length - (before.length - leaving.length)));
    const count = before.length + unnamed;
    if (leaving.length + unseen === 0) return undefined;
    const exists = await Promise.all(leaving.map((ref) => stillAtHub(ref)));
    const deselected = leaving.filter((_, index) => exists[index]);
    const removed = deselected.length + unseen;
    if (removed <= budgetOf(budget, count)) return undefined;
    const names = deselected.slice(0, 5).map(refText).join(', ');
    return `the change would remove ${removed} of ${count} objects by no longer selecting them (${names}${removed > Math.min(5, deselected.length) ? ', …' : ''}), more than spec.deletionBudget ${budget} allows; raise it to go on`;
  }

  /**
   * Content has the name of its digest: what is there already is the same, unless the spoke says that it is not. Several
   * bundles are compared by name first, so that an upload that broke off goes on where it was, and a change of a large intent
   * sends what changed only. Where the spoke's bytes are spent before the last one, it says so.
   */
  async function sendBundles(
    session: SpokeSession,
    plan: Plan | undefined,
    overwrite: boolean,
  ): Promise<BudgetSpent | undefined> {
    const { client } = session;
    const bundles = plan?.bundles ?? [];
    const there = bundles.length > 1 && !overwrite ? await bundlesThere(session) : undefined;
    for (const bundle of bundles) {
      const { namespace = '', name = '' } = bundle.metadata;
      if (there?.has(name)) continue;
      const spent = byteBudget.spend(session.name, bundle.spec.data.length);
      if (spent) return spent;
      try {
        await put(session, 'POST', BUNDLES.resource, bundle);
      } catch (error) {
        if (!hasCode(error, 409)) throw error;
        if (!overwrite) continue;
        await within(async (signal) => {
          const present = await client.get<Bundle>(BUNDLES, namespace, name, { signal });
          await client.update(BUNDLES, { ...present, spec: bundle.spec }, { signal });
        });
      }
    }
    return undefined;
  }

  /** Names of the bundles on a spoke, without their content. */
  async function bundlesThere(session: SpokeSession): Promise<ReadonlySet<string>> {
    const response = await within((signal) =>
      session.client.handler({
        method: 'GET',
        path: `${FOLDER}/${BUNDLES.resource}`,
        headers: { accept: NAMES_ONLY },
        signal,
      }),
    );
    const list: unknown = JSON.parse(Buffer.from(await readBody(response)).toString('utf8'));
    // Where there is none, a list of names alone has `null`.
    const items = response.status === 200 ? (listAt(list, 'items') as KubeObject[]) : [];
    return new Set(items.map((item) => item.metadata.name ?? ''));
  }

  /** Whether the spoke has no dispatch of this name, by its own word: the copy here may not show yet what was written last. */
  async function isAbsent(session: SpokeSession, name: string): Promise<boolean> {
    try {
      await within((signal) => session.client.get(DISPATCHES, SYSTEM_NAMESPACE, name, { signal }));
      return false;
    } catch (error) {
      if (hasCode(error, 404)) return true;
      throw error;
    }
  }

  async function write(
    session: SpokeSession,
    name: string,
    present: Dispatch | undefined,
    spec: DispatchSpec,
  ): Promise<void> {
    recognisedOn(session).set(name, spec);
    if (present) {
      await put(session, 'PUT', `${DISPATCHES.resource}/${name}`, { ...present, spec });
      return;
    }
    const fresh: Dispatch = {
      apiVersion: ATOLL_API_VERSION,
      kind: DISPATCH.kind,
      metadata: { name, namespace: SYSTEM_NAMESPACE },
      spec,
    };
    await put(session, 'POST', DISPATCHES.resource, fresh);
  }

  /** What was written is known here already: the spoke need not send it back. */
  async function put(
    session: SpokeSession,
    method: 'POST' | 'PUT',
    resource: string,
    object: KubeObject,
  ): Promise<void> {
    const path = `${FOLDER}/${resource}`;
    const headers = { accept: NAME_ONLY, 'content-type': 'application/json', 'user-agent': USER_AGENT };
    const body = Buffer.from(JSON.stringify(object));
    await within(async (signal) => {
      const response = await session.client.handler({ method, path, headers, body, signal });
      if (response.status < 200 || response.status > 299) throw await readFailure(response, path);
      await readBody(response);
    });
  }

  /** A slow spoke must not hold a worker for ever. */
  async function within<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const timer = runtime.clock.after(WRITE_TIMEOUT_MS, () => controller.abort());
    try {
      return await act(controller.signal);
    } catch (error) {
      throw controller.signal.aborted ? new SpokeTimedOut() : error;
    } finally {
      timer.cancel();
    }
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
