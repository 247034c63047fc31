import { type CompiledPlacement, compilePlacement } from './compile-placement.ts';
import { type DecisionContext, decideOn } from './decide.ts';
import type { Decision } from './decision.ts';
import { createFleetIndex, type FleetIndex } from './fleet-index.ts';
import type { ClusterFacts, Placement } from './placement.ts';

/**
 * Decides for many intents over one fleet: keeps the index, the compiled placements, the decision of each intent, and how many
 * intents each cluster has. No I/O and no clock, so what it says is a function of what it was told.
 */
export interface Placer {
  /** The fleet from now on. Facts that did not change should be the same objects. */
  setFleet(clusters: readonly ClusterFacts[]): void;
  readonly fleet: FleetIndex;
  /** Decides where an intent goes, after what was decided for it before. The same placement object is compiled once. */
  decide(intent: string, placement: Placement, context: Omit<DecisionContext, 'placed'>): Decision;
  /** The decision that holds for an intent. */
  decisionOf(intent: string): Decision | undefined;
  /** Takes a decision over that was stored, so that what is placed stays. */
  restore(intent: string, decision: Decision): void;
  forget(intent: string): void;
  /** Intents for which time alone may have changed the answer. */
  due(nowMs: number): readonly string[];
  /** When there will be some; `undefined` where time changes nothing. */
  nextDueMs(): number | undefined;
}

export function createPlacer(clusters: readonly ClusterFacts[] = []): Placer {
  let fleet = createFleetIndex(clusters);
  const compiled = new WeakMap<Placement, CompiledPlacement>();
  const decisions = new Map<string, Decision>();
  const timed = new Map<string, number>();
  const counts = new Map<string, number>();
  const placed = (cluster: string): number => counts.get(cluster) ?? 0;

  function count(decision: Decision | undefined, by: number): void {
    for (const cluster of decision?.chosen ?? []) {
      const next = placed(cluster) + by;
      if (next > 0) counts.set(cluster, next);
      else counts.delete(cluster);
    }
  }

  function hold(intent: string, decision: Decision | undefined): void {
    count(decisions.get(intent), -1);
    count(decision, 1);
    if (decision) decisions.set(intent, decision);
    else decisions.delete(intent);
    if (decision?.reconsiderAtMs === undefined) timed.delete(intent);
    else timed.set(intent, decision.reconsiderAtMs);
  }

  return {
    setFleet(next): void {
      fleet = createFleetIndex(next, fleet);
    },
    get fleet(): FleetIndex {
      return fleet;
    },
    decide(intent, placement, context): Decision {
      let ready = compiled.get(placement);
      if (!ready) {
        ready = compilePlacement(placement);
        compiled.set(placement, ready);
      }
      const decision = decideOn(ready, fleet, decisions.get(intent), { ...context, placed });
      hold(intent, decision);
      return decision;
    },
    decisionOf: (intent) => decisions.get(intent),
    restore: hold,
    forget: (intent) => hold(intent, undefined),
    due: (nowMs) => [...timed].filter(([, dueMs]) => dueMs <= nowMs).map(([intent]) => intent),
    nextDueMs(): number | undefined {
      let next: number | undefined;
      for (const dueMs of timed.values()) next = Math.min(next ?? dueMs, dueMs);
      return next;
    },
  };
}
