import type { KubeObject } from '../../../kube/object.ts';
import {
  clone,
  deepEqual,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  objectAt,
  stringAt,
} from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';

/** A definition under which instances of several revisions are valid, or why there is none. */
export type Superset =
  | { readonly definition: KubeObject; readonly conflicts?: undefined }
  | { readonly definition?: undefined; readonly conflicts: readonly string[] };

/**
 * Widens the CustomResourceDefinition of one revision by what others allow: every field of each of them, required only where all
 * require it, bounds and values that all of them fit into. Names, columns and defaults are those of `base`. There is none where a
 * field has one type here and another there.
 */
export function supersetDefinition(base: KubeObject, others: readonly KubeObject[]): Superset {
  const definition = clone(base);
  const conflicts: string[] = [];
  for (const other of others) {
    const theirs = new Map(versionsOf(other).map((version) => [stringAt(version, 'name'), version]));
    for (const version of versionsOf(definition)) {
      const match = theirs.get(stringAt(version, 'name'));
      const holder = objectAt(version, 'schema');
      if (!match || !holder) continue;
      holder['openAPIV3Schema'] = widened(schemaOf(version), schemaOf(match), '', conflicts) as JsonValue;
    }
  }
  return conflicts.length > 0 ? { conflicts: [...new Set(conflicts)] } : { definition };
}

function versionsOf(definition: KubeObject): JsonObject[] {
  return listAt(definition, 'spec', 'versions').filter(isObject);
}

function schemaOf(version: JsonValue): OpenApiSchema {
  return (objectAt(version, 'schema', 'openAPIV3Schema') ?? {}) as OpenApiSchema;
}

const INT_OR_STRING = 'x-kubernetes-int-or-string';
const OPEN = 'x-kubernetes-preserve-unknown-fields';
const LOWER = ['minimum', 'minLength', 'minItems', 'minProperties'] as const;
const UPPER = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
/** What must be the same for one list or map to hold both. */
const SHAPES = ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type'] as const;

function widened(a: OpenApiSchema, b: OpenApiSchema, path: string, conflicts: string[]): OpenApiSchema {
  const type = commonType(a, b);
  if (type === undefined) {
    conflicts.push(
      `${path === '' ? 'the instance' : path} is ${typeOf(a)} in one and ${typeOf(b)} in another`,
    );
    return a;
  }
  const out: OpenApiSchema = { ...a, ...type };
  for (const keyword of LOWER) bound(out, keyword, a[keyword], b[keyword], Math.min);
  for (const keyword of UPPER) bound(out, keyword, a[keyword], b[keyword], Math.max);
  if (a.pattern !== b.pattern) delete out.pattern;
  if (a.uniqueItems !== b.uniqueItems) delete out.uniqueItems;
  if (b.nullable === true) out.nullable = true;
  if (b[OPEN] === true) out[OPEN] = true;
  for (const keyword of SHAPES)
    if (!deepEqual(a[keyword], b[keyword])) conflicts.push(`${path}: ${keyword} is not the same`);
  keep(out, 'enum', unionOf(a.enum, b.enum));
  keep(out, 'x-kubernetes-validations', commonRules(a, b));
  const required = (a.required ?? []).filter((name) => b.required?.includes(name));
  keep(out, 'required', required.length > 0 ? required : undefined);
  const inner = (name: string): string => (path === '' ? name : `${path}.${name}`);
  if (a.properties || b.properties) {
    const properties: Record<string, OpenApiSchema> = { ...b.properties, ...a.properties };
    for (const [name, property] of Object.entries(a.properties ?? {})) {
      const theirs = b.properties?.[name];
      if (theirs) properties[name] = widened(property, theirs, inner(name), conflicts);
    }
    out.properties = properties;
  }
  if (a.items && b.items) out.items = widened(a.items, b.items, `${path}[]`, conflicts);
  const [mine, theirs] = [a.additionalProperties, b.additionalProperties];
  if (isObject(mine) && isObject(theirs))
    out.additionalProperties = widened(mine, theirs, inner('*'), conflicts);
  else if (mine === true || theirs === true) out.additionalProperties = true;
  else if ((mine === undefined) !== (theirs === undefined) && (a.properties || b.properties))
    conflicts.push(`${path} has fields in one and any keys in another`);
  return out;
}

function typeOf(schema: OpenApiSchema): string {
  return schema[INT_OR_STRING] === true ? 'int-or-string' : (schema.type ?? 'any');
}

/** The keywords of a type that both fit; `undefined` where there is none. */
function commonType(a: OpenApiSchema, b: OpenApiSchema): Partial<OpenApiSchema> | undefined {
  const [mine, theirs] = [typeOf(a), typeOf(b)];
  if (mine === theirs) return {};
  const numbers = ['integer', 'number'];
  return numbers.includes(mine) && numbers.includes(theirs) ? { type: 'number' } : undefined;
}

type Bound = (typeof LOWER)[number] | (typeof UPPER)[number];

function bound(
  out: OpenApiSchema,
  keyword: Bound,
  a: number | undefined,
  b: number | undefined,
  wider: (a: number, b: number) => number,
): void {
  if (a === undefined || b === undefined) delete out[keyword];
  else out[keyword] = wider(a, b);
}

function unionOf(a: JsonValue[] | undefined, b: JsonValue[] | undefined): JsonValue[] | undefined {
  if (!a || !b) return undefined;
  return [...a, ...b.filter((value) => !a.some((other) => deepEqual(value, other)))];
}

/** A rule of one revision only would refuse instances of the other. */
function commonRules(a: OpenApiSchema, b: OpenApiSchema): JsonValue[] | undefined {
  const key = 'x-kubernetes-validations';
  const theirs = new Set((b[key] ?? []).map((rule) => stringAt(rule, 'rule')));
  const rules = (a[key] ?? []).filter((rule) => theirs.has(stringAt(rule, 'rule')));
  return rules.length > 0 ? rules : undefined;
}

function keep<K extends keyof OpenApiSchema>(
  out: OpenApiSchema,
  keyword: K,
  value: OpenApiSchema[K] | undefined,
): void {
  if (value === undefined) delete out[keyword];
  else out[keyword] = value;
}
