import { deepEqual, isObject } from '../../schema/json.ts';

/** One difference between two values. `path` is written as people read it: `spec.template.spec.containers[web].image`. */
export interface Difference {
  readonly path: string;
  /** `undefined` where the field is new. */
  readonly from?: unknown;
  /** `undefined` where the field goes away. */
  readonly to?: unknown;
}

/** What changes from `before` to `after`, in field order. Lists of named items are matched by name, others by position. */
export function diffValues(before: unknown, after: unknown): Difference[] {
  const out: Difference[] = [];
  walk('', before, after, out);
  return out;
}

function walk(path: string, before: unknown, after: unknown, out: Difference[]): void {
  if (deepEqual(before, after)) return;
  if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      walk(join(path, key), before[key], after[key], out);
    return;
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const keyed = itemKey(before, after);
    if (keyed === undefined) {
      for (let i = 0; i < Math.max(before.length, after.length); i++)
        walk(`${path}[${i}]`, before[i], after[i], out);
      return;
    }
    const left = byKey(before, keyed);
    const right = byKey(after, keyed);
    for (const name of new Set([...left.keys(), ...right.keys()]))
      walk(`${path}[${name}]`, left.get(name), right.get(name), out);
    return;
  }
  out.push({
    path,
    ...(before === undefined ? {} : { from: before }),
    ...(after === undefined ? {} : { to: after }),
  });
}

const ITEM_KEYS = ['name', 'containerPort', 'port', 'key', 'type', 'mountPath', 'topologyKey'];

/** The field that tells the items of two lists apart, where there is one: `name` of containers, `port` of ports. */
export function itemKey(a: readonly unknown[], b: readonly unknown[]): string | undefined {
  const items = [...a, ...b];
  if (items.length === 0 || !items.every(isObject)) return undefined;
  return ITEM_KEYS.find(
    (key) =>
      items.every((item) => isObject(item) && item[key] !== undefined) && unique(a, key) && unique(b, key),
  );
}

function unique(items: readonly unknown[], key: string): boolean {
  return new Set(items.map((item) => (isObject(item) ? String(item[key]) : ''))).size === items.length;
}

function join(path: string, key: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

function byKey(items: readonly unknown[], key: string): Map<string, unknown> {
  return new Map(items.map((item) => [isObject(item) ? String(item[key]) : '', item]));
}
