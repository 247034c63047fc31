import { gvkOf, type KubeObject } from '../../kube/object.ts';
import { at } from '../../schema/json.ts';
import type { FieldPath } from '../retain/index.ts';
import { sum, webster } from './webster.ts';

export const COMPLETIONS: FieldPath = ['spec', 'completions'];

/** How often a Job shall succeed; `undefined` where it is a work queue, or no Job. */
export function completionsOf(object: KubeObject): number | undefined {
  const { group, kind } = gvkOf(object);
  if (group !== 'batch' || kind !== 'Job') return undefined;
  const value = at(object, 'spec', 'completions');
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

export interface DividedCompletions {
  /** By cluster. Of clusters that left, what nobody took over. */
  readonly shares: Readonly<Record<string, number>>;
  /** What clusters that left had, and none can take. */
  readonly lost: number;
}

/**
 * A Job's completions by cluster, in proportion to the parallelism that each cluster was given. The result is by name: the order
 * of clusters means nothing. A cluster's number stands for good, since a Job that is there cannot get another: what a cluster
 * had that left goes to clusters that are new. Indexes of an Indexed Job begin at 0 in every cluster.
 */
export function divideCompletions(
  completions: number,
  parallelism: Readonly<Record<string, number>>,
  key: string,
  previous: Readonly<Record<string, number>> = {},
): DividedCompletions {
  const before = Object.entries(previous);
  // Another number means another Job: they do not change theirs.
  if (before.length === 0 || sum(before.map(([, share]) => share)) !== completions)
    return { shares: proportionally(completions, parallelism, key), lost: 0 };
  const left = before.filter(([name]) => parallelism[name] === undefined);
  const free = sum(left.map(([, share]) => share));
  const staying = before.filter(([name]) => parallelism[name] !== undefined);
  const fresh = Object.entries(parallelism).filter(([name]) => previous[name] === undefined);
  if (fresh.length === 0) return { shares: Object.fromEntries([...staying, ...left]), lost: free };
  const taken = proportionally(free, Object.fromEntries(fresh), key);
  return { shares: { ...Object.fromEntries(staying), ...taken }, lost: 0 };
}

function proportionally(
  completions: number,
  parallelism: Readonly<Record<string, number>>,
  key: string,
): Readonly<Record<string, number>> {
  const names = Object.keys(parallelism).sort();
  const votes = names.map((name) => Math.max(0, parallelism[name] ?? 0));
  const even = sum(votes) === 0;
  const parties = names.map((name, index) => ({
    name,
    votes: even ? 1 : (votes[index] ?? 0),
    initial: 0,
    cap: completions,
  }));
  const seats = webster(completions, parties, key);
  return Object.fromEntries(names.map((name, index) => [name, seats[index] ?? 0]));
}
