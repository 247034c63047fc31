import type { LabelSelector } from '../../schema/label-selector.ts';
import type { CompiledAllow } from './allow.ts';
import { type CompiledMatch, compileMatch, firstFailure, saysWhich } from './cluster-match.ts';
import {
  type ClusterSet,
  difference,
  emptySet,
  forEach,
  has,
  intersection,
  isEmpty,
  positions,
  union,
} from './cluster-set.ts';
import { type CompiledPlacement, compilePlacement, type PlacementOption } from './compile-placement.ts';
import { createRejectionBook, type Decision, type RejectionBook, rejectionText } from './decision.ts';
import { applyFilters } from './filters.ts';
import { createFleetIndex, type FleetIndex, namesOf, setOfNames } from './fleet-index.ts';
import { type Capacity, type Pick, pick } from './pick.ts';
import type { ClusterFacts, ClusterMatch, Placement } from './placement.ts';

export type { Decision } from './decision.ts';

/** What a decision depends on beside the placement, the fleet and the decision before. */
export interface DecisionContext {
  /** The time. Without it nothing that depends on time is due. */
  readonly nowMs?: number;
  /** What clusters have to serve, `apps/v1/Deployment`; see `requiredApis`. */
  readonly requires?: readonly string[];
  /** Policies that apply to the intent. A cluster is used only where all of them allow it. */
  readonly allow?: readonly CompiledAllow[];
  /** How many intents each cluster has, for the score `Balance`. */
  readonly placed?: (cluster: string) => number;
  /** For intents with replicas. */
  readonly capacity?: Capacity;
  /** Where workloads are that this one goes together with; no matter while there are none. */
  readonly together?: readonly string[];
  /** Where workloads are that this one keeps away from. */
  readonly apart?: readonly string[];
  /** Clusters that a copy was moved away from: they are not used, also where the intent is there. */
  readonly avoid?: readonly string[];
  readonly extensions?: readonly PlacementExtension[];
  /** What the scheduler said that the placement names, where that is not this one; absent while it said nothing. */
  readonly scheduled?: readonly string[] | undefined;
}

/** A rule of somebody else's. It must be a pure function of what it is given. */
export interface PlacementExtension {
  readonly name: string;
  /** Why a cluster must not be used. */
  refuses?(facts: ClusterFacts, existing: boolean): string | undefined;
  /** How good a cluster is, from -100 to 100, beside the scores of the placement. */
  score?(facts: ClusterFacts): number;
  /** Of its score; 1 by default. */
  readonly weight?: number;
}

/**
 * Decides where. Pure and deterministic: the same input gives the same decision. For one decision; who decides again and again
 * keeps a compiled placement and a fleet index, and calls {@link decideOn}.
 */
export function decide(
  placement: Placement,
  clusters: readonly ClusterFacts[],
  previous?: Decision,
  context: DecisionContext = {},
): Decision {
  return decideOn(compilePlacement(placement), createFleetIndex(clusters), previous, context);
}

/** Decides where, over what was compiled and indexed before. */
export function decideOn(
  placement: CompiledPlacement,
  fleet: FleetIndex,
  previous?: Decision,
  context: DecisionContext = {},
): Decision {
  const unknown = placement.unknown(fleet);
  const existing = previous ? setOfNames(previous.chosen, fleet) : emptySet(fleet.size);
  if (placement.foreign !== undefined && placement.issues.length === 0)
    return decidedElsewhere(placement.foreign, fleet, existing, context);
  if (placement.issues.length > 0) {
    // A slip of the pen must not take away what is placed.
    const chosen = namesOf(existing, fleet);
    const { group, failBack } = previous ?? {};
    return {
      chosen,
      rejected: [],
      unknown,
      problem: placement.issues.join('; '),
      ...(group === undefined ? {} : { group }),
      ...(failBack === undefined ? {} : { failBack }),
    };
  }
  const found = chooseOption(placement, fleet, existing, previous, context);
  const { attempt } = found;
  const { chosen, ranking, termNames, shortage } = attempt.pick;
  const chosenPositions = positions(chosen);
  const book = createRejectionBook();
  attempt.explain(book);
  const tiers =
    attempt.tierOf && chosenPositions.some((at) => (attempt.tierOf?.(at) ?? 0) > 0)
      ? chosenPositions.map((at) => attempt.tierOf?.(at) ?? 0)
      : undefined;
  const reconsiderAtMs = Math.min(attempt.dueMs(chosen), found.dueMs);
  return {
    chosen: chosenPositions.map((at) => fleet.entries[at]?.facts.name ?? ''),
    rejected: book.list(),
    unknown,
    ...(shortage === undefined ? {} : { shortage }),
    ...(attempt.option.name === undefined ? {} : { group: attempt.option.name }),
    ...(found.failBack === undefined ? {} : { failBack: found.failBack }),
    ...(tiers === undefined ? {} : { tiers }),
    ...(ranking === undefined || termNames.length === 1
      ? {}
      : { scores: { terms: termNames, of: chosenPositions.map((at) => ranking.parts(at)) } }),
    ...(reconsiderAtMs === Infinity ? {} : { reconsiderAtMs }),
  };
}

/** What another scheduler chose, as far as policies allow it; what is placed stays until it says something. */
function decidedElsewhere(
  scheduler: string,
  fleet: FleetIndex,
  existing: ClusterSet,
  { scheduled, allow = [] }: DecisionContext,
): Decision {
  const book = createRejectionBook();
  let chosen = scheduled === undefined ? existing : setOfNames(scheduled, fleet);
  for (const policy of allow) {
    const out = difference(chosen, policy.set(fleet));
    forEach(out, (at) =>
      book.add('NotAllowed', `policy ${policy.name}`, '', fleet.entries[at]?.facts.name ?? ''),
    );
    chosen = difference(chosen, out);
  }
  const why =
    scheduled === undefined
      ? `spec.placement.schedulerName is ${scheduler}, which has not said yet where to place it`
      : isEmpty(chosen)
        ? `the scheduler ${scheduler} chose no cluster that can be used`
        : undefined;
  return {
    chosen: namesOf(chosen, fleet),
    rejected: book.list(),
    unknown: (scheduled ?? []).filter((name) => fleet.position(name) === undefined),
    ...(why === undefined ? {} : { shortage: why }),
  };
}

interface Attempt {
  readonly option: PlacementOption;
  readonly pick: Pick;
  readonly tierOf: ((position: number) => number) | undefined;
  explain(book: RejectionBook): void;
  /** When time may change what was chosen. */
  dueMs(chosen: ClusterSet): number;
}

interface Choice {
  readonly attempt: Attempt;
  readonly failBack?: Decision['failBack'];
  readonly dueMs: number;
}

/**
 * The first affinity group that gives all that is asked for; where none does, the first that gives something. The group in use
 * is left at once when it fails, and for a better one only when that has been usable for the time of `failBackAfterSeconds`.
 */
function chooseOption(
  placement: CompiledPlacement,
  fleet: FleetIndex,
  existing: ClusterSet,
  previous: Decision | undefined,
  context: DecisionContext,
): Choice {
  const { options, failBackAfterMs } = placement;
  const attempts = new Map<number, Attempt>();
  const attemptAt = (index: number): Attempt => {
    let attempt = attempts.get(index);
    if (!attempt) {
      const option = options[index] ?? { name: undefined, resolve: nothing };
      attempt = tryOption(option, placement, fleet, existing, context);
      attempts.set(index, attempt);
    }
    return attempt;
  };
  const complete = (index: number): boolean => attemptAt(index).pick.shortage === undefined;
  if (options.length <= 1) return { attempt: attemptAt(0), dueMs: Infinity };
  const current = options.findIndex(({ name }) => name !== undefined && name === previous?.group);
  const indexes = options.map((_, index) => index);
  const first = indexes.find(complete);
  if (first === undefined) {
    const partial = indexes.find((index) => !isEmpty(attemptAt(index).pick.chosen));
    const kept = current >= 0 && !isEmpty(attemptAt(current).pick.chosen) ? current : undefined;
    return { attempt: attemptAt(kept ?? partial ?? 0), dueMs: Infinity };
  }
  if (current <= first || !complete(current)) return { attempt: attemptAt(first), dueMs: Infinity };
  if (failBackAfterMs === undefined) return { attempt: attemptAt(current), dueMs: Infinity };
  const group = options[first]?.name ?? '';
  const nowMs = context.nowMs ?? 0;
  const sinceMs = previous?.failBack?.group === group ? previous.failBack.sinceMs : nowMs;
  const dueMs = sinceMs + failBackAfterMs;
  if (nowMs >= dueMs) return { attempt: attemptAt(first), dueMs: Infinity };
  return { attempt: attemptAt(current), failBack: { group, sinceMs }, dueMs };
}

const nothing: PlacementOption['resolve'] = (fleet) => ({
  candidates: emptySet(fleet.size),
  tiers: [],
  rejections: [],
});

function tryOption(
  option: PlacementOption,
  placement: CompiledPlacement,
  fleet: FleetIndex,
  existing: ClusterSet,
  context: DecisionContext,
): Attempt {
  const resolved = option.resolve(fleet);
  const filtered = applyFilters(resolved.candidates, placement, fleet, existing, context);
  const { fit, disliked } = filtered;
  const { tiers } = resolved;
  const tierOf =
    tiers.length > 1
      ? (at: number): number =>
          Math.max(
            0,
            tiers.findIndex((tier) => has(tier, at)),
          )
      : undefined;
  const base = {
    placement,
    fleet,
    existing,
    nowMs: context.nowMs ?? 0,
    placed: context.placed,
    tierOf,
    disliked,
    capacity: context.capacity,
    extensions: context.extensions,
  };
  let pool = tiers.length > 1 ? intersection(fit, tiers[0] ?? fit) : fit;
  let result = pick({ ...base, pool });
  for (const tier of tiers.slice(1)) {
    if (result.shortage === undefined) break;
    pool = union(pool, intersection(fit, tier));
    result = pick({ ...base, pool });
  }
  const unused = difference(fit, pool);
  return {
    option,
    pick: result,
    tierOf,
    explain(book): void {
      book.take(resolved.rejections);
      filtered.explain(book);
      forEach(unused, (at) =>
        book.add('Overflow', '', `tier ${tierOf?.(at) ?? 0}`, fleet.entries[at]?.facts.name ?? ''),
      );
      result.explain(book);
    },
    dueMs(chosen): number {
      let due = Infinity;
      for (const [at, untilMs] of filtered.until) if (has(chosen, at)) due = Math.min(due, untilMs);
      if (placement.sticky) return due;
      const list = positions(pool);
      for (const term of placement.terms) due = Math.min(due, term.endsAtMs?.(list, base) ?? Infinity);
      return due;
    },
  };
}

interface KnownMatch {
  readonly compiled: CompiledMatch;
  readonly problem: string | undefined;
}

/** Overrides ask for each of many clusters with the same match. */
const knownMatches = new WeakMap<ClusterMatch, KnownMatch>();

function knownMatch(match: ClusterMatch): KnownMatch {
  let known = knownMatches.get(match);
  if (!known) {
    const issues: string[] = [];
    const compiled = compileMatch(match, 'placement', issues);
    if (!saysWhich(match))
      issues.push('it names no cluster: set clusterNames or clusterSelector ({} selects all)');
    known = { compiled, problem: issues.length === 0 ? undefined : issues.join('; ') };
    knownMatches.set(match, known);
  }
  return known;
}

/** Why one cluster is not meant by a match, or `undefined` when it is. For overrides, which choose clusters one by one. */
export function rejectionOf(match: ClusterMatch, cluster: ClusterFacts): string | undefined {
  const { compiled, problem } = knownMatch(match);
  if (problem !== undefined) return problem;
  const fleet = createFleetIndex([cluster]);
  const failed = firstFailure(compiled, 0, fleet);
  const entry = fleet.entries[0];
  if (!failed || !entry) return undefined;
  const { reason, wants } = failed;
  return rejectionText({ reason, wants, found: failed.found(entry, 0, fleet) });
}

/** A label selector the way people write it: `env=prod,tier in (a, b)`. */
export function selectorText(selector: LabelSelector): string {
  const parts = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    if (operator === 'Exists') parts.push(key);
    else if (operator === 'DoesNotExist') parts.push(`!${key}`);
    else parts.push(`${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(', ')})`);
  }
  return parts.length === 0 ? 'everything' : parts.join(',');
}
