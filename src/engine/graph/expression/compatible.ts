import { BOOL, boundOf, formatType, type Type } from '../../../cel/index.ts';
import type { OpenApiSchema, TypeSchema } from '../../../schema/open-api-schema.ts';
import { propertyOf, resolved, valuesOf } from '../../../schema/schema-lookup.ts';

type Resolve = TypeSchema['resolve'];

/** What a schema wants, in words: `an integer`, `a list of strings`. */
export function wantedText(written: OpenApiSchema, resolve: Resolve): string {
  const schema = resolved(written, resolve);
  if (takesIntOrString(schema)) return 'an integer or a string';
  switch (schema.type) {
    case 'string':
      return schema.format === 'byte' ? 'a string in base64' : 'a string';
    case 'integer':
      return 'an integer';
    case 'number':
      return 'a number';
    case 'boolean':
      return 'a bool';
    case 'array':
      return schema.items ? `a list, each element ${wantedText(schema.items, resolve)}` : 'a list';
    case 'object': {
      const values = valuesOf(schema);
      if (values) return `a map, each value ${wantedText(values, resolve)}`;
      const names = Object.keys(schema.properties ?? {});
      return names.length === 0 ? 'an object' : `an object with ${someOf(names)}`;
    }
    default: {
      const kinds = branchesOf(schema).map((branch) => wantedText(branch, resolve));
      return kinds.length === 0 ? 'any value' : [...new Set(kinds)].join(' or ');
    }
  }
}

function branchesOf({ oneOf = [], anyOf = [] }: OpenApiSchema): OpenApiSchema[] {
  return [...oneOf, ...anyOf].filter((branch) => branch.type !== undefined);
}

const SHOWN = 12;

export function someOf(names: readonly string[]): string {
  const more = names.length > SHOWN ? ', …' : '';
  return `${[...names].sort().slice(0, SHOWN).join(', ')}${more}`;
}

export function takesIntOrString(schema: OpenApiSchema): boolean {
  return schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string';
}

/** Whether a schema says anything of what it takes. */
export function takesAnything(schema: OpenApiSchema): boolean {
  return schema.type === undefined && schema.properties === undefined && !takesIntOrString(schema);
}

const MAX_DEPTH = 24;

/**
 * Why a value of a type cannot stand where a schema wants another; `undefined` where it can, or where only the value can tell.
 * Structs are compared by their fields: each that is given must be one that is wanted.
 */
export function mismatch(type: Type, written: OpenApiSchema, resolve: Resolve): string | undefined {
  return compare(type, written, resolve, '', 0);
}

function compare(
  type: Type,
  written: OpenApiSchema,
  resolve: Resolve,
  path: string,
  depth: number,
): string | undefined {
  // Types may contain themselves, and where they do the schema does so, too.
  if (depth > MAX_DEPTH) return undefined;
  const schema = resolved(written, resolve);
  const found = unwrapped(type);
  if (isWild(found) || takesIntOrString(schema)) return undefined;
  if (found.kind === 'opaque' || found.kind === 'type')
    return `${at(path)}a ${formatType(found)} cannot be written; string() may make a text of it`;
  if (takesAnything(schema)) return branchMismatch(found, schema, resolve, path, depth);
  const refuse = (): string => `${at(path)}the expression gives ${article(found)}`;
  switch (schema.type) {
    case 'string':
      return textMismatch(found, schema, path) ?? (isText(found) ? undefined : refuse());
    case 'integer':
      return found.kind === 'int' || found.kind === 'uint' ? undefined : refuse();
    case 'number':
      return ['int', 'uint', 'double'].includes(found.kind) ? undefined : refuse();
    case 'boolean':
      return found.kind === BOOL.kind ? undefined : refuse();
    case 'array':
      if (found.kind !== 'list') return refuse();
      return schema.items && compare(found.element, schema.items, resolve, `${path}[]`, depth + 1);
    default:
      return objectMismatch(found, schema, resolve, path, depth) ?? (isMapping(found) ? undefined : refuse());
  }
}

/** Of a schema that only its alternatives describe. */
function branchMismatch(
  type: Type,
  schema: OpenApiSchema,
  resolve: Resolve,
  path: string,
  depth: number,
): string | undefined {
  const branches = branchesOf(schema);
  if (branches.length === 0) return undefined;
  const reasons = branches.map((branch) => compare(type, branch, resolve, path, depth + 1));
  return reasons.includes(undefined) ? undefined : reasons[0];
}

function textMismatch(type: Type, schema: OpenApiSchema, path: string): string | undefined {
  if (type.kind === 'bytes')
    return `${at(path)}bytes cannot be written; base64.encode() or string() makes a text of them`;
  if (type.kind === 'timestamp' && schema.format !== 'date-time' && schema.format !== 'date')
    return `${at(path)}the expression gives a timestamp; string() makes a text of it`;
  if (type.kind === 'duration' && schema.format !== 'duration' && schema.format !== undefined)
    return `${at(path)}the expression gives a duration; string() makes a text of it`;
  return undefined;
}

function isText(type: Type): boolean {
  return type.kind === 'string' || type.kind === 'timestamp' || type.kind === 'duration';
}

function isMapping(type: Type): boolean {
  return type.kind === 'map' || type.kind === 'object';
}

function objectMismatch(
  type: Type,
  schema: OpenApiSchema,
  resolve: Resolve,
  path: string,
  depth: number,
): string | undefined {
  const values = valuesOf(schema);
  if (type.kind === 'map') {
    if (!isWild(type.key) && type.key.kind !== 'string')
      return `${at(path)}keys of objects are strings, not ${type.key.kind}s`;
    if (values) return compare(type.value, values, resolve, `${path}.*`, depth + 1);
    const wanted = Object.values(schema.properties ?? {});
    const reasons = wanted.map((item) => compare(type.value, item, resolve, `${path}.*`, depth + 1));
    return wanted.length === 0 || reasons.includes(undefined) ? undefined : reasons[0];
  }
  if (type.kind !== 'object') return undefined;
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true || !schema.properties;
  for (const name of type.fieldNames()) {
    const field = type.field(name);
    if (!field) continue;
    const key = field.property ?? name;
    const wanted = propertyOf(schema, key) ?? values;
    if (!wanted) {
      if (open) continue;
      return `${at(path)}the expression gives a field "${key}" that is not wanted`;
    }
    const reason = compare(field.type, wanted, resolve, `${path}.${key}`, depth + 1);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function at(path: string): string {
  return path === '' ? '' : `at ${path.replace(/^\./, '')}, `;
}

/** What a value is of, seen through optionals and wrappers. */
export function unwrapped(type: Type): Type {
  if (type.kind === 'opaque' && type.name === 'optional_type') return unwrapped(type.params[0] ?? type);
  return type.kind === 'wrapper' ? unwrapped(type.of) : type;
}

export function isWild(type: Type): boolean {
  return ['dyn', 'any', 'error', 'null', 'param'].includes(type.kind);
}

/** `an int`, `a list(string)`; internal names of types are not shown. */
export function article(type: Type): string {
  const name = shownType(type);
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

function shownType(type: Type): string {
  switch (type.kind) {
    case 'object':
      return `struct with ${someOf(type.fieldNames())}`;
    case 'list':
      return `list(${type.element.kind === 'object' ? 'struct' : formatType(type.element)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${type.value.kind === 'object' ? 'struct' : formatType(type.value)})`;
    default:
      return boundOf(type) === undefined ? formatType(type) : type.kind;
  }
}
