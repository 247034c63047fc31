import {
  add,
  type ClusterSet,
  difference,
  emptySet,
  forEach,
  has,
  intersection,
  isEmpty,
} from './cluster-set.ts';
import type { CompiledPlacement } from './compile-placement.ts';
import type { DecisionContext } from './decide.ts';
import type { RejectionBook } from './decision.ts';
import { type FleetEntry, type FleetIndex, namesOf, setOfNames } from './fleet-index.ts';
import { judgeTaints, taintText } from './taint.ts';

/** What is left of the candidates. */
export interface Filtered {
  readonly fit: ClusterSet;
  readonly disliked: ReadonlyMap<number, number>;
  /** When clusters that hold the intent will have to let it go. */
  readonly until: ReadonlyMap<number, number>;
  explain(book: RejectionBook): void;
}

const NO_MARKS: ReadonlyMap<number, number> = new Map();

/** Leaves out what cannot take the intent now, though the placement means it. What is there already may stay where it can. */
export function applyFilters(
  candidates: ClusterSet,
  placement: CompiledPlacement,
  fleet: FleetIndex,
  existing: ClusterSet,
  {
    requires = [],
    allow = [],
    together = [],
    apart = [],
    avoid = [],
    extensions = [],
    nowMs = 0,
  }: DecisionContext,
): Filtered {
  let fit = candidates;
  const notes: ((book: RejectionBook) => void)[] = [];
  const drop = (
    out: ClusterSet,
    reason: Parameters<RejectionBook['add']>[0],
    wants: string,
    found: (entry: FleetEntry, at: number) => string,
  ): void => {
    if (isEmpty(out)) return;
    fit = difference(fit, out);
    notes.push((book) =>
      forEach(out, (at) => {
        const entry = fleet.entries[at];
        if (entry) book.add(reason, wants, found(entry, at), entry.facts.name);
      }),
    );
  };
  const refuse = (test: (entry: FleetEntry, at: number) => boolean, among: ClusterSet): ClusterSet => {
    const out = emptySet(fleet.size);
    forEach(among, (at) => {
      const entry = fleet.entries[at];
      if (entry && test(entry, at)) add(out, at);
    });
    return out;
  };

  for (const api of requires)
    drop(difference(difference(fit, fleet.serving(api)), existing), 'ApiNotServed', api, () => '');
  drop(difference(intersection(fit, fleet.cordoned), existing), 'Cordoned', '', () => '');
  let until: Map<number, number> | undefined;
  let disliked: Map<number, number> | undefined;
  const mark = (at: number, time: number): void => {
    until ??= new Map();
    until.set(at, Math.min(until.get(at) ?? Infinity, time));
  };
  if (fleet.evicting.length > 0) {
    const over = refuse((entry, at) => {
      const end = entry.evictAfterMs;
      if (end === undefined) return false;
      if (end > nowMs) mark(at, end);
      return end <= nowMs;
    }, fit);
    drop(over, 'Evicting', '', (entry) => entry.facts.evictAfter ?? '');
  }
  const tainted = intersection(fit, fleet.tainted);
  if (!isEmpty(tainted)) {
    const taints = new Map<number, string>();
    const out = refuse((entry, at) => {
      const verdict = judgeTaints(entry.taints, placement.tolerations, has(existing, at), nowMs);
      if (verdict.refusedBy) {
        taints.set(at, taintText(verdict.refusedBy));
        return true;
      }
      if (verdict.untilMs !== undefined) mark(at, verdict.untilMs);
      if (verdict.disliked > 0) {
        disliked ??= new Map();
        disliked.set(at, verdict.disliked);
      }
      return false;
    }, tainted);
    drop(out, 'Taint', '', (_entry, at) => taints.get(at) ?? '');
  }
  const peers = setOfNames(together, fleet);
  if (!isEmpty(peers)) {
    const where = `one of [${namesOf(peers, fleet).slice(0, 8).join(', ')}]`;
    drop(difference(difference(fit, peers), existing), 'WorkloadAffinity', where, () => '');
  }
  if (apart.length > 0) {
    const others = difference(intersection(fit, setOfNames(apart, fleet)), existing);
    drop(others, 'WorkloadAntiAffinity', '', () => '');
  }
  if (avoid.length > 0) drop(intersection(fit, setOfNames(avoid, fleet)), 'FailedOver', '', () => '');
  for (const { name, refuses } of extensions) {
    if (!refuses) continue;
    const reasons = new Map<number, string>();
    const out = refuse((entry, at) => {
      const reason = refuses(entry.facts, has(existing, at));
      if (reason !== undefined) reasons.set(at, reason);
      return reason !== undefined;
    }, fit);
    drop(out, 'Plugin', name, (_entry, at) => reasons.get(at) ?? '');
  }
  for (const policy of allow)
    drop(difference(fit, policy.set(fleet)), 'NotAllowed', `policy ${policy.name}`, () => '');
  return {
    fit,
    disliked: disliked ?? NO_MARKS,
    until: until ?? NO_MARKS,
    explain: (book) => {
      for (const note of notes) note(book);
    },
  };
}
