import {
  ATOLL_API_VERSION,
  BUNDLE,
  type Bundle,
  comparePositions,
  contradicts,
  DISPATCH,
  type Dispatch,
  type DispatchSpec,
  dispatchName,
  dispatchRecogniser,
  dispatchSigner,
  type RefusalReason,
  SYSTEM_NAMESPACE,
  verifyDispatch,
} from '../engine/dispatch/index.ts';
import type { Author } from '../engine/intent.ts';
import { applyOn, budgetOf, type Plan, tombstonesBetween } from '../engine/plan/plan.ts';
import { stands } from '../engine/plan/standing.ts';
import { readFailure } from '../kube/answer.ts';
import { findCondition } from '../kube/conditions.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import { readBody } from '../kube/exchange.ts';
import { type Condition, type KubeObject, type ObjectRef, refKey, refText } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual, listAt } from '../schema/json.ts';
import type { SpokeSession } from './fleet.ts';
import type { HubIdentity } from './identity.ts';
import { toldOf } from './told.ts';

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
  /** An earlier order that says the same stands. */
  readonly mayStand?: boolean;
  /** The hub's own objects behind the order, packed; '' where they are gone. Asked for when the order is written only. */
  readonly origin: () => string;
}

export type DispatchOutcome =
  /** The spoke has the order. `settled`: it also carried it out. */
  | { readonly outcome: 'dispatched'; readonly settled: boolean }
  /** Nothing is left of the intent on the spoke. */
  | { readonly outcome: 'gone' }
  /** The copy of the spoke's state is older than what is there: ask again when it has caught up. */
  | { readonly outcome: 'behind' }
  | {
      readonly outcome: 'held';
      readonly message: string /** The spoke is ahead of this hub. */;
      readonly restored?: true;
    };

const DISPATCHES = resourceIdOf(DISPATCH);
const BUNDLES = resourceIdOf(BUNDLE);
const FOLDER = `/apis/${ATOLL_API_VERSION}/namespaces/${SYSTEM_NAMESPACE}`;
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const NAME_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
/** Reasons for which a spoke does not take an order of its hub: it heard more, or something else, before. */
const PASSED: ReadonlySet<string> = new Set<RefusalReason>(['StaleGeneration', 'Diverged']);
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
    if (!present && !kept && !order.plan)
      return (await isAbsent(session, name)) ? { outcome: 'gone' } : { outcome: 'behind' };
    const genuine = present !== undefined && isGenuine(session, name, present);
    const ahead = aheadOf(session.name, present, genuine, order);
    if (ahead !== undefined) return ahead;
    const carriedOut = genuine && present.status?.appliedGeneration === present.spec.position.generation;
    if (genuine && isTold(present, session.name, order)) {
      if (order.plan && lacksContent(present)) await sendBundles(session, order.plan, true);
      const left = leftOn(session, name, present.spec);
      if (left.length > 0) {
        const { signature: _signature, ...said } = present.spec;
        const more = left.map((ref) => ({ ref, reason: 'left over from an earlier order' }));
        await write(
          session,
          name,
          present,
          sign(session.name, name, { ...said, tombstones: [...said.tombstones, ...more] }),
        );
        return { outcome: 'dispatched', settled: false };
      }
      if (present.spec.hold === true && order.hold !== true) {
        const { signature: _signature, hold: _hold, ...said } = present.spec;
        await write(session, name, present, sign(session.name, name, said));
        return { outcome: 'dispatched', settled: false };
      }
      // What was taken is not held any more: only a word that the spoke has not heard can be.
      if (order.hold === true && present.spec.hold !== true && !isTaken(present)) {
        const { signature: _signature, ...said } = present.spec;
        await write(session, name, present, sign(session.name, name, { ...said, hold: true }));
        return { outcome: 'dispatched', settled: false };
      }
      if (order.plan || !carriedOut) return { outcome: 'dispatched', settled: carriedOut };
      await within((signal) =>
        session.client.delete(DISPATCHES, SYSTEM_NAMESPACE, name, {
          signal,
          preconditions: { uid: present.metadata.uid ?? '' },
        }),
      );
      recognisedOn(session).delete(name);
      return { outcome: 'gone' };
    }
    const objects = order.plan?.objects ?? [];
    const overBudget = order.plan
      ? await deselectedBeyondBudget(genuine ? present : undefined, objects, order.plan.deletionBudget)
      : undefined;
    if (overBudget !== undefined) return { outcome: 'held', message: overBudget };
    const reason = order.plan
      ? 'no longer selected'
      : `the cluster is no longer chosen, or the ${order.source.kind} is gone`;
    const tombstones = tombstonesBetween(present?.spec ?? kept, carriedOut, objects, reason);
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
      ...(order.plan ? applyOn(order.plan, session.name) : authorOf(order, genuine ? present : undefined)),
      publicKey: identity.publicKey,
    });
    await sendBundles(session, order.plan, false);
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

  /** Whether a dispatch is as its hub signed it. What someone on the spoke wrote there says nothing, and is written over. */
  function isGenuine(session: SpokeSession, name: string, present: Dispatch): boolean {
    const known = recognisedOn(session);
    const before = known.get(name);
    // A spec that did not change stays the same object. A look at a signature takes ten times as long as one at what was written.
    if (before === present.spec) return true;
    const isGood =
      (before !== undefined && deepEqual(present.spec, before)) ||
      (present.spec.publicKey === identity.publicKey
        ? signedHere(session.name, name, present.spec)
        : verifyDispatch(present.spec.publicKey, session.name, name, present.spec));
    if (isGood) known.set(name, present.spec);
    return isGood;
  }

  /** A spoke that knows more than this hub: the hub was restored from an old state, or the spoke belongs to another one. */
  function aheadOf(
    spoke: string,
    present: Dispatch | undefined,
    genuine: boolean,
    order: Order,
  ): Extract<DispatchOutcome, { outcome: 'held' }> | undefined {
    const own = position(order.generation);
    const restored = (message: string) => ({ outcome: 'held', message, restored: true }) as const;
    for (const there of [genuine ? present?.spec.position : undefined, present?.status?.position]) {
      if (!there) continue;
      const relation = comparePositions(there, own);
      if (relation === undefined)
        return {
          outcome: 'held',
          message: `the spoke holds a dispatch of another hub (${there.lineage.slice(0, 8)}); nothing is changed there`,
        };
      if (relation > 0)
        return restored(
          `the spoke has generation ${there.generation} of epoch ${there.epoch}, this hub knows ${own.generation} of epoch ${own.epoch} only: the hub was restored from an old state`,
        );
    }
    if (genuine && present && present.spec.position.epoch === own.epoch) {
      const { generation } = present.spec.position;
      if (generation === own.generation && !asks(present.spec, spoke, order))
        return restored(
          `the spoke has another content under generation ${generation}: the hub was restored from an old state`,
        );
      if (contradicts(order.history, generation, present.spec.digest))
        return restored(
          `the hub does not remember generation ${generation} as the spoke has it: it was restored from an old state and changed since`,
        );
      // An order that was written where someone had deleted the one before says nothing of that, but the spoke remembers it.
      if (generation === own.generation && isPassed(present))
        return restored(`the spoke refuses what this hub says: ${refusalOf(present)?.message ?? ''}`);
    }
    const refusal = refusalOf(present);
    if (refusal?.reason === 'AnotherHub') return { outcome: 'held', message: refusal.message };
    return undefined;
  }

  /** Removing many objects by a change of the selection is more often a slip than meant. Objects deleted at the hub do not count. */
  async function deselectedBeyondBudget(
    present: Dispatch | undefined,
    next: readonly ObjectRef[],
    budget: number | string,
  ): Promise<string | undefined> {
    const before = present?.spec.objects ?? [];
    const staying = new Set(next.map(refKey));
    const leaving = before.filter((ref) => !staying.has(refKey(ref)));
    if (leaving.length === 0) return undefined;
    const exists = await Promise.all(leaving.map((ref) => stillAtHub(ref)));
    const deselected = leaving.filter((_, index) => exists[index]);
    const allowed = budgetOf(budget, before.length);
    if (deselected.length <= allowed) return undefined;
    const names = deselected.slice(0, 5).map(refText).join(', ');
    return `the change would remove ${deselected.length} of ${before.length} objects by no longer selecting them (${names}${deselected.length > 5 ? ', …' : ''}), more than spec.deletionBudget ${budget} allows; raise it to go on`;
  }

  /**
   * Content has the name of its digest: what is there already is the same, unless the spoke says that it is not. Several
   * bundles are compared by name first, so that an upload that broke off goes on where it was, and a change of a large intent
   * sends what changed only.
   */
  async function sendBundles(
    session: SpokeSession,
    plan: Plan | undefined,
    overwrite: boolean,
  ): Promise<void> {
    const { client } = session;
    const bundles = plan?.bundles ?? [];
    const there = bundles.length > 1 && !overwrite ? await bundlesThere(session) : undefined;
    for (const bundle of bundles) {
      const { namespace = '', name = '' } = bundle.metadata;
      if (there?.has(name)) continue;
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

  return { send };
}

/**
 * What a spoke still holds of a dispatch that is not there: someone deleted it. The order may have to be given again, and
 * it has to name what goes. `unknown` where the spoke has not yet told.
 */
function keptOn(
  session: SpokeSession,
  name: string,
): Pick<DispatchSpec, 'objects' | 'tombstones'> | 'unknown' | undefined {
  const held = toldOf(session, name);
  if (!held) return undefined;
  return held.kept ? { objects: held.kept, tombstones: [] } : 'unknown';
}

/** What a spoke says it has of an order that neither wants it nor orders it away. */
function leftOn(session: SpokeSession, name: string, spec: DispatchSpec): readonly ObjectRef[] {
  const told = toldOf(session, name);
  // Of another generation it says nothing about this one.
  if (!told?.kept || told.generation !== spec.position.generation) return [];
  const named = new Set([...spec.objects, ...spec.tombstones.map(({ ref }) => ref)].map(refKey));
  return told.kept.filter((ref) => !named.has(refKey(ref)));
}

function authorOf({ author }: Order, before: Dispatch | undefined): Pick<DispatchSpec, 'author'> {
  const known = author ?? before?.spec.author;
  return known === undefined ? {} : { author: known };
}

/** Whether a spoke took the order that it has, as far as it told. */
function isTaken({ spec, status }: Dispatch): boolean {
  return status?.position !== undefined && comparePositions(status.position, spec.position) === 0;
}

/** Whether a dispatch says what an order wants of a spoke. */
function asks(spec: DispatchSpec, spoke: string, { plan }: Order): boolean {
  const told = plan && applyOn(plan, spoke);
  return (
    spec.revision === (plan?.revision ?? '') &&
    deepEqual(spec.objects, plan?.objects ?? []) &&
    deepEqual(spec.patches, plan?.patches.get(spoke) ?? []) &&
    deepEqual(spec.apply, told?.apply) &&
    deepEqual(spec.objectApply, told?.objectApply)
  );
}

/** Whether a spoke reports that the bundles of a dispatch are not there, or are not what they claim to be. */
function lacksContent(dispatch: Dispatch | undefined): boolean {
  return (dispatch?.status?.conditions ?? []).some(
    (condition) => condition.status === 'False' && condition.reason === 'ContentMissing',
  );
}

/** What a spoke says of an order that it did not take. */
function refusalOf(dispatch: Dispatch | undefined): Condition | undefined {
  const accepted = findCondition(dispatch?.status?.conditions, 'Accepted');
  return accepted?.status === 'False' ? accepted : undefined;
}

/** Whether a spoke refuses just this order for what it heard before. */
function isPassed(dispatch: Dispatch): boolean {
  const refusal = refusalOf(dispatch);
  return (
    refusal !== undefined &&
    PASSED.has(refusal.reason) &&
    refusal.observedGeneration === dispatch.metadata.generation
  );
}

/** Whether a spoke says something of its order that the hub has to look at: it did not take it, or has no content for it. */
export function isObjectedTo(dispatch: Dispatch | undefined): boolean {
  return refusalOf(dispatch) !== undefined || lacksContent(dispatch);
}
