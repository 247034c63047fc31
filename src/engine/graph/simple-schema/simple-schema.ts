import { isObject, type JsonObject, type JsonValue } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import type { GraphIssue } from '../issue.ts';
import { applyMarkers, type MarkedField } from './apply-marker.ts';
import { orderTypes } from './custom-types.ts';
import { parseMarkers, splitLeaf } from './markers.ts';
import { isScalar, parseTypeExpression, SCALARS, type TypeExpression } from './type-expression.ts';

export const MAX_SCHEMA_DEPTH = 16;
/** Nodes of a schema; custom types that use each other can make a short text very large. */
const MAX_SCHEMA_SIZE = 20_000;

const SCALAR_SCHEMAS: Readonly<Record<(typeof SCALARS)[number], OpenApiSchema>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  float: { type: 'number' },
  object: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
};

/** A schema with what is known of it without looking at all of it. */
interface Built extends MarkedField {
  /** Levels of objects, lists and maps. */
  readonly depth: number;
  readonly size: number;
}

interface Builder {
  readonly types: ReadonlyMap<string, Built>;
  readonly issues: GraphIssue[];
}

/**
 * The OpenAPI schema of a `spec` that is written in SimpleSchema: leaves `TYPE | marker=value …`, maps as objects, custom types by
 * name. Issues name the field; where there are any, the schema is of no use.
 */
export function openApiOfSimpleSchema(
  spec: JsonObject,
  types: JsonObject = {},
): { readonly schema: OpenApiSchema; readonly issues: readonly GraphIssue[] } {
  const issues: GraphIssue[] = [];
  const known = new Map<string, Built>();
  const builder: Builder = { types: known, issues };
  const ordered = orderTypes(types);
  if ('cycle' in ordered) {
    issues.push({
      path: 'schema.types',
      message: `custom types form a cycle: ${ordered.cycle.join(' -> ')}`,
    });
  } else {
    for (const name of ordered.order) {
      const path = `schema.types.${name}`;
      if (isScalar(name)) issues.push({ path, message: `"${name}" is a type already` });
      else known.set(name, buildField(builder, types[name] ?? null, path));
    }
  }
  if (issues.length > 0) return { schema: { type: 'object' }, issues };
  const built = buildObject(builder, spec, 'schema.spec');
  if (built.depth - 1 > MAX_SCHEMA_DEPTH)
    issues.push({
      path: 'schema.spec',
      message: `it nests ${built.depth - 1} levels deep`,
      expected: `at most ${MAX_SCHEMA_DEPTH}`,
    });
  else if (built.size > MAX_SCHEMA_SIZE)
    issues.push({
      path: 'schema.spec',
      message: `it has ${built.size} fields with those of its custom types`,
      expected: `at most ${MAX_SCHEMA_SIZE}`,
    });
  return { schema: built.schema, issues };
}

const NOTHING: Built = { schema: {}, required: false, depth: 0, size: 1 };

function buildField(builder: Builder, definition: JsonValue, path: string): Built {
  if (typeof definition === 'string') return buildLeaf(builder, definition, path);
  if (isObject(definition)) return buildObject(builder, definition, path);
  builder.issues.push({
    path,
    message: `found ${definition === null ? 'nothing' : Array.isArray(definition) ? 'a list' : `the ${typeof definition} ${String(definition)}`}`,
    expected: 'a type such as "string" or "integer | default=1", or an object of fields',
  });
  return NOTHING;
}

function buildObject(builder: Builder, fields: JsonObject, path: string): Built {
  const properties: Record<string, OpenApiSchema> = {};
  const required: string[] = [];
  let depth = 0;
  let size = 1;
  let defaults = false;
  for (const [name, definition] of Object.entries(fields)) {
    if (definition === undefined) continue;
    const field = buildField(builder, definition, `${path}.${name}`);
    Object.defineProperty(properties, name, {
      value: field.schema,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    if (field.required) required.push(name);
    if (field.schema.default !== undefined) defaults = true;
    depth = Math.max(depth, field.depth);
    size += field.size;
  }
  const schema: OpenApiSchema = {
    type: 'object',
    properties,
    ...(required.length > 0 && { required: required.sort() }),
    // Without a default of its own the object is absent, and the defaults in it never hold.
    ...(defaults && required.length === 0 && { default: {} }),
  };
  return { schema, required: false, depth: depth + 1, size };
}

function buildLeaf(builder: Builder, leaf: string, path: string): Built {
  const split = splitLeaf(leaf);
  if (!split) {
    builder.issues.push({ path, message: `"${leaf}" has more than one "|" outside quotes`, expected: 'one' });
    return NOTHING;
  }
  const type = parseTypeExpression(split.type);
  if (typeof type === 'string') {
    builder.issues.push({ path, message: type, expected: typeForms(builder) });
    return NOTHING;
  }
  const base = buildType(builder, type, path);
  if (split.markers === undefined) return base;
  const markers = parseMarkers(split.markers);
  if (typeof markers === 'string') {
    builder.issues.push({ path, message: markers, expected: 'markers as name=value, separated by blanks' });
    return base;
  }
  const { field, problems } = applyMarkers(base, markers);
  for (const message of problems) builder.issues.push({ path, message });
  return { ...base, ...field };
}

function buildType(builder: Builder, type: TypeExpression, path: string): Built {
  if (type.kind === 'list') {
    const element = buildType(builder, type.element, path);
    return nested(element, { type: 'array', items: element.schema });
  }
  if (type.kind === 'map') {
    const value = buildType(builder, type.value, path);
    return nested(value, { type: 'object', additionalProperties: value.schema });
  }
  const { name } = type;
  if (isScalar(name)) return { schema: SCALAR_SCHEMAS[name], required: false, depth: 0, size: 1 };
  const custom = builder.types.get(name);
  if (custom) return custom;
  builder.issues.push({ path, message: `there is no type "${name}"`, expected: typeForms(builder) });
  return NOTHING;
}

function nested(inner: Built, schema: OpenApiSchema): Built {
  return { schema, required: false, depth: inner.depth + 1, size: inner.size + 1 };
}

function typeForms({ types }: Builder): string {
  const custom = types.size === 0 ? '' : `, ${[...types.keys()].sort().join(', ')}`;
  return `${SCALARS.join(', ')}${custom}, []T or map[string]T`;
}
