import { canonicalJson, isObject, type JsonValue } from '../json.ts';
import { parseJson as parseText } from '../json-text.ts';

/**
 * One step of a path, in the text form that FieldsV1 gives it. The text is canonical, so equal steps are equal strings:
 *  - `f:<name>`  a field of a struct or a key of a map
 *  - `k:<json>`  an item of a keyed list, by its key fields (names sorted, compact JSON)
 *  - `v:<json>`  an item of a set, by its value
 *  - `i:<n>`     an item by its position
 */
export type PathElement = string;
export type FieldPath = readonly PathElement[];

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

export function valueElement(value: JsonValue): PathElement {
  return `v:${canonicalJson(value)}`;
}

export function indexElement(index: number): PathElement {
  return `i:${index}`;
}

export function isField(element: PathElement): boolean {
  return element.charCodeAt(0) === 102; // f
}

export function isKey(element: PathElement): boolean {
  return element.charCodeAt(0) === 107; // k
}

const plainKey = /^k:\{"[\w.-]+":(?:"[^"\\]*"|true|false|0|-?[1-9]\d{0,14})\}$/;
const plainValue = /^v:(?:"[^"\\]*"|true|false|0|-?[1-9]\d{0,14})$/;

/** Reads an element that someone else wrote: canonical, or `undefined` for kinds of elements that are not known. */
export function parseElement(text: string): PathElement | undefined {
  switch (text.slice(0, 2)) {
    case 'f:':
      return text;
    case 'k:': {
      if (plainKey.test(text)) return text;
      const key = parseJson(text.slice(2));
      return isObject(key) ? `k:${canonicalJson(key)}` : undefined;
    }
    case 'v:': {
      if (plainValue.test(text)) return text;
      const value = parseJson(text.slice(2));
      return value === undefined ? undefined : valueElement(value);
    }
    case 'i:':
      return /^i:(?:0|[1-9]\d{0,8})$/.test(text) ? text : undefined;
    default:
      return undefined;
  }
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return parseText(text);
  } catch {
    return undefined; // not a path element: the caller leaves it out, as for unknown kinds
  }
}

/** The order of FieldsV1: fields, keys, values, positions; within a kind by name, key fields, value or number. */
export function compareElements(a: PathElement, b: PathElement): number {
  if (a === b) return 0;
  const kindA = 'fkvi'.indexOf(a.charAt(0));
  const kindB = 'fkvi'.indexOf(b.charAt(0));
  if (kindA !== kindB) return kindA - kindB;
  if (kindA === 0) return a < b ? -1 : 1;
  return compareValues(parseText(a.slice(2)), parseText(b.slice(2)));
}

/** Numbers, strings, booleans, lists, maps, null; each kind by its own order. */
export function compareValues(a: JsonValue, b: JsonValue): number {
  const rankA = rank(a);
  const rankB = rank(b);
  if (rankA !== rankB) return rankA - rankB;
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < a.length && i < b.length; i++) {
      const order = compareValues(a[i] ?? null, b[i] ?? null);
      if (order !== 0) return order;
    }
    return a.length - b.length;
  }
  if (isObject(a) && isObject(b)) {
    const left = Object.keys(a).sort();
    const right = Object.keys(b).sort();
    for (let i = 0; i < left.length && i < right.length; i++) {
      const nameA = left[i] ?? '';
      const nameB = right[i] ?? '';
      if (nameA !== nameB) return nameA < nameB ? -1 : 1;
      const order = compareValues(a[nameA] ?? null, b[nameB] ?? null);
      if (order !== 0) return order;
    }
    return left.length - right.length;
  }
  if (a === b || a === null || b === null) return 0;
  return a < b ? -1 : 1;
}

function rank(value: JsonValue): number {
  if (value === null) return 5;
  if (Array.isArray(value)) return 3;
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return 0;
    case 'string':
      return 1;
    case 'boolean':
      return 2;
    default:
      return 4;
  }
}

/** One step as people read it: `.replicas`, `[name="web",port=80]`, `[="example.com/x"]`, `[3]`. */
export function formatElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element.charAt(0)) {
    case 'f':
      return `.${rest}`;
    case 'k': {
      const key = parseText(rest) as Record<string, JsonValue>;
      const parts: string[] = [];
      for (const name of Object.keys(key).sort()) parts.push(`${name}=${canonicalJson(key[name])}`);
      return `[${parts.join(',')}]`;
    }
    case 'v':
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}

/** A whole path as people read it: `.spec.containers[name="web"].image`. */
export function formatPath(path: FieldPath): string {
  return path.map(formatElement).join('');
}
