import { formatSelector, type LabelRequirement, selectorFromObject } from '../../schema/label-selector.ts';
import { compileClusterTest } from './cluster-expression.ts';
import { add, type ClusterSet, difference, emptySet, forEach, intersection, union } from './cluster-set.ts';
import type { RejectionReason } from './decision.ts';
import {
  type Column,
  type ColumnKind,
  createFleetIndex,
  type FleetEntry,
  type FleetIndex,
} from './fleet-index.ts';
import type { ClusterAffinity, ClusterFacts, ClusterMatch, FieldRequirement } from './placement.ts';
import { parseClusterVersion, parseVersionRange } from './version-range.ts';

/** One condition on clusters, compiled. */
export interface Predicate {
  readonly reason: RejectionReason;
  /** What it asks for, in words. */
  readonly wants: string;
  set(fleet: FleetIndex): ClusterSet;
  /** What a cluster has instead. */
  found(entry: FleetEntry, position: number, fleet: FleetIndex): string;
  /** Set where that depends on the values of one column only. */
  column?(fleet: FleetIndex): Column;
}

/** Some clusters, compiled: those for which every predicate holds and no exclusion does. */
export interface CompiledMatch {
  readonly predicates: readonly Predicate[];
  set(fleet: FleetIndex): ClusterSet;
}

const MAX_NAMES = 10_000;
const MAX_EXPRESSIONS = 16;
const MAX_WANTS = 160;

/** Compiles a match. Problems are added to `issues`, each with its place; what has problems must not be used. */
export function compileMatch(match: ClusterMatch, path: string, issues: string[]): CompiledMatch {
  return compiledOf(predicatesOf(match, path, issues));
}

/** The same with exclusions, which come first. */
export function compileAffinity(affinity: ClusterAffinity, path: string, issues: string[]): CompiledMatch {
  return compiledOf([...exclusions(affinity, path, issues), ...predicatesOf(affinity, path, issues)]);
}

/** Whether a match says which clusters it means. */
export function saysWhich(match: ClusterMatch): boolean {
  return (
    match.clusterNames !== undefined ||
    match.clusterSelector !== undefined ||
    (match.clusterFields ?? []).length > 0 ||
    (match.clusterExpressions ?? []).length > 0
  );
}

export function compiledOf(predicates: readonly Predicate[]): CompiledMatch {
  return {
    predicates,
    set: perFleet((fleet) =>
      predicates.reduce((set, predicate) => intersection(set, predicate.set(fleet)), fleet.everything),
    ),
  };
}

/** Keeps what is computed of a fleet for as long as its index is in use. */
export function perFleet<T extends object>(compute: (fleet: FleetIndex) => T): (fleet: FleetIndex) => T {
  const known = new WeakMap<FleetIndex, T>();
  return (fleet) => {
    let result = known.get(fleet);
    if (result === undefined) {
      result = compute(fleet);
      known.set(fleet, result);
    }
    return result;
  };
}

/** Whether one cluster is meant, outside a fleet. */
export function matchesCluster(match: CompiledMatch, facts: ClusterFacts): boolean {
  const fleet = createFleetIndex([facts]);
  return match.predicates.every((predicate) => predicate.set(fleet)[0] === 1);
}

export function exclusions(
  { exclude = [] }: ClusterAffinity,
  path: string,
  issues: string[],
): readonly Predicate[] {
  return exclude.map((match, index): Predicate => {
    const at = `${path}.exclude[${index}]`;
    if (!saysWhich(match)) issues.push(`${at}: it names no cluster`);
    const compiled = compileMatch(match, at, issues);
    return {
      reason: 'Excluded',
      wants: `none of ${wordsOf(compiled)}`,
      set: perFleet((fleet) => difference(fleet.everything, compiled.set(fleet))),
      found: () => '',
    };
  });
}

/** All conditions of a match in words. */
export function wordsOf(match: CompiledMatch): string {
  return shorten(match.predicates.map((predicate) => predicate.wants).join(' and '));
}

/** What clusters have instead of what a condition asks for, and which of them. */
export function foundOn(
  predicate: Predicate,
  out: ClusterSet,
  fleet: FleetIndex,
): ReadonlyMap<string, string[]> {
  const { entries } = fleet;
  const groupOf = predicate.column?.(fleet).groupOf;
  const byGroup = new Map<number, string[]>();
  const byText = new Map<string, string[]>();
  forEach(out, (position) => {
    const entry = entries[position];
    if (!entry) return;
    const { name } = entry.facts;
    const group = groupOf?.[position];
    const known = group === undefined ? undefined : byGroup.get(group);
    if (known) {
      known.push(name);
      return;
    }
    const text = predicate.found(entry, position, fleet);
    let names = byText.get(text);
    if (!names) {
      names = [];
      byText.set(text, names);
    }
    names.push(name);
    if (group !== undefined) byGroup.set(group, names);
  });
  return byText;
}

/** The first condition that a cluster fails. */
export function firstFailure(
  match: CompiledMatch,
  position: number,
  fleet: FleetIndex,
): Predicate | undefined {
  return match.predicates.find(
    (predicate) => (((predicate.set(fleet)[position >>> 5] ?? 0) >>> (position & 31)) & 1) === 0,
  );
}

export function predicatesOf(match: ClusterMatch, path: string, issues: string[]): Predicate[] {
  const predicates: Predicate[] = [];
  const { clusterNames, clusterSelector, clusterFields = [], clusterExpressions = [] } = match;
  if (clusterNames !== undefined) predicates.push(names(clusterNames, path, issues));
  if (clusterSelector !== undefined) {
    const { selector, issues: found } = selectorFromObject(clusterSelector, '');
    if (found.length > 0) {
      issues.push(
        `${path}.clusterSelector is not valid: ${found.map((issue) => `${issue.path} ${issue.detail}`.trim()).join('; ')}`,
      );
    }
    for (const requirement of selector.requirements) predicates.push(label(requirement));
  }
  for (const [index, requirement] of clusterFields.entries()) {
    const predicate = field(requirement, `${path}.clusterFields[${index}]`, issues);
    if (predicate) predicates.push(predicate);
  }
  if (clusterExpressions.length > MAX_EXPRESSIONS)
    issues.push(`${path}.clusterExpressions: at most ${MAX_EXPRESSIONS}`);
  for (const [index, source] of clusterExpressions.slice(0, MAX_EXPRESSIONS).entries()) {
    const predicate = expression(source, `${path}.clusterExpressions[${index}]`, issues);
    if (predicate) predicates.push(predicate);
  }
  return predicates;
}

function names(list: readonly string[], path: string, issues: string[]): Predicate {
  if (list.length > MAX_NAMES) issues.push(`${path}.clusterNames: at most ${MAX_NAMES} names`);
  return {
    reason: 'ClusterNames',
    wants: shorten(`one of [${list.slice(0, 16).join(', ')}${list.length > 16 ? ', …' : ''}]`),
    set: perFleet((fleet) => {
      const set = emptySet(fleet.size);
      for (const name of list) {
        const position = fleet.position(name);
        if (position !== undefined) add(set, position);
      }
      return set;
    }),
    found: () => '',
  };
}

function label(requirement: LabelRequirement): Predicate {
  const { key, operator, values } = requirement;
  return {
    reason: 'ClusterSelector',
    wants: formatSelector({ requirements: [requirement] }),
    set: perFleet((fleet) => {
      const column = fleet.column('label', key);
      switch (operator) {
        case '=':
        case 'in':
          return withAny(column, values, fleet);
        case '!=':
        case 'notin':
          return difference(fleet.everything, withAny(column, values, fleet));
        case 'exists':
          return column.present;
        case '!':
          return difference(fleet.everything, column.present);
        default:
          return where(column, fleet, (value) => compareNumbers(value, values[0], operator === 'gt'));
      }
    }),
    found: valueIn('label', key),
    column: (fleet) => fleet.column('label', key),
  };
}

const FIELD_OPERATORS = new Set([
  'In',
  'NotIn',
  'Exists',
  'DoesNotExist',
  'Gt',
  'Lt',
  'InRange',
  'NotInRange',
]);

function field(requirement: FieldRequirement, path: string, issues: string[]): Predicate | undefined {
  const { key, operator, values = [] } = requirement;
  const before = issues.length;
  if (key === '') issues.push(`${path}.key: it is empty`);
  if (!FIELD_OPERATORS.has(operator))
    issues.push(
      `${path}.operator: ${JSON.stringify(operator)} is not one of ${[...FIELD_OPERATORS].join(', ')}`,
    );
  const alone = operator === 'Exists' || operator === 'DoesNotExist';
  if (alone !== (values.length === 0))
    issues.push(`${path}.values: ${operator} takes ${alone ? 'none' : 'at least one'}`);
  if ((operator === 'Gt' || operator === 'Lt') && (values.length !== 1 || !isNumber(values[0])))
    issues.push(`${path}.values: ${operator} takes one number`);
  const ranges = operator === 'InRange' || operator === 'NotInRange' ? values.map(parseVersionRange) : [];
  for (const [index, range] of ranges.entries()) {
    if (!range)
      issues.push(`${path}.values[${index}]: ${JSON.stringify(values[index])} is no range of versions`);
  }
  if (issues.length > before) return undefined;
  return {
    reason: 'ClusterFields',
    wants: shorten(
      alone ? (operator === 'Exists' ? key : `!${key}`) : `${key} ${operator} (${values.join(', ')})`,
    ),
    set: perFleet((fleet) => {
      const column = fleet.column('field', key);
      switch (operator) {
        case 'In':
          return withAny(column, values, fleet);
        case 'NotIn':
          return difference(fleet.everything, withAny(column, values, fleet));
        case 'Exists':
          return column.present;
        case 'DoesNotExist':
          return difference(fleet.everything, column.present);
        case 'Gt':
        case 'Lt':
          return where(column, fleet, (value) => compareNumbers(value, values[0], operator === 'Gt'));
        default:
          return where(column, fleet, (value) => {
            const version = parseClusterVersion(value);
            // Of what is no version nothing is known, so it is neither in a range nor outside.
            if (!version) return false;
            return ranges.some((range) => range?.(version) === true) === (operator === 'InRange');
          });
      }
    }),
    found: valueIn('field', key),
    column: (fleet) => fleet.column('field', key),
  };
}

function expression(source: string, path: string, issues: string[]): Predicate | undefined {
  const { evaluate, problem } = compileClusterTest(source);
  if (!evaluate) {
    issues.push(`${path}: ${problem}`);
    return undefined;
  }
  return {
    reason: 'ClusterExpression',
    wants: shorten(source),
    set: perFleet((fleet) => {
      const set = emptySet(fleet.size);
      for (const [position, entry] of fleet.entries.entries())
        if (evaluate(entry) === true) add(set, position);
      return set;
    }),
    found: (entry) => String(evaluate(entry)),
  };
}

function withAny(column: Column, values: readonly string[], fleet: FleetIndex): ClusterSet {
  let set: ClusterSet | undefined;
  for (const value of values) {
    const found = column.withValue.get(value);
    if (found) set = set ? union(set, found) : found;
  }
  return set ?? emptySet(fleet.size);
}

function where(column: Column, fleet: FleetIndex, test: (value: string) => boolean): ClusterSet {
  const set = emptySet(fleet.size);
  for (const [value, clusters] of column.withValue) if (test(value)) forEach(clusters, (at) => add(set, at));
  return set;
}

function isNumber(text: string | undefined): text is string {
  return text !== undefined && /^-?\d{1,15}(\.\d{1,15})?$/.test(text);
}

function compareNumbers(text: string, bound: string | undefined, greater: boolean): boolean {
  if (!isNumber(text) || !isNumber(bound)) return false;
  return greater ? Number(text) > Number(bound) : Number(text) < Number(bound);
}

function valueIn(kind: ColumnKind, key: string): Predicate['found'] {
  return (_entry, position, fleet) => {
    const values = fleet.column(kind, key).values[position] ?? [];
    return values.length === 0 ? `no ${key}` : `${key}=${values.join('+')}`;
  };
}

export function shorten(words: string): string {
  return words.length > MAX_WANTS ? `${words.slice(0, MAX_WANTS - 1)}…` : words;
}
