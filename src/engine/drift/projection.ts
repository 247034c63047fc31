import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { itemKey } from '../diff/diff.ts';

/**
 * What a live object says about the fields that are stated in `wanted`, in the same shape. Equal projections mean that nobody
 * changed what is wanted, whatever else was added, defaulted or converted: they are compared with each other, not with
 * `wanted`. Lists carry their length, since an item too many may be one to take away.
 */
export function projectOn(wanted: JsonValue | undefined, live: JsonValue | undefined): JsonValue | undefined {
  if (isObject(wanted)) {
    if (!isObject(live)) return live;
    const out: JsonObject = {};
    for (const key in wanted) {
      const value = Object.hasOwn(live, key) ? projectOn(wanted[key], live[key]) : undefined;
      if (value !== undefined) out[key] = value;
    }
    return out;
  }
  if (Array.isArray(wanted) && Array.isArray(live) && wanted.some(isObject)) {
    const key = itemKey(wanted, live);
    if (key === undefined) return live;
    const items = new Map(live.map((item) => [isObject(item) ? item[key] : undefined, item]));
    return [
      live.length,
      ...wanted.map((item) => (isObject(item) ? (projectOn(item, items.get(item[key])) ?? null) : null)),
    ];
  }
  return live;
}
