import { packOrigin } from '../../engine/dispatch/index.ts';
import { stands } from '../../engine/plan/standing.ts';
import type { Result } from '../../kube/controller.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { SpokeTimedOut } from '../dispatch/spoke-api.ts';
import type { Fleet, SpokeSession } from '../fleet.ts';
import type { IntentObject, Intents } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import type { HubMode } from '../mode.ts';
import type { ClusterBudget } from './cluster-budget.ts';
import type { Deciding } from './deciding.ts';
import { isChosen, orderOf, sourceOf, type Tracked, type TrackedTable } from './tracked.ts';

export interface DispatchingOptions {
  readonly dispatcher: Dispatcher;
  readonly fleet: Fleet;
  readonly intents: Intents;
  readonly inventory: Inventory;
  readonly mode: HubMode;
  readonly tracked: TrackedTable;
  readonly clusterBudget: ClusterBudget;
  readonly epoch: () => number;
  /** Why a spoke is not given its order now. */
  readonly heldBack: Deciding['heldBack'];
  /** Something about an intent is to be told. */
  readonly onNews: (key: string) => void;
  /** What a spoke says of itself and cannot show changed. */
  readonly onClaim: (spoke: string) => void;
  /** A spoke that was to have nothing more of an intent has nothing more of it. */
  readonly onGone: (item: Tracked, spoke: string) => void;
}

const CATCH_UP_MS = 30;
const BEHIND_MS = 1_000;

export interface Dispatching {
  /** Brings the order that stands now for an intent to one spoke, and keeps in mind why it could not be brought. */
  bring(spoke: string, key: string): Promise<Result | undefined>;
  /** Whether a spoke most likely has the order that stands now, so that looking at it again is not urgent. */
  isLikelyThere(item: Tracked, spoke: string): boolean;
  /** Keys of those that could not be brought to a spoke for what it says of itself, or does not say yet. */
  awaitingWordOf(spoke: string): readonly string[];
  /** What a spoke says of orders of this hub and cannot show; undefined where there is nothing of the kind. */
  claimOf(spoke: string): string | undefined;
  /** Forgets what spokes that are gone said of themselves. */
  keep(has: (spoke: string) => boolean): void;
}

export function createDispatching(options: DispatchingOptions): Dispatching {
  const { dispatcher, fleet, intents, inventory, mode, tracked, onNews } = options;
  const awaiting = new WeakMap<SpokeSession, Set<string>>();
  /** Keys of those about which a spoke made claims that it could not show. */
  const claimed = new Map<string, Set<string>>();

  function noteAwaits(session: SpokeSession, key: string): void {
    const keys = awaiting.get(session);
    if (keys) keys.add(key);
    else awaiting.set(session, new Set([key]));
  }

  function noteProblem(
    item: Tracked,
    spoke: string,
    message: string | undefined,
    how?: 'late' | 'unproven',
  ): void {
    const before = item.problems.get(spoke);
    if (before?.message === message) return;
    if (message === undefined) item.problems.delete(spoke);
    else item.problems.set(spoke, { message, ...(how === undefined ? {} : { [how]: true }) });
    onNews(item.key);
    if (message !== undefined && how === 'unproven') {
      const keys = claimed.get(spoke);
      if (keys) keys.add(item.key);
      else claimed.set(spoke, new Set([item.key]));
    }
    if (item.problems.get(spoke)?.unproven === true || before?.unproven === true) options.onClaim(spoke);
  }

  function claimOf(spoke: string): string | undefined {
    for (const key of claimed.get(spoke) ?? []) {
      const item = tracked.get(key);
      const problem = item?.problems.get(spoke);
      if (item && problem?.unproven === true) return `dispatch ${item.dispatch}: ${problem.message}`;
      claimed.get(spoke)?.delete(key);
    }
    claimed.delete(spoke);
    return undefined;
  }

  async function bring(spoke: string, key: string): Promise<Result | undefined> {
    const item = tracked.get(key);
    const session = fleet.session(spoke);
    if (session) awaiting.get(session)?.delete(key);
    if (!item?.dispatchedTo.has(spoke) || !session?.live || mode.observing !== undefined) return undefined;
    const intent = intents.get(key);
    const source = item.source ?? item.plan?.source ?? (intent && sourceOf(intent.object));
    // Not knowing what shall be there is no reason to take anything away.
    if (!source || (!item.plan && !item.retracting)) return undefined;
    const held = options.heldBack(item, session);
    if (held?.why === 'handOver') {
      if (held.message !== undefined) noteProblem(item, spoke, held.message);
      return { requeueAfterMs: held.againMs };
    }
    if (held?.why === 'kept' || held?.why === 'turn') {
      noteProblem(item, spoke, undefined);
      return undefined;
    }
    const order = orderOf(item, spoke);
    if (!order) {
      noteProblem(item, spoke, undefined);
      return undefined;
    }
    const kept = order.plan ? undefined : options.clusterBudget.keeps(item, spoke);
    const blocked = session.misnamed() ?? order.plan?.blocked.get(spoke) ?? kept;
    if (blocked !== undefined) {
      noteAwaits(session, key);
      noteProblem(item, spoke, blocked);
      return undefined;
    }
    try {
      const result = await dispatcher.send(session, {
        ...order,
        source,
        mayStand: item.orders === undefined,
        ...(held?.why === 'staying' ? { staying: held.keys } : {}),
        ...(held?.why === 'suspended' ? { withheld: held.message } : {}),
        ...(inventory.leaving(spoke) === 'release' || item.release || releases(intent)
          ? { release: true }
          : {}),
        ...(order.plan && (order.hold === true || item.compiled?.intent.heldOn?.includes(spoke) === true)
          ? { hold: true }
          : {}),
        author: intent?.source.author(intent.object),
        origin: () => (order.plan ? originOf(intents.get(key)?.object, inventory.get(spoke)) : ''),
      });
      if (result.outcome === 'held' && result.restored) {
        // It is the hub that is behind: nothing is wrong with the cluster.
        await mode.observe(`${spoke}: ${result.message}`);
        noteProblem(item, spoke, undefined);
        return undefined;
      }
      if (result.outcome === 'held' && result.againMs !== undefined) {
        noteProblem(item, spoke, result.message);
        return { requeueAfterMs: result.againMs };
      }
      if (result.outcome === 'held') noteProblem(item, spoke, result.message);
      else noteProblem(item, spoke, result.unproven, 'unproven');
      // It may have something of an order that somebody deleted there, and not have said so yet.
      if (order.plan?.objects.length === 0) noteAwaits(session, key);
      if (result.outcome === 'behind') {
        noteAwaits(session, key);
        return { requeueAfterMs: BEHIND_MS };
      }
      // It may have been chosen again meanwhile.
      if (result.outcome === 'gone' && !isChosen(item, spoke)) {
        tracked.setDispatchedTo(
          item,
          [...item.dispatchedTo].filter((name) => name !== spoke),
        );
        options.onGone(item, spoke);
      }
    } catch (error) {
      if (!session.live) return undefined;
      // The spoke wrote its status in between, or the copy here is behind: look again when it has caught up.
      if (hasCode(error, 409) || hasCode(error, 404)) return { requeueAfterMs: CATCH_UP_MS };
      noteProblem(
        item,
        spoke,
        error instanceof StatusError ? `the spoke answers ${error.code}: ${error.message}` : errorText(error),
        error instanceof SpokeTimedOut ? 'late' : undefined,
      );
      throw error;
    }
    return held?.why === 'staying' ? { requeueAfterMs: held.againMs } : undefined;
  }

  return {
    bring,
    claimOf,
    keep(has): void {
      for (const spoke of claimed.keys()) if (!has(spoke)) claimed.delete(spoke);
    },
    isLikelyThere(item, spoke): boolean {
      const { plan, orders, retracting } = item;
      const spec = fleet.session(spoke)?.dispatch(item.dispatch)?.spec;
      if (!spec || !plan || retracting || !isChosen(item, spoke) || item.problems.has(spoke)) return false;
      if (spec.position.epoch !== options.epoch()) return false;
      const generation = orders ? orders.get(spoke)?.generation : item.generation;
      if (spec.position.generation === generation) return true;
      return !orders && stands(spec, spoke, plan, item.generation);
    },
    awaitingWordOf(spoke): readonly string[] {
      const session = fleet.session(spoke);
      return [...((session && awaiting.get(session)) ?? [])];
    },
  };
}

/** Whether the object that an intent comes from goes, and lets what it brought stay. */
function releases(intent: IntentObject | undefined): boolean {
  return (
    intent?.object.metadata.deletionTimestamp !== undefined &&
    intent.source.releases?.(intent.object) === true
  );
}

/** What a lost hub would need to ask the same of this spoke again. */
function originOf(...objects: readonly (KubeObject | undefined)[]): string {
  return packOrigin(objects.filter((object) => object !== undefined));
}
