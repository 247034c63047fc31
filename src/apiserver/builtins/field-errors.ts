import type { FieldError } from '../../kube/status-error.ts';

/** One constructor per kind of problem; paths are complete, such as `spec.ports[0].name`. */
export function required(path: string, detail = ''): FieldError {
  return { type: 'Required', path, detail };
}

export function invalidValue(path: string, value: unknown, detail: string): FieldError {
  const valueText = goText(value);
  return {
    type: 'Invalid',
    path,
    value,
    detail,
    ...(valueText === undefined ? {} : { valueText }),
  };
}

/** For values whose text would say nothing or too much; `text` empty prints no value at all. */
export function invalidAs(path: string, text: string, detail: string): FieldError {
  return { type: 'Invalid', path, detail, valueText: text };
}

export function notSupported(path: string, value: unknown, supported: readonly string[]): FieldError {
  return { type: 'NotSupported', path, value, detail: '', supported };
}

/** For structures, which are shown in the form that `text` has. */
export function notSupportedAs(path: string, text: string, supported: readonly string[]): FieldError {
  return { type: 'NotSupported', path, detail: '', supported, valueText: text };
}

export function duplicate(path: string, value: unknown): FieldError {
  return { type: 'Duplicate', path, value, detail: '' };
}

/** For structures, which are shown in the form that `text` has. */
export function duplicateAs(path: string, text: string): FieldError {
  return { type: 'Duplicate', path, detail: '', valueText: text };
}

export function forbidden(path: string, detail: string): FieldError {
  return { type: 'Forbidden', path, detail };
}

export function notFoundValue(path: string, value: unknown): FieldError {
  return { type: 'NotFound', path, value, detail: '' };
}

export function tooLong(path: string, bytes: number): FieldError {
  return { type: 'TooLong', path, detail: `may not be more than ${bytes} bytes` };
}

export function tooMany(path: string, count: number, most: number): FieldError {
  return { type: 'TooMany', path, value: count, detail: `must have at most ${most} items` };
}

/** One `Invalid` per message of a name check. */
export function invalidEach(path: string, value: unknown, messages: readonly string[]): FieldError[] {
  return messages.map((message) => invalidValue(path, value, message));
}

export const IMMUTABLE = 'field is immutable';

/** Lists of strings are printed in Go's syntax, as servers and the tests of many tools have it. */
function goText(value: unknown): string | undefined {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
    ? goStrings(value)
    : undefined;
}

export function goStrings(values: readonly string[]): string {
  return `[]string{${values.map((item) => JSON.stringify(item)).join(', ')}}`;
}

export function goStringMap(map: Readonly<Record<string, string>> | undefined): string {
  if (map === undefined) return 'map[string]string(nil)';
  const parts = Object.keys(map)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(map[key])}`);
  return `map[string]string{${parts.join(', ')}}`;
}

export function goIntOrString(value: unknown): string {
  return typeof value === 'string'
    ? `intstr.IntOrString{Type:1, IntVal:0, StrVal:${JSON.stringify(value)}}`
    : `intstr.IntOrString{Type:0, IntVal:${Number(value ?? 0)}, StrVal:""}`;
}
