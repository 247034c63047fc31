import { List } from '../values/list.ts';
import { CelMap, normalKey } from '../values/map.ts';
import { CelError, Failure, NONE, Optional, type Value } from '../values/value.ts';
import { type AttributePath, type Frame, noSuchOverload, type Step, unknownAt } from './frame.ts';

export function selectStep(operand: Step, field: string, at: number): Step {
  const missing = new CelError(`no such key: ${field}`, at);
  const wrongKind = noSuchOverload(`select .${field}`, at);
  return (frame) => {
    const value = operand(frame);
    frame.cost++;
    if (value instanceof CelMap) {
      const found = value.field(field);
      return found === undefined ? missing : found;
    }
    if (value instanceof Failure) return value;
    if (value instanceof Optional) {
      return throughOptional(value, wrongKind, (inner) => fieldOf(inner, field));
    }
    return wrongKind;
  };
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
  const wrongKind = noSuchOverload(`has(.${field})`, at);
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Failure) return value;
    if (value instanceof Optional) {
      return value.value instanceof CelMap && value.value.field(field) !== undefined;
    }
    return value instanceof CelMap ? value.field(field) !== undefined : wrongKind;
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
    return new CelError(`no such key: ${String(normalKey(key)).slice(0, 100)}`, at);
  }
  if (value instanceof Optional) {
    return throughOptional(value, noSuchOverload('_[_]', at), (inner) => elementOf(inner, key));
  }
  return noSuchOverload('_[_]', at);
}

function outOfBounds(index: number | bigint, at: number): CelError {
  return new CelError(`index out of bounds: ${index}`, at);
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
