import { clone, isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { TypeSchema } from '../open-api-schema.ts';
import { fieldElement, formatElement } from './field-path.ts';
import { merge } from './merge.ts';
import { type FieldType, formOf, type ListType, type MapType, objectType, typeAt } from './typed-schema.ts';
import { validateApplied } from './validate.ts';

/**
 * Lays `applied` over `live` as server-side apply does, without asking or recording who owns what. What is replaced as a
 * whole would lose what the applied side does not name, so atomic lists, maps and structs are refused. Does not change its
 * arguments, and shares nothing with them.
 */
export function mergeApplied(
  live: JsonObject,
  applied: JsonObject,
  type: TypeSchema,
): { readonly object: JsonObject } | { readonly errors: readonly string[] } {
  const root = objectType(type);
  const errors = validateApplied(applied, root);
  if (errors.length > 0) return { errors };
  const atomic: string[] = [];
  collectAtomic(applied, root, '', atomic);
  if (atomic.length > 0)
    return { errors: [`may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`] };
  const merged = merge(live, applied, root);
  return isObject(merged) ? { object: clone(merged) } : { errors: ['expected an object'] };
}

function collectAtomic(value: JsonValue, type: FieldType, path: string, found: string[]): void {
  if (value === null) return;
  switch (formOf(type, value)) {
    case 'scalar':
      if (typeof value === 'object') found.push(path);
      return;
    case 'list': {
      const list = type.list as ListType;
      if (list.relation === 'atomic') found.push(path);
      else if (Array.isArray(value))
        for (const [index, item] of value.entries())
          collectAtomic(item, list.item, `${path}[${index}]`, found);
      return;
    }
    default: {
      const map = type.map as MapType;
      if (map.atomic) found.push(path);
      else if (isObject(value))
        for (const [key, item] of Object.entries(value))
          if (item !== undefined)
            collectAtomic(item, typeAt(map, key), path + formatElement(fieldElement(key)), found);
    }
  }
}
