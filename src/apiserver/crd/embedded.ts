import type { FieldError } from '../../kube/status-error.ts';
import { childPath } from '../../schema/field-issue.ts';
import { isObject, type JsonObject, type JsonValue, objectAt } from '../../schema/json.ts';
import { validateLabels } from '../../schema/names.ts';
import type { OpenApiSchema, TypeSchema } from '../../schema/open-api-schema.ts';
import { memberSchema, resolved } from '../../schema/schema-lookup.ts';

/** Calls `visit` for every object inside a custom resource that its schema says is a resource itself. */
export function eachEmbedded(
  object: JsonObject,
  type: TypeSchema,
  visit: (embedded: JsonObject, path: string) => void,
): void {
  if (holdsEmbedded(type.schema, type.resolve)) walk(object, type.schema, type.resolve, '', visit);
}

/** What an embedded resource must say of itself. */
export function embeddedErrors(object: JsonObject, type: TypeSchema): FieldError[] {
  const errors: FieldError[] = [];
  eachEmbedded(object, type, (embedded, path) => {
    for (const key of ['apiVersion', 'kind'] as const)
      if (!embedded[key])
        errors.push({ type: 'Required', path: childPath(path, key), detail: 'must not be empty' });
    const { apiVersion } = embedded;
    if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2)
      errors.push({
        type: 'Invalid',
        path: childPath(path, 'apiVersion'),
        value: apiVersion,
        detail: `unexpected GroupVersion string: ${apiVersion}`,
      });
    const labels = objectAt(embedded, 'metadata', 'labels');
    if (labels) errors.push(...validateLabels(labels as Record<string, string>, `${path}.metadata.labels`));
  });
  return errors;
}

function walk(
  value: JsonValue,
  written: OpenApiSchema,
  resolve: TypeSchema['resolve'],
  path: string,
  visit: (embedded: JsonObject, path: string) => void,
): void {
  const schema = resolved(written, resolve);
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items)
      for (const [index, item] of value.entries()) walk(item, items, resolve, `${path}[${index}]`, visit);
    return;
  }
  if (!isObject(value)) return;
  if (schema['x-kubernetes-embedded-resource']) visit(value, path);
  for (const key of Object.keys(value)) {
    const member = path === '' && key === 'metadata' ? undefined : memberSchema(schema, key, resolve);
    const item = value[key];
    if (member && item !== undefined) walk(item, member, resolve, childPath(path, key), visit);
  }
}

/** Few schemas have any, so most objects need not be walked. */
const known = new WeakMap<OpenApiSchema, boolean>();

function holdsEmbedded(written: OpenApiSchema, resolve: TypeSchema['resolve'], depth: number = 0): boolean {
  const schema = written.$ref === undefined ? written : {};
  const found = known.get(schema);
  if (found !== undefined) return found;
  if (depth > 64) return false;
  const children = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
    ...(isObject(schema.additionalProperties) ? [schema.additionalProperties as OpenApiSchema] : []),
  ];
  const holds =
    schema['x-kubernetes-embedded-resource'] === true ||
    children.some((child) => holdsEmbedded(child, resolve, depth + 1));
  known.set(schema, holds);
  return holds;
}
