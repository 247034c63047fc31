import { canonicalJson, type JsonValue } from './json.ts';

/** What identifies an element: its own value in a list of scalars, the value of the merge key in a list of maps. */
export type ElementKey = (element: JsonValue) => JsonValue | undefined;

/** Scalars stand for themselves (so `1` and `"1"` differ), composites for their text. */
export function comparable(key: JsonValue | undefined): unknown {
  return typeof key === 'object' && key !== null ? `\u0000${canonicalJson(key)}` : key;
}

/** The first position of each key in a list. */
export function positions(list: readonly JsonValue[], keyOf: ElementKey): Map<unknown, number> {
  const found = new Map<unknown, number>();
  for (let i = 0; i < list.length; i++) {
    const key = comparable(keyOf(list[i] ?? null));
    if (key !== undefined && !found.has(key)) found.set(key, i);
  }
  return found;
}

/**
 * Orders a merged list as strategic merge patch wants it: elements that the patch names stand in the order of `patchOrder`,
 * the others in their order in the live list. The two sequences are interleaved by live position: an element of the server
 * goes before the first named one that it preceded in the live list, as far as the two orders allow.
 */
export function orderedAsPatched(
  merged: readonly JsonValue[],
  patchOrder: readonly JsonValue[],
  live: readonly JsonValue[],
  keyOf: ElementKey,
): JsonValue[] {
  const wanted = positions(patchOrder, keyOf);
  const before = positions(live, keyOf);
  const keyed = merged.map((element) => ({ element, key: comparable(keyOf(element)) }));
  const place = (key: unknown, order: Map<unknown, number>): number => order.get(key) ?? -1;
  const named = keyed
    .filter((item) => wanted.has(item.key))
    .sort((a, b) => place(a.key, wanted) - place(b.key, wanted));
  const others = keyed
    .filter((item) => !wanted.has(item.key))
    .sort((a, b) => place(a.key, before) - place(b.key, before));
  const out: JsonValue[] = [];
  let next = 0;
  for (const item of named) {
    const livePlace = before.get(item.key);
    while (livePlace !== undefined && next < others.length) {
      const other = others[next];
      const otherPlace = other && before.get(other.key);
      if (other === undefined || otherPlace === undefined || otherPlace >= livePlace) break;
      out.push(other.element);
      next++;
    }
    out.push(item.element);
  }
  for (; next < others.length; next++) out.push(others[next]?.element ?? null);
  return out;
}
