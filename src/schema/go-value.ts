import { isObject, type JsonValue } from './json.ts';
import { plainText } from './json-text.ts';

/** A value as Go prints one whose type it does not know: `map[a:1 b:[x y]]`. */
export function goValue(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (!isObject(value)) return plainText(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goValue(value[key])}`);
  return `map[${members.join(' ')}]`;
}
