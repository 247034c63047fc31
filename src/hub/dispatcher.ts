import {
  ATOLL_API_VERSION,
  BUNDLE,
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
    if (!present && !order.plan) return { outcome: 'gone' };
    const ahead = aheadOf(present, order.generation);
    if (ahead !== undefined) return { outcome: 'held', message: ahead };
    const carriedOut =
      present !== undefined && present.status?.appliedGeneration === present.spec.position.generation;
    if (present && isCurrent(session.name, name, present, order.generation)) {
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
      ? await deselectedBeyondBudget(present, objects, order.plan.deletionBudget)
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
      tombstones: tombstonesBetween(present?.spec, carriedOut, objects, reason),
      publicKey: identity.publicKey,
    });
    await sendBundles(session, order.plan);
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

  /** The same position means the same content, unless someone on the spoke changed it: then the signature does not fit. */
  function isCurrent(spoke: string, name: string, present: Dispatch, generation: number): boolean {
    const { lineage, epoch, generation: there } = present.spec.position;
    return (
      lineage === identity.lineage &&
      epoch === identity.epoch &&
      there === generation &&
      verifyDispatch(identity.publicKey, spoke, name, present.spec)
    );
  }

  /** A spoke that knows more than this hub: the hub was restored from an old state, or the spoke belongs to another one. */
  function aheadOf(present: Dispatch | undefined, generation: number): string | undefined {
    for (const there of [present?.spec.position, present?.status?.position]) {
      if (!there) continue;
      if (there.lineage !== identity.lineage)
        return `the spoke holds a dispatch of another hub (${there.lineage.slice(0, 8)}); nothing is changed there`;
      if (there.epoch > identity.epoch || (there.epoch === identity.epoch && there.generation > generation)) {
        return `the spoke has generation ${there.generation}, this hub knows ${generation} only: the hub was restored from an old state; nothing is changed there`;
      }
    }
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

  async function sendBundles(session: SpokeSession, plan: Plan | undefined): Promise<void> {
    for (const bundle of plan?.bundles ?? []) {
      try {
        await within((signal) => session.client.create(BUNDLES, bundle, { signal }));
      } catch (error) {
        // Content has the name of its digest: what is there already is the same.
        if (!hasCode(error, 409)) throw error;
      }
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
