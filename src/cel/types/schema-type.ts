import { dereference, type OpenApiSchema, refName, type TypeSchema } from '../../schema/open-api-schema.ts';
import { RESERVED } from '../syntax/lexer.ts';
import {
  BOOL,
  boundedType,
  DOUBLE,
  DURATION,
  DYN,
  type FieldType,
  INT,
  type ListType,
  mapType,
  type ObjectType,
  STRING,
  TIMESTAMP,
  type Type,
} from './type.ts';

export interface SchemaTypeOptions {
  /** Names the types; a field `spec` of `Widget` has the type `Widget.spec`. */
  readonly name: string;
  /** The root is a resource: it has apiVersion, kind, and of its metadata name and generateName. */
  readonly resource?: boolean;
  /** Fields that the schema preserves without describing them: invisible (as in CustomResourceDefinitions) or of any type. */
  readonly unknownFields?: 'hidden' | 'dyn';
  /** Fields have their names in JSON, `metadata.namespace`, instead of those in which Kubernetes escapes words and signs. */
  readonly plainNames?: boolean;
}

/** Bytes of a request, from which sizes are bounded where a schema says nothing. */
const MAX_REQUEST = 3 * 1024 * 1024;
/** A code point takes up to four bytes, in which requests are measured. */
const BYTES_OF_CHARACTER = 4;

interface Context {
  readonly resolve: TypeSchema['resolve'];
  readonly unknownFields: 'hidden' | 'dyn';
  readonly plainNames: boolean;
  /** Types of definitions, which may contain each other. */
  readonly definitions: Map<string, Type | undefined>;
}

/** The type of what a schema describes; `undefined` where it describes nothing that expressions could see. */
export function schemaType(type: TypeSchema, options: SchemaTypeOptions): Type | undefined {
  const context: Context = {
    resolve: type.resolve,
    unknownFields: options.unknownFields ?? 'hidden',
    plainNames: options.plainNames ?? false,
    definitions: new Map(),
  };
  return typeOf(context, type.schema, options.name, options.resource === true);
}

function typeOf(context: Context, written: OpenApiSchema, name: string, resource: boolean): Type | undefined {
  const ref = written.$ref ?? (written.allOf?.length === 1 ? written.allOf[0]?.$ref : undefined);
  if (ref === undefined) return describe(context, written, name, resource);
  const definition = refName(ref);
  if (!context.definitions.has(definition)) {
    const schema = dereference(written, context.resolve);
    context.definitions.set(definition, describe(context, schema, definition, resource));
  }
  return context.definitions.get(definition);
}

function describe(context: Context, schema: OpenApiSchema, name: string, root: boolean): Type | undefined {
  if (schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string') {
    return boundedType('dyn', MAX_REQUEST - 2);
  }
  const resource = root || schema['x-kubernetes-embedded-resource'] === true;
  switch (schema.type) {
    case 'boolean':
      return BOOL;
    case 'integer':
      return INT;
    case 'number':
      return DOUBLE;
    case 'string':
      return textType(schema);
    case 'array':
      return arrayType(context, schema, name);
    case 'object':
      return objectType(context, schema, name, resource);
    default:
      if (schema.properties) return objectType(context, schema, name, resource);
      return context.unknownFields === 'dyn' ? DYN : undefined;
  }
}

function textType(schema: OpenApiSchema): Type {
  switch (schema.format) {
    case 'byte':
      return boundedType('bytes', schema.maxLength ?? MAX_REQUEST - 2);
    case 'duration':
      return DURATION;
    case 'date':
    case 'date-time':
      return TIMESTAMP;
  }
  if (schema.enum && schema.enum.length > 0) {
    return boundedType(
      'string',
      Math.max(...schema.enum.map((item) => (typeof item === 'string' ? item.length : 0))),
    );
  }
  if (schema.maxLength !== undefined)
    return boundedType('string', Math.max(0, schema.maxLength) * BYTES_OF_CHARACTER);
  return boundedType('string', MAX_REQUEST - 2);
}

function arrayType(context: Context, schema: OpenApiSchema, name: string): Type | undefined {
  const items = schema.items;
  const element = items && typeOf(context, items, `${name}.@items`, false);
  if (!items || !element) return undefined;
  const max = schema.maxItems ?? Math.floor((MAX_REQUEST - 2) / (leastJson(context, items, 0) + 1));
  const keys = schema['x-kubernetes-list-map-keys'];
  const list: ListType = { kind: 'list', element, max };
  if (schema['x-kubernetes-list-type'] === 'set') return { ...list, merging: { kind: 'set' } };
  if (schema['x-kubernetes-list-type'] === 'map' && keys) return { ...list, merging: { kind: 'map', keys } };
  return list;
}

function objectType(
  context: Context,
  schema: OpenApiSchema,
  name: string,
  resource: boolean,
): Type | undefined {
  const extra = schema.additionalProperties;
  if (!schema.properties && extra !== undefined && extra !== false && !resource) {
    const value = extra === true ? dynamicValue(context) : typeOf(context, extra, `${name}.@values`, false);
    if (!value) return undefined;
    const least = extra === true ? 1 : leastJson(context, extra, 0);
    return mapType(STRING, value, schema.maxProperties ?? Math.floor((MAX_REQUEST - 2) / (least + 6)));
  }
  const unknown =
    schema['x-kubernetes-preserve-unknown-fields'] === true || (!schema.properties && !resource);
  return fieldsType(
    context,
    { ...schema.properties },
    name,
    resource,
    unknown && context.unknownFields === 'dyn',
  );
}

function dynamicValue(context: Context): Type | undefined {
  return context.unknownFields === 'dyn' ? DYN : undefined;
}

/** What every resource shows of itself. */
const METADATA: OpenApiSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

function fieldsType(
  context: Context,
  described: Readonly<Record<string, OpenApiSchema>>,
  name: string,
  resource: boolean,
  unknownFields: boolean,
): ObjectType {
  const text: OpenApiSchema = { type: 'string' };
  const visible = resource && context.unknownFields === 'hidden';
  const properties: Readonly<Record<string, OpenApiSchema>> = visible
    ? { ...described, apiVersion: text, kind: text, metadata: METADATA }
    : described;
  const properNames = new Map<string, string>();
  for (const property of Object.keys(properties)) {
    const shown = context.plainNames ? property : escapeFieldName(property);
    if (shown !== undefined) properNames.set(shown, property);
  }
  const known = new Map<string, FieldType | undefined>();
  const field = (wanted: string): FieldType | undefined => {
    const found = known.get(wanted);
    if (found !== undefined) return found;
    const property = properNames.get(wanted);
    if (property === undefined || known.has(wanted)) return undefined;
    const schema = properties[property];
    const type = schema && typeOf(context, schema, `${name}.${property}`, false);
    const made = type && { type, property };
    known.set(wanted, made);
    return made;
  };
  return {
    kind: 'object',
    name,
    field,
    fieldNames: () => [...properNames.keys()].filter((item) => field(item)),
    unknownFields,
  };
}

const EXPRESSIBLE = /^[A-Za-z_./-][A-Za-z0-9_./-]*$/;
const KEYWORDS: ReadonlySet<string> = new Set([...RESERVED, 'true', 'false', 'null', 'in']);

/** The name of a property in expressions; `undefined` for one that expressions cannot name. */
export function escapeFieldName(property: string): string | undefined {
  if (!EXPRESSIBLE.test(property)) return undefined;
  if (KEYWORDS.has(property)) return `__${property}__`;
  return property.replace(/__|[./-]/g, (part) => ESCAPES[part] ?? part);
}

const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

const MAX_DEPTH = 20;

/** Bytes that the smallest value of a schema takes in JSON. */
function leastJson(context: Context, written: OpenApiSchema, depth: number): number {
  const schema = dereference(written, context.resolve);
  if (depth > MAX_DEPTH) return 1;
  switch (schema.type) {
    case 'boolean':
      return 4;
    case 'string':
      return 2;
    case 'array':
      return 2;
    case 'object': {
      let size = 2;
      for (const name of schema.required ?? []) {
        const property = schema.properties?.[name];
        if (property && property.default === undefined)
          size += name.length + 3 + leastJson(context, property, depth + 1);
      }
      return size;
    }
    default:
      return 1;
  }
}
