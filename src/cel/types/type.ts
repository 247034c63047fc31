import type { ListMerging } from '../values/list.ts';

/** Static types of expressions. */
export type Type =
  | { readonly kind: SimpleKind }
  | ListType
  | MapType
  /** The type of a type. */
  | { readonly kind: 'type'; readonly of: Type | undefined }
  /** Stands for any one type within a signature. */
  | { readonly kind: 'param'; readonly name: string }
  /** A primitive that may also be null. */
  | { readonly kind: 'wrapper'; readonly of: Type }
  | ObjectType
  | OpaqueType;

export type SimpleKind =
  | 'dyn'
  | 'error'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'any';

/** How large a value of a type can be, as far as its declaration says; what costs are estimated from. */
export interface SizeBound {
  /** Characters, bytes, elements or entries. */
  readonly max?: number | undefined;
}

export interface ListType extends SizeBound {
  readonly kind: 'list';
  readonly element: Type;
  /** Of Kubernetes' sets and keyed lists. */
  readonly merging?: ListMerging;
}
export interface MapType extends SizeBound {
  readonly kind: 'map';
  readonly key: Type;
  readonly value: Type;
}
export interface FieldType {
  readonly type: Type;
  /** The key in JSON, where the name in expressions differs from it. */
  readonly property?: string;
}
export interface ObjectType {
  readonly kind: 'object';
  readonly name: string;
  /** `undefined`: no such field. Asked lazily, so that types may contain themselves. */
  readonly field: (name: string) => FieldType | undefined;
  readonly fieldNames: () => readonly string[];
  /** Properties that are not fields can be read, as values of any type. */
  readonly unknownFields?: boolean;
}
export interface OpaqueType {
  readonly kind: 'opaque';
  readonly name: string;
  readonly params: readonly Type[];
}

export const DYN: Type = { kind: 'dyn' };
export const ERROR: Type = { kind: 'error' };
export const NULL: Type = { kind: 'null' };
export const BOOL: Type = { kind: 'bool' };
export const INT: Type = { kind: 'int' };
export const UINT: Type = { kind: 'uint' };
export const DOUBLE: Type = { kind: 'double' };
export const STRING: Type = { kind: 'string' };
export const BYTES: Type = { kind: 'bytes' };
export const TIMESTAMP: Type = { kind: 'timestamp' };
export const DURATION: Type = { kind: 'duration' };
export const TYPE: Type = { kind: 'type', of: undefined };

export function listType(element: Type, max?: number): ListType {
  return { kind: 'list', element, ...(max !== undefined && { max }) };
}
export function mapType(key: Type, value: Type, max?: number): MapType {
  return { kind: 'map', key, value, ...(max !== undefined && { max }) };
}
export function optionalType(of: Type): OpaqueType {
  return { kind: 'opaque', name: 'optional_type', params: [of] };
}
export function opaqueType(name: string, ...params: Type[]): OpaqueType {
  return { kind: 'opaque', name, params };
}
export function typeParam(name: string): Type {
  return { kind: 'param', name };
}
/** A text, or bytes, of at most so many characters. */
export function boundedType(kind: 'string' | 'bytes' | 'dyn', max: number): Type {
  return { kind, max } as Type;
}
/** The bound that a declaration gives, if it gives one. */
export function boundOf(type: Type): number | undefined {
  return 'max' in type && typeof type.max === 'number' ? type.max : undefined;
}

export function isOptional(type: Type): type is OpaqueType {
  return type.kind === 'opaque' && type.name === 'optional_type';
}

/** As messages name it. */
export function formatType(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `list(${formatType(type.element)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case 'type':
      return type.of ? `type(${formatType(type.of)})` : 'type';
    case 'param':
      return type.name;
    case 'wrapper':
      return `wrapper(${formatType(type.of)})`;
    case 'object':
      return type.name;
    case 'opaque':
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(formatType).join(', ')})`;
    case 'error':
      return '!error!';
    default:
      return type.kind;
  }
}

/** The type parameters that occur in a type. */
export function paramsOf(type: Type, into: Set<string> = new Set()): Set<string> {
  switch (type.kind) {
    case 'param':
      into.add(type.name);
      break;
    case 'list':
      paramsOf(type.element, into);
      break;
    case 'map':
      paramsOf(type.key, into);
      paramsOf(type.value, into);
      break;
    case 'type':
    case 'wrapper':
      if (type.of) paramsOf(type.of, into);
      break;
    case 'opaque':
      for (const param of type.params) paramsOf(param, into);
  }
  return into;
}

export function equalTypes(a: Type, b: Type): boolean {
  if (a === b) return true;
  switch (a.kind) {
    case 'list':
      return b.kind === 'list' && equalTypes(a.element, b.element);
    case 'map':
      return b.kind === 'map' && equalTypes(a.key, b.key) && equalTypes(a.value, b.value);
    case 'type':
      return b.kind === 'type' && (a.of && b.of ? equalTypes(a.of, b.of) : a.of === b.of);
    case 'param':
      return b.kind === 'param' && a.name === b.name;
    case 'wrapper':
      return b.kind === 'wrapper' && equalTypes(a.of, b.of);
    case 'object':
      return b.kind === 'object' && a.name === b.name;
    case 'opaque':
      return (
        b.kind === 'opaque' &&
        a.name === b.name &&
        a.params.length === b.params.length &&
        a.params.every((param, index) => equalTypes(param, b.params[index] ?? DYN))
      );
    default:
      return a.kind === b.kind;
  }
}
