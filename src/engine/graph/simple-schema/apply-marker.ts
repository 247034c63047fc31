import { isObject, type JsonValue } from '../../../schema/json.ts';
import { exactInteger, parseJson } from '../../../schema/json-text.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { compileRegularExpression } from '../../../schema/regular-expression.ts';
import type { Marker, MarkerName } from './markers.ts';

/** What markers make of a field. */
export interface MarkedField {
  readonly schema: OpenApiSchema;
  readonly required: boolean;
}

/** Types to which a marker applies; all where none is named. */
const APPLIES: Readonly<Partial<Record<MarkerName, readonly string[]>>> = {
  minimum: ['integer', 'number'],
  maximum: ['integer', 'number'],
  minLength: ['string'],
  maxLength: ['string'],
  pattern: ['string'],
  enum: ['string', 'integer'],
  minItems: ['array'],
  maxItems: ['array'],
  uniqueItems: ['array'],
  listType: ['array'],
  listMapKey: ['array'],
};

/** A field with its markers; texts that say which of them do not fit. */
export function applyMarkers(
  base: MarkedField,
  markers: readonly Marker[],
): { readonly field: MarkedField; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const schema: OpenApiSchema = { ...base.schema };
  let { required } = base;
  for (const marker of markers) {
    const types = APPLIES[marker.name];
    if (types && !types.includes(schema.type ?? '')) {
      problems.push(
        `marker ${marker.name} is for ${types.map(shownType).join(' and ')} only, and this is ${shownType(schema.type ?? 'any value')}`,
      );
      continue;
    }
    if (marker.name === 'required') {
      const value = flag(marker.value);
      if (typeof value === 'string') problems.push(`marker required ${value}`);
      else required ||= value;
      continue;
    }
    const problem = applyMarker(schema, marker);
    if (problem !== undefined) problems.push(`marker ${marker.name} ${problem}`);
  }
  if (problems.length === 0) problems.push(...listProblems(schema));
  return { field: { schema, required }, problems };
}

function shownType(type: string): string {
  return type === 'number' ? 'float' : type;
}

function applyMarker(schema: OpenApiSchema, { name, value, text }: Marker): string | undefined {
  switch (name) {
    case 'description':
      if (value === '') delete schema.description;
      else schema.description = value;
      return undefined;
    case 'default':
      return applyDefault(schema, schema.type === 'string' && text !== undefined ? text : value);
    case 'minimum':
    case 'maximum': {
      const number = numberOf(value);
      if (number === undefined) return `must be a number, not "${value}"`;
      schema[name] = number;
      return undefined;
    }
    case 'minLength':
    case 'maxLength':
    case 'minItems':
    case 'maxItems':
      if (!/^\d{1,15}$/.test(value)) return `must be a whole number, not "${value}"`;
      schema[name] = Number(value);
      return undefined;
    case 'pattern': {
      if (value === '') return 'must not be empty';
      const compiled = compileRegularExpression(value);
      if ('error' in compiled) return `is no regular expression: ${compiled.error}`;
      schema.pattern = value;
      return undefined;
    }
    case 'enum':
      return applyEnum(schema, value);
    case 'validation':
      if (value.trim() === '') return 'must not be empty';
      addRule(schema, value, 'validation failed');
      return undefined;
    case 'immutable': {
      const on = flag(value);
      if (typeof on === 'string') return on;
      if (on) addRule(schema, 'self == oldSelf', 'field is immutable');
      return undefined;
    }
    case 'uniqueItems': {
      const on = flag(value);
      if (typeof on === 'string') return on;
      return on ? applyListType(schema, 'set') : undefined;
    }
    case 'listType':
      return applyListType(schema, value);
    case 'listMapKey':
      if (value === '') return 'must name a field';
      schema['x-kubernetes-list-map-keys'] = [...(schema['x-kubernetes-list-map-keys'] ?? []), value];
      return undefined;
    default:
      return undefined;
  }
}

/** As kro spells them. Of a default it is only what JSON has. */
const YES: readonly string[] = ['true', 'True', 'TRUE', 't', 'T', '1'];
const NO: readonly string[] = ['false', 'False', 'FALSE', 'f', 'F', '0'];

function flag(value: string): boolean | string {
  if (YES.includes(value)) return true;
  return NO.includes(value) ? false : `must be true or false, not "${value}"`;
}

function numberOf(value: string): number | undefined {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(value) ? Number(value) : undefined;
}

function integerOf(value: string): number | bigint | undefined {
  if (!/^[+-]?\d+$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : exactInteger(value);
}

function applyDefault(schema: OpenApiSchema, text: string): string | undefined {
  const value = defaultOf(schema, text);
  if ('problem' in value) return value.problem;
  schema.default = value.value;
  return undefined;
}

function defaultOf(schema: OpenApiSchema, text: string): { value: JsonValue } | { problem: string } {
  switch (schema.type) {
    case 'string':
      return { value: text };
    case 'integer': {
      const value = integerOf(text);
      return value === undefined ? { problem: `must be a whole number, not "${text}"` } : { value };
    }
    case 'number': {
      const value = numberOf(text);
      return value === undefined ? { problem: `must be a number, not "${text}"` } : { value };
    }
    case 'boolean': {
      if (text !== 'true' && text !== 'false') return { problem: `must be true or false, not "${text}"` };
      return { value: text === 'true' };
    }
    default: {
      const wanted = schema.type === 'array' ? 'a JSON list' : 'a JSON object';
      try {
        const value = parseJson(text);
        const fits = schema.type === 'array' ? Array.isArray(value) : isObject(value);
        return fits ? { value } : { problem: `must be ${wanted}, not ${text}` };
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return { problem: `must be ${wanted}, not ${text}` };
      }
    }
  }
}

function applyEnum(schema: OpenApiSchema, text: string): string | undefined {
  const values: JsonValue[] = [];
  for (const item of text.split(',').map((part) => part.trim())) {
    if (item === '') return 'must not have empty values';
    const value = schema.type === 'integer' ? integerOf(item) : item;
    if (value === undefined) return `must hold whole numbers, not "${item}"`;
    values.push(value);
  }
  schema.enum = values;
  return undefined;
}

function applyListType(schema: OpenApiSchema, value: string): string | undefined {
  if (value !== 'atomic' && value !== 'set' && value !== 'map')
    return `must be atomic, set or map, not "${value}"`;
  const before = schema['x-kubernetes-list-type'];
  if (before !== undefined && before !== value) return `says ${value}, another marker says ${before}`;
  schema['x-kubernetes-list-type'] = value;
  return undefined;
}

function addRule(schema: OpenApiSchema, rule: string, message: string): void {
  schema['x-kubernetes-validations'] = [...(schema['x-kubernetes-validations'] ?? []), { rule, message }];
}

/** What the list markers of a field must be to each other. */
function listProblems(schema: OpenApiSchema): string[] {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'map') return keys.length > 0 ? ['marker listMapKey is for lists with listType=map only'] : [];
  if (keys.length === 0) return ['marker listType=map needs a listMapKey'];
  const properties = schema.items?.properties;
  if (!properties) return ['marker listType=map is for lists of objects with fields only'];
  return keys
    .filter((key) => !Object.hasOwn(properties, key))
    .map(
      (key) =>
        `marker listMapKey names "${key}", the elements have ${Object.keys(properties).sort().join(', ')}`,
    );
}
