import {
  type ClusterTaint,
  type FailoverOptions,
  type FailoverRate,
  isGraceful,
  toleratedSeconds,
} from './options.ts';
import { laterMove } from './shifted.ts';
import type {
  ClusterSight,
  CopyHealth,
  FailoverEffect,
  FailoverEvent,
  FailoverRecord,
  FailoverState,
  FailoverStep,
  IntentSight,
  Move,
  SightEvent,
} from './state.ts';
import { preserveState } from './state-preservation.ts';
import { takenAt, takeToken } from './token-bucket.ts';

const APPLICATION_S = 300;
const GRACE_S = 600;
const STABILISATION_S = 600;

/** The state of a fleet of which nothing is known. */
export function noFailover(rate: FailoverRate = {}): FailoverState {
  return { rate, clusters: {}, intents: {} };
}

/** What is to be moved about an event, or several that came together, at `now` (milliseconds). Pure. */
export function stepFailover(
  before: FailoverState,
  event: FailoverEvent | readonly FailoverEvent[],
  now: number,
): FailoverStep {
  const events = 'type' in event ? [event] : event;
  const work = createWork(takeIn(before, events, now), now);
  for (const one of events) if (one.type === 'release') work.release(one.intent, one.cluster);
  work.finishMoves();
  work.prove();
  work.startMoves();
  work.startReturn();
  return work.done();
}

/** Clusters that an intent is not to be decided to now. */
export function avoidedClusters(
  { intents }: Pick<FailoverState, 'intents'>,
  intent: string,
): readonly string[] {
  return (intents[intent]?.moves ?? []).filter(({ phase }) => phase !== 'Returning').map(({ from }) => from);
}

/** Clusters whose copy stays although the decision has left them: until a `remove` names them. */
export function keptCopies({ intents }: Pick<FailoverState, 'intents'>, intent: string): readonly string[] {
  return (intents[intent]?.moves ?? []).flatMap(({ phase, from, to = [], before }) => {
    if (phase === 'Leaving') return [from];
    return phase === 'Returning' ? to.filter((cluster) => !before.includes(cluster)) : [];
  });
}

/** Clusters that are left because a copy moved away from there, or went back: not because somebody chose others. */
export function leftByMoves({
  moves,
  left = [],
}: Pick<FailoverRecord, 'moves' | 'left'>): ReadonlySet<string> {
  const out = new Set(left);
  for (const { phase, from, to = [], before } of moves) {
    if (phase !== 'Returning') out.add(from);
    else for (const cluster of to) if (!before.includes(cluster)) out.add(cluster);
  }
  return out;
}

/**
 * Whether a copy stays on a cluster that was left by a decision for `chosen`, not by a move: while none of those is seen healthy
 * one that is may be the last.
 */
export function mayBeLast(
  { intents }: Pick<FailoverState, 'intents'>,
  intent: string,
  options: FailoverOptions,
  chosen: readonly string[],
): boolean {
  if (chosen.length === 0 || !isGraceful(options)) return false;
  const sight = intents[intent];
  if (!sight || sight.recalled || sight.unprovenSince !== undefined) return true;
  return !sameClusters(sight.clusters, chosen);
}

function sameClusters(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((cluster) => others.includes(cluster));
}

/** The state after events, one after the other: copied once for all of them. */
function takeIn(
  state: FailoverState,
  events: readonly FailoverEvent[],
  now: number,
): FailoverState & { intents: Record<string, IntentSight> } {
  const clusters: Record<string, ClusterSight> = { ...state.clusters };
  const intents: Record<string, IntentSight> = { ...state.intents };
  let paid: Pick<FailoverState, 'bucket'> = {};
  for (const event of events) {
    if (event.type === 'taints') {
      const before = Object.hasOwn(clusters, event.cluster) ? clusters[event.cluster] : undefined;
      clusters[event.cluster] = taintedSight(before, event.taints, now);
    } else if (event.type === 'gone') delete clusters[event.cluster];
    else if (event.type !== 'tick' && event.type !== 'release') {
      const sight = nextSight(intents[event.intent], event, now);
      if (sight) intents[event.intent] = sight;
      else delete intents[event.intent];
      if (event.type === 'restore') paid = paidFor({ ...state, ...paid }, sight?.moves ?? []);
    }
  }
  return { ...state, ...paid, clusters, intents };
}

function taintedSight(
  before: ClusterSight | undefined,
  present: Extract<FailoverEvent, { type: 'taints' }>['taints'],
  now: number,
): ClusterSight {
  const known = before?.taints ?? [];
  const taints = present
    .filter(({ effect }) => effect === 'NoExecute')
    .map((taint) => ({
      ...taint,
      since: known.find((other) => sameTaint(other, taint))?.since ?? Math.min(taint.since ?? now, now),
    }));
  const wellSince = taints.length > 0 ? undefined : (before?.wellSince ?? now);
  return { taints, ...(wellSince === undefined ? {} : { wellSince }) };
}

/**
 * What is known of one intent after an event of its own; undefined where it has no place in the state. Who has many intents takes
 * such events in one by one with this, and steps for all of them together: a step looks at every intent.
 */
export function nextSight(
  known: IntentSight | undefined,
  event: SightEvent,
  now: number,
): IntentSight | undefined {
  if (event.type === 'forget') return undefined;
  if (event.type === 'restore') {
    // The clock of the process before may have been ahead.
    const moves = event.moves.map((move) => (move.at > now ? laterMove(move, now - move.at) : move));
    return { options: {}, clusters: [], health: {}, moves, recalled: true };
  }
  if (event.type === 'intent') {
    const moves = (known?.moves ?? []).map(
      (move): Move => (move.phase === 'Returning' ? move : { ...move, to: event.clusters }),
    );
    return {
      options: event.options,
      clusters: event.clusters,
      health: moves.length > 0 ? outdated(known?.health ?? {}) : (known?.health ?? {}),
      moves,
      ...(isProven(known, event) ? {} : { unprovenSince: now }),
    };
  }
  if (!known) return undefined;
  const { cluster, live, healthy, status } = event;
  const before = known.health[cluster];
  const same = before !== undefined && before.live === live && before.healthy === healthy;
  // What was seen last of a copy that is out of sight now is still the best that is known of its state.
  const kept = status ?? before?.status;
  const copy: CopyHealth = {
    live,
    healthy,
    since: same ? before.since : now,
    ...(kept === undefined ? {} : { status: kept }),
  };
  return { ...known, health: { ...known.health, [cluster]: copy } };
}

/** Whether copies were seen where a decision says that they are to be, as far as it leaves any behind. */
function isProven(
  known: IntentSight | undefined,
  { options, clusters }: Extract<FailoverEvent, { type: 'intent' }>,
): boolean {
  if (clusters.length === 0 || !isGraceful(options)) return true;
  if (!known || known.recalled || known.unprovenSince !== undefined) return false;
  return known.clusters.every((cluster) => clusters.includes(cluster));
}

/** Moves that were begun have had their permits: a process that starts again has no new ones. */
export function paidFor(
  { bucket, rate }: Pick<FailoverState, 'bucket' | 'rate'>,
  moves: readonly Move[],
): Pick<FailoverState, 'bucket'> {
  let paid = bucket;
  for (const { at } of moves) paid = takenAt(paid, rate, at);
  return paid === undefined ? {} : { bucket: paid };
}

/** A copy that was healthy before a decision says nothing about the one after it: it has to be seen again. */
function outdated(health: IntentSight['health']): IntentSight['health'] {
  return Object.fromEntries(
    Object.entries(health).map(([cluster, copy]) => [cluster, { ...copy, live: false }]),
  );
}

interface Work {
  release(intent: string, cluster: string): void;
  finishMoves(): void;
  prove(): void;
  startMoves(): void;
  startReturn(): void;
  done(): FailoverStep;
}

/** Changes the intents of the state, which are its own. */
function createWork(state: FailoverState & { intents: Record<string, IntentSight> }, now: number): Work {
  const effects: FailoverEffect[] = [];
  const { intents } = state;
  let bucket = state.bucket;
  let nextAt: number | undefined;
  const wake = (at: number): void => {
    if (Number.isFinite(at) && at > now) nextAt = Math.min(nextAt ?? at, at);
  };
  const record = (
    intent: string,
    cluster: string,
    reason: Extract<FailoverEffect, { type: 'record' }>['reason'],
    message: string,
  ): void => {
    effects.push({ type: 'record', reason, message, intent, cluster });
  };
  const put = (name: string, from: string, move: Move | undefined): void => {
    const sight = intents[name];
    if (!sight) return;
    const others = sight.moves.filter((other) => other.from !== from);
    intents[name] = { ...sight, moves: move ? [...others, move] : others };
  };
  const isHealthy = ({ health }: IntentSight, cluster: string): boolean =>
    health[cluster]?.live === true && health[cluster]?.healthy === true;

  const leave = (name: string, move: Move): void => {
    effects.push({ type: 'remove', intent: name, cluster: move.from });
    put(name, move.from, { ...move, phase: 'Left' });
  };
  /** Whether what a copy leaves for is over before it had anywhere to go. */
  const isOver = (sight: IntentSight, { from, to = [], reason }: Move): boolean => {
    if (to.some((cluster) => cluster !== from)) return false;
    return reason === 'Taint' ? state.clusters[from]?.wellSince !== undefined : isHealthy(sight, from);
  };
  const finishLeaving = (name: string, sight: IntentSight, move: Move): void => {
    if (isOver(sight, move)) {
      const well = move.reason === 'Taint' ? move.from : 'the copy';
      record(name, move.from, 'FailoverCancelled', `${well} is well again, and there was nowhere else to go`);
      put(name, move.from, undefined);
      return;
    }
    if (move.purge !== 'Gracefully') return;
    const arrived = (move.to ?? []).filter((cluster) => cluster !== move.from);
    // What was elsewhere before does not replace it, unless it is all there is to be.
    const fresh = arrived.filter((cluster) => !move.before.includes(cluster));
    const wanted = fresh.length > 0 ? fresh : arrived;
    if (move.to !== undefined && wanted.length > 0 && wanted.every((cluster) => isHealthy(sight, cluster))) {
      record(name, move.from, 'FailoverCompleted', `healthy in ${wanted.join(', ')}`);
      leave(name, move);
    } else if (arrived.length === 0) {
      // There is nowhere to go yet: the old copy is better than none, however long that takes.
      return;
    } else if (now >= move.until) {
      record(name, move.from, 'FailoverGraceEnded', 'no new copy was healthy in time');
      leave(name, move);
    } else wake(move.until);
  };
  const finishReturning = (name: string, sight: IntentSight, move: Move): void => {
    const back = sight.clusters.includes(move.from) && isHealthy(sight, move.from);
    if (!back && now < move.until) {
      wake(move.until);
      return;
    }
    if (back) {
      record(name, move.from, 'FailBackCompleted', `healthy in ${move.from} again`);
      for (const cluster of move.to ?? [])
        if (!move.before.includes(cluster) && !sight.clusters.includes(cluster))
          effects.push({ type: 'remove', intent: name, cluster });
      put(name, move.from, undefined);
    } else {
      record(name, move.from, 'FailBackGaveUp', 'not healthy in time; it stays where it is');
      effects.push({ type: 'move', intent: name, from: move.from, labels: {} });
      put(name, move.from, { ...move, phase: 'Left', at: now });
    }
  };
  /** When the copy in a cluster is to be moved, and why; undefined for never. */
  const dueAt = (sight: IntentSight, cluster: string): { at: number; reason: Move['reason'] } | undefined => {
    const { options, health } = sight;
    const taints = state.clusters[cluster]?.taints ?? [];
    const tainted = Math.min(...taints.map((taint) => taint.since + toleratedSeconds(options, taint) * 1000));
    const copy = health[cluster];
    const sick =
      options.application !== undefined && copy?.live === true && !copy.healthy
        ? copy.since + (options.application.tolerationSeconds ?? APPLICATION_S) * 1000
        : Number.POSITIVE_INFINITY;
    const at = Math.min(tainted, sick);
    return Number.isFinite(at) ? { at, reason: tainted <= sick ? 'Taint' : 'Health' } : undefined;
  };
  const start = (name: string, sight: IntentSight, cluster: string, reason: Move['reason']): void => {
    const { options } = sight;
    const purge = (reason === 'Taint' ? options.cluster?.purge : options.application?.purge) ?? 'Gracefully';
    const { labels, problems } = preserveState(
      options.statePreservation ?? [],
      sight.health[cluster]?.status,
    );
    const until = now + (options.graceSeconds ?? GRACE_S) * 1000;
    const move: Move = {
      from: cluster,
      reason,
      purge,
      at: now,
      phase: 'Leaving',
      before: sight.clusters,
      until,
    };
    put(name, cluster, move);
    record(
      name,
      cluster,
      'FailoverStarted',
      reason === 'Taint' ? 'the cluster is tainted or lost' : 'the copy is not healthy',
    );
    for (const problem of problems) record(name, cluster, 'StateNotPreserved', problem);
    effects.push({ type: 'move', intent: name, from: cluster, labels });
    if (purge === 'Directly') leave(name, move);
    else if (purge === 'Never')
      record(name, cluster, 'FailoverWaitsForSomeone', 'the old copy stays until it is given up');
    else wake(until);
  };

  return {
    release(name, cluster): void {
      const move = intents[name]?.moves.find(({ from }) => from === cluster);
      if (move?.phase === 'Leaving') leave(name, move);
      else if (move?.phase === 'Left') put(name, cluster, undefined);
    },
    finishMoves(): void {
      for (const [name, sight] of Object.entries(intents)) {
        if (sight.recalled) continue;
        for (const move of sight.moves) {
          if (move.phase === 'Leaving') finishLeaving(name, sight, move);
          else if (move.phase === 'Returning') finishReturning(name, sight, move);
        }
      }
    },
    prove(): void {
      for (const [name, sight] of Object.entries(intents)) {
        const { unprovenSince, ...proven } = sight;
        if (unprovenSince === undefined) continue;
        const until = unprovenSince + (sight.options.graceSeconds ?? GRACE_S) * 1000;
        if (now < until && !sight.clusters.some((cluster) => isHealthy(sight, cluster))) {
          wake(until);
          continue;
        }
        intents[name] = proven;
        effects.push({ type: 'proven', intent: name });
      }
    },
    startMoves(): void {
      const due: { name: string; sight: IntentSight; cluster: string; at: number; reason: Move['reason'] }[] =
        [];
      for (const [name, sight] of Object.entries(intents)) {
        for (const cluster of sight.clusters) {
          if (sight.moves.some(({ from }) => from === cluster)) continue;
          const when = dueAt(sight, cluster);
          if (!when) continue;
          if (when.at > now) wake(when.at);
          else due.push({ name, sight, cluster, ...when });
        }
      }
      due.sort(
        (a, b) =>
          a.at - b.at || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.cluster < b.cluster ? -1 : 1),
      );
      for (const { name, cluster, reason } of due) {
        const sight = intents[name];
        if (!sight) continue;
        const { bucket: rest, readyAt } = takeToken(bucket, state.rate, now);
        bucket = rest;
        if (readyAt !== undefined) {
          wake(readyAt);
          return;
        }
        start(name, sight, cluster, reason);
      }
    },
    startReturn(): void {
      const returning = Object.values(intents).some(({ moves }) =>
        moves.some(({ phase }) => phase === 'Returning'),
      );
      const ready: { name: string; move: Move; at: number }[] = [];
      for (const [name, { options, moves, recalled }] of Object.entries(intents)) {
        if (recalled) continue;
        for (const move of moves) {
          if (move.phase !== 'Left') continue;
          const wellSince = state.clusters[move.from]?.wellSince;
          if (wellSince === undefined) continue;
          if (options.failBack === undefined) {
            // It may be chosen again, but nothing is done for it. After a sick copy someone has to look first.
            if (move.reason === 'Taint') put(name, move.from, undefined);
            continue;
          }
          const at =
            Math.max(wellSince, move.at) + (options.failBack.stabilisationSeconds ?? STABILISATION_S) * 1000;
          if (at > now) wake(at);
          else ready.push({ name, move, at });
        }
      }
      const [first] = ready.sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1));
      if (returning || !first) return;
      const { name, move } = first;
      const until = now + (intents[name]?.options.graceSeconds ?? GRACE_S) * 1000;
      const { health = {} } = intents[name] ?? {};
      const { [move.from]: _, ...others } = health;
      const sight = intents[name];
      // What was seen of the old copy says nothing of the new one in its place.
      if (sight) intents[name] = { ...sight, health: others };
      put(name, move.from, { ...move, phase: 'Returning', until });
      record(name, move.from, 'FailBackStarted', `${move.from} has been well for long enough`);
      effects.push({ type: 'return', intent: name, to: move.from });
      wake(until);
    },
    done(): FailoverStep {
      const next: FailoverState = { ...state, intents, ...(bucket === undefined ? {} : { bucket }) };
      return { state: next, effects, ...(nextAt === undefined ? {} : { nextAt }) };
    },
  };
}

function sameTaint(a: ClusterTaint, b: ClusterTaint): boolean {
  return a.key === b.key && a.effect === b.effect && (a.value ?? '') === (b.value ?? '');
}
