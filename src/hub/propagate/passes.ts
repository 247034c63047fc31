import type { Result } from '../../kube/controller.ts';
import type { GoneIntent, IntentObject, Intents } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import type { HubMode } from '../mode.ts';
import type { OverridePolicies } from '../overrides/index.ts';
import type { PlacementPolicies } from '../placement/index.ts';
import type { Rollouts } from '../rollouts/index.ts';
import type { StatusReflector } from '../status/index.ts';
import type { ClusterPatches } from './cluster-patches.ts';
import type { Deciding } from './deciding.ts';
import type { Planning } from './planning.ts';
import type { RollingOut } from './rolling-out.ts';
import type { TakingBack } from './taking-back.ts';
import { RETRACTION_KEY, ROLLOUT_KEY, type Tracked, type TrackedTable, trackedIntent } from './tracked.ts';

export interface PassesOptions {
  readonly clusterPatches: ClusterPatches;
  readonly deciding: Deciding;
  readonly intents: Intents;
  readonly inventory: Inventory;
  readonly mode: HubMode;
  readonly overridePolicies: OverridePolicies;
  readonly placementPolicies: PlacementPolicies;
  readonly planning: Planning;
  readonly rollingOut: RollingOut;
  readonly rollouts: Rollouts;
  readonly statuses: StatusReflector;
  readonly takingBack: TakingBack;
  readonly tracked: TrackedTable;
  /** What an intent has for its clusters stands. */
  readonly onOrders: (item: Tracked) => void;
  /** One cluster has something to be told. */
  readonly onOrder: (spoke: string, key: string) => void;
  /** What spokes that are away still owe of a dispatch is a Retraction's from now on. */
  readonly onHandedOver: (dispatch: string) => void;
  /** There is something to report of an intent. */
  readonly onNews: (key: string) => void;
  readonly onFailed: (key: string) => void;
}

/** What is done about one key at a time: an intent, its rollout, or what a deleted one left. */
export interface Passes {
  over(key: string): Promise<Result | undefined>;
  /** An object is gone of which nothing was ordered away: the next pass sees to what it left. */
  leave(key: string, left: GoneIntent): void;
}

const UNSYNCED_MS = 100;
const UNKNOWN_MS = 1_000;

export function createPasses(options: PassesOptions): Passes {
  const { clusterPatches, deciding, intents, inventory, mode, overridePolicies, placementPolicies } = options;
  const { planning, rollingOut, rollouts, statuses, takingBack, tracked } = options;
  /** Objects that are gone, until what they left is seen to. */
  const gone = new Map<string, GoneIntent[]>();

  async function over(key: string): Promise<Result | undefined> {
    if (key.startsWith(ROLLOUT_KEY)) return lookAtRollout(key.slice(ROLLOUT_KEY.length));
    if (key.startsWith(RETRACTION_KEY)) {
      await inventory.whenSynced();
      const { left, again } = await takingBack.takeBack(key);
      for (const spoke of left) options.onOrder(spoke, key);
      return again;
    }
    const intent = intents.get(key);
    await letGo(key);
    if (!intent) {
      forget(key);
      return undefined;
    }
    await inventory.whenTried();
    if (inventory.unread !== undefined) {
      await intent.source.tellUnread?.(intent.object);
      return undefined;
    }
    await Promise.all([inventory.whenSynced(), placementPolicies.whenSynced(), overridePolicies.whenKnown()]);
    const item = track(key, intent);
    const { source, object } = intent;
    if (object.metadata.deletionTimestamp !== undefined) {
      if (source.holdsDeletion?.(object) !== undefined) return undefined;
      await rollingOut.forget(item, intent);
      const outcome = await rollingOut.inTurn(key, () => takingBack.retract(item, intent));
      if (outcome === 'ordered') options.onOrders(item);
      else {
        options.onHandedOver(item.dispatch);
        await rollingOut.forget(item, intent);
        forget(key);
      }
      return undefined;
    }
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(source.finalizer))
      await source.setFinalizers(object, [...finalizers, source.finalizer]);
    let again: Result | undefined;
    try {
      again = await planning.plan(item, intent);
    } catch (error) {
      options.onFailed(item.key);
      throw error;
    }
    clusterPatches.planned(item);
    options.onOrders(item);
    return again;
  }

  async function lookAtRollout(key: string): Promise<Result | undefined> {
    const intent = intents.get(key);
    const item = tracked.get(key);
    if (!intent) {
      if (!intents.synced) return { requeueAfterMs: UNSYNCED_MS };
      await rollouts.dismiss(key, 'there is no such object');
      return undefined;
    }
    // Clusters that are ahead of a restored hub have not failed; who confirms has everything planned again.
    if (mode.observing !== undefined) return undefined;
    const changed = item && (await rollingOut.advance(item, intent));
    if (item && changed) {
      for (const spoke of changed) options.onOrder(spoke, key);
      options.onNews(key);
    } else if (item?.latest && !item.orders)
      await rollouts.dismiss(key, 'it has neither spec.rollout nor spec.revisionHistoryLimit');
    // It was not looked at since this hub started.
    else if (rollouts.isAddressed(key)) return { requeueAfterMs: UNKNOWN_MS };
    return undefined;
  }

  function track(key: string, { source, object }: IntentObject): Tracked {
    const known = tracked.get(key);
    if (known && known.uid === object.metadata.uid) return known;
    const record = source.record(object);
    const item = trackedIntent(key, object, record);
    tracked.add(item);
    deciding.restore(key, record);
    return item;
  }

  /** What objects leave of which their API server told that they are gone, though nothing was ordered away. */
  async function letGo(key: string): Promise<void> {
    const left = gone.get(key) ?? [];
    for (const { object, record } of left) {
      const known = tracked.get(key);
      const item = known && known.uid === object.metadata.uid ? known : trackedIntent(key, object, record);
      await rollingOut.inTurn(key, async () => {
        await takingBack.letGo(item, object);
        if ((record?.revisions ?? []).length > 0) await rollouts.forget(key, item.dispatch);
      });
    }
    // Another of the same name may have gone meanwhile, which has its key looked at again.
    const more = (gone.get(key) ?? []).slice(left.length);
    if (more.length > 0) gone.set(key, more);
    else gone.delete(key);
  }

  function forget(key: string): void {
    tracked.remove(key);
    planning.forget(key);
    deciding.forget(key);
    clusterPatches.forget(key);
    rollouts.leave(key);
    statuses.forget(key);
  }

  return {
    over,
    leave: (key, left) => void gone.set(key, [...(gone.get(key) ?? []), left]),
  };
}
