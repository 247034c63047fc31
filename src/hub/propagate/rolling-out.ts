import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { extendHistory } from '../../engine/dispatch/index.ts';
import type { Intent } from '../../engine/intent.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { type MaintenanceWindow, type RolloutCluster, skippedStages } from '../../engine/rollout/index.ts';
import { authorize, type readingRights } from '../author/index.ts';
import type { Fleet } from '../fleet.ts';
import type { IntentObject } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import type { PoliciesInForce } from '../policies/index.ts';
import type { ClusterOrder, RolledOut, RolloutRequest, Rollouts } from '../rollouts/index.ts';
import { waitsForTurn } from './holding-back.ts';
import { observeCluster } from './observe-cluster.ts';
import { type Tracked, type TrackedTable, writeRecord } from './tracked.ts';

export interface RollingOutOptions {
  readonly rollouts: Rollouts;
  readonly fleet: Fleet;
  readonly inventory: Inventory;
  readonly policies: PoliciesInForce;
  readonly rights: ReturnType<typeof readingRights>;
  readonly tracked: TrackedTable;
  readonly epoch: () => number;
  /** The rollout of an intent is to be looked at again then, whatever happens before. */
  readonly onDue: (key: string, atMs: number) => void;
}

/** Between the plan of an intent and its orders: where content is rolled out, or kept to go back to. */
export interface RollingOut {
  /** Makes orders of a plan, durable when resolved. False where the intent asks for neither rollouts nor revisions. */
  roll(
    item: Tracked,
    intent: IntentObject,
    asked: Intent,
    next: Plan,
    older: Pick<RolloutRequest, 'planOf' | 'taken'>,
  ): Promise<boolean>;
  /** Whether it was begun to roll out something of an intent, though it may not have been said to anybody. */
  isBegun(item: Tracked, asked: Intent): Promise<boolean>;
  /** Looks again at the rollout of what was asked for last: says which clusters have another order now; undefined where there is none. */
  advance(item: Tracked, intent: IntentObject): Promise<readonly string[] | undefined>;
  /** Acts while nobody else makes orders of the intent. */
  inTurn<T>(key: string, act: () => Promise<T>): Promise<T>;
  /** Nothing of it is kept any more. */
  forget(item: Tracked, intent: IntentObject): Promise<void>;
}

export function createRollingOut(options: RollingOutOptions): RollingOut {
  const { rollouts, fleet, inventory, policies, rights, tracked, epoch } = options;
  /** The last turn of each intent: plans and looks must not overtake each other. */
  const turns = new Map<string, Promise<unknown>>();
  /** Those of which nothing is kept any more. */
  const forgotten = new WeakSet<Tracked>();

  function inTurn<T>(key: string, act: () => Promise<T>): Promise<T> {
    const before = turns.get(key);
    // Whoever asked for the one before hears of its failure.
    const turn = before === undefined ? act() : before.then(act, act);
    turns.set(key, turn);
    const ended = (): void => {
      if (turns.get(key) === turn) turns.delete(key);
    };
    turn.then(ended, ended);
    return turn;
  }

  /** Before anything is sent: which generations there are, and whom they concern, beside the intent where everybody looks for them. */
  async function commit(
    item: Tracked,
    intent: IntentObject,
    { orders, generation, digest, added, nextAt }: RolledOut,
  ): Promise<void> {
    const told = [...orders].flatMap(([name, order]) => ('withheld' in order ? [] : [name]));
    const targets = new Set([...item.dispatchedTo, ...told, ...item.found]);
    const known = [...targets].filter((name) => inventory.has(name)).sort();
    let { history, generation: last, digest: said } = item;
    for (const stamp of added.length > 0 || generation === last ? added : [{ generation, digest }]) {
      if (last > 0) history = extendHistory(history, last, said);
      last = stamp.generation;
      said = stamp.digest;
    }
    const take = (): void => {
      item.orders = orders;
      item.generation = last;
      item.digest = said;
      item.history = history;
      tracked.setDispatchedTo(item, known);
    };
    if (last === item.generation && known.every((name) => item.dispatchedTo.has(name))) take();
    else {
      const record = {
        dispatchGeneration: last,
        dispatchDigest: said,
        ...(history.length === 0 ? {} : { dispatchHistory: [...history] }),
        dispatchedTo: known,
      };
      await writeRecord(item, intent, record, take);
    }
    // What was seen while this was written down was compared with what stood before.
    if ([...orders.keys()].some((cluster) => rollouts.concerns(item.key, cluster)))
      options.onDue(item.key, 0);
    else if (nextAt !== undefined) options.onDue(item.key, nextAt);
  }

  /** Clusters that may have something of an intent, and are told what becomes of it. */
  function holding({ dispatchedTo, found }: Tracked): ReadonlySet<string> {
    return new Set([...dispatchedTo, ...found]);
  }

  /** What of older content an author may not read they may not send either. */
  async function refusal(intent: Intent, selfContained: boolean): Promise<string | undefined> {
    if (selfContained) return undefined;
    const { problem } = await authorize(intent, policies, rights, () => true);
    return problem && `its revision is not sent for this author: ${problem.message}`;
  }

  async function forget(item: Tracked, { source, object }: IntentObject): Promise<void> {
    if (forgotten.has(item)) return;
    if (!item.orders && (source.record(object)?.revisions ?? []).length === 0) return;
    await inTurn(item.key, () => rollouts.forget(item.key, item.dispatch));
    forgotten.add(item);
  }

  function clustersOf({ decision }: Plan, strategy: Intent['rollout']): RolloutRequest['clusters'] {
    return decision.chosen.flatMap((name): Omit<RolloutCluster, 'revision'>[] => {
      const cluster = inventory.get(name);
      if (!cluster) return [];
      const { labels = {} } = cluster.metadata;
      const skipStages = strategy ? skippedStages(strategy, { name, labels }) : [];
      return [
        { name, labels, ...(skipStages.length === 0 ? {} : { skipStages }), ...maintenanceOf(cluster) },
      ];
    });
  }

  return {
    inTurn,
    async isBegun({ key, dispatch, orders }, { rollout, revisionHistoryLimit }): Promise<boolean> {
      if (orders !== undefined) return true;
      if (rollout === undefined && revisionHistoryLimit === undefined) return false;
      return rollouts.isKept(key, dispatch);
    },
    async roll(item, intent, asked, next, older): Promise<boolean> {
      const { rollout, revisionHistoryLimit } = asked;
      if (rollout === undefined && revisionHistoryLimit === undefined) {
        if (!asked.suspend) await forget(item, intent);
        return false;
      }
      const selfContained = intent.source.selfContained === true;
      forgotten.delete(item);
      return inTurn(item.key, async () => {
        const rolled = await rollouts.plan({
          key: item.key,
          dispatch: item.dispatch,
          intent: asked,
          plan: next,
          clusters: clustersOf(next, rollout),
          holding: holding(item),
          recorded: { generation: item.generation, digest: item.digest },
          sent: item.sent,
          ...older,
          refusal: (other) => refusal(other, selfContained),
          sight: (cluster, generation) => {
            const present = fleet.session(cluster)?.dispatch(item.dispatch)?.spec;
            // It is not on its way to what it was told, but well with what it has.
            const told = waitsForTurn(item, cluster, present) ? present?.position.generation : undefined;
            return observeCluster(fleet, item, cluster, { generation: told ?? generation, epoch: epoch() });
          },
          isKnown: (cluster) => inventory.has(cluster),
        });
        await commit(item, intent, rolled);
        item.plan = next;
        return true;
      });
    },
    advance: (item, intent) =>
      inTurn(item.key, async () => {
        const before = item.orders;
        if (!before || item.retracting) return undefined;
        const rolled = await rollouts.advance(item.key, holding(item));
        if (!rolled) return undefined;
        await commit(item, intent, rolled);
        return [...rolled.orders].flatMap(([name, order]) => (isSame(before.get(name), order) ? [] : [name]));
      }),
    forget,
  };
}

function isSame(a: ClusterOrder | undefined, b: ClusterOrder): boolean {
  if (a?.generation !== b.generation) return false;
  return 'withheld' in a === 'withheld' in b && isHeld(a) === isHeld(b);
}

function isHeld(order: ClusterOrder): boolean {
  return 'hold' in order && order.hold === true;
}

/** What the owner of a cluster says about when it may be changed. */
function maintenanceOf({
  spec,
}: SpokeCluster): Pick<RolloutCluster, 'windows' | 'enforceWindows' | 'allowEmergency'> {
  const { windows = [], enforceWindow = false, allowEmergencyUpdates = false } = spec.maintenance ?? {};
  if (windows.length === 0) return {};
  return {
    windows: windows.map(
      ({ timezone, ...window }): MaintenanceWindow => ({
        ...window,
        ...(timezone === undefined ? {} : { timeZone: timezone }),
      }),
    ),
    enforceWindows: enforceWindow,
    allowEmergency: allowEmergencyUpdates,
  };
}
