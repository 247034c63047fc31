import { readFileSync } from 'node:fs';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listType,
  mapType,
  optionalType,
  STRING,
  schemaType,
  TIMESTAMP,
  type Type,
  UINT,
} from '../../cel/index.ts';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';

/** Where the variables of an expression are declared; nowhere for one that has none. */
export interface Declarations {
  readonly env?: string;
  readonly schema?: string;
  readonly crd?: string;
  readonly crdVersion?: string;
  readonly path?: string;
}

type Variables = Readonly<Record<string, Type>>;

/** Reads the types of variables. Throws for a file that does not say them. */
export function declaredVariables({ env, schema, crd, crdVersion, path }: Declarations): Variables {
  if (env !== undefined) return variablesOf(env, read(env));
  if (schema !== undefined) return selfOf(schema, read(schema), path);
  if (crd !== undefined) return selfOf(crd, versionSchema(crd, read(crd), crdVersion), path);
  return {};
}

function read(file: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file} cannot be read`, { cause: error });
  }
  const parsed = parseYamlBody(text);
  if (!parsed.ok) throw new Error(`${file}: ${parsed.message}`);
  if (!isObject(parsed.value)) throw new Error(`${file} holds no object`);
  return parsed.value;
}

function versionSchema(file: string, definition: JsonObject, wanted: string | undefined): JsonObject {
  const versions = listAt(definition, 'spec', 'versions').filter(isObject);
  if (versions.length === 0) throw new Error(`${file} is no CustomResourceDefinition with versions`);
  const found = versions.find(({ name, storage }) =>
    wanted === undefined ? storage === true : name === wanted,
  );
  const names = versions.map((version) => stringAt(version, 'name') ?? '').join(', ');
  if (!found) throw new Error(`${file} has no version ${wanted ?? 'that is stored'}; there are ${names}`);
  const schema = objectAt(found, 'schema', 'openAPIV3Schema');
  if (!schema) throw new Error(`${file}: version ${stringAt(found, 'name') ?? ''} has no schema`);
  return schema;
}

/** `self` and `oldSelf`, as rules of a schema have them. */
function selfOf(file: string, root: JsonObject, path: string | undefined): Variables {
  const steps = (path ?? '').split('.').filter((step) => step !== '');
  let schema: JsonObject = root;
  for (const step of steps) {
    const next =
      step === '[]'
        ? objectAt(schema, 'items')
        : (objectAt(schema, 'properties', step) ?? objectAt(schema, 'additionalProperties'));
    if (!next) {
      const names = Object.keys(objectAt(schema, 'properties') ?? {}).join(', ');
      throw new Error(
        `${file}: there is no ${step} in ${path ?? ''}${names === '' ? '' : `; there are ${names}`}`,
      );
    }
    schema = next;
  }
  const self = typeOfSchema(schema, steps.at(-1) ?? 'self', steps.length === 0);
  return { self, oldSelf: self };
}

function typeOfSchema(schema: JsonObject, name: string, resource: boolean): Type {
  const type = { schema: schema as OpenApiSchema, resolve: () => undefined };
  return schemaType(type, { name, resource }) ?? DYN;
}

function variablesOf(file: string, declared: JsonObject): Variables {
  const variables = objectAt(declared, 'variables') ?? declared;
  return Object.fromEntries(
    Object.entries(variables).map(([name, type]) => {
      if (isObject(type)) return [name, typeOfSchema(type, name, false)];
      const named = typeof type === 'string' ? namedType(type) : undefined;
      if (!named)
        throw new Error(`${file}: the type of ${name} is neither one of ${TYPE_FORMS} nor a schema`);
      return [name, named];
    }),
  );
}

const NAMED: Readonly<Record<string, Type>> = {
  dyn: DYN,
  bool: BOOL,
  int: INT,
  uint: UINT,
  double: DOUBLE,
  string: STRING,
  bytes: BYTES,
  timestamp: TIMESTAMP,
  duration: DURATION,
};
const TYPE_FORMS = `${Object.keys(NAMED).join(', ')}, list(T), map(K, V), optional(T)`;
const MAX_TYPE_TEXT = 200;

/** `list(map(string, int))` */
function namedType(text: string): Type | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_TYPE_TEXT) return undefined;
  const [, outer, inner = ''] = /^(list|map|optional)\((.*)\)$/.exec(trimmed) ?? [];
  if (outer === undefined) return Object.hasOwn(NAMED, trimmed) ? NAMED[trimmed] : undefined;
  if (outer !== 'map') {
    const element = namedType(inner);
    return element && (outer === 'list' ? listType(element) : optionalType(element));
  }
  // Keys are simple, so the first comma is the one between key and value.
  const comma = inner.indexOf(',');
  const key = comma < 0 ? undefined : namedType(inner.slice(0, comma));
  const value = comma < 0 ? undefined : namedType(inner.slice(comma + 1));
  return key && value && mapType(key, value);
}
