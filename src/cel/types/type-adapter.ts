import { adapt } from '../values/convert.ts';
import { type Adapter, List } from '../values/list.ts';
import { type ObjectField, ObjectMap, type ObjectShape } from '../values/map.ts';
import { parseDuration, parseTimestamp } from '../values/time.ts';
import { Double } from '../values/value.ts';
import type { ObjectType, Type } from './type.ts';

const ADAPTERS = new WeakMap<Type, Adapter>();

/** How values of a type are made from JSON: `1` as a double where a double is declared, texts as timestamps. */
export function adapterOf(type: Type): Adapter {
  const known = ADAPTERS.get(type);
  if (known) return known;
  const adapter = createAdapter(type);
  ADAPTERS.set(type, adapter);
  return adapter;
}

function createAdapter(type: Type): Adapter {
  switch (type.kind) {
    case 'double':
      return (raw) => (typeof raw === 'number' ? new Double(raw) : adapt(raw));
    case 'timestamp':
      return (raw) =>
        typeof raw === 'string' ? parseTimestamp(raw.length === 10 ? `${raw}T00:00:00Z` : raw) : adapt(raw);
    case 'duration':
      return (raw) => (typeof raw === 'string' ? parseDuration(raw) : adapt(raw));
    case 'bytes':
      return (raw) => (typeof raw === 'string' ? Uint8Array.from(Buffer.from(raw, 'base64')) : adapt(raw));
    case 'string':
      return (raw) => (typeof raw === 'string' ? raw : adapt(raw));
    case 'wrapper':
      return adapterOf(type.of);
    case 'list': {
      const element = adapterOf(type.element);
      const { merging } = type;
      return (raw) => (Array.isArray(raw) ? new List(raw, element, merging) : adapt(raw));
    }
    case 'map': {
      const shape: ObjectShape = {
        typeName: 'map',
        fields: undefined,
        rest: adapterOf(type.value),
      };
      return (raw) => (isPlain(raw) ? new ObjectMap(raw, shape) : adapt(raw));
    }
    case 'object': {
      // Objects may contain themselves, so what is in one is found out when the first is met.
      let shape: ObjectShape | undefined;
      return (raw) => {
        if (!isPlain(raw)) return adapt(raw);
        shape ??= shapeOf(type);
        return new ObjectMap(raw, shape);
      };
    }
    default:
      return adapt;
  }
}

function isPlain(raw: unknown): raw is Record<string, unknown> {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return false;
  const prototype: unknown = Object.getPrototypeOf(raw);
  return prototype === Object.prototype || prototype === null;
}

function shapeOf(type: ObjectType): ObjectShape {
  const fields = new Map<string, ObjectField>();
  for (const name of type.fieldNames()) {
    const field = type.field(name);
    if (!field) continue;
    const property = field.property ?? name;
    fields.set(name, { property, adapter: adapterOf(field.type), inherited: property in Object.prototype });
  }
  return { typeName: type.name, fields, rest: type.unknownFields === true ? adapt : undefined };
}
