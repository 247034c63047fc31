import { goSyntax } from '../go-syntax.ts';
import { isObject, type JsonObject, type JsonValue, objectAt, stringAt } from '../json.ts';
import type { TypeSchema } from '../open-api-schema.ts';
import { fieldElement, formatElement, type PathElement } from './field-path.ts';
import { itemElement, itemProblem } from './list-items.ts';
import {
  type FieldType,
  formOf,
  type ListType,
  type MapType,
  objectType,
  type ScalarKind,
} from './typed-schema.ts';

/** Deeper objects are refused. */
const maxDepth = 256;

/**
 * What is wrong with an applied object before it can be merged: fields that the schema does not declare, values of another
 * kind than declared, list items without keys, items with the same key twice. Each line is `<path>: <problem>`.
 */
export function validateApplied(value: JsonValue, type: FieldType): string[] {
  const problems: string[] = [];
  validate(value, type, undefined, 0, problems, false);
  return problems;
}

/** The same for an object as it is stored, whose lists may hold what an applier may not say twice. */
export function validateStored(value: JsonValue, type: FieldType): string[] {
  const problems: string[] = [];
  validate(value, type, undefined, 0, problems, true);
  return problems;
}

/** Problems as one text; `undefined` where there are none. */
export function problemsText(problems: readonly string[]): string | undefined {
  if (problems.length < 2) return problems[0];
  return `errors:${problems.map((problem) => `\n  ${problem}`).join('')}`;
}

/** A container on the way, and the step that is being taken from it: paths become text only where something is wrong. */
interface Place {
  readonly above: Place | undefined;
  /** The name of a field, the element of a list item, or its position where it has none. */
  step: PathElement | number;
}

function pathOf(place: Place | undefined): string {
  if (place === undefined) return '';
  const { above, step } = place;
  return `${pathOf(above)}${typeof step === 'number' ? `[${step}]` : formatElement(step)}`;
}

function validate(
  value: JsonValue,
  type: FieldType,
  at: Place | undefined,
  depth: number,
  problems: string[],
  repeats: boolean,
): void {
  if (value === null) return;
  if (depth > maxDepth) {
    problems.push(`${pathOf(at)}: nested deeper than ${maxDepth} levels`);
    return;
  }
  switch (formOf(type, value)) {
    case 'scalar': {
      const wanted = scalarProblem(type.scalar, value);
      if (wanted !== undefined) problems.push(`${pathOf(at)}: ${wanted}`);
      return;
    }
    case 'list':
      if (Array.isArray(value)) validateList(value, type.list as ListType, at, depth, problems, repeats);
      else problems.push(`${pathOf(at)}: expected list, got ${boxed(value)}`);
      return;
    default:
      if (isObject(value)) {
        const map = type.map as MapType;
        const here: Place = { above: at, step: '' };
        for (const key of Object.keys(value)) {
          const item = value[key];
          if (item === undefined) continue;
          const field = map.field(key);
          here.step = field?.step ?? fieldElement(key);
          const below = field?.type ?? map.element;
          if (below === undefined) problems.push(`${pathOf(here)}: field not declared in schema`);
          else validate(item, below, here, depth + 1, problems, repeats);
        }
      } else problems.push(`${pathOf(at)}: expected map, got ${boxed(value)}`);
  }
}

function validateList(
  items: readonly JsonValue[],
  list: ListType,
  place: Place | undefined,
  depth: number,
  problems: string[],
  repeats: boolean,
): void {
  const seen = new Set<PathElement>();
  const here: Place = { above: place, step: 0 };
  for (let i = 0; i < items.length; i++) {
    const item = items[i] ?? null;
    here.step = i;
    if (list.relation !== 'atomic') {
      const element = itemElement(list, item);
      if (element === undefined) {
        // Without its element nothing inside can be named.
        problems.push(`${pathOf(place)}: element ${i}: ${itemProblem(list, item)}`);
        return;
      }
      if (seen.has(element) && !repeats)
        problems.push(`${pathOf(place)}: duplicate entries for key ${formatElement(element)}`);
      seen.add(element);
      here.step = element;
    }
    validate(item, list.item, here, depth + 1, problems, repeats);
  }
}

function scalarProblem(kind: ScalarKind | undefined, value: JsonValue): string | undefined {
  switch (kind) {
    case 'numeric':
      return typeof value === 'number' || typeof value === 'bigint'
        ? undefined
        : `expected numeric (int or float), got ${goType(value)}`;
    case 'string':
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got ${boxed(value)}`;
    default:
      return typeof value === 'object' ? `expected any scalar, got ${boxed(value)}` : undefined;
  }
}

// The texts name values as the Kubernetes API server prints them, since clients show them to people who compare.

function goType(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int64';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    default:
      return 'map[string]interface {}';
  }
}

/** `&{map[b:1]}` */
function boxed(value: JsonValue): string {
  return `&{${goPlain(value)}}`;
}

function goPlain(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPlain).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const parts = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goPlain(value[key])}`);
  return `map[${parts.join(' ')}]`;
}

/**
 * Why an applied body does not belong to the endpoint at all, in the API server's words (400 BadRequest); `undefined` when
 * it does.
 */
export function headProblem(applied: JsonObject, apiVersion: string, kind: string): string | undefined {
  if (applied.apiVersion !== apiVersion || applied.kind !== kind) {
    return `invalid object type: ${groupVersionKind(applied)}`;
  }
  const managedFields = objectAt(applied, 'metadata')?.managedFields;
  return managedFields === undefined || managedFields === null
    ? undefined
    : 'metadata.managedFields must be nil';
}

/** The message for the problems of `validateApplied`, in the API server's words. */
export function formatErrors(applied: JsonObject, errors: readonly string[]): string {
  return `failed to create typed patch object (${objectName(applied)}): ${problemsText(errors) ?? ''}`;
}

/** `default/web; apps/v1, Kind=Deployment` */
export function objectName(object: JsonObject): string {
  const namespace = stringAt(object, 'metadata', 'namespace') ?? '';
  const name = stringAt(object, 'metadata', 'name') ?? '';
  return `${namespace}/${name}; ${groupVersionKind(object)}`;
}

/** `apps/v1, Kind=Deployment`, and `/v1, Kind=Pod` for the core group. */
function groupVersionKind(object: JsonObject): string {
  const apiVersion = stringAt(object, 'apiVersion') ?? '';
  const kind = stringAt(object, 'kind') ?? '';
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

/** What of an applied object a type does not have, in the words of `formatErrors`. */
export function appliedProblems(applied: JsonObject, type: TypeSchema): readonly string[] {
  return validateApplied(applied, objectType(type));
}
