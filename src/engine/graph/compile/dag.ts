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
  const done = new Set<string>();
  let rest = [...nodes];
  const known = new Set(nodes);
  while (rest.length > 0) {
    const next = rest.find((id) =>
      [...(dependencies.get(id) ?? [])].every((other) => !known.has(other) || done.has(other)),
    );
    if (next === undefined) return { cycle: cycleIn(rest, dependencies) };
    done.add(next);
    rest = rest.filter((id) => id !== next);
  }
  const order = [...done];
  return { order, waves: wavesOf(order, dependencies) };
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
