import { List } from '../values/list.ts';
import { CelMap, normalKey, type ObjectField, ObjectMap, type ObjectShape } from '../values/map.ts';
import { CelError, Failure, NONE, Optional, type Value } from '../values/value.ts';
import {
  type AttributePath,
  type Frame,
  loadVariable,
  noSuchOverload,
  type Step,
  unknownAt,
} from './frame.ts';
import type { Variable } from './scope.ts';

export function selectStep(operand: Step, field: string, at: number): Step {
  // Where the field is in the shape that was met last, which is mostly the only one.
  let shape: ObjectShape | undefined;
  let known: ObjectField | undefined;
  return (frame) => {
    const value = operand(frame);
    frame.cost++;
    if (!(value instanceof ObjectMap)) return selectOther(value, field, at);
    if (value.shape !== shape) {
      shape = value.shape;
      known = shape.fields?.get(field);
    }
    const found = known === undefined ? value.field(field) : value.read(known);
    return found === undefined ? noSuchKey(field, at) : found;
  };
}

/** `variable.field`, the most frequent of all steps, as one. */
export function variableFieldStep(slot: number, variable: Variable, field: string, at: number): Step {
  let shape: ObjectShape | undefined;
  let known: ObjectField | undefined;
  return (frame) => {
    frame.cost += 2;
    const slotted = frame.slots[slot];
    const value = slotted === undefined ? loadVariable(frame, slot, variable) : slotted;
    if (!(value instanceof ObjectMap)) return selectOther(value, field, at);
    if (value.shape !== shape) {
      shape = value.shape;
      known = shape.fields?.get(field);
    }
    const found = known === undefined ? value.field(field) : value.read(known);
    return found === undefined ? noSuchKey(field, at) : found;
  };
}

function noSuchKey(field: string, at: number): CelError {
  return new CelError(`no such key: ${field}`, at, true);
}

/** From what is no object of JSON. */
function selectOther(value: Value, field: string, at: number): Value {
  if (value instanceof CelMap) {
    const found = value.field(field);
    return found === undefined ? noSuchKey(field, at) : found;
  }
  if (value instanceof Failure) return value;
  const wrongKind = noSuchOverload(`select .${field}`, at);
  if (!(value instanceof Optional)) return wrongKind;
  return throughOptional(value, wrongKind, (inner) => fieldOf(inner, field));
}

function fieldOf(value: Value, field: string): Value | undefined {
  return value instanceof CelMap ? value.field(field) : undefined;
}

/** Access to an optional is access to what it holds, and gives an optional. */
function throughOptional(
  optional: Optional,
  wrongKind: CelError,
  access: (inner: Value) => Value | undefined,
): Value {
  if (optional.value === undefined) return NONE;
  if (!(optional.value instanceof CelMap) && !(optional.value instanceof List)) return wrongKind;
  const found = access(optional.value);
  if (found === undefined) return NONE;
  return found instanceof Failure ? found : new Optional(found);
}

/** `has(operand.field)` */
export function presenceStep(operand: Step, field: string, at: number): Step {
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Failure) return value;
    if (value instanceof Optional) {
      return value.value instanceof CelMap && value.value.field(field) !== undefined;
    }
    return value instanceof CelMap ? value.field(field) !== undefined : noSuchOverload(`has(.${field})`, at);
  };
}

/** `operand.?field` and `operand[?index]` */
export function optionalAccessStep(operand: Step, index: Step, at: number, byField: boolean): Step {
  return (frame) => {
    const value = operand(frame);
    const key = index(frame);
    frame.cost++;
    if (value instanceof Failure) return value;
    if (key instanceof Failure) return key;
    const inner = value instanceof Optional ? value.value : value;
    if (inner === undefined) return NONE;
    if (!(inner instanceof CelMap) && !(inner instanceof List)) return noSuchOverload('optional access', at);
    const found = byField && typeof key === 'string' ? fieldOf(inner, key) : elementOf(inner, key);
    return found === undefined ? NONE : found instanceof Failure ? found : new Optional(found);
  };
}

function elementOf(value: Value, key: Value): Value | undefined {
  if (value instanceof CelMap) return value.get(key);
  if (!(value instanceof List)) return undefined;
  const index = listIndex(key);
  return index === undefined || index < 0 || index >= value.size ? undefined : value.get(index);
}

function listIndex(key: Value): number | undefined {
  if (typeof key === 'number') return key;
  const normal = typeof key === 'object' ? normalKey(key) : undefined;
  return typeof normal === 'number' ? normal : undefined;
}

export function indexStep(operand: Step, index: Step, at: number): Step {
  return (frame) => {
    const value = operand(frame);
    const key = index(frame);
    frame.cost++;
    if (value instanceof Failure) return value;
    if (key instanceof Failure) return key;
    return indexed(value, key, at);
  };
}

function indexed(value: Value, key: Value, at: number): Value {
  if (value instanceof List) {
    const position = listIndex(key);
    if (position === undefined) {
      return typeof key === 'bigint'
        ? outOfBounds(key, at)
        : noSuchOverload('_[_] with an index that is no int', at);
    }
    return position < 0 || position >= value.size ? outOfBounds(position, at) : value.get(position);
  }
  if (value instanceof CelMap) {
    const found = value.get(key);
    if (found !== undefined) return found;
    if (normalKey(key) === undefined && typeof key === 'object') {
      return new CelError('no such key: values of this kind are no keys', at);
    }
    return new CelError(`no such key: ${String(normalKey(key)).slice(0, 100)}`, at, true);
  }
  if (value instanceof Optional) {
    return throughOptional(value, noSuchOverload('_[_]', at), (inner) => elementOf(inner, key));
  }
  return noSuchOverload('_[_]', at);
}

function outOfBounds(index: number | bigint, at: number): CelError {
  return new CelError(`index out of bounds: ${index}`, at, true);
}

/** Puts the question whether an attribute is known before its evaluation. */
export function attributeStep(path: AttributePath, plain: Step): Step {
  return (frame: Frame) => {
    if (frame.unknowns !== undefined) {
      const unknown = unknownAt(frame, path);
      if (unknown) return unknown;
    }
    return plain(frame);
  };
}
