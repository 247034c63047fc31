import type { Type } from '../../../cel/index.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { unwrapped } from '../expression/index.ts';

const ANYTHING: OpenApiSchema = { 'x-kubernetes-preserve-unknown-fields': true };
/** Types may contain themselves; below this depth anything may stand. */
const MAX_DEPTH = 16;
const MAX_FIELDS = 5_000;

/** The OpenAPI schema of what an expression gives. */
export function inferSchema(type: Type): OpenApiSchema {
  return infer(type, { left: MAX_FIELDS, within: [] });
}

interface Inference {
  left: number;
  /** Names of the structs that are being described. */
  readonly within: readonly string[];
}

function infer(written: Type, state: Inference): OpenApiSchema {
  const type = unwrapped(written);
  if (state.within.length > MAX_DEPTH) return ANYTHING;
  switch (type.kind) {
    case 'bool':
      return { type: 'boolean' };
    case 'int':
    case 'uint':
      return { type: 'integer' };
    case 'double':
      return { type: 'number' };
    case 'string':
      return { type: 'string' };
    case 'bytes':
      return { type: 'string', format: 'byte' };
    case 'timestamp':
      return { type: 'string', format: 'date-time' };
    case 'duration':
      return { type: 'string', format: 'duration' };
    case 'list':
      return { type: 'array', items: infer(type.element, state) };
    case 'map':
      return { type: 'object', additionalProperties: infer(type.value, state) };
    case 'object':
      return inferObject(type, state);
    default:
      return ANYTHING;
  }
}

function inferObject(type: Type & { kind: 'object' }, state: Inference): OpenApiSchema {
  const open: OpenApiSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  if (state.within.includes(type.name)) return open;
  const properties: Record<string, OpenApiSchema> = {};
  const inner: Inference = { left: state.left, within: [...state.within, type.name] };
  for (const name of [...type.fieldNames()].sort()) {
    const field = type.field(name);
    const key = field?.property ?? name;
    if (!field) continue;
    if (inner.left-- <= 0) return open;
    properties[key] = infer(field.type, inner);
  }
  state.left = inner.left;
  if (Object.keys(properties).length === 0) return open;
  return type.unknownFields === true ? { ...open, properties } : { type: 'object', properties };
}
