import { childPath } from './field-issue.ts';
import { timeProblem } from './go-time.ts';
import { goTypeName } from './go-type-names.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { type OpenApiSchema, refName, type TypeSchema } from './open-api-schema.ts';
import { quantityProblems } from './quantity.ts';
import { propertyOf, resolved, valuesOf } from './schema-lookup.ts';

/** A value whose JSON type a built-in kind cannot hold. */
export interface TypeIssue {
  /** For example `spec.containers[0].name`. */
  readonly path: string;
  /** Go's name of the type that is wanted: `int32`, `string`, `[]v1.Container`, `v1.PodSpec`. */
  readonly expected: string;
  /** What is there, as Go calls it: `string`, `number`, `number 1.5`, `bool`, `array`, `object`. */
  readonly found: string;
  /** The struct that holds the field: `DeploymentSpec`; empty at the root. */
  readonly struct: string;
  /** Kubernetes' text, for a 400 as its decoder gives it. */
  readonly message: string;
}

type Resolve = TypeSchema['resolve'];

const MAX_ISSUES = 20;
const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';

/**
 * Looks for values of a wrong JSON type in an object of a built-in kind, where the real server fails to decode. Integers out of
 * range, quantities, times and base64 are part of it; everything else is validation. Nulls are fine everywhere.
 */
export function typeCheck(object: JsonValue, type: TypeSchema, path = ''): TypeIssue[] {
  const issues: TypeIssue[] = [];
  const kind = type.schema['x-kubernetes-group-version-kind']?.[0]?.kind ?? '';
  const root: Place = {
    resolve: type.resolve,
    above: undefined,
    key: path,
    isNamed: true,
    struct: '',
    owner: kind,
  };
  check(object, type.schema, root, issues);
  return issues;
}

/**
 * A container on the way, and which of its values is being looked at: one of these for each container, whose key changes, and
 * text only of what is told.
 */
interface Place {
  readonly resolve: Resolve;
  readonly above: Place | undefined;
  key: string | number;
  /** Whether the key is a field's name, and not one of a map. */
  isNamed: boolean;
  /** The struct that holds the value, as a reference or a kind. */
  readonly struct: string;
  /** The struct whose fields are below the value, where the schema does not name one. */
  readonly owner: string;
}

function pathOf({ above, key }: Place): string {
  const before = above === undefined ? '' : pathOf(above);
  return typeof key === 'number' ? `${before}[${key}]` : childPath(before, key);
}

/** The path as Go tells it: without indices and keys of maps. */
function fieldOf({ above, key, isNamed }: Place): string {
  const before = above === undefined ? '' : fieldOf(above);
  return typeof key === 'number' || !isNamed ? before : childPath(before, key);
}

function check(value: JsonValue, written: OpenApiSchema, place: Place, issues: TypeIssue[]): void {
  if (value === null || issues.length >= MAX_ISSUES) return;
  const reference = written.$ref ?? written.allOf?.[0]?.$ref;
  if (reference?.endsWith(QUANTITY) && refName(reference) === QUANTITY) {
    const problem = quantityProblems(value)[0];
    if (problem !== undefined) complain(value, 'resource.Quantity', place, issues, problem);
    return;
  }
  const schema = resolved(written, place.resolve);
  if (schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string') {
    if (typeof value !== 'string' && !isInt(value, 'int32')) complain(value, 'int32', place, issues);
    return;
  }
  switch (schema.type) {
    case 'string':
      checkString(value, schema, reference, place, issues);
      return;
    case 'boolean':
      if (typeof value !== 'boolean') complain(value, 'bool', place, issues);
      return;
    case 'integer': {
      const width = schema.format === 'int32' ? 'int32' : 'int64';
      if (!isInt(value, width)) complain(value, width, place, issues);
      return;
    }
    case 'number':
      if (typeof value !== 'number' && typeof value !== 'bigint') complain(value, 'float64', place, issues);
      return;
    case 'array':
      if (!Array.isArray(value)) {
        complain(value, ownName(place, '[]') ?? goType(written, place.resolve), place, issues);
      } else if (schema.items) {
        const { resolve, struct, owner } = place;
        const here: Place = { resolve, above: place, key: 0, isNamed: false, struct, owner };
        for (let index = 0; index < value.length; index++) {
          here.key = index;
          check(value[index] ?? null, schema.items, here, issues);
        }
      }
      return;
    case 'object':
      if (!isObject(value)) {
        const lists = valuesOf(schema)?.type === 'array';
        complain(
          value,
          ownName(place, lists ? 'map[string]' : '') ?? goType(written, place.resolve),
          place,
          issues,
        );
      } else checkMembers(value, schema, place, reference ?? place.owner, issues);
      return;
    default:
      return;
  }
}

function checkMembers(
  object: JsonObject,
  schema: OpenApiSchema,
  place: Place,
  owner: string,
  issues: TypeIssue[],
): void {
  const values = valuesOf(schema);
  const struct = values ? place.struct : owner;
  const here: Place = { resolve: place.resolve, above: place, key: '', isNamed: true, struct, owner: '' };
  for (const key of Object.keys(object)) {
    const value = object[key];
    const property = propertyOf(schema, key);
    const member = property ?? values;
    if (value === undefined || !member) continue;
    here.key = key;
    here.isNamed = property !== undefined;
    check(value, member, here, issues);
  }
}

/**
 * Go's name of the type of a value, where it has one that no schema tells: of a field, whose container is written before it, of
 * an item in a list of them, or of a list in a map.
 */
function ownName(place: Place, container: '' | '[]' | 'map[string]'): string | undefined {
  const { above, key, isNamed } = place;
  if (isNamed) {
    const name = goTypeName(shortName(refName(place.struct)), String(key));
    return name === undefined ? undefined : `${container}${name}`;
  }
  if (!above?.isNamed) return undefined;
  const name = goTypeName(shortName(refName(above.struct)), String(above.key));
  return typeof key === 'number' || container === '[]' ? name : undefined;
}

function checkString(
  value: JsonValue,
  schema: OpenApiSchema,
  reference: string | undefined,
  place: Place,
  issues: TypeIssue[],
): void {
  if (typeof value !== 'string') {
    const named = schema.format === 'byte' ? '[]uint8' : (ownName(place, '') ?? 'string');
    complain(value, named, place, issues);
  } else if (schema.format === 'date-time') {
    const problem = timeProblem(value, reference?.endsWith('.MicroTime') === true);
    if (problem !== undefined) complain(value, 'Time', place, issues, problem);
  } else if (schema.format === 'byte') {
    const at = value.search(/[^A-Za-z0-9+/=\r\n]/);
    const length = value.replace(/[\r\n]/g, '').length;
    if (at >= 0 || length % 4 !== 0 || /=[^=\r\n]|={3}/.test(value)) {
      complain(
        value,
        '[]uint8',
        place,
        issues,
        // Of a group of four that is not complete, its beginning is told.
        `illegal base64 data at input byte ${at >= 0 ? at : value.length - (value.length % 4)}`,
      );
    }
  }
}

function isInt(value: JsonValue, width: 'int32' | 'int64'): boolean {
  if (typeof value === 'bigint') return width === 'int64';
  if (typeof value !== 'number' || !Number.isInteger(value)) return false;
  return width === 'int64' ? Math.abs(value) <= 2 ** 63 : value >= -(2 ** 31) && value < 2 ** 31;
}

function complain(
  value: JsonValue,
  expected: string,
  place: Place,
  issues: TypeIssue[],
  text?: string,
): void {
  const path = pathOf(place);
  const field = fieldOf(place);
  const struct = shortName(refName(place.struct));
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  const number = isNumber && /^u?int/.test(expected) ? `number ${value}` : 'number';
  const found = isNumber
    ? number
    : typeof value === 'boolean'
      ? 'bool'
      : Array.isArray(value)
        ? 'array'
        : typeof value;
  const target =
    struct === '' && field === ''
      ? 'Go value'
      : `Go struct field ${struct === '' ? '' : `${struct}.`}${field}`;
  const message = text ?? `json: cannot unmarshal ${found} into ${target} of type ${expected}`;
  issues.push({ path, expected, found, struct, message });
}

function shortName(definition: string): string {
  return definition.slice(definition.lastIndexOf('.') + 1);
}

/** `io.k8s.api.core.v1.PodSpec` is `v1.PodSpec`. */
function goType(written: OpenApiSchema, resolve: Resolve): string {
  const reference = written.$ref ?? written.allOf?.[0]?.$ref;
  if (reference !== undefined) return refName(reference).split('.').slice(-2).join('.');
  const schema = resolved(written, resolve);
  const values = valuesOf(schema);
  if (schema.type === 'array') return `[]${schema.items ? goType(schema.items, resolve) : 'interface {}'}`;
  if (schema.type === 'object')
    return values ? `map[string]${goType(values, resolve)}` : 'map[string]interface {}';
  if (schema.type === 'integer') return schema.format === 'int32' ? 'int32' : 'int64';
  if (schema.type === 'boolean') return 'bool';
  if (schema.type === 'number') return 'float64';
  return schema.format === 'byte' ? '[]uint8' : 'string';
}
