import type { PropagationFindings } from '../../dialects/propagation/report.ts';
import type { Compiled } from '../../engine/compiled.ts';
import { dispatchName, extendHistory } from '../../engine/dispatch/index.ts';
import type { Intent } from '../../engine/intent.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { type KubeObject, refKey } from '../../kube/object.ts';
import type { LostClaim } from '../claims/index.ts';
import type { Order } from '../dispatch/dispatcher.ts';
import type { IntentObject, IntentRecord } from '../intents/index.ts';
import type { ClusterOrder } from '../rollouts/index.ts';
import type { Retraction } from './retractions.ts';

/** Prefix of the keys of retractions, beside those of intents. */
export const RETRACTION_KEY: string = 'Retraction/';
/** Prefix of the keys of intents of whose rollouts something was seen or said. */
export const ROLLOUT_KEY: string = 'Rollout/';
/** Recorded instead of a plan's digest when everything is to go. */
export const RETRACTED: string = 'retracted';

interface DispatchProblem {
  readonly message: string;
  /** The spoke did not answer: whether it got the order is not known. */
  readonly late?: true;
  /** It has it, and says something of orders of this hub that it cannot show. */
  readonly unproven?: true;
}

/** What is known of one intent, in memory. Everything here can be computed again from the API server and the spokes. */
export interface Tracked {
  readonly key: string;
  readonly uid: string;
  /** Name of its dispatch on every spoke. */
  readonly dispatch: string;
  /** Set where the object is gone and this is only taken back. */
  readonly source?: Plan['source'];
  /** What is sent: the plan that `generation` and `digest` stand for. Absent until it is known after a start. */
  plan?: Plan;
  /** What was computed last, for explanations. The same as `plan` but while changes are held back. */
  latest?: Plan;
  compiled?: Compiled;
  /** The content that `plan` was made of, with the digest of the plan: what was sent before content was rolled out. */
  sent?: { readonly intent: Intent; readonly digest: string };
  /** What each cluster is to have now, where content is rolled out; otherwise all are to have `plan`. */
  orders?: ReadonlyMap<string, ClusterOrder>;
  /** Position and digest of the plan as they are recorded at the hub. */
  generation: number;
  digest: string;
  /** What this hub found when it looked first: the generation that was recorded, 0 where there was none, and the object's own. */
  readonly begun: { readonly dispatched: number; readonly generation: number };
  /** What earlier generations stood for, as far as it is remembered. */
  history: readonly string[];
  /** Clusters that may hold objects of it. Changed by the table only, which finds by it. */
  readonly dispatchedTo: ReadonlySet<string>;
  /** Clusters that hold a dispatch of it though nothing says so here: a spoke that was restored from a backup. */
  readonly found: Set<string>;
  /** Why a cluster did not get its order. */
  readonly problems: Map<string, DispatchProblem>;
  selection: PropagationFindings['selection'];
  /** Selected objects that another intent has. */
  lost?: readonly LostClaim[];
  retracting: boolean;
  /** Set while what is to be remembered of it is being written: what is read of it may be ahead of what is known here. */
  recording?: true;
  /** What it brought stays where it is taken back, without marks. */
  readonly release?: true;
}

/** All that is tracked, found by key, by the name of the dispatch, and by spoke: no event of a spoke looks at every intent. */
export interface TrackedTable {
  get(key: string): Tracked | undefined;
  has(key: string): boolean;
  /** By the name of its dispatch. */
  ofDispatch(name: string): Tracked | undefined;
  /** Those that a spoke may hold objects of. */
  onSpoke(spoke: string): Iterable<Tracked>;
  values(): Iterable<Tracked>;
  /** The keys of the intents that send objects, by `refKey`: one look at all intents, however many objects are asked for. */
  sendersOf(objects: ReadonlySet<string>): ReadonlyMap<string, string>;
  /** `item.dispatchedTo` is where it starts from. Replaces what has the same key. */
  add(item: Tracked): void;
  remove(key: string): void;
  setDispatchedTo(item: Tracked, spokes: Iterable<string>): void;
}

export function trackedTable(): TrackedTable {
  const byKey = new Map<string, Tracked>();
  const byDispatch = new Map<string, Tracked>();
  const bySpoke = new Map<string, Set<Tracked>>();

  function index(item: Tracked, spokes: Iterable<string>): void {
    for (const spoke of spokes) {
      const present = bySpoke.get(spoke);
      if (present) present.add(item);
      else bySpoke.set(spoke, new Set([item]));
    }
  }

  function unindex(item: Tracked, spokes: Iterable<string>): void {
    for (const spoke of spokes) {
      const present = bySpoke.get(spoke);
      present?.delete(item);
      if (present?.size === 0) bySpoke.delete(spoke);
    }
  }

  function remove(key: string): void {
    const item = byKey.get(key);
    if (!item) return;
    byKey.delete(key);
    if (byDispatch.get(item.dispatch) === item) byDispatch.delete(item.dispatch);
    unindex(item, item.dispatchedTo);
  }

  return {
    get: (key) => byKey.get(key),
    has: (key) => byKey.has(key),
    // A retraction takes over the dispatch of the intent that it came from, whichever of them was looked at first after a start.
    ofDispatch: (name) => byKey.get(RETRACTION_KEY + name) ?? byDispatch.get(name),
    onSpoke: (spoke) => [...(bySpoke.get(spoke) ?? [])],
    values: () => byKey.values(),
    sendersOf(objects): ReadonlyMap<string, string> {
      const senders = new Map<string, string>();
      if (objects.size === 0) return senders;
      for (const { retracting, latest, key } of byKey.values()) {
        if (retracting) continue;
        for (const ref of latest?.objects ?? []) {
          const object = refKey(ref);
          if (objects.has(object) && !senders.has(object)) senders.set(object, key);
        }
      }
      return senders;
    },
    add(item): void {
      remove(item.key);
      byKey.set(item.key, item);
      byDispatch.set(item.dispatch, item);
      index(item, item.dispatchedTo);
    },
    remove,
    setDispatchedTo(item, spokes): void {
      const next = new Set(spokes);
      if (byKey.get(item.key) === item) {
        unindex(item, item.dispatchedTo);
        index(item, next);
      }
      (item as { dispatchedTo: ReadonlySet<string> }).dispatchedTo = next;
      // What is found while this is being written down has not been looked at.
      for (const spoke of next) item.found.delete(spoke);
      for (const spoke of item.problems.keys()) if (!next.has(spoke)) item.problems.delete(spoke);
    },
  };
}

const chosenOf = new WeakMap<Plan, ReadonlySet<string>>();

/** Whether a spoke is to have what is tracked. */
export function isChosen({ retracting, plan }: Tracked, spoke: string): boolean {
  if (retracting || !plan) return false;
  let chosen = chosenOf.get(plan);
  if (!chosen) {
    chosen = new Set(plan.decision.chosen);
    chosenOf.set(plan, chosen);
  }
  return chosen.has(spoke);
}

/** Whether what is tracked asks for its content to be rolled out, or to be kept. */
export function isRolledOut({ compiled }: Tracked): boolean {
  const { rollout, revisionHistoryLimit } = compiled?.intent ?? {};
  return rollout !== undefined || revisionHistoryLimit !== undefined;
}

/** What a spoke is to have now; undefined where nothing is said to it, and it keeps what it has. */
export function orderOf(
  item: Tracked,
  spoke: string,
): Pick<Order, 'plan' | 'generation' | 'digest' | 'history' | 'hold'> | undefined {
  const { generation, digest, history } = item;
  if (item.orders && !item.retracting) {
    const order = item.orders.get(spoke);
    if (!order || 'withheld' in order) return undefined;
    return {
      plan: order.plan,
      generation: order.generation,
      digest: order.digest,
      history: order.generation === generation ? history : remember(item),
      ...(order.hold === undefined ? {} : { hold: order.hold }),
    };
  }
  // Who may have what is not known yet.
  if (!item.retracting && isRolledOut(item)) return undefined;
  return { plan: isChosen(item, spoke) ? item.plan : undefined, generation, digest, history };
}

/** Writes what is to be remembered of an intent, and knows it from then on. */
export async function writeRecord(
  item: Tracked,
  { source, object }: IntentObject,
  record: IntentRecord,
  known: () => void,
): Promise<void> {
  item.recording = true;
  try {
    await source.writeRecord(object, record);
    known();
  } finally {
    delete item.recording;
  }
}

/** What is tracked of an intent from the beginning: what the hub remembers of it. */
export function trackedIntent(key: string, object: KubeObject, record: IntentRecord | undefined): Tracked {
  return {
    key,
    uid: object.metadata.uid ?? '',
    dispatch: dispatchName(sourceOf(object)),
    generation: record?.dispatchGeneration ?? 0,
    digest: record?.dispatchDigest ?? '',
    begun: {
      dispatched: record?.dispatchGeneration ?? 0,
      generation: object.metadata.generation ?? 0,
    },
    history: record?.dispatchHistory ?? [],
    dispatchedTo: new Set(record?.dispatchedTo ?? []),
    found: new Set(),
    problems: new Map(),
    selection: { ok: false, reason: 'Reading', message: 'the selected kinds are being read' },
    retracting: record?.dispatchDigest === RETRACTED,
  };
}

/** What is tracked of something that is only taken back. */
export function trackedRetraction(dispatch: string, spec: Retraction['spec']): Tracked {
  const { source, generation, digest, history = [], clusters, release } = spec;
  return {
    key: RETRACTION_KEY + dispatch,
    uid: source.uid,
    dispatch,
    source,
    generation,
    digest,
    begun: { dispatched: generation, generation: source.generation },
    history,
    dispatchedTo: new Set(clusters),
    found: new Set(),
    problems: new Map(),
    selection: { ok: true, reason: 'Retracted', message: '' },
    retracting: true,
    ...(release === true ? { release } : {}),
  };
}

/** The history once the present generation is of the past. */
export function remember({ history, generation, digest }: Tracked): readonly string[] {
  return generation === 0 ? history : extendHistory(history, generation, digest);
}

/** By which the spokes know where an intent comes from. */
export function sourceOf({ apiVersion, kind, metadata }: KubeObject): Plan['source'] {
  const { namespace = '', name = '', uid = '', generation = 0 } = metadata;
  return { apiVersion, kind, namespace, name, uid, generation };
}
