/** A group of clusters that may be chosen as a whole. */
export interface GroupCandidate {
  readonly name: string;
  /** How many clusters it has. */
  readonly value: number;
  /** How good it is. */
  readonly weight: number;
}

export interface GroupLimits {
  readonly minGroups: number;
  readonly maxGroups: number;
  /** How many clusters the chosen groups must have together. */
  readonly minClusters: number;
}

/** Choices grow exponentially with the groups; beyond this many looks the best so far is taken. */
const MAX_STEPS = 20_000;

interface Path {
  readonly groups: readonly GroupCandidate[];
  readonly weight: number;
  readonly value: number;
}

/**
 * Chooses groups: few, good, and with enough clusters between them. `kept` are groups that are in use: they stay as far as the
 * limits let them, and others come only where they do not suffice. `undefined` where no choice is enough.
 *
 * Paths are walked from small groups to large ones and end as soon as they suffice. The heaviest wins, then the one with more
 * clusters, then the first; of a path and its beginning that suffices as well the beginning is taken.
 */
export function chooseGroups(
  candidates: readonly GroupCandidate[],
  limits: GroupLimits,
  kept: ReadonlySet<string> = new Set(),
): readonly string[] | undefined {
  const inUse = candidates.filter((group) => kept.has(group.name));
  const tooMany = inUse.length > limits.maxGroups;
  const base = pathOf(tooMany ? [] : inUse);
  if (base.groups.length > 0 && suffices(base, limits)) return namesOf(base);
  const open = (tooMany ? inUse : candidates.filter((group) => !kept.has(group.name))).sort(
    (a, b) => a.value - b.value || byWeight(a, b),
  );
  const found = walk(base, open, limits);
  const best = found[0];
  if (!best) return undefined;
  const heaviest = found.reduce((chosen, path) => (isBetter(path, chosen) ? path : chosen), best);
  return namesOf(shortest(heaviest, found));
}

function walk(base: Path, open: readonly GroupCandidate[], limits: GroupLimits): readonly Path[] {
  const found: Path[] = [];
  let steps = 0;
  const visit = (path: Path, from: number): void => {
    for (let index = from; index < open.length && steps < MAX_STEPS; index++) {
      const group = open[index];
      if (!group) return;
      steps += 1;
      const next = pathOf([...path.groups, group]);
      if (suffices(next, limits)) found.push(next);
      else if (next.groups.length < limits.maxGroups) visit(next, index + 1);
    }
  };
  if (base.groups.length < limits.maxGroups) visit(base, 0);
  if (steps < MAX_STEPS) return found;
  // Not every choice was looked at, so the obvious one takes part: the largest groups.
  const largest = [...open].sort((a, b) => b.value - a.value || byWeight(a, b));
  let path = base;
  for (const group of largest) {
    if (suffices(path, limits) || path.groups.length >= limits.maxGroups) break;
    path = pathOf([...path.groups, group]);
  }
  return suffices(path, limits) ? [...found, path] : found;
}

function suffices({ groups, value }: Path, { minGroups, maxGroups, minClusters }: GroupLimits): boolean {
  return value >= minClusters && groups.length >= minGroups && groups.length <= maxGroups;
}

function isBetter(a: Path, b: Path): boolean {
  return a.weight !== b.weight ? a.weight > b.weight : a.value > b.value;
}

/** The shortest path that is a beginning of another, groups by weight. */
function shortest(chosen: Path, found: readonly Path[]): Path {
  const order = namesOf(pathOf([...chosen.groups].sort(byWeight)));
  let best = chosen;
  for (const path of found) {
    if (path.groups.length >= best.groups.length) continue;
    const names = namesOf(pathOf([...path.groups].sort(byWeight)));
    if (names.every((name, index) => name === order[index])) best = path;
  }
  return best;
}

function pathOf(groups: readonly GroupCandidate[]): Path {
  let weight = 0;
  let value = 0;
  for (const group of groups) {
    weight += group.weight;
    value += group.value;
  }
  return { groups, weight, value };
}

function byWeight(a: GroupCandidate, b: GroupCandidate): number {
  return b.weight - a.weight || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

function namesOf(path: Path): readonly string[] {
  return path.groups.map((group) => group.name);
}
