import { isObject, type JsonObject, type JsonValue } from '../../../schema/json.ts';
import { splitLeaf } from './markers.ts';
import { innermostName, parseTypeExpression } from './type-expression.ts';

/** Names of the custom types in an order in which each comes after those that it uses, or a way around a cycle. */
export function orderTypes(
  types: JsonObject,
): { readonly order: readonly string[] } | { readonly cycle: readonly string[] } {
  const order: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const way: string[] = [];
  const visit = (name: string): readonly string[] | undefined => {
    if (state.get(name) === 'done') return undefined;
    if (state.get(name) === 'open') return [...way.slice(way.indexOf(name)), name];
    state.set(name, 'open');
    way.push(name);
    for (const used of usedTypes(types[name] ?? null)) {
      if (!Object.hasOwn(types, used)) continue;
      const cycle = visit(used);
      if (cycle) return cycle;
    }
    way.pop();
    state.set(name, 'done');
    order.push(name);
    return undefined;
  };
  for (const name of Object.keys(types).sort()) {
    const cycle = visit(name);
    if (cycle) return { cycle };
  }
  return { order };
}

/** Names that a definition uses, in order; what cannot be understood names nothing. */
function usedTypes(definition: JsonValue): string[] {
  if (typeof definition === 'string') {
    const type = parseTypeExpression(splitLeaf(definition)?.type ?? '');
    return typeof type === 'string' ? [] : [innermostName(type)];
  }
  if (!isObject(definition)) return [];
  return [
    ...new Set(
      Object.keys(definition)
        .sort()
        .flatMap((key) => usedTypes(definition[key] ?? null)),
    ),
  ];
}
