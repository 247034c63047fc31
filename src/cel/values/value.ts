import type { Type } from '../types/type.ts';
import type { List } from './list.ts';
import type { CelMap } from './map.ts';

/**
 * What expressions compute with. Bools, strings, null and small ints are plain JavaScript values; kinds that JavaScript lacks
 * have boxes. An int is a number where that is exact and a bigint beyond; a number is never a double, which has a box.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint
  | Double
  | Uint8Array
  | Timestamp
  | Duration
  | List
  | CelMap
  | Optional
  | TypeValue
  | Opaque
  | Failure;

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export class Double {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A moment between the years 1 and 9999. */
export class Timestamp {
  /** Since 1970, rounded down. */
  readonly seconds: number;
  /** 0 to 999,999,999, forward from the seconds. */
  readonly nanos: number;
  constructor(seconds: number, nanos: number) {
    this.seconds = seconds;
    this.nanos = nanos;
  }
}

/** Within ±2⁶³ nanoseconds. */
export class Duration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Optional {
  /** `undefined`: none. */
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export const NONE: Optional = new Optional(undefined);

/** A type as a value, named as `type(…)` names it. */
export class TypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** How a library's own kind of value behaves. */
export interface OpaqueKind<T> {
  readonly type: Type;
  readonly name: string;
  readonly equals: (a: T, b: T) => boolean;
  readonly toText?: (value: T) => string;
  /** What `size()` would say, for cost; 1 where it is absent. */
  readonly size?: (value: T) => number;
}

/** A value of a library: a quantity, an IP address, a URL, an authorizer. */
export class Opaque<T = unknown> {
  readonly kind: OpaqueKind<T>;
  readonly value: T;
  constructor(kind: OpaqueKind<T>, value: T) {
    this.kind = kind;
    this.value = value;
  }
}

/** What has no value: an error, or something that is not known. It passes through every strict function. */
export abstract class Failure {
  abstract readonly isUnknown: boolean;
}

/** An error during evaluation. Not an `Error`: it has no stack and costs no more than any other value. */
export class CelError extends Failure {
  readonly isUnknown = false;
  readonly message: string;
  /** Node at which it arose; 0 where it is not known. */
  readonly at: number;
  /** Something that the expression looks at is not there: a key, a field, an element. It may come to be there. */
  readonly missing: boolean;
  constructor(message: string, at = -1, missing = false) {
    super();
    this.message = message;
    this.at = at;
    this.missing = missing;
  }
}

/** Depends on inputs that were declared as not known yet. */
export class Unknown extends Failure {
  readonly isUnknown = true;
  /** Attributes such as `resources.vpc.status`. */
  readonly attributes: readonly string[];
  constructor(attributes: readonly string[]) {
    super();
    this.attributes = attributes;
  }
}

/** Not knowing weighs more than an error: with the missing input there might be none. */
export function mergeFailures(a: Failure, b: Failure): Failure {
  if (a instanceof Unknown && b instanceof Unknown) {
    return new Unknown([...new Set([...a.attributes, ...b.attributes])]);
  }
  return b instanceof Unknown && !(a instanceof Unknown) ? b : a;
}

export function isFailure(value: Value): value is Failure {
  return typeof value === 'object' && value instanceof Failure;
}

export function isInt(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** The first failure among arguments, all unknowns together. */
export function firstFailure(values: readonly Value[]): Failure | undefined {
  let found: Failure | undefined;
  for (const value of values) {
    if (isFailure(value)) found = found ? mergeFailures(found, value) : value;
  }
  return found;
}
