import { compileMatch } from './cluster-match.ts';
import { difference, intersection, positions } from './cluster-set.ts';
import type { Decision } from './decision.ts';
import { type FleetIndex, setOfNames } from './fleet-index.ts';
import type { ClusterMatch } from './placement.ts';

/** How chosen clusters are parted, for whoever handles them one group after another. */
export interface DecisionGroupStrategy {
  /** Groups with a name, in order; a cluster is in the first that means it. */
  readonly groups?: readonly (ClusterMatch & { readonly name: string })[];
  /** How many of the remaining clusters a group has at most: `10`, `"25%"`. All of them in one where nothing is said. */
  readonly clustersPerGroup?: number | string;
}

export interface DecisionGroup {
  /** Empty for groups that only their number tells apart. */
  readonly name: string;
  readonly index: number;
  readonly clusters: readonly string[];
}

/** Parts the chosen clusters: named groups first, the rest in groups of the given size. Groups without clusters are left out. */
export function decisionGroups(
  decision: Pick<Decision, 'chosen'>,
  { groups = [], clustersPerGroup = '100%' }: DecisionGroupStrategy,
  fleet: FleetIndex,
): { readonly groups: readonly DecisionGroup[]; readonly issues: readonly string[] } {
  const issues: string[] = [];
  const result: DecisionGroup[] = [];
  let rest = setOfNames(decision.chosen, fleet);
  const put = (name: string, clusters: readonly number[]): void => {
    if (clusters.length === 0) return;
    const names = clusters.map((at) => fleet.entries[at]?.facts.name ?? '');
    result.push({ name, index: result.length, clusters: names });
  };
  const named = groups.map((group, index) => compileMatch(group, `groups[${index}]`, issues));
  const size = sizeOf(clustersPerGroup, decision.chosen.length);
  if (size === undefined) issues.push('clustersPerGroup: a whole number from 1, or a percentage');
  if (issues.length > 0) return { groups: [], issues };
  for (const [index, match] of named.entries()) {
    const members = intersection(rest, match.set(fleet));
    rest = difference(rest, members);
    put(groups[index]?.name ?? '', positions(members));
  }
  const others = positions(rest);
  for (let at = 0; at < others.length; at += size ?? others.length)
    put('', others.slice(at, at + (size ?? others.length)));
  return { groups: result, issues };
}

/** Percentages are rounded up, so that a group is never empty. */
function sizeOf(size: number | string, total: number): number | undefined {
  const percent = typeof size === 'string' ? /^(\d{1,3})%$/.exec(size)?.[1] : undefined;
  const amount = percent === undefined ? Number(size) : Math.ceil((total * Number(percent)) / 100);
  if (percent !== undefined && Number(percent) > 0) return Math.max(1, amount);
  return Number.isInteger(amount) && amount >= 1 ? amount : undefined;
}
