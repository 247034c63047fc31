import { deepEqual, isObject } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import { goElement, goFields, goObject } from './go-types.ts';

/** In the place of an element or entry that one side does not have. */
export const ABSENT: unique symbol = Symbol('absent');

/** Two values of one type beside each other, with what is in them. */
export interface Comparison {
  readonly type: string;
  readonly old: unknown;
  readonly now: unknown;
  /** Parts that are the same and parts that differ, all the way down. */
  readonly same: number;
  readonly different: number;
  readonly parts: readonly Part[];
  /** How many parts there are in all, and on the longest way down. */
  readonly size: number;
  readonly depth: number;
}

export interface Part {
  /** The name of a field, the key of an entry; elements have none. */
  readonly key: string;
  readonly comparison: Comparison;
}

/** Compares two JSON values as values of a type. Nothing and an empty list are not the same. */
export function compareValues(type: string, old: unknown, now: unknown): Comparison {
  if (old === ABSENT || now === ABSENT) return leaf(type, old, now, false);
  if (type === 'resource.Quantity')
    return leaf(type, old, now, parseQuantity(old)?.nanos === parseQuantity(now)?.nanos);
  const parts = goElement(type);
  if (parts !== undefined) {
    if (isNothing(old) || isNothing(now)) return leaf(type, old, now, isNothing(old) && isNothing(now));
    const { kind, element } = parts;
    if (kind === 'pointer')
      return branch(type, old, now, [{ key: '', comparison: compareValues(element, old, now) }]);
    return branch(
      type,
      old,
      now,
      kind === 'slice' ? elements(element, old, now) : entries(element, old, now),
    );
  }
  const fields = goFields(type);
  if (fields === undefined) return leaf(type, old, now, (old || '') === (now || ''));
  const [before, after] = [goObject(type, old), goObject(type, now)];
  return branch(
    type,
    before,
    after,
    fields.map(({ name, type: fieldType, json }) => ({
      key: name,
      comparison:
        json === undefined
          ? compareValues(fieldType, before, after)
          : compareValues(fieldType, before[json], after[json]),
    })),
  );
}

export function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Whether a value is what a variable of its type begins with. */
export function isZeroValue(type: string, value: unknown): boolean {
  if (type === 'resource.Quantity' || goElement(type) !== undefined) return isNothing(value);
  const fields = goFields(type);
  if (fields === undefined) return !value;
  const object = goObject(type, value);
  return fields.every(({ type: fieldType, json }) =>
    isZeroValue(fieldType, json === undefined ? object : object[json]),
  );
}

function leaf(type: string, old: unknown, now: unknown, same: boolean): Comparison {
  return { type, old, now, same: same ? 1 : 0, different: same ? 0 : 1, parts: [], size: 0, depth: 0 };
}

function branch(type: string, old: unknown, now: unknown, parts: readonly Part[]): Comparison {
  let [same, different, size, depth] = [0, 0, 0, 0];
  for (const { comparison } of parts) {
    same += comparison.same;
    different += comparison.different;
    size += comparison.size + 1;
    depth = Math.max(depth, comparison.depth + 1);
  }
  return { type, old, now, same, different, parts, size, depth };
}

function entries(type: string, old: unknown, now: unknown): Part[] {
  const [before, after] = [old, now].map((value) => (isObject(value) ? value : {}));
  const keys = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...keys].sort().map((key) => ({
    key,
    comparison: compareValues(type, before?.[key] ?? ABSENT, after?.[key] ?? ABSENT),
  }));
}

/** Longer lists are compared element by element: lists may be within lists, and each pair is looked into. */
const MAX_PAIRS = 256;

/** Elements beside each other, so that as much as possible is the same, or alike where it is not. */
function elements(type: string, old: unknown, now: unknown): Part[] {
  const before: unknown[] = Array.isArray(old) ? old : [];
  const after: unknown[] = Array.isArray(now) ? now : [];
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && deepEqual(before[head], after[head])) head += 1;
  let tail = 0;
  while (tail < shorter - head && deepEqual(before.at(-1 - tail), after.at(-1 - tail))) tail += 1;
  const pair = (one: unknown, other: unknown): Part => ({
    key: '',
    comparison: compareValues(type, one, other),
  });
  return [
    ...before.slice(0, head).map((item) => pair(item, item)),
    ...aligned(type, before.slice(head, before.length - tail), after.slice(head, after.length - tail)).map(
      ([one, other]) => pair(one, other),
    ),
    ...before.slice(before.length - tail).map((item) => pair(item, item)),
  ];
}

function aligned(type: string, before: readonly unknown[], after: readonly unknown[]): [unknown, unknown][] {
  if (before.length * after.length > MAX_PAIRS) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, index) => [
      index < before.length ? before[index] : ABSENT,
      index < after.length ? after[index] : ABSENT,
    ]);
  }
  const rows = before.map((one) => after.map((other) => alikeness(compareValues(type, one, other))));
  const best = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  const at = (row: number, column: number): number => best[row]?.[column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--) {
      const paired = (rows[row]?.[column] ?? 0) + at(row + 1, column + 1);
      const line = best[row];
      if (line) line[column] = Math.max(at(row + 1, column), at(row, column + 1), paired);
    }
  const out: [unknown, unknown][] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const alike = rows[row]?.[column] ?? 0;
    if (alike > 0 && alike + at(row + 1, column + 1) === at(row, column))
      out.push([before[row++], after[column++]]);
    else if (row < before.length && (column >= after.length || at(row + 1, column) === at(row, column)))
      out.push([before[row++], ABSENT]);
    else out.push([ABSENT, after[column++]]);
  }
  return out;
}

/** 3 for the same, 1 for what differs in no more than it shares, 0 for two that have nothing to do with each other. */
function alikeness({ same, different }: Comparison): number {
  if (different === 0) return 3;
  return same + 1 >= different ? 1 : 0;
}
