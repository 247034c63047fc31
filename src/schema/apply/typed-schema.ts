import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { type OpenApiSchema, refName, type TypeSchema } from '../open-api-schema.ts';
import { fieldElement, type PathElement } from './field-path.ts';
import { objectMetaSchema } from './object-meta.ts';

/**
 * How a value of some type merges. Most types allow one of scalar, list and map; untyped ones allow several, and then the
 * value at hand decides.
 */
export interface FieldType {
  readonly scalar: ScalarKind | undefined;
  readonly list: ListType | undefined;
  readonly map: MapType | undefined;
  /** True where there is no schema and the form follows from the values. */
  readonly deduced: boolean;
}

export type ScalarKind = 'numeric' | 'string' | 'boolean' | 'untyped';

export interface ListType {
  /** An atomic list is one value; a set is owned by item; a keyed list merges items with equal keys. */
  readonly relation: 'atomic' | 'set' | 'keyed';
  /** Key fields of a keyed list in alphabetic order, with what an absent key stands for. */
  readonly keys: readonly ListKey[];
  readonly item: FieldType;
}

export interface ListKey {
  readonly name: string;
  /** The name as path elements write it: `"name":`. */
  readonly text: string;
  readonly default: JsonValue | undefined;
}

export interface MapType {
  /** An atomic map is one value. */
  readonly atomic: boolean;
  /** A declared field. */
  field(name: string): Field | undefined;
  /** The type of keys that are not declared; `undefined` when there may be none. */
  readonly element: FieldType | undefined;
}

export interface Field {
  /** Its path element, made once. */
  readonly step: PathElement;
  readonly type: FieldType;
  /**
   * What an absent field stands for when objects are compared: built-in types always hold some fields (`{}` for
   * structs, `null` for lists), so that setting something inside does not add the field itself.
   */
  readonly zero: JsonValue | undefined;
  /** A field of a built-in type, where `null` is as good as absent. */
  readonly builtIn: boolean;
}

const untypedScalar: FieldType = { scalar: 'untyped', list: undefined, map: undefined, deduced: false };

/** Anything, as one value: raw objects embedded in others. */
const untypedAtomic: FieldType = {
  scalar: 'untyped',
  list: {
    relation: 'atomic',
    keys: [],
    get item(): FieldType {
      return untypedAtomic;
    },
  },
  map: {
    atomic: true,
    field: () => undefined,
    get element(): FieldType {
      return untypedAtomic;
    },
  },
  deduced: false,
};

/** Without a schema: maps merge by key, lists and scalars are single values. */
export const deducedType: FieldType = {
  scalar: 'untyped',
  list: { relation: 'atomic', keys: [], item: untypedAtomic },
  map: {
    atomic: false,
    field: () => undefined,
    get element(): FieldType {
      return deducedType;
    },
  },
  deduced: true,
};

const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const rawExtension = 'io.k8s.apimachinery.pkg.runtime.RawExtension';
const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** Where a schema stands: what it inherits, and whether it belongs to a named definition (a built-in type). */
interface Place {
  readonly resolve: TypeSchema['resolve'];
  readonly preserve: boolean;
  readonly definition: boolean;
  readonly cache: Cache;
}

interface Cache {
  readonly named: Map<string, FieldType>;
  readonly roots: WeakMap<OpenApiSchema, FieldType>;
}

/** Types derive from schemas only, so one copy per set of definitions serves every request for as long as that lives. */
const caches = new WeakMap<TypeSchema['resolve'], Cache>();

/**
 * The apply type of a whole object. Parts are derived when they are first needed and kept as long as `type.resolve`
 * lives, so `type.resolve` and `type.schema` should be the same objects in every call.
 */
export function objectType(type: TypeSchema): FieldType {
  let cache = caches.get(type.resolve);
  if (cache === undefined) {
    cache = { named: new Map(), roots: new WeakMap() };
    caches.set(type.resolve, cache);
  }
  let root = cache.roots.get(type.schema);
  if (root === undefined) {
    // Custom types have no definition of their own, so nothing is known of them beyond what they say.
    const definition = type.schema['x-kubernetes-group-version-kind'] !== undefined;
    const place: Place = { resolve: type.resolve, preserve: false, definition, cache };
    root = withObjectFields(fieldType(type.schema, place), place);
    cache.roots.set(type.schema, root);
  }
  return root;
}

function fieldType(schema: OpenApiSchema, place: Place): FieldType {
  const ref = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  if (ref !== undefined) {
    const named = namedType(refName(ref), place);
    const override = schema['x-kubernetes-map-type'];
    if (override === undefined || named.map === undefined) return named;
    const map = named.map;
    return { ...named, map: { atomic: override === 'atomic', field: map.field, element: map.element } };
  }
  const preserve = place.preserve || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const here = preserve === place.preserve ? place : { ...place, preserve };
  if (schema['x-kubernetes-int-or-string'] === true) return untypedScalar;
  const type = schema.type ?? (schema.properties ? 'object' : schema.items ? 'array' : undefined);
  switch (type) {
    case 'string': {
      const plain = schema.format === undefined || schema.format === '' || schema.format === 'byte';
      return plain ? scalarTypes.string : untypedScalar;
    }
    case 'integer':
    case 'number':
      return scalarTypes.numeric;
    case 'boolean':
      return scalarTypes.boolean;
    case 'array':
      return { scalar: undefined, list: listType(schema, here), map: undefined, deduced: false };
    case 'object': {
      const made: FieldType = {
        scalar: undefined,
        list: undefined,
        map: mapType(schema, here),
        deduced: false,
      };
      return schema['x-kubernetes-embedded-resource'] === true ? withObjectFields(made, here) : made;
    }
    default:
      return deducedType;
  }
}

const scalarTypes: Record<'string' | 'numeric' | 'boolean', FieldType> = {
  string: { ...untypedScalar, scalar: 'string' },
  numeric: { ...untypedScalar, scalar: 'numeric' },
  boolean: { ...untypedScalar, scalar: 'boolean' },
};

function namedType(name: string, place: Place): FieldType {
  if (name === quantity) return untypedScalar;
  if (name === rawExtension) return untypedAtomic;
  const known = place.cache.named.get(name);
  if (known !== undefined) return known;
  const target = place.resolve(name) ?? (name === objectMeta ? objectMetaSchema : undefined);
  // Named types inherit nothing from where they are used.
  const made =
    target === undefined ? deducedType : fieldType(target, { ...place, preserve: false, definition: true });
  place.cache.named.set(name, made);
  return made;
}

function listType(schema: OpenApiSchema, place: Place): ListType {
  const relation = listRelation(schema);
  let item: FieldType | undefined;
  let keys: readonly ListKey[] | undefined;
  return {
    relation: relation.kind,
    get keys(): readonly ListKey[] {
      keys ??= relation.keys.map((name) => ({
        name,
        text: `${JSON.stringify(name)}:`,
        default: keyDefault(schema.items, name, place),
      }));
      return keys;
    },
    get item(): FieldType {
      item ??= schema.items ? fieldType(schema.items, place) : untypedAtomic;
      return item;
    },
  };
}

function listRelation(schema: OpenApiSchema): { kind: ListType['relation']; keys: readonly string[] } {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  switch (schema['x-kubernetes-list-type']) {
    case 'atomic':
      return { kind: 'atomic', keys: [] };
    case 'set':
      return { kind: 'set', keys: [] };
    case 'map':
      return keys.length > 0 ? { kind: 'keyed', keys: [...keys].sort() } : { kind: 'atomic', keys: [] };
  }
  // Types from before x-kubernetes-list-type say it with the marks of strategic merge patch.
  if (!schema['x-kubernetes-patch-strategy']?.split(',').includes('merge'))
    return { kind: 'atomic', keys: [] };
  const key = schema['x-kubernetes-patch-merge-key'];
  return key ? { kind: 'keyed', keys: [key] } : { kind: 'set', keys: [] };
}

/** What an absent key field stands for. Required scalars of built-in types are never absent: they are zero. */
function keyDefault(items: OpenApiSchema | undefined, name: string, place: Place): JsonValue | undefined {
  const { schema: item, named } = follow(items, place.resolve);
  const property =
    item?.properties && Object.hasOwn(item.properties, name) ? item.properties[name] : undefined;
  if (property?.default !== undefined) return property.default;
  const target = follow(property, place.resolve).schema;
  if (target?.default !== undefined) return target.default;
  if (!(named || place.definition) || !item?.required?.includes(name)) return undefined;
  switch (target?.type) {
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    default:
      return undefined;
  }
}

/** The schema behind references; `named` when there was one. */
function follow(
  schema: OpenApiSchema | undefined,
  resolve: TypeSchema['resolve'],
): { schema: OpenApiSchema | undefined; named: boolean } {
  let current = schema;
  let named = false;
  for (let hops = 0; current !== undefined && hops < 16; hops++) {
    const ref = current.$ref ?? (current.allOf?.length === 1 ? current.allOf[0]?.$ref : undefined);
    if (ref === undefined) break;
    current = resolve(refName(ref));
    named = true;
  }
  return { schema: current, named };
}

function mapType(schema: OpenApiSchema, place: Place): MapType {
  const properties = schema.properties ?? {};
  const fields = new Map<string, Field>();
  const additional = schema.additionalProperties;
  let element: FieldType | undefined;
  // Any key is welcome where the schema says so, where it says nothing at all, or where unknown fields are kept.
  const open =
    additional === true ||
    place.preserve ||
    (additional === undefined && Object.keys(properties).length === 0 && schema.properties === undefined);
  return {
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    field(name: string): Field | undefined {
      const known = fields.get(name);
      if (known !== undefined) return known;
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (property === undefined) return undefined;
      const made: Field = {
        step: fieldElement(name),
        type: fieldType(property, place),
        zero: zeroOf(property, schema.required?.includes(name) === true, place),
        builtIn: place.definition,
      };
      fields.set(name, made);
      return made;
    },
    get element(): FieldType | undefined {
      if (element === undefined) {
        if (isObject(additional)) element = fieldType(additional as OpenApiSchema, place);
        else if (open) element = deducedType;
      }
      return element;
    },
  };
}

function zeroOf(property: OpenApiSchema, required: boolean, place: Place): JsonValue | undefined {
  const zero = property.default;
  const named = property.$ref !== undefined || property.allOf?.[0]?.$ref !== undefined;
  if (named && isObject(zero) && Object.keys(zero).length === 0) return emptyStruct;
  if (!place.definition) return undefined;
  if (zero === '' || zero === 0 || zero === false) return zero;
  return required && property['x-kubernetes-list-type'] === 'map' ? null : undefined;
}

const emptyStruct: JsonObject = Object.freeze({});

/** Every whole object has these, whatever its schema says of them. */
function withObjectFields(type: FieldType, place: Place): FieldType {
  const map = type.map;
  if (map === undefined) return type;
  const meta: Field = {
    step: fieldElement('metadata'),
    type: namedType(objectMeta, place),
    zero: emptyStruct,
    builtIn: true,
  };
  const text = { type: scalarTypes.string, zero: undefined, builtIn: false };
  const apiVersion: Field = { ...text, step: fieldElement('apiVersion') };
  const kind: Field = { ...text, step: fieldElement('kind') };
  return {
    scalar: undefined,
    list: undefined,
    deduced: type.deduced,
    map: {
      atomic: false,
      field(name: string): Field | undefined {
        if (name === 'metadata') return meta;
        return map.field(name) ?? (name === 'apiVersion' ? apiVersion : name === 'kind' ? kind : undefined);
      },
      get element(): FieldType | undefined {
        return map.element;
      },
    },
  };
}

/** Which of the forms that the type allows is meant by the value; for `null` and misfits the type's main one. */
export function formOf(type: FieldType, value: JsonValue | undefined): 'scalar' | 'list' | 'map' {
  if (Array.isArray(value)) {
    if (type.list !== undefined) return 'list';
  } else if (typeof value === 'object' && value !== null) {
    if (type.map !== undefined) return 'map';
  } else if (value !== null && value !== undefined && type.scalar !== undefined) {
    return 'scalar';
  }
  if (type.map !== undefined) return 'map';
  return type.scalar !== undefined ? 'scalar' : 'list';
}

/** The type of what a key of a map holds; undeclared keys of closed maps are taken as they come. */
export function typeAt(map: MapType, key: string): FieldType {
  return map.field(key)?.type ?? map.element ?? deducedType;
}
