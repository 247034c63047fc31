import {
  ATOLL_API_VERSION,
  BUNDLE,
  type Bundle,
  comparePositions,
  DISPATCH,
  type Dispatch,
  type DispatchSpec,
  dispatchName,
  dispatchSigner,
  SYSTEM_NAMESPACE,
  verifyDispatch,
} from '../engine/dispatch/index.ts';
import { budgetOf, type Plan, tombstonesBetween } from '../engine/plan/plan.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import { type ObjectRef, refKey, refText } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import type { SpokeSession } from './fleet.ts';
import type { HubIdentity } from './identity.ts';

/** What shall be on one spoke for one intent. `plan` undefined takes everything away. */
export interface Order {
  readonly plan: Plan | undefined;
  readonly source: Plan['source'];
  readonly generation: number;
}

export type DispatchOutcome =
  /** The spoke has the order. `settled`: it also carried it out. */
  | { readonly outcome: 'dispatched'; readonly settled: boolean }
  /** Nothing is left of the intent on the spoke. */
  | { readonly outcome: 'gone' }
  /** The copy of the spoke's state is older than what is there: ask again when it has caught up. */
  | { readonly outcome: 'behind' }
  | { readonly outcome: 'held'; readonly message: string };

const DISPATCHES = resourceIdOf(DISPATCH);
const BUNDLES = resourceIdOf(BUNDLE);
const WRITE_TIMEOUT_MS = 15_000;

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
  stillAtHub: (ref: ObjectRef) => Promise<boolean>,
): Dispatcher {
  const sign = dispatchSigner(identity.privateKey);
  const position = (generation: number): DispatchSpec['position'] => ({
    lineage: identity.lineage,
    epoch: identity.epoch,
    generation,
  });

  async function send(session: SpokeSession, order: Order): Promise<DispatchOutcome> {
    const name = dispatchName(order.source);
    const present = session.dispatch(name);
    const kept = present ? undefined : keptOn(session, name);
    if (kept === 'unknown') return { outcome: 'behind' };
    if (!present && !kept && !order.plan)
      return (await isAbsent(session, name)) ? { outcome: 'gone' } : { outcome: 'behind' };
    const genuine = present !== undefined && isGenuine(session.name, name, present);
    const ahead = aheadOf(session.name, present, genuine, order);
    if (ahead !== undefined) return { outcome: 'held', message: ahead };
    const carriedOut = genuine && present.status?.appliedGeneration === present.spec.position.generation;
    if (genuine && comparePositions(present.spec.position, position(order.generation)) === 0) {
      if (order.plan && lacksContent(present)) await sendBundles(session, order.plan, true);
      if (order.plan || !carriedOut) return { outcome: 'dispatched', settled: carriedOut };
      await within((signal) =>
        session.client.delete(DISPATCHES, SYSTEM_NAMESPACE, name, {
          signal,
          preconditions: { uid: present.metadata.uid ?? '' },
        }),
      );
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
    const spec = sign(session.name, name, {
      source: order.source,
      position: position(order.generation),
      revision: order.plan?.revision ?? '',
      bundles: order.plan?.bundles.map((bundle) => bundle.metadata.name ?? '') ?? [],
      objects,
      patches: order.plan?.patches.get(session.name) ?? [],
      tombstones: tombstonesBetween(present?.spec ?? kept, carriedOut, objects, reason),
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

  /** Whether a dispatch is as its hub signed it. What someone on the spoke wrote there says nothing, and is written over. */
  function isGenuine(spoke: string, name: string, present: Dispatch): boolean {
    return verifyDispatch(present.spec.publicKey, spoke, name, present.spec);
  }

  /** A spoke that knows more than this hub: the hub was restored from an old state, or the spoke belongs to another one. */
  function aheadOf(
    spoke: string,
    present: Dispatch | undefined,
    genuine: boolean,
    order: Order,
  ): string | undefined {
    const own = position(order.generation);
    for (const there of [genuine ? present?.spec.position : undefined, present?.status?.position]) {
      if (!there) continue;
      const relation = comparePositions(there, own);
      if (relation === undefined)
        return `the spoke holds a dispatch of another hub (${there.lineage.slice(0, 8)}); nothing is changed there`;
      if (relation > 0)
        return `the spoke has generation ${there.generation}, this hub knows ${own.generation} only: the hub was restored from an old state; nothing is changed there`;
    }
    if (
      genuine &&
      present &&
      comparePositions(present.spec.position, own) === 0 &&
      !asks(present.spec, spoke, order)
    )
      return `the spoke has another content under generation ${own.generation}: the hub was restored from an old state; nothing is changed there`;
    const refused = present?.status?.conditions?.find(
      (condition) =>
        condition.type === 'Accepted' && condition.status === 'False' && condition.reason === 'AnotherHub',
    );
    return refused?.message;
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

  /** Content has the name of its digest: what is there already is the same, unless the spoke says that it is not. */
  async function sendBundles(
    session: SpokeSession,
    plan: Plan | undefined,
    overwrite: boolean,
  ): Promise<void> {
    const { client } = session;
    for (const bundle of plan?.bundles ?? []) {
      try {
        await within((signal) => client.create(BUNDLES, bundle, { signal }));
      } catch (error) {
        if (!hasCode(error, 409)) throw error;
        if (!overwrite) continue;
        const { namespace = '', name = '' } = bundle.metadata;
        await within(async (signal) => {
          const there = await client.get<Bundle>(BUNDLES, namespace, name, { signal });
          await client.update(BUNDLES, { ...there, spec: bundle.spec }, { signal });
        });
      }
    }
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
    if (present) {
      await within((signal) => session.client.update(DISPATCHES, { ...present, spec }, { signal }));
      return;
    }
    const fresh: Dispatch = {
      apiVersion: ATOLL_API_VERSION,
      kind: DISPATCH.kind,
      metadata: { name, namespace: SYSTEM_NAMESPACE },
      spec,
    };
    await within((signal) => session.client.create<Dispatch>(DISPATCHES, fresh, { signal }));
  }

  /** A slow spoke must not hold a worker for ever. */
  async function within<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const timer = runtime.clock.after(WRITE_TIMEOUT_MS, () =>
      controller.abort(new Error(`the spoke did not answer a write within ${WRITE_TIMEOUT_MS / 1000} s`)),
    );
    try {
      return await act(controller.signal);
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
  const held = session.cluster()?.status?.dispatches?.find((dispatch) => dispatch.name === name);
  if (!held) return undefined;
  return held.kept ? { objects: held.kept, tombstones: [] } : 'unknown';
}

/** Whether a dispatch says what an order wants of a spoke. */
function asks(spec: DispatchSpec, spoke: string, { plan }: Order): boolean {
  return (
    spec.revision === (plan?.revision ?? '') &&
    deepEqual(spec.objects, plan?.objects ?? []) &&
    deepEqual(spec.patches, plan?.patches.get(spoke) ?? [])
  );
}

/** Whether a spoke reports that the bundles of a dispatch are not there, or are not what they claim to be. */
export function lacksContent(dispatch: Dispatch | undefined): boolean {
  return (dispatch?.status?.conditions ?? []).some(
    (condition) => condition.status === 'False' && condition.reason === 'ContentMissing',
  );
}
