import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { bool, double, int64, message, string, strings } from './protobuf-writer.ts';

/**
 * OpenAPI v2 as protobuf, the only form that kubectl before 1.24 reads. Field numbers are those of gnostic's
 * `openapi.v2` package; parts of it that no document here has (files, headers, examples, OAuth) are left out.
 */
export function encodeDocument(document: JsonObject): Buffer {
  return Buffer.concat([
    string(1, document.swagger),
    ...field(2, document.info, (info) => [string(1, info.title), string(2, info.version)]),
    ...field(8, document.paths, (paths) => named(2, paths, encodePathItem)),
    ...field(9, document.definitions, (definitions) => named(1, definitions, encodeSchema)),
    ...field(10, document.parameters, (parameters) => named(1, parameters, encodeParameterBody)),
    ...list(document.security).map((requirement) =>
      message(
        12,
        named(1, requirement, (scopes) => [strings(1, scopes)]),
      ),
    ),
    ...field(13, document.securityDefinitions, (definitions) =>
      named(1, definitions, (item) => [
        ...field(2, item, (key) => [string(1, key.type), string(2, key.name), string(3, key.in)]),
      ]),
    ),
  ]);
}

type Encode = (value: JsonObject) => Buffer[];

function list(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function field(number: number, value: JsonValue | undefined, encode: Encode): Buffer[] {
  return isObject(value) ? [message(number, encode(value))] : [];
}

/** A map as gnostic has it: repeated messages of name (1) and value (2). */
function named(number: number, map: JsonObject, encode: (value: JsonObject) => Buffer[]): Buffer[] {
  return Object.entries(map).map(([name, value]) =>
    message(number, [string(1, name), message(2, encode(value as JsonObject))]),
  );
}

/** `Any` with its YAML text, of which JSON is a part. */
function any(value: JsonValue): Buffer[] {
  return [string(2, `${JSON.stringify(value)}\n`)];
}

function extensions(number: number, value: JsonObject): Buffer[] {
  const out: Buffer[] = [];
  for (const key in value) {
    const extension = value[key];
    if (key.startsWith('x-') && extension !== undefined) {
      out.push(message(number, [string(1, key), message(2, any(extension))]));
    }
  }
  return out;
}

function encodePathItem(item: JsonObject): Buffer[] {
  return [
    ...field(2, item.get, encodeOperation),
    ...field(3, item.put, encodeOperation),
    ...field(4, item.post, encodeOperation),
    ...field(5, item.delete, encodeOperation),
    ...field(6, item.options, encodeOperation),
    ...field(7, item.head, encodeOperation),
    ...field(8, item.patch, encodeOperation),
    ...list(item.parameters).map((parameter) => message(9, encodeParameter(parameter))),
  ];
}

function encodeOperation(operation: JsonObject): Buffer[] {
  return [
    strings(1, operation.tags),
    string(5, operation.operationId),
    strings(6, operation.produces),
    strings(7, operation.consumes),
    ...list(operation.parameters).map((parameter) => message(8, encodeParameter(parameter))),
    ...field(9, operation.responses, (responses) =>
      named(1, responses, (response) => [
        message(1, [
          string(1, response.description),
          ...field(2, response.schema, (schema) => [message(1, encodeSchema(schema))]),
        ]),
      ]),
    ),
    strings(10, operation.schemes),
    ...extensions(13, operation),
  ];
}

/** `ParametersItem`: a parameter, or where it is. */
function encodeParameter(parameter: JsonObject): Buffer[] {
  return parameter.$ref === undefined
    ? [message(1, encodeParameterBody(parameter))]
    : [message(2, [string(1, parameter.$ref)])];
}

/** `Parameter`: body or non-body, whose variants differ in their numbers. */
function encodeParameterBody(parameter: JsonObject): Buffer[] {
  if (parameter.in === 'body') {
    const body = [
      string(2, parameter.name),
      string(3, parameter.in),
      bool(4, parameter.required),
      ...field(5, parameter.schema, encodeSchema),
    ];
    return [message(1, body)];
  }
  const head = [bool(1, parameter.required), string(2, parameter.in), string(4, parameter.name)];
  const variant =
    parameter.in === 'query'
      ? message(3, [...head, string(6, parameter.type), bool(20, parameter.uniqueItems)])
      : message(4, [...head, string(5, parameter.type), bool(19, parameter.uniqueItems)]);
  return [message(2, [variant])];
}

function encodeSchema(schema: JsonObject): Buffer[] {
  const out = [
    string(1, schema.$ref),
    string(2, schema.format),
    string(3, schema.title),
    string(4, schema.description),
    double(6, schema.multipleOf),
    double(7, schema.maximum),
    bool(8, schema.exclusiveMaximum),
    double(9, schema.minimum),
    bool(10, schema.exclusiveMinimum),
    int64(11, schema.maxLength),
    int64(12, schema.minLength),
    string(13, schema.pattern),
    int64(14, schema.maxItems),
    int64(15, schema.minItems),
    bool(16, schema.uniqueItems),
    int64(17, schema.maxProperties),
    int64(18, schema.minProperties),
    strings(19, schema.required),
    ...field(21, schema.additionalProperties, (child) => [message(1, encodeSchema(child))]),
    ...(schema.additionalProperties === true ? [message(21, [bool(2, true)])] : []),
    ...field(23, schema.items, (child) => [message(1, encodeSchema(child))]),
    ...field(25, schema.properties, (properties) => named(1, properties, encodeSchema)),
    ...extensions(31, schema),
  ];
  if (schema.default !== undefined) out.push(message(5, any(schema.default)));
  if (Array.isArray(schema.enum)) for (const value of schema.enum) out.push(message(20, any(value)));
  if (typeof schema.type === 'string') out.push(message(22, [string(1, schema.type)]));
  return out.filter((part) => part.byteLength > 0);
}
