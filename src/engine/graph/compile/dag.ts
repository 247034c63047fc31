/** Nodes in an order in which each comes after those it depends on; or a way around a cycle. */
export type Ordered =
  | {
      readonly order: readonly string[];
      /**
       * From 1: lower than those of all nodes that depend on it, and otherwise as high as can be. What nothing depends on has the
       * highest, since removal goes from there.
       */
      readonly waves: ReadonlyMap<string, number>;
      readonly cycle?: undefined;
    }
  | { readonly order?: undefined; readonly cycle: readonly string[] };

/**
 * Of several nodes that could come next it is the one that is written first. `nodes` are in the order of the definition;
 * dependencies on others are not looked at.
 */
export function orderNodes(
  nodes: readonly string[],
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): Ordered {
  const places = new Map(nodes.map((id, place) => [id, place]));
  /** Of each node those that wait for it, and for how many it waits itself. */
  const dependents = nodes.map((): number[] => []);
  const waitsFor = nodes.map(() => 0);
  for (const [place, id] of nodes.entries())
    for (const other of dependencies.get(id) ?? []) {
      const before = places.get(other);
      if (before === undefined) continue;
      dependents[before]?.push(place);
      waitsFor[place] = (waitsFor[place] ?? 0) + 1;
    }
  const ready: number[] = [];
  for (const place of nodes.keys()) if (waitsFor[place] === 0) insert(ready, place);
  const done = new Set<string>();
  for (let next = takeLeast(ready); next !== undefined; next = takeLeast(ready)) {
    done.add(nodes[next] ?? '');
    for (const place of dependents[next] ?? []) {
      const left = (waitsFor[place] ?? 0) - 1;
      waitsFor[place] = left;
      if (left === 0) insert(ready, place);
    }
  }
  if (done.size < nodes.length) {
    const rest = nodes.filter((id) => !done.has(id));
    return { cycle: cycleIn(rest, dependencies) };
  }
  const order = [...done];
  return { order, waves: wavesOf(order, dependencies) };
}

/** A binary heap: each is no greater than the two at twice its place. */
function insert(heap: number[], value: number): void {
  let at = heap.length;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above] ?? 0;
    if (parent <= value) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = value;
}

function takeLeast(heap: number[]): number | undefined {
  const least = heap[0];
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return least;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below + 1 < heap.length && (heap[below + 1] ?? 0) < (heap[below] ?? 0)) below += 1;
    const child = heap[below];
    if (child === undefined || child >= last) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
  return least;
}

function wavesOf(
  order: readonly string[],
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, number> {
  const above = new Map(order.map((id) => [id, 0]));
  let highest = 0;
  for (const id of order.toReversed()) {
    const level = above.get(id) ?? 0;
    highest = Math.max(highest, level);
    for (const other of dependencies.get(id) ?? [])
      if (above.has(other)) above.set(other, Math.max(above.get(other) ?? 0, level + 1));
  }
  return new Map(order.map((id) => [id, highest - (above.get(id) ?? 0) + 1]));
}

/** `a, b, a`: beginning with the one that is written first of those in the cycle. */
function cycleIn(
  rest: readonly string[],
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  const open = new Set(rest);
  const way: string[] = [];
  // Each node of the rest waits for another one of the rest, so going on from any leads into a cycle.
  let current = rest[0] ?? '';
  while (!way.includes(current)) {
    way.push(current);
    current = [...(dependencies.get(current) ?? [])].sort().find((id) => open.has(id)) ?? '';
  }
  const cycle = way.slice(way.indexOf(current));
  const first = rest.find((id) => cycle.includes(id)) ?? '';
  const start = cycle.indexOf(first);
  return [...cycle.slice(start), ...cycle.slice(0, start), first];
}
