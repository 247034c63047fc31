import { type LabelSelector, matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type { ClusterFacts, Placement } from '../intent.ts';

/** The recorded answer to *where*: the chosen clusters, and for every cluster left out the reason. */
export interface Decision {
  /** In name order. */
  readonly chosen: readonly string[];
  readonly rejected: readonly Rejection[];
  /** Names that the placement asks for and that no cluster has. */
  readonly unknown: readonly string[];
  /** Set when the placement cannot be understood; nothing is chosen then. */
  readonly problem?: string;
}

export interface Rejection {
  readonly cluster: string;
  readonly reason: string;
}

/** Why a cluster is left out by a placement, or `undefined` when it is in. */
export function rejectionOf(placement: Placement, cluster: ClusterFacts): string | undefined {
  const { clusterNames, clusterSelector } = placement;
  if (clusterNames === undefined && clusterSelector === undefined) {
    return 'the placement names no cluster: set clusterNames or clusterSelector ({} selects all)';
  }
  if (clusterNames !== undefined && !clusterNames.includes(cluster.name))
    return `not among clusterNames [${clusterNames.join(', ')}]`;
  if (clusterSelector === undefined) return undefined;
  const { selector, issues } = selectorFromObject(clusterSelector);
  if (issues.length > 0)
    return `clusterSelector is not valid: ${issues.map((issue) => issue.detail).join('; ')}`;
  if (matchesSelector(selector, cluster.labels)) return undefined;
  return `clusterSelector (${selectorText(clusterSelector)}) does not match its labels (${labelsText(cluster.labels)})`;
}

/** Chooses clusters. Deterministic: the same facts give the same decision in the same order. */
export function decide(placement: Placement, clusters: readonly ClusterFacts[]): Decision {
  const chosen: string[] = [];
  const rejected: Rejection[] = [];
  const problem = placementProblem(placement);
  for (const cluster of [...clusters].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const reason = problem ?? rejectionOf(placement, cluster);
    if (reason === undefined) chosen.push(cluster.name);
    else rejected.push({ cluster: cluster.name, reason });
  }
  const known = new Set(clusters.map((cluster) => cluster.name));
  const unknown = (placement.clusterNames ?? []).filter((name) => !known.has(name));
  return { chosen, rejected, unknown, ...(problem === undefined ? {} : { problem }) };
}

/** Problems of a placement that hold for every cluster. */
export function placementProblem(placement: Placement): string | undefined {
  if (placement.clusterNames === undefined && placement.clusterSelector === undefined) {
    return 'the placement names no cluster: set clusterNames or clusterSelector ({} selects all)';
  }
  if (placement.clusterSelector === undefined) return undefined;
  const { issues } = selectorFromObject(placement.clusterSelector);
  return issues.length === 0
    ? undefined
    : `clusterSelector is not valid: ${issues.map((issue) => issue.detail).join('; ')}`;
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

function labelsText(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return parts.length === 0 ? 'none' : parts.sort().join(',');
}
