import {
  avoidedClusters,
  type CarriedState,
  type ClusterTaint,
  type FailoverEvent,
  type FailoverRate,
  type FailoverRecord,
  type FailoverState,
  type FailoverStep,
  type IntentSight,
  keptCopies,
  leftByMoves,
  type Move,
  mayBeLast,
  NOT_READY_TAINT,
  nextSight,
  noFailover,
  type FailoverOptions as Options,
  paidFor,
  type SightEvent,
  shifted,
  stepFailover,
  UNREACHABLE_TAINT,
} from '../../engine/failover/index.ts';
import type { ClusterFacts, Intent } from '../../engine/intent.ts';
import type { Decision, Placement, Toleration } from '../../engine/place/index.ts';
import { type ClusterObservation, summariseCluster } from '../../engine/summarise/summarise.ts';
import { createAlarm } from '../../runtime/alarm.ts';
import { clockSetBetween, parseTime, readClocks } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, isObject, type JsonObject } from '../../schema/json.ts';

/** What a decision has to mind. */
export interface FailoverMind {
  /** The placement to decide by: the intent's own, or one under which copies do not leave before they are moved. */
  readonly placement: Placement;
  readonly avoid: readonly string[];
  /** What to take for the decision before: set where a copy goes back. */
  readonly previous?: Decision;
}

export interface Failover {
  /** What was under way when the process before ended. Once, before everything else of the intent. */
  restore(key: string, record: FailoverRecord | undefined): void;
  /** The fleet as it is. The same facts are the same objects. */
  setFleet(clusters: readonly ClusterFacts[]): void;
  mind(key: string, intent: Intent, before: Decision | undefined): FailoverMind;
  /** After a decision was made durable. Without options nothing is moved, and nothing is kept any more. */
  decided(key: string, options: Options | undefined, chosen: readonly string[]): void;
  /** What the hub sees of the copies of an intent. */
  seen(key: string, observations: readonly ClusterObservation[]): void;
  /** What the copies in clusters that had none before are to be labelled with. */
  carried(key: string): CarriedState | undefined;
  /** Whether the copy on a cluster stays as it is although the decision, for `chosen`, has left the cluster. */
  keeps(key: string, cluster: string, wanted: Options | undefined, chosen: readonly string[]): boolean;
  /** Whether a cluster is left because the copy there moved, or went back. */
  isLeft(key: string, cluster: string): boolean;
  /** What is to be remembered now, while `held` may hold copies; `undefined` where nothing is. */
  record(key: string, held: ReadonlySet<string>): FailoverRecord | undefined;
  /** Lets clusters be chosen again that copies were moved away from. */
  release(key: string): void;
  forget(key: string): void;
  /** The hub no longer only observes: decisions and health are to be told again. */
  resume(): void;
  stop(): void;
}

export interface FailoverOptions {
  readonly rate?: FailoverRate;
  /** While true nothing is begun and nothing is ended. */
  readonly paused: () => boolean;
  /** An intent is to be decided anew, or may let a copy go. */
  readonly onMove: (key: string) => void;
  /** Health is to be told again. */
  readonly onLook: (key: string) => void;
}

/** What is seen within this time is judged together: one look at the fleet, however many intents a lost cluster had. */
const GATHER_MS = 20;
/** Each look is at every intent: the more there are, the rarer. */
const INTENTS_A_MS = 50;
const LONGEST_WAIT_MS = 3_600_000;
/** What the hub itself says of a cluster keeps new copies away; for failover it is a reason to leave. */
const OWN_TAINTS: ReadonlySet<string> = new Set([UNREACHABLE_TAINT, NOT_READY_TAINT]);
/** What is placed leaves when it is moved, not when its cluster is tainted; what is new is kept away as ever. */
const UNTIL_MOVED: Toleration = { operator: 'Exists', tolerationSeconds: Number.POSITIVE_INFINITY };

export function createFailover(runtime: Runtime, options: FailoverOptions): Failover {
  const { clock } = runtime;
  let state: FailoverState = noFailover(options.rate);
  const carried = new Map<string, CarriedState>();
  const last = new Map<string, NonNullable<FailoverRecord['last']>>();
  /** Clusters whose copy may go. */
  const left = new Map<string, readonly string[]>();
  const facts = new Map<string, ClusterFacts>();
  /** What was told last, so that only what is new is. By intent, then by cluster. */
  const told = new Map<string, Map<string, string>>();
  /** Intents of which a copy is kept that may be the last. */
  const lasting = new Set<string>();
  const placements = new WeakMap<Placement, Placement>();
  let gathered: FailoverEvent[] = [];
  /** What is known of intents since the last look, by key: the state is not copied for each. Undefined where one is forgotten. */
  const fresh = new Map<string, IntentSight | undefined>();
  const alarm = createAlarm(clock, flush);
  /** How many there were at the last look. */
  let intentsSeen = 0;
  let lookedAt = readClocks(clock);

  /** Follows the wall clock where it was set: nobody has waited longer for that, and nothing is due. */
  function followClock(): void {
    const present = readClocks(clock);
    const by = clockSetBetween(lookedAt, present);
    lookedAt = present;
    if (by === 0) return;
    mergeFresh();
    state = shifted(state, by);
  }

  function mergeFresh(): void {
    if (fresh.size === 0) return;
    const intents: Record<string, IntentSight> = { ...state.intents };
    for (const [key, sight] of fresh)
      if (sight) intents[key] = sight;
      else delete intents[key];
    fresh.clear();
    state = { ...state, intents };
  }

  function sightOf(key: string): IntentSight | undefined {
    return fresh.has(key) ? fresh.get(key) : state.intents[key];
  }

  /** One intent as a state. */
  function only(key: string): Pick<FailoverState, 'intents'> {
    const sight = sightOf(key);
    return { intents: sight ? { [key]: sight } : {} };
  }

  /** At once: what is told from now on is told of what is known then. */
  function takeIn(event: SightEvent): void {
    followClock();
    fresh.set(event.intent, nextSight(sightOf(event.intent), event, clock.now()));
  }

  function lookSoon(): void {
    alarm.within(GATHER_MS + Math.floor(intentsSeen / INTENTS_A_MS));
  }

  function wake(at: number | undefined): void {
    if (at !== undefined) alarm.within(Math.min(LONGEST_WAIT_MS, Math.max(0, at - clock.now())));
  }

  function tell(...events: readonly FailoverEvent[]): void {
    if (events.length === 0) return;
    gathered.push(...events);
    lookSoon();
  }

  function flush(): void {
    if (options.paused()) return;
    const events: FailoverEvent[] = gathered.length > 0 ? gathered : [{ type: 'tick' }];
    gathered = [];
    const before = state.intents;
    followClock();
    mergeFresh();
    const step = stepFailover(state, events, clock.now());
    state = step.state;
    const concerned = new Set<string>();
    intentsSeen = 0;
    for (const [key, { moves }] of Object.entries(state.intents)) {
      intentsSeen += 1;
      const known = before[key]?.moves ?? [];
      if (moves !== known && moves.length + known.length > 0) concerned.add(key);
    }
    carryOut(step.effects, concerned);
    wake(step.nextAt);
  }

  function carryOut(effects: FailoverStep['effects'], concerned: Set<string>): void {
    for (const effect of effects) {
      if (effect.type === 'proven') {
        if (lasting.delete(effect.intent)) concerned.add(effect.intent);
        continue;
      }
      concerned.add(effect.intent);
      if (effect.type === 'move') {
        const { intent, from, labels } = effect;
        const { before = [] } = moving(intent).find((move) => move.from === from) ?? {};
        if (Object.keys(labels).length > 0) carried.set(intent, { labels, before });
        else carried.delete(intent);
      } else if (effect.type === 'remove') {
        const { intent, cluster } = effect;
        left.set(intent, [...(left.get(intent) ?? []).filter((name) => name !== cluster), cluster]);
      } else if (effect.type === 'record') {
        const { reason, cluster, message } = effect;
        last.set(effect.intent, { reason, cluster, message, at: clock.now() });
        if (reason === 'FailoverCancelled') carried.delete(effect.intent);
        runtime.log.info('failover', { intent: effect.intent, cluster, reason, why: message });
      }
    }
    for (const key of concerned) options.onMove(key);
  }

  function keepLeft(key: string, isStillLeft: (cluster: string) => boolean): void {
    const known = left.get(key);
    const kept = known?.filter(isStillLeft);
    if (!kept || kept.length === 0) left.delete(key);
    else if (kept.length < (known?.length ?? 0)) left.set(key, kept);
  }

  /** Only those have a place in the state who asked for failover. */
  function isKnown(key: string): boolean {
    return sightOf(key) !== undefined;
  }

  function moving(key: string): readonly Move[] {
    return sightOf(key)?.moves ?? [];
  }

  function ownTolerating(placement: Placement): Placement {
    let result = placements.get(placement);
    if (!result) {
      result = { ...placement, tolerations: [...(placement.tolerations ?? []), UNTIL_MOVED] };
      placements.set(placement, result);
    }
    return result;
  }

  /** The decision before, as if the copy had gone back already: what is placed stays, so it does. */
  function wentBack(key: string, before: Decision | undefined): Decision | undefined {
    const returning = moving(key).filter(({ phase }) => phase === 'Returning');
    if (!before || returning.every(({ from }) => before.chosen.includes(from))) return undefined;
    const chosen = new Set(before.chosen);
    for (const { from, to = [], before: there } of returning) {
      for (const cluster of to) if (!there.includes(cluster)) chosen.delete(cluster);
      chosen.add(from);
    }
    return { ...before, chosen: [...chosen].sort() };
  }

  return {
    restore(key, record): void {
      // A status can be written by others: one that is no record is none.
      if (!record || !Array.isArray(record.moves)) return;
      if (record.carried) carried.set(key, record.carried);
      if (record.last) last.set(key, record.last);
      if (Array.isArray(record.left)) left.set(key, record.left);
      const moves = record.moves.filter(isMove);
      if (moves.length === 0) return;
      takeIn({ type: 'restore', intent: key, moves });
      state = { ...state, ...paidFor(state, moving(key)) };
    },
    setFleet(clusters): void {
      if (options.paused()) return;
      const gone = new Set(facts.keys());
      for (const cluster of clusters) {
        gone.delete(cluster.name);
        if (facts.get(cluster.name) === cluster) continue;
        const before = facts.get(cluster.name);
        facts.set(cluster.name, cluster);
        const taints = taintsOf(cluster);
        if (before && deepEqual(taintsOf(before), taints)) continue;
        tell({ type: 'taints', cluster: cluster.name, taints });
      }
      for (const name of gone) {
        facts.delete(name);
        tell({ type: 'gone', cluster: name });
      }
    },
    mind(key, { failover, placement }, before): FailoverMind {
      if (!failover) return { placement, avoid: [] };
      const previous = wentBack(key, before);
      return {
        placement: failover.cluster ? ownTolerating(placement) : placement,
        avoid: avoidedClusters(only(key), key),
        ...(previous === undefined ? {} : { previous }),
      };
    },
    decided(key, wanted, chosen): void {
      if (options.paused()) return;
      keepLeft(key, (cluster) => !chosen.includes(cluster));
      if (!wanted) {
        if (!isKnown(key)) return;
        told.delete(key);
        carried.delete(key);
        last.delete(key);
        lasting.delete(key);
        takeIn({ type: 'forget', intent: key });
        options.onMove(key);
        return;
      }
      for (const cluster of wanted.release ?? [])
        if (moving(key).some(({ from, phase }) => from === cluster && phase === 'Leaving'))
          tell({ type: 'release', intent: key, cluster });
      const sight = sightOf(key);
      const isKnownSo =
        sight?.recalled !== true && deepEqual(sight?.options, wanted) && deepEqual(sight?.clusters, chosen);
      if (isKnownSo) return;
      told.delete(key);
      takeIn({ type: 'intent', intent: key, options: wanted, clusters: [...chosen] });
      lookSoon();
      options.onLook(key);
    },
    seen(key, observations): void {
      if (!isKnown(key) || options.paused()) return;
      let known = told.get(key);
      if (!known) {
        known = new Map();
        told.set(key, known);
      }
      for (const observation of observations) {
        const rules = sightOf(key)?.options.statePreservation ?? [];
        const status = rules.length > 0 ? statusOf(observation) : undefined;
        const health = { ...healthOf(observation), ...(status === undefined ? {} : { status }) };
        const word = JSON.stringify(health);
        if (known.get(observation.cluster) === word) continue;
        known.set(observation.cluster, word);
        takeIn({ type: 'health', intent: key, cluster: observation.cluster, ...health });
        lookSoon();
      }
    },
    carried: (key) => carried.get(key),
    keeps(key, cluster, wanted, chosen): boolean {
      if (keptCopies(only(key), key).includes(cluster)) return true;
      const isLeft = moving(key).some(({ from }) => from === cluster);
      if (!wanted || isLeft || !mayBeLast(only(key), key, wanted, chosen)) return false;
      lasting.add(key);
      return true;
    },
    isLeft: (key, cluster) => leftByMoves({ moves: moving(key), left: left.get(key) ?? [] }).has(cluster),
    record(key, held): FailoverRecord | undefined {
      followClock();
      keepLeft(key, (cluster) => held.has(cluster));
      const moves = moving(key);
      const lastly = last.get(key);
      const leaving = left.get(key);
      if (moves.length === 0 && lastly === undefined && leaving === undefined) return undefined;
      const state = carried.get(key);
      return {
        moves,
        ...(leaving === undefined ? {} : { left: leaving }),
        ...(state === undefined ? {} : { carried: state }),
        ...(lastly === undefined ? {} : { last: lastly }),
      };
    },
    release(key): void {
      tell(...moving(key).map(({ from }) => ({ type: 'release', intent: key, cluster: from }) as const));
    },
    forget(key): void {
      told.delete(key);
      carried.delete(key);
      last.delete(key);
      left.delete(key);
      lasting.delete(key);
      if (isKnown(key)) takeIn({ type: 'forget', intent: key });
      gathered = gathered.filter((event) => !('intent' in event) || event.intent !== key);
    },
    resume: () => wake(clock.now()),
    stop: alarm.cancel,
  };
}

function isMove(value: unknown): value is Move {
  if (!isObject(value)) return false;
  const { from, at, until, before } = value;
  return typeof from === 'string' && Number.isFinite(at) && Number.isFinite(until) && Array.isArray(before);
}

/** Taints that copies leave for, with when they came. */
function taintsOf({ taints = [] }: ClusterFacts): readonly (ClusterTaint & { readonly since?: number })[] {
  return taints.flatMap(({ key, value, effect, timeAdded }) => {
    if (effect !== 'NoExecute' && effect !== 'NoSelect' && !OWN_TAINTS.has(key)) return [];
    const since = timeAdded === undefined ? undefined : parseTime(timeAdded);
    return [
      {
        key,
        effect: 'NoExecute',
        ...(value === undefined ? {} : { value }),
        ...(since === undefined ? {} : { since }),
      },
    ];
  });
}

/** What an observation says of a copy. One whose order has not arrived says nothing of it. */
function healthOf(observation: ClusterObservation): { readonly live: boolean; readonly healthy: boolean } {
  const { word, reason } = summariseCluster(observation);
  if (word === 'Ready') return { live: true, healthy: true };
  const isSeen = word === 'Progressing' || (word === 'Degraded' && !UNSENT.has(reason));
  return { live: isSeen, healthy: false };
}

/** The status of the workload: the first of the objects that have one. */
function statusOf({ status }: ClusterObservation): JsonObject | undefined {
  return status?.returned?.find((item) => Object.keys(item.status).length > 0)?.status;
}

const UNSENT: ReadonlySet<string> = new Set(['NotDispatched', 'DispatchTimedOut']);
