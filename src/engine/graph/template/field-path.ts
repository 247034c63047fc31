import { isObject, type JsonValue } from '../../../schema/json.ts';

/** Keys of objects and indices of lists. */
export type FieldPath = readonly (string | number)[];

const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** `spec.containers[0].env`, `metadata.labels["app.kubernetes.io/name"]`. */
export function pathText(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!PLAIN.test(step)) text += `[${JSON.stringify(step)}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** `base.path`, where the path may begin with an index. */
export function joinedPath(base: string, path: FieldPath): string {
  const text = pathText(path);
  if (base === '' || text === '') return base + text;
  return text.startsWith('[') ? `${base}${text}` : `${base}.${text}`;
}

export function valueAt(root: JsonValue, path: FieldPath): JsonValue | undefined {
  let current: JsonValue | undefined = root;
  for (const step of path) {
    if (Array.isArray(current) && typeof step === 'number') current = current[step];
    else if (isObject(current) && typeof step === 'string' && Object.hasOwn(current, step))
      current = current[step];
    else return undefined;
  }
  return current;
}

/** Puts a value where the root has a place already. */
export function setAt(root: JsonValue, path: FieldPath, value: JsonValue): void {
  const last = path.at(-1);
  const parent = valueAt(root, path.slice(0, -1));
  if (Array.isArray(parent) && typeof last === 'number') parent[last] = value;
  else if (isObject(parent) && typeof last === 'string')
    Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
}

/** Takes the key or the element away. */
export function removeAt(root: JsonValue, path: FieldPath): void {
  const last = path.at(-1);
  const parent = valueAt(root, path.slice(0, -1));
  if (Array.isArray(parent) && typeof last === 'number') parent.splice(last, 1);
  else if (isObject(parent) && typeof last === 'string') delete parent[last];
}
