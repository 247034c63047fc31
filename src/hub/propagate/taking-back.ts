import type { Result } from '../../kube/controller.ts';
import type { KubeObject } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import type { IntentObject } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import type { Retraction, Retractions } from './retractions.ts';
import {
  RETRACTED,
  RETRACTION_KEY,
  remember,
  sourceOf,
  type Tracked,
  type TrackedTable,
  trackedRetraction,
  writeRecord,
} from './tracked.ts';

export interface TakingBackOptions {
  readonly inventory: Inventory;
  readonly retractions: Retractions;
  readonly tracked: TrackedTable;
}

/** What becomes of an intent that is being deleted: everything that it brought is ordered away. */
export interface TakingBack {
  /**
   * One pass over an object that is being deleted. `handedOver` once nothing holds the object any more: what spokes that are
   * away still owe is remembered apart, and the object is let go.
   */
  retract(item: Tracked, intent: IntentObject): Promise<'ordered' | 'handedOver'>;
  /**
   * What an object leaves that is gone and ordered nothing away, its finalizer being taken off by force: it is nobody's from then on
   * and stays, without marks. Durable when resolved; a no-op where it is ordered away already.
   */
  letGo(item: Tracked, object: KubeObject): Promise<void>;
  /** One pass over what a deleted object left on spokes that were away; says which spokes owe something still. */
  takeBack(key: string): Promise<{ readonly left: readonly string[]; readonly again?: Result | undefined }>;
}

const CATCH_UP_MS = 30;

export function createTakingBack({ inventory, retractions, tracked }: TakingBackOptions): TakingBack {
  /** Clusters that are no longer of the fleet owe nothing. */
  function settleOn(item: Tracked, spokes: readonly string[]): readonly string[] {
    tracked.setDispatchedTo(
      item,
      spokes.filter((name) => inventory.has(name)),
    );
    item.found.clear();
    return [...item.dispatchedTo].sort();
  }

  /** Before anything is taken away: that it is to be, durable at the hub. */
  async function order(item: Tracked, intent: IntentObject): Promise<void> {
    const generation = item.generation + 1;
    const history = remember(item);
    const record = {
      dispatchGeneration: generation,
      dispatchDigest: RETRACTED,
      dispatchHistory: [...history],
    };
    await writeRecord(item, intent, record, () => {
      item.history = history;
      item.retracting = true;
      item.generation = generation;
      item.digest = RETRACTED;
    });
  }

  return {
    async retract(item, intent): Promise<'ordered' | 'handedOver'> {
      if (!item.retracting) await order(item, intent);
      const left = settleOn(item, [...item.dispatchedTo, ...item.found]);
      const remembered = retractions.get(item.dispatch)?.spec;
      const handedOver = remembered !== undefined || retractions.adding(item.dispatch);
      // Spokes that are away hold up nobody, unless others wait for it: what they owe is remembered apart, and done when they return.
      const waits = intent.source.waitsForAway?.(intent.object) === true;
      if (!handedOver && left.some((name) => waits || !inventory.unreachable(name))) return 'ordered';
      const { generation, digest, history } = item;
      const spec = remembered ?? {
        source: sourceOf(intent.object),
        generation,
        digest,
        history,
        clusters: left,
        ...(intent.source.releases?.(intent.object) === true ? { release: true as const } : {}),
      };
      if (!handedOver) await retractions.add(item.dispatch, spec);
      const key = RETRACTION_KEY + item.dispatch;
      let heir = tracked.get(key);
      if (!heir) {
        heir = trackedRetraction(item.dispatch, spec);
        tracked.add(heir);
      }
      for (const name of left) if (!heir.dispatchedTo.has(name)) heir.found.add(name);
      const { source, object } = intent;
      const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== source.finalizer);
      await source.setFinalizers(object, finalizers);
      return 'handedOver';
    },
    async letGo(item, object): Promise<void> {
      const { dispatch, retracting, generation, history } = item;
      const clusters = [...new Set([...item.dispatchedTo, ...item.found])].sort();
      if (clusters.length === 0 || retractions.get(dispatch) || retractions.adding(dispatch)) return;
      const spec: Retraction['spec'] = {
        source: sourceOf(object),
        generation: retracting ? generation : generation + 1,
        digest: RETRACTED,
        history: retracting ? history : remember(item),
        clusters,
        ...(retracting ? {} : { release: true }),
      };
      await retractions.add(dispatch, spec);
      // Whoever meets its orders meanwhile must find that they are known.
      if (!tracked.has(RETRACTION_KEY + dispatch)) tracked.add(trackedRetraction(dispatch, spec));
    },
    async takeBack(key) {
      const name = key.slice(RETRACTION_KEY.length);
      const retraction = retractions.get(name);
      let item = tracked.get(key);
      if (!retraction) {
        // It may only not have come back from the API server yet.
        if (item && retractions.adding(name)) return { left: [], again: { requeueAfterMs: CATCH_UP_MS } };
        tracked.remove(key);
        return { left: [] };
      }
      const { clusters } = retraction.spec;
      if (!item) {
        item = trackedRetraction(name, retraction.spec);
        tracked.add(item);
      }
      const owing = [...item.dispatchedTo].filter((spoke) => clusters.includes(spoke));
      const left = settleOn(item, [...new Set([...owing, ...item.found])]);
      if (!deepEqual(left, [...clusters])) await retractions.leave(retraction, left);
      return left.length > 0 ? { left } : { left, again: await retractions.forgetLater(retraction) };
    },
  };
}
