import type { KubeObject } from '../../kube/object.ts';
import { parseTime } from '../../runtime/index.ts';
import { humanDuration } from '../../schema/human-duration.ts';
import { isObject, type JsonObject, type JsonValue, listAt, stringAt } from '../../schema/json.ts';
import { plainText } from '../../schema/json-text.ts';
import type { Cell } from '../resource.ts';

/** Cells of one kind. The object is foreign input: any field may be missing or of another type. */
export type Cells = (object: KubeObject, now: number) => Cell[];

export const NONE = '<none>';
export const UNSET = '<unset>';
export const UNKNOWN = '<unknown>';

/** How long ago a time is, or `<unknown>` when it is not one. */
export function since(time: unknown, now: number): string {
  const start = typeof time === 'string' ? parseTime(time) : undefined;
  return start === undefined ? UNKNOWN : humanDuration(now - start);
}

export function age(object: KubeObject, now: number): string {
  return since(object.metadata.creationTimestamp, now);
}

export function nameOf(object: KubeObject): string {
  return object.metadata.name ?? '';
}

export function textAt(value: unknown, ...path: string[]): string {
  return stringAt(value, ...path) ?? '';
}

export function countAt(value: unknown, ...path: string[]): number {
  return itemAt(value, 'number', ...path) ?? 0;
}

export function flagAt(value: unknown, ...path: string[]): boolean {
  return itemAt(value, 'boolean', ...path) ?? false;
}

interface Scalars {
  number: number;
  boolean: boolean;
}

function itemAt<T extends keyof Scalars>(value: unknown, type: T, ...path: string[]): Scalars[T] | undefined {
  let current: unknown = value;
  for (const key of path) current = isObject(current) ? current[key] : undefined;
  return typeof current === type ? (current as Scalars[T]) : undefined;
}

/** The text of an optional scalar, such as an int-or-string. */
export function scalarAt(value: unknown, missing: string, ...path: string[]): string {
  let current: unknown = value;
  for (const key of path) current = isObject(current) ? current[key] : undefined;
  if (typeof current === 'string' || typeof current === 'number') return String(current);
  return typeof current === 'boolean' ? (current ? 'True' : 'False') : missing;
}

export function objectsAt(value: unknown, ...path: string[]): JsonObject[] {
  return listAt(value, ...path).filter(isObject);
}

export function textsAt(value: unknown, ...path: string[]): string[] {
  return listAt(value, ...path).filter((item) => typeof item === 'string');
}

export function orElse(text: string, missing: string): string {
  return text === '' ? missing : text;
}

/** The first `shown` of a list, and how many more there are. */
export function firstOf(items: readonly string[], shown: number, missing: string): string {
  if (items.length === 0) return missing;
  const text = items.slice(0, shown).join(',');
  return items.length > shown ? `${text} + ${items.length - shown} more...` : text;
}

/** `a=b,c=d` in the order of keys. */
export function labelsText(labels: JsonValue | undefined, missing: string = NONE): string {
  if (!isObject(labels)) return missing;
  const parts = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${plainText(labels[key])}`);
  return orElse(parts.join(','), missing);
}

/** A LabelSelector: `a=b,c in (d,e),!f`. */
export function selectorText(selector: JsonValue | undefined): string {
  if (!isObject(selector)) return NONE;
  const parts: [string, string][] = [];
  const labels = selector.matchLabels;
  if (isObject(labels)) for (const key in labels) parts.push([key, `${key}=${plainText(labels[key])}`]);
  for (const item of objectsAt(selector, 'matchExpressions')) {
    const key = textAt(item, 'key');
    const values = textsAt(item, 'values').sort().join(',');
    const text: Record<string, string> = {
      In: `${key} in (${values})`,
      NotIn: `${key} notin (${values})`,
      Exists: key,
      DoesNotExist: `!${key}`,
    };
    parts.push([key, text[textAt(item, 'operator')] ?? key]);
  }
  parts.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return orElse(parts.map(([, text]) => text).join(','), NONE);
}

/** Names and images of the containers of a pod spec. */
export function containersOf(podSpec: JsonValue | undefined): [string, string] {
  const containers = objectsAt(podSpec, 'containers');
  return [
    containers.map((item) => textAt(item, 'name')).join(','),
    containers.map((item) => textAt(item, 'image')).join(','),
  ];
}

export function conditionOf(object: unknown, type: string): JsonObject | undefined {
  return objectsAt(object, 'status', 'conditions').find((item) => item.type === type);
}

export function hasCondition(object: unknown, type: string): boolean {
  return conditionOf(object, type)?.status === 'True';
}
