import {
  type CompiledMatch,
  compileAffinity,
  compiledOf,
  compileMatch,
  exclusions,
  firstFailure,
  foundOn,
  type Predicate,
  perFleet,
  predicatesOf,
  saysWhich,
  wordsOf,
} from './cluster-match.ts';
import { type ClusterSet, difference, emptySet, intersection, isEmpty, union } from './cluster-set.ts';
import { createRejectionBook, type Rejection } from './decision.ts';
import type { Column, FleetIndex } from './fleet-index.ts';
import {
  type AffinityGroup,
  type ClusterAffinity,
  OWN_SCHEDULER,
  type Placement,
  type SpreadConstraint,
  type Toleration,
} from './placement.ts';
import { type CompiledScoreTerm, compileScoreTerm } from './score.ts';
import { TAINT_EFFECTS } from './taint.ts';

export const DEFAULT_FAIL_BACK_SECONDS = 600;
const MAX_GROUPS = 32;
const MAX_TIERS = 8;
const MAX_CONSTRAINTS = 8;
const MAX_TERMS = 16;

/** A placement that is ready to decide: compiled once for each revision of an intent, used with every fleet. */
export interface CompiledPlacement {
  /** What is wrong with it, each with its place. Nothing is decided then. */
  readonly issues: readonly string[];
  /** The affinity groups in order; one without a name where there are none. */
  readonly options: readonly PlacementOption[];
  /** Names that it asks for and that the fleet lacks. */
  unknown(fleet: FleetIndex): readonly string[];
  readonly tolerations: readonly Toleration[];
  readonly spread: readonly CompiledSpread[];
  /** Clusters in all, by a spread constraint of the field `cluster`. */
  readonly minClusters: number;
  readonly maxClusters: number;
  readonly numberOfClusters: number | undefined;
  readonly terms: readonly CompiledScoreTerm[];
  /** Whether what is placed stays while it fits. Otherwise it is a matter of scores. */
  readonly sticky: boolean;
  readonly failBackAfterMs: number | undefined;
  /** Another scheduler that decides. */
  readonly foreign: string | undefined;
}

export interface PlacementOption {
  readonly name: string | undefined;
  /** What does not depend on time, nor on what was decided before. */
  resolve(fleet: FleetIndex): ResolvedOption;
}

export interface ResolvedOption {
  readonly candidates: ClusterSet;
  /** Candidates by tier; the first are no overflow. */
  readonly tiers: readonly ClusterSet[];
  readonly rejections: readonly Rejection[];
}

export interface CompiledSpread {
  /** `region`, or the key of a label. */
  readonly name: string;
  readonly minGroups: number;
  /** Infinite where there is no limit. */
  readonly maxGroups: number;
  readonly maxSkew: number;
  /** Whether it is a rule, and not a wish. */
  readonly strict: boolean;
  column(fleet: FleetIndex): Column;
}

/** Compiles a placement. Never throws for what it holds: problems are in `issues`. */
export function compilePlacement(placement: Placement): CompiledPlacement {
  const issues: string[] = [];
  const { schedulerName = OWN_SCHEDULER } = placement;
  const foreign = schedulerName === OWN_SCHEDULER ? undefined : schedulerName;
  const { groups = [], overflow = [], anyOf, numberOfClusters } = placement;
  if (!saysWhich(placement) && anyOf === undefined && groups.length === 0 && foreign === undefined)
    issues.push('the placement names no cluster: set clusterNames or clusterSelector ({} selects all)');
  const excluded = exclusions(placement, 'placement', issues);
  const wanted = predicatesOf(placement, 'placement', issues);
  if (anyOf !== undefined) wanted.push(alternatives(anyOf, issues));
  const { constraints, minClusters, maxClusters } = compileSpread(placement.spread ?? [], issues);
  const topology = constraints.filter(({ strict }) => strict).map(inSomeGroup);
  let options: PlacementOption[];
  if (groups.length === 0) {
    const tiers = compileTiers(compiledOf(wanted), overflow, 'placement', issues);
    options = [compileOption(undefined, [...excluded, ...topology], tiers)];
  } else {
    if (overflow.length > 0) issues.push('placement.overflow: with groups, each group has its own overflow');
    options = compileGroups(groups, [...excluded, ...wanted, ...topology], issues);
  }
  if (numberOfClusters !== undefined && !(Number.isInteger(numberOfClusters) && numberOfClusters >= 1))
    issues.push('placement.numberOfClusters: a whole number from 1');
  const terms = compileTerms(placement, issues);
  const seconds = placement.failBackAfterSeconds ?? DEFAULT_FAIL_BACK_SECONDS;
  if (!(seconds >= 0)) issues.push('placement.failBackAfterSeconds: 0 or more');
  checkTolerations(placement.tolerations ?? [], issues);
  const asked = [placement, ...overflow, ...groups.flatMap((group) => [group, ...(group.overflow ?? [])])];
  const names = [...new Set(asked.flatMap(({ clusterNames = [] }) => clusterNames))];
  return {
    issues,
    options,
    unknown: perFleet((fleet) => names.filter((name) => fleet.position(name) === undefined)),
    tolerations: placement.tolerations ?? [],
    spread: constraints,
    minClusters,
    maxClusters,
    numberOfClusters,
    terms,
    sticky: !terms.some(({ type }) => type === 'Steady'),
    failBackAfterMs: placement.failBack === 'Never' ? undefined : seconds * 1000,
    foreign,
  };
}

function alternatives(anyOf: NonNullable<Placement['anyOf']>, issues: string[]): Predicate {
  const matches = anyOf.map((match, index) => {
    if (!saysWhich(match)) issues.push(`placement.anyOf[${index}]: it names no cluster`);
    return compileMatch(match, `placement.anyOf[${index}]`, issues);
  });
  return {
    reason: 'AnyOf',
    wants: matches.map(wordsOf).join(' or ').slice(0, 160),
    set: perFleet((fleet) =>
      matches.reduce((set, match) => union(set, match.set(fleet)), emptySet(fleet.size)),
    ),
    found: (entry, position, fleet) =>
      matches
        .map((match) => firstFailure(match, position, fleet)?.found(entry, position, fleet) ?? '')
        .filter((text, index, all) => text !== '' && all.indexOf(text) === index)
        .join(', '),
  };
}

function inSomeGroup(constraint: CompiledSpread): Predicate {
  return {
    reason: 'Topology',
    wants: `a ${constraint.name}`,
    set: (fleet) => constraint.column(fleet).present,
    found: () => 'none',
  };
}

function compileTiers(
  first: CompiledMatch,
  overflow: readonly ClusterAffinity[],
  path: string,
  issues: string[],
): readonly CompiledMatch[] {
  if (overflow.length > MAX_TIERS) issues.push(`${path}.overflow: at most ${MAX_TIERS} tiers`);
  const further = overflow.slice(0, MAX_TIERS).map((tier, index) => {
    const at = `${path}.overflow[${index}]`;
    if (!saysWhich(tier)) issues.push(`${at}: it names no cluster`);
    return compileAffinity(tier, at, issues);
  });
  return [first, ...further];
}

function compileGroups(
  groups: readonly AffinityGroup[],
  common: readonly Predicate[],
  issues: string[],
): PlacementOption[] {
  if (groups.length > MAX_GROUPS) issues.push(`placement.groups: at most ${MAX_GROUPS}`);
  const names = new Set<string>();
  return groups.slice(0, MAX_GROUPS).map((group, index) => {
    const at = `placement.groups[${index}]`;
    if (typeof group.name !== 'string' || group.name === '') issues.push(`${at}.name: it is empty`);
    else if (names.has(group.name)) issues.push(`${at}.name: there is a group ${group.name} already`);
    names.add(group.name);
    if (!saysWhich(group)) issues.push(`${at}: it names no cluster`);
    const tiers = compileTiers(compileAffinity(group, at, issues), group.overflow ?? [], at, issues);
    return compileOption(group.name, common, tiers);
  });
}

function compileOption(
  name: string | undefined,
  common: readonly Predicate[],
  tiers: readonly CompiledMatch[],
): PlacementOption {
  return {
    name,
    resolve: perFleet((fleet) => {
      const book = createRejectionBook();
      let left = fleet.everything;
      const reject = (predicates: readonly Predicate[], unlessIn: ClusterSet): void => {
        for (const predicate of predicates) {
          const out = difference(difference(left, predicate.set(fleet)), unlessIn);
          if (isEmpty(out)) continue;
          left = difference(left, out);
          const { reason, wants } = predicate;
          const found = foundOn(predicate, out, fleet);
          if (name === undefined || reason === 'Excluded' || common.includes(predicate))
            book.addAll(reason, wants, found);
          else book.addAll('Group', `${name} (${wants})`, found);
        }
      };
      const nobody = emptySet(fleet.size);
      reject(common, nobody);
      const base = left;
      const sets: ClusterSet[] = [];
      let further = nobody;
      for (const tier of tiers.slice(1)) further = union(further, tier.set(fleet));
      reject(tiers[0]?.predicates ?? [], further);
      let taken = nobody;
      for (const tier of tiers) {
        const set = difference(intersection(base, tier.set(fleet)), taken);
        taken = union(taken, set);
        sets.push(set);
      }
      return { candidates: taken, tiers: sets, rejections: book.list() };
    }),
  };
}

function compileSpread(
  list: readonly SpreadConstraint[],
  issues: string[],
): { constraints: CompiledSpread[]; minClusters: number; maxClusters: number } {
  const constraints: CompiledSpread[] = [];
  let minClusters = 0;
  let maxClusters = Infinity;
  if (list.length > MAX_CONSTRAINTS) issues.push(`placement.spread: at most ${MAX_CONSTRAINTS}`);
  for (const [index, constraint] of list.slice(0, MAX_CONSTRAINTS).entries()) {
    const at = `placement.spread[${index}]`;
    const { field, label, minGroups = 1, maxGroups = 0, maxSkew = 0, whenUnsatisfiable } = constraint;
    if ((field === undefined) === (label === undefined))
      issues.push(`${at}: set field or label, one of them`);
    for (const [key, value] of Object.entries({ minGroups, maxGroups, maxSkew })) {
      if (!Number.isInteger(value) || value < 0) issues.push(`${at}.${key}: a whole number from 0`);
    }
    if (maxGroups > 0 && maxGroups < minGroups)
      issues.push(`${at}.maxGroups: ${maxGroups} is less than minGroups, ${minGroups}`);
    if (field === 'cluster') {
      if (maxSkew > 0) issues.push(`${at}.maxSkew: clusters have no skew; set it for a field or a label`);
      minClusters = Math.max(minClusters, minGroups);
      if (maxGroups > 0) maxClusters = Math.min(maxClusters, maxGroups);
      continue;
    }
    const key = field ?? label ?? '';
    constraints.push({
      name: key,
      minGroups,
      maxGroups: maxGroups === 0 ? Infinity : maxGroups,
      maxSkew: maxSkew === 0 ? Infinity : maxSkew,
      strict: whenUnsatisfiable !== 'ScheduleAnyway',
      column: (fleet) => fleet.column(field === undefined ? 'label' : 'field', key),
    });
  }
  return { constraints, minClusters, maxClusters };
}

function compileTerms({ scores = [] }: Placement, issues: string[]): readonly CompiledScoreTerm[] {
  if (scores.length > MAX_TERMS) issues.push(`placement.scores: at most ${MAX_TERMS}`);
  return scores.slice(0, MAX_TERMS).flatMap((term, index) => {
    const compiled = compileScoreTerm(term, `placement.scores[${index}]`, issues);
    return compiled ? [compiled] : [];
  });
}

function checkTolerations(tolerations: readonly Toleration[], issues: string[]): void {
  for (const [index, { key = '', operator = 'Equal', value, effect }] of tolerations.entries()) {
    const at = `placement.tolerations[${index}]`;
    if (operator !== 'Equal' && operator !== 'Exists')
      issues.push(`${at}.operator: ${JSON.stringify(operator)} is not Equal or Exists`);
    if (key === '' && operator !== 'Exists') issues.push(`${at}: without a key the operator is Exists`);
    if (operator === 'Exists' && value !== undefined && value !== '')
      issues.push(`${at}.value: Exists takes none`);
    if (effect !== undefined && !TAINT_EFFECTS.includes(effect))
      issues.push(`${at}.effect: ${JSON.stringify(effect)} is not one of ${TAINT_EFFECTS.join(', ')}`);
  }
}
