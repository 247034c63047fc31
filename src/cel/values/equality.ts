import { List } from './list.ts';
import { CelMap, ObjectMap } from './map.ts';
import { Double, Duration, Opaque, Optional, Timestamp, TypeValue, Uint, type Value } from './value.ts';
import { countElements } from './walking.ts';

/** `==`: numbers compare by what they amount to, values of different kinds are unequal, NaN equals nothing. */
export function equalValues(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a === 'object' && a !== null) return equalBoxes(a, b);
  if (typeof b === 'object' && b !== null)
    return typeof a === 'number' || typeof a === 'bigint' ? equalNumbers(a, b) : false;
  return false;
}

function equalBoxes(a: object, b: Value): boolean {
  if (a instanceof Double) return numeric(b) !== undefined && a.value === Number(numeric(b));
  if (a instanceof Uint) {
    const other = numeric(b);
    // biome-ignore lint/suspicious/noDoubleEquals: bigints and numbers compare by amount
    return other !== undefined && (b instanceof Double ? Number(a.value) === other : a.value == other);
  }
  if (a instanceof List) return b instanceof List && equalLists(a, b);
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.seconds === b.seconds && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && equalBytes(a, b);
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Opaque) return b instanceof Opaque && a.kind === b.kind && a.kind.equals(a.value, b.value);
  if (a instanceof Optional && b instanceof Optional) {
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equalValues(a.value, b.value);
  }
  return false;
}

function equalNumbers(a: number | bigint, b: Value): boolean {
  const other = numeric(b);
  // biome-ignore lint/suspicious/noDoubleEquals: bigints and numbers compare by amount
  return other !== undefined && (b instanceof Double ? Number(a) === other : a == other);
}

/** The amount of any kind of number. Relational operators of JavaScript compare bigints and numbers exactly. */
export function numeric(value: Value): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Double || value instanceof Uint) return value.value;
  return undefined;
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

function equalLists(a: List, b: List): boolean {
  if (a.size !== b.size) return false;
  countElements(a.size);
  const merging = a.merging ?? b.merging;
  if (merging) return equalUnordered(a, b);
  for (let index = 0; index < a.size; index++) if (!equalValues(a.get(index), b.get(index))) return false;
  return true;
}

/** Sets and keyed lists have no order. */
function equalUnordered(a: List, b: List): boolean {
  const rest = b.toArray();
  for (const item of a) {
    const found = rest.findIndex((other) => equalValues(item, other));
    countElements(found === -1 ? rest.length : found);
    if (found === -1) return false;
    rest.splice(found, 1);
  }
  return true;
}

function equalMaps(a: CelMap, b: CelMap): boolean {
  if (a.size !== b.size) return false;
  countElements(a.size);
  if (a instanceof ObjectMap && b instanceof ObjectMap && a.raw === b.raw) return true;
  for (const [key, value] of a.entries()) {
    const other = b.get(key);
    if (other === undefined || !equalValues(value, other)) return false;
  }
  return true;
}

/** Order of texts by code points (which is that of their UTF-8 bytes), not by UTF-16 units. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    if (x === y) continue;
    // Surrogates stand for characters beyond all others.
    const high = x >= 0xd800 && x <= 0xdfff;
    if (high !== (y >= 0xd800 && y <= 0xdfff)) return high ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

/** With a double on one side, the other is taken as one too, even where that loses digits. */
function compareDoubles(x: number, y: number): number {
  return x < y ? -1 : x > y ? 1 : x === y ? 0 : Number.NaN;
}

/** `undefined` where the values have no order: different kinds, or kinds without one. NaN is neither less nor greater: NaN. */
export function compareValues(a: Value, b: Value): number | undefined {
  if (typeof a === 'string') return typeof b === 'string' ? compareTexts(a, b) : undefined;
  const x = numeric(a);
  if (x !== undefined) {
    const y = numeric(b);
    if (y === undefined) return undefined;
    if (a instanceof Double || b instanceof Double) return compareDoubles(Number(x), Number(y));
    return x < y ? -1 : x > y ? 1 : x >= y ? 0 : Number.NaN;
  }
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : undefined;
  if (a instanceof Timestamp && b instanceof Timestamp) {
    return Math.sign(a.seconds - b.seconds || a.nanos - b.nanos);
  }
  if (a instanceof Duration && b instanceof Duration)
    return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  return undefined;
}
