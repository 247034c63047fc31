import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { itemKey } from '../diff/diff.ts';

/** One step into an object: a field, every item of a list, one item by some of its fields, or one by its position. */
export type FieldStep =
  | string
  | { readonly each: true }
  | { readonly item: Readonly<Record<string, JsonValue>> }
  | { readonly index: number };

export type FieldPath = readonly FieldStep[];

const MAX_PATH = 1024;
const PART = /\.?([A-Za-z0-9_$-]+)|\[\*\]|\[(\d+)\]|\[([A-Za-z0-9_-]+)=([^\]]+)\]|\[['"]?([^\]'"]+)['"]?\]/y;

/**
 * Reads a path as people write it: `spec.replicas`, `.spec.replicas`, `spec.template.spec.containers[*].image`,
 * `spec.ports[name=web].nodePort`, `metadata.annotations[example.com/a]`, or a JSON pointer (`/spec/replicas`).
 * `undefined` for what is not one.
 */
export function parseFieldPath(text: string): FieldPath | undefined {
  if (text.length > MAX_PATH) return undefined;
  if (text.startsWith('/')) return pointerSteps(text);
  const path = text.startsWith('$') ? text.slice(1) : text;
  const steps: FieldStep[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < path.length) {
    const match = PART.exec(path);
    if (!match) return undefined;
    const [whole, name, index, key, value, quoted] = match;
    if (name !== undefined) steps.push(name);
    else if (whole === '[*]') steps.push({ each: true });
    else if (index !== undefined) steps.push({ index: Number(index) });
    else if (key !== undefined) steps.push({ item: { [key]: value ?? '' } });
    else steps.push(quoted ?? '');
  }
  return steps.length === 0 ? undefined : steps;
}

/** The path of a JSON pointer; numbers are positions, `*` is every item. */
function pointerSteps(pointer: string): FieldPath {
  return pointer
    .slice(1)
    .split('/')
    .map((part): FieldStep => {
      if (part === '*') return { each: true };
      if (/^(0|[1-9]\d*)$/.test(part)) return { index: Number(part) };
      return part.replaceAll('~1', '/').replaceAll('~0', '~');
    });
}

/** A path as {@link parseFieldPath} reads it. */
export function formatFieldPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'string')
      text += /^[A-Za-z0-9_$-]+$/.test(step) ? `${text === '' ? '' : '.'}${step}` : `[${step}]`;
    else if ('each' in step) text += '[*]';
    else if ('index' in step) text += `[${step.index}]`;
    else
      text += `[${Object.entries(step.item)
        .map(([key, value]) => `${key}=${String(value)}`)
        .join(',')}]`;
  }
  return text;
}

/**
 * The paths that a path with `[*]` stands for in two versions of an object. Items of lists are told apart by their key
 * (`name` of containers) where they have one, so that a path means the same item in both.
 */
export function expandFieldPath(path: FieldPath, a: unknown, b: unknown): FieldPath[] {
  const at = path.findIndex((step) => typeof step === 'object' && 'each' in step);
  if (at < 0) return [path];
  const before = path.slice(0, at);
  const lists = [readField(a, before), readField(b, before)].map((list) => (Array.isArray(list) ? list : []));
  const [left = [], right = []] = lists;
  const key = itemKey(left, right);
  const steps = new Map<string, FieldStep>();
  for (const list of lists)
    list.forEach((item, index) => {
      const value = key === undefined || !isObject(item) ? undefined : item[key];
      if (key !== undefined && value !== undefined) steps.set(String(value), { item: { [key]: value } });
      else steps.set(String(index), { index });
    });
  return [...steps.values()].flatMap((step) =>
    expandFieldPath([...before, step, ...path.slice(at + 1)], a, b),
  );
}

/** The value at a path without `[*]`. */
export function readField(root: unknown, path: FieldPath): JsonValue | undefined {
  let value: unknown = root;
  for (const step of path) value = stepInto(value, step);
  return value as JsonValue | undefined;
}

/** Sets a value, making the objects on the way to it. Items of lists that are not there are not made: nothing happens then. */
export function writeField(root: JsonObject, path: FieldPath, value: JsonValue): void {
  let parent: unknown = root;
  for (const step of path.slice(0, -1)) {
    let next = stepInto(parent, step);
    if (next === undefined && typeof step === 'string' && isObject(parent)) {
      next = {};
      parent[step] = next as JsonObject;
    }
    parent = next;
  }
  const last = path.at(-1);
  if (typeof last === 'string' && isObject(parent)) parent[last] = value;
  else if (last !== undefined && typeof last !== 'string' && Array.isArray(parent)) {
    const index = indexIn(parent, last);
    if (index >= 0) parent[index] = value;
  }
}

/** Takes a value away. Objects that are left empty stay, since they may have been stated. */
export function removeField(root: JsonObject, path: FieldPath): void {
  const parent: unknown = readField(root, path.slice(0, -1));
  const last = path.at(-1);
  if (typeof last === 'string' && isObject(parent)) delete parent[last];
  else if (last !== undefined && typeof last !== 'string' && Array.isArray(parent)) {
    const index = indexIn(parent, last);
    if (index >= 0) parent.splice(index, 1);
  }
}

function stepInto(value: unknown, step: FieldStep): unknown {
  if (typeof step === 'string')
    return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  return Array.isArray(value) ? value[indexIn(value, step)] : undefined;
}

function indexIn(list: readonly unknown[], step: Exclude<FieldStep, string>): number {
  if ('each' in step) return -1;
  if ('index' in step) return step.index < list.length ? step.index : -1;
  return list.findIndex((item) => isObject(item) && fits(item, step.item));
}

/** Whether an item has these values; a protocol that is not stated is TCP, in every list that has one. */
export function fits(item: JsonObject, wanted: Readonly<Record<string, JsonValue>>): boolean {
  for (const key in wanted) {
    const value = item[key] ?? (key === 'protocol' ? 'TCP' : undefined);
    if (value !== wanted[key] && String(value) !== wanted[key]) return false;
  }
  return true;
}
