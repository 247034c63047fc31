import { sum, webster } from './webster.ts';

/**
 * A Job's completions by cluster, in proportion to the parallelism that each cluster was given. The result is by name: the order
 * of clusters means nothing. A Job without completions is a work queue and is left alone (`undefined`).
 * Indexes of an Indexed Job begin at 0 in every cluster.
 */
export function divideCompletions(
  completions: number | undefined,
  parallelism: Readonly<Record<string, number>>,
  key: string,
): Readonly<Record<string, number>> | undefined {
  if (completions === undefined) return undefined;
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
