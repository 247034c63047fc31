import type { Adapter } from './list.ts';
import { Double, Uint, type Value } from './value.ts';

/** How the properties of a JSON object are read. */
export interface ObjectShape {
  /** As `type()` names it. */
  readonly typeName: string;
  /** By name as written in an expression; `undefined` for a map of any keys. */
  readonly fields: ReadonlyMap<string, ObjectField> | undefined;
  /** Properties that are not fields; `undefined` hides them. */
  readonly rest: Adapter | undefined;
}
export interface ObjectField {
  /** The key in JSON, which differs from the name where that must be escaped. */
  readonly property: string;
  readonly adapter: Adapter;
  /** Every object has a property of that name, such as `constructor`. */
  readonly inherited: boolean;
}

type Key = string | number | bigint | boolean;

/** Keys that are equal as CEL sees it (`1`, `1u`, `1.0`) get the same normal form; `undefined` for what can be no key. */
export function normalKey(key: Value): Key | undefined {
  switch (typeof key) {
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
      return key;
    default:
      if (key instanceof Uint)
        return key.value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(key.value) : key.value;
      if (key instanceof Double && Number.isInteger(key.value)) {
        return Number.isSafeInteger(key.value) ? key.value + 0 : BigInt(key.value);
      }
      return undefined;
  }
}

/** A map: either over a JSON object, whose values are adapted when they are looked at, or of entries with keys of any kind. */
export abstract class CelMap {
  abstract readonly size: number;
  /** `undefined` where there is no such key. */
  abstract get(key: Value): Value | undefined;
  /** By a name in the expression. */
  abstract field(name: string): Value | undefined;
  abstract entries(): IterableIterator<[Value, Value]>;
  abstract keys(): Value[];
}

export class ObjectMap extends CelMap {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly shape: ObjectShape;
  constructor(raw: Readonly<Record<string, unknown>>, shape: ObjectShape) {
    super();
    this.raw = raw;
    this.shape = shape;
  }
  override get size(): number {
    const { rest } = this.shape;
    let count = 0;
    for (const key in this.raw) {
      if (this.raw[key] !== undefined && (rest !== undefined || this.adapterOf(key) !== undefined)) count++;
    }
    return count;
  }
  override field(name: string): Value | undefined {
    const { fields, rest } = this.shape;
    const field = fields?.get(name);
    if (field !== undefined) return this.read(field);
    if (rest === undefined || !Object.hasOwn(this.raw, name)) return undefined;
    const raw = this.raw[name];
    return raw === undefined ? undefined : rest(raw);
  }
  /** Objects with fields are plain ones: what is not their own is what every object has. */
  read(field: ObjectField): Value | undefined {
    const raw = this.raw[field.property];
    if (raw === undefined || (field.inherited && !Object.hasOwn(this.raw, field.property))) return undefined;
    return field.adapter(raw);
  }
  override get(key: Value): Value | undefined {
    return typeof key === 'string' ? this.property(key) : undefined;
  }
  /** By the key in JSON. */
  property(key: string): Value | undefined {
    if (!Object.hasOwn(this.raw, key)) return undefined;
    const raw = this.raw[key];
    if (raw === undefined) return undefined;
    const adapter = this.adapterOf(key);
    return adapter ? adapter(raw) : undefined;
  }
  private adapterOf(key: string): Adapter | undefined {
    const { fields, rest } = this.shape;
    const field = fields?.get(key);
    if (field?.property === key) return field.adapter;
    if (fields) for (const other of fields.values()) if (other.property === key) return other.adapter;
    return rest;
  }
  override *entries(): IterableIterator<[Value, Value]> {
    for (const key of Object.keys(this.raw)) {
      const value = this.property(key);
      if (value !== undefined) yield [key, value];
    }
  }
  override keys(): Value[] {
    return Object.keys(this.raw).filter(
      (key) => this.raw[key] !== undefined && this.adapterOf(key) !== undefined,
    );
  }
}

export class EntryMap extends CelMap {
  readonly items: ReadonlyMap<Key, readonly [Value, Value]>;
  constructor(items: ReadonlyMap<Key, readonly [Value, Value]>) {
    super();
    this.items = items;
  }
  override get size(): number {
    return this.items.size;
  }
  override get(key: Value): Value | undefined {
    const normal = normalKey(key);
    return normal === undefined ? undefined : this.items.get(normal)?.[1];
  }
  override field(name: string): Value | undefined {
    return this.items.get(name)?.[1];
  }
  override *entries(): IterableIterator<[Value, Value]> {
    for (const [key, value] of this.items.values()) yield [key, value];
  }
  override keys(): Value[] {
    return Array.from(this.items.values(), (entry) => entry[0]);
  }
}

/** From pairs; `undefined` where a key is of a kind that keys cannot have, or comes twice. */
export function mapOf(pairs: Iterable<readonly [Value, Value]>): EntryMap | undefined {
  const items = new Map<Key, readonly [Value, Value]>();
  for (const pair of pairs) {
    const key = normalKey(pair[0]);
    if (key === undefined || items.has(key)) return undefined;
    items.set(key, pair);
  }
  return new EntryMap(items);
}
