import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { parseJsonPointer } from '../../schema/json-pointer.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { OpenApiSchema, TypeSchema } from '../../schema/open-api-schema.ts';
import { memberSchema, resolved } from '../../schema/schema-lookup.ts';
import type { Patch } from './patch.ts';

/** Parts of an object that a patch went through; a missing member was left alone. */
interface Touched {
  readonly members: Map<string, Touched>;
  /** Everything below was gone through. */
  readonly all: boolean;
}

const ALL: Touched = { members: new Map(), all: true };

/**
 * The JSON text of a patched object as refusals quote it. What the patch went through has its fields sorted; the rest has
 * them in the order of the type.
 */
export function patchedText(value: JsonObject, patch: Patch, type: TypeSchema, custom: boolean): string {
  const text = print(value, custom ? undefined : type.schema, type.resolve, touchedBy(patch));
  // As Go writes JSON.
  return text.replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function touchedBy(patch: Patch): Touched {
  if (patch.type === 'broken') return ALL;
  const { value } = patch.body;
  if (patch.type === 'merge') return touchedByMerge(value);
  if (patch.type !== 'json' || !Array.isArray(value)) return ALL;
  const root: Touched = { members: new Map(), all: false };
  for (const operation of value) {
    if (!isObject(operation)) continue;
    for (const pointer of [operation.path, operation.from]) {
      const keys = typeof pointer === 'string' ? parseJsonPointer(pointer) : undefined;
      let current = root;
      for (const key of keys?.slice(0, -1) ?? []) {
        const next = current.members.get(key) ?? { members: new Map(), all: false };
        current.members.set(key, next);
        current = next;
      }
    }
  }
  return root;
}

function touchedByMerge(value: JsonValue): Touched {
  const members = new Map<string, Touched>();
  if (isObject(value))
    for (const key of Object.keys(value)) {
      const member = value[key];
      if (isObject(member)) members.set(key, touchedByMerge(member));
    }
  return { members, all: false };
}

function print(
  value: JsonValue,
  written: OpenApiSchema | undefined,
  resolve: TypeSchema['resolve'],
  touched: Touched | undefined,
): string {
  if (typeof value !== 'object' || value === null) return jsonText(value);
  const schema = written && resolved(written, resolve);
  const below = (key: string): Touched | undefined => (touched?.all ? ALL : touched?.members.get(key));
  if (Array.isArray(value))
    return `[${value.map((item, index) => print(item, schema?.items, resolve, below(String(index)))).join(',')}]`;
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  const order = touched === undefined && schema?.properties ? Object.keys(schema.properties) : [];
  const rank = (key: string): number => {
    const index = order.indexOf(key);
    return index < 0 ? order.length : index;
  };
  keys.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const members = keys.map((key) => {
    const member = schema && memberSchema(schema, key, resolve);
    return `${JSON.stringify(key)}:${print(value[key] ?? null, member, resolve, below(key))}`;
  });
  return `{${members.join(',')}}`;
}
