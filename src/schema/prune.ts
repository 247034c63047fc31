import { childPath } from './field-issue.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { propertyOf, resolved } from './schema-lookup.ts';

export interface PruneOptions {
  /** The object is a resource: `apiVersion`, `kind` and `metadata` are kept though a custom schema does not name them. */
  readonly isResourceRoot?: boolean;
}

/**
 * Removes the fields that a type does not know, in place, and gives their paths (`spec.foo`, `spec.list[0].x`) in document
 * order. Below `x-kubernetes-preserve-unknown-fields` unknown fields stay with all they hold, while known ones are pruned. The
 * metadata of resources is pruned where the type refers to a definition of it, as built-in kinds do.
 */
export function prune(object: JsonValue, type: TypeSchema, options: PruneOptions = {}): string[] {
  const removed: string[] = [];
  pruneValue(object, type.schema, type.resolve, '', options.isResourceRoot === true, removed);
  return removed;
}

type Resolve = TypeSchema['resolve'];

function pruneValue(
  value: JsonValue,
  written: OpenApiSchema,
  resolve: Resolve,
  path: string,
  isRoot: boolean,
  removed: string[],
): void {
  if (typeof value !== 'object' || value === null) return;
  const schema = resolved(written, resolve);
  if (Array.isArray(value)) {
    const { items } = schema;
    if (!items) return;
    for (let i = 0; i < value.length; i++) {
      pruneValue(value[i] ?? null, items, resolve, `${path}[${i}]`, false, removed);
    }
    return;
  }
  if (isObject(value)) pruneObject(value, schema, resolve, path, isRoot, removed);
}

function pruneObject(
  object: JsonObject,
  schema: OpenApiSchema,
  resolve: Resolve,
  path: string,
  isRoot: boolean,
  removed: string[],
): void {
  const resource = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  const { additionalProperties } = schema;
  for (const key of Object.keys(object)) {
    const value = object[key];
    const property = propertyOf(schema, key);
    if (resource && (key === 'apiVersion' || key === 'kind' || key === 'metadata')) {
      // What a custom schema says of metadata restricts names; it does not list the fields.
      if (key === 'metadata' && property?.$ref === undefined && property?.allOf?.[0]?.$ref === undefined)
        continue;
      if (!property) continue;
    }
    const member = property ?? additionalProperties;
    if (typeof member === 'object') {
      if (typeof value === 'object' && value !== null) {
        pruneValue(value, member, resolve, childPath(path, key), false, removed);
      }
    } else if (member !== true && schema['x-kubernetes-preserve-unknown-fields'] !== true) {
      delete object[key];
      removed.push(childPath(path, key));
    }
  }
}
