import { parseQuantity, quantityNumber } from '../../schema/quantity.ts';
import { add, type ClusterSet, emptySet, fullSet, positions } from './cluster-set.ts';
import type { ClusterFacts } from './placement.ts';
import { type KnownTaint, knownTaints } from './taint.ts';

/** A cluster, and what is computed of it once. Kept from index to index while its facts are the same object. */
export interface FleetEntry {
  readonly facts: ClusterFacts;
  readonly taints: readonly KnownTaint[];
  readonly evictAfterMs: number | undefined;
}

/** The values of a label or a field over the fleet. */
export interface Column {
  /** By position. Most have one value or none. */
  readonly values: readonly (readonly string[])[];
  readonly present: ClusterSet;
  readonly withValue: ReadonlyMap<string, ClusterSet>;
  /** Each distinct list of values is a group; -1 where there is no value. */
  readonly groupOf: Int32Array;
  readonly groups: readonly string[];
}

export type ColumnKind = 'label' | 'field';
export type AmountKind = 'property' | 'resource';

/** What decisions ask of a fleet: made once for each change of the inventory, shared by all intents. */
export interface FleetIndex {
  readonly size: number;
  readonly everything: ClusterSet;
  /** In order of name. */
  readonly entries: readonly FleetEntry[];
  /** The place of a cluster in `entries`. */
  position(name: string): number | undefined;
  column(kind: ColumnKind, key: string): Column;
  /** A property or an allocatable resource of each cluster as a number. */
  amounts(kind: AmountKind, name: string): readonly (number | undefined)[];
  /** Clusters that serve a kind, or of which it is not known. */
  serving(api: string): ClusterSet;
  readonly cordoned: ClusterSet;
  readonly tainted: ClusterSet;
  /** Clusters with a time after which nothing stays. */
  readonly evicting: readonly number[];
}

const NOTHING: readonly string[] = [];

/**
 * Builds the index. Entries of `before` are taken over where the facts of a cluster are the same object, so a change of one
 * cluster costs little. Of two clusters with one name the first counts.
 */
export function createFleetIndex(clusters: readonly ClusterFacts[], before?: FleetIndex): FleetIndex {
  const byName = new Map<string, ClusterFacts>();
  for (const facts of clusters) if (!byName.has(facts.name)) byName.set(facts.name, facts);
  const entries = Array.from(byName.values(), (facts) => entryOf(facts, before)).sort((a, b) =>
    a.facts.name < b.facts.name ? -1 : 1,
  );
  const size = entries.length;
  const places = new Map(entries.map(({ facts }, position) => [facts.name, position]));
  const columns: Record<ColumnKind, Map<string, Column>> = { label: new Map(), field: new Map() };
  const amounts: Record<AmountKind, Map<string, readonly (number | undefined)[]>> = {
    property: new Map(),
    resource: new Map(),
  };
  const served = new Map<string, ClusterSet>();
  const kindSets = new Map<readonly string[], ReadonlySet<string>>();
  const evicting: number[] = [];
  const cordoned = emptySet(size);
  const tainted = emptySet(size);
  for (const [position, { facts, taints, evictAfterMs }] of entries.entries()) {
    if (facts.unschedulable === true) add(cordoned, position);
    if (taints.length > 0) add(tainted, position);
    if (evictAfterMs !== undefined) evicting.push(position);
  }

  function servingSet(api: string): ClusterSet {
    const set = emptySet(size);
    for (const [position, { facts }] of entries.entries()) {
      const { apis } = facts;
      if (apis?.complete !== true) {
        add(set, position);
        continue;
      }
      let kinds = kindSets.get(apis.kinds);
      if (!kinds) {
        kinds = new Set(apis.kinds);
        kindSets.set(apis.kinds, kinds);
      }
      if (kinds.has(api)) add(set, position);
    }
    return set;
  }

  return {
    size,
    everything: fullSet(size),
    entries,
    position: (name) => places.get(name),
    column(kind, key): Column {
      let column = columns[kind].get(key);
      if (!column) {
        column = columnOf(entries, kind, key);
        columns[kind].set(key, column);
      }
      return column;
    },
    amounts(kind, name): readonly (number | undefined)[] {
      let list = amounts[kind].get(name);
      if (!list) {
        list = entries.map(({ facts }) => amountOf(facts, kind, name));
        amounts[kind].set(name, list);
      }
      return list;
    },
    serving(api): ClusterSet {
      let set = served.get(api);
      if (!set) {
        set = servingSet(api);
        served.set(api, set);
      }
      return set;
    },
    cordoned,
    tainted,
    evicting,
  };
}

function entryOf(facts: ClusterFacts, before: FleetIndex | undefined): FleetEntry {
  const known = before?.entries[before.position(facts.name) ?? -1];
  if (known?.facts === facts) return known;
  return {
    facts,
    taints: knownTaints(facts.taints ?? []),
    evictAfterMs: timeOf(facts.evictAfter),
  };
}

/** Milliseconds of a timestamp; `undefined` for none and for what is none. */
export function timeOf(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function columnOf(entries: readonly FleetEntry[], kind: ColumnKind, key: string): Column {
  const size = entries.length;
  const present = emptySet(size);
  const withValue = new Map<string, ClusterSet>();
  const groupOf = new Int32Array(size).fill(-1);
  const groups: string[] = [];
  const groupIds = new Map<string, number>();
  const values = entries.map(({ facts }, position): readonly string[] => {
    const list = valuesOf(facts, kind, key);
    if (list.length === 0) return list;
    add(present, position);
    for (const value of list) {
      let set = withValue.get(value);
      if (!set) {
        set = emptySet(size);
        withValue.set(value, set);
      }
      add(set, position);
    }
    const group = list.length === 1 ? (list[0] ?? '') : [...list].sort().join('+');
    let id = groupIds.get(group);
    if (id === undefined) {
      id = groups.length;
      groups.push(group);
      groupIds.set(group, id);
    }
    groupOf[position] = id;
    return list;
  });
  return { values, present, withValue, groupOf, groups };
}

function valuesOf(facts: ClusterFacts, kind: ColumnKind, key: string): readonly string[] {
  if (kind === 'field' && key === 'cluster') return [facts.name];
  const from = kind === 'label' ? facts.labels : (facts.fields ?? {});
  const value = Object.hasOwn(from, key) ? from[key] : undefined;
  if (value === undefined) return NOTHING;
  return typeof value === 'string' ? [value] : value;
}

function amountOf(facts: ClusterFacts, kind: AmountKind, name: string): number | undefined {
  const from = kind === 'property' ? facts.properties : facts.resources?.allocatable;
  const quantity = parseQuantity(from?.[name]);
  return quantity === undefined ? undefined : quantityNumber(quantity);
}

/** The positions of names that the fleet has. */
export function setOfNames(names: readonly string[], fleet: FleetIndex): ClusterSet {
  const set = emptySet(fleet.size);
  for (const name of names) {
    const position = fleet.position(name);
    if (position !== undefined) add(set, position);
  }
  return set;
}

/** The names of positions, in order. */
export function namesOf(set: ClusterSet, fleet: FleetIndex): string[] {
  return positions(set).map((at) => fleet.entries[at]?.facts.name ?? '');
}
