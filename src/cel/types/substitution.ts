import { DYN, equalTypes, type Type } from './type.ts';

/** What type parameters were found to stand for. Parameters in it are fresh: each use of a signature has its own. */
export type Substitution = Map<string, Type>;

export function substitute(found: Substitution, type: Type, unboundIsDyn: boolean, depth = 0): Type {
  if (depth > 64) return DYN;
  switch (type.kind) {
    case 'param': {
      const bound = found.get(type.name);
      if (bound) return substitute(found, bound, unboundIsDyn, depth + 1);
      return unboundIsDyn ? DYN : type;
    }
    case 'list': {
      const element = substitute(found, type.element, unboundIsDyn, depth + 1);
      return element === type.element ? type : { ...type, element };
    }
    case 'map': {
      const key = substitute(found, type.key, unboundIsDyn, depth + 1);
      const value = substitute(found, type.value, unboundIsDyn, depth + 1);
      return key === type.key && value === type.value ? type : { ...type, key, value };
    }
    case 'type':
      return type.of ? { kind: 'type', of: substitute(found, type.of, unboundIsDyn, depth + 1) } : type;
    case 'opaque':
      if (type.params.length === 0) return type;
      return {
        ...type,
        params: type.params.map((param) => substitute(found, param, unboundIsDyn, depth + 1)),
      };
    default:
      return type;
  }
}

/** Kinds of scalars, counted from 1; 0 for every other type. */
export function scalarIndex(type: Type): number {
  switch (type.kind) {
    case 'string':
      return 1;
    case 'int':
      return 2;
    case 'bool':
      return 3;
    case 'double':
      return 4;
    case 'uint':
      return 5;
    case 'bytes':
      return 6;
    case 'timestamp':
      return 7;
    case 'duration':
      return 8;
    default:
      return 0;
  }
}

/** Has no parts and is neither unknown nor null: fits its own kind and, of its like, no other. */
export function isScalar(type: Type): boolean {
  return scalarIndex(type) !== 0;
}

/** Whether a value of type `from` may stand where `to` is wanted; extends the substitution only if so. */
export function assignable(found: Substitution, from: Type, to: Type): boolean {
  if (isScalar(from) && isScalar(to)) return from.kind === to.kind;
  return assignableAll(found, [from], [to]);
}

export function assignableAll(found: Substitution, from: readonly Type[], to: readonly Type[]): boolean {
  if (from.length !== to.length) return false;
  // Most signatures are told apart by scalars, for which nothing needs to be remembered or undone.
  let open = false;
  for (let index = 0; index < from.length; index++) {
    const given = from[index] as Type;
    const wanted = to[index] as Type;
    if (!isScalar(given) || !isScalar(wanted)) open = true;
    else if (given.kind !== wanted.kind) return false;
  }
  if (!open) return true;
  const trial = new Map(found);
  if (!listAssignable(trial, from, to)) return false;
  for (const [name, type] of trial) found.set(name, type);
  return true;
}

function listAssignable(found: Substitution, from: readonly Type[], to: readonly Type[]): boolean {
  if (from.length !== to.length) return false;
  return from.every((type, index) => fits(found, type, to[index] ?? DYN));
}

function fits(found: Substitution, from: Type, to: Type): boolean {
  if (to.kind === 'param') {
    const { valid, known } = bind(found, from, to);
    if (valid) return true;
    if (known) return false;
  }
  if (from.kind === 'param') return bind(found, to, from).valid;
  if (isWild(from) || isWild(to)) return true;
  if (from.kind === 'null') return isNullable(to);
  if (to.kind === 'null') return isNullable(from);
  if (to.kind === 'wrapper') return equalTypes(from.kind === 'wrapper' ? from.of : from, to.of);
  switch (from.kind) {
    case 'wrapper':
      return equalTypes(from.of, to);
    case 'type':
      return to.kind === 'type';
    case 'list':
      return to.kind === 'list' && fits(found, from.element, to.element);
    case 'map':
      return to.kind === 'map' && fits(found, from.key, to.key) && fits(found, from.value, to.value);
    case 'opaque':
      return to.kind === 'opaque' && from.name === to.name && listAssignable(found, from.params, to.params);
    default:
      return equalTypes(from, to);
  }
}

function isWild(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error' || type.kind === 'any';
}

/** Kinds of which a value may be null as protocol buffers have it. */
function isNullable(type: Type): boolean {
  return ['null', 'wrapper', 'object', 'opaque', 'timestamp', 'duration', 'any'].includes(type.kind);
}

function bind(
  found: Substitution,
  type: Type,
  param: Type & { kind: 'param' },
): { valid: boolean; known: boolean } {
  if (type.kind === 'param' && type.name === param.name) return { valid: true, known: true };
  const bound = found.get(param.name);
  if (bound) {
    if (bound === type) return { valid: true, known: true };
    if (!fits(found, type, bound)) return { valid: false, known: true };
    const general = moreGeneral(type, bound);
    if (!occursIn(found, param.name, general)) found.set(param.name, general);
    return { valid: true, known: true };
  }
  if (occursIn(found, param.name, type)) return { valid: false, known: false };
  found.set(param.name, type);
  return { valid: true, known: false };
}

function occursIn(found: Substitution, name: string, type: Type, depth = 0): boolean {
  if (depth > 64) return true;
  const inner = (item: Type): boolean => occursIn(found, name, item, depth + 1);
  switch (type.kind) {
    case 'param': {
      if (type.name === name) return true;
      const bound = found.get(type.name);
      return bound !== undefined && inner(bound);
    }
    case 'list':
      return inner(type.element);
    case 'map':
      return inner(type.key) || inner(type.value);
    case 'opaque':
      return type.params.some(inner);
    case 'type':
    case 'wrapper':
      return type.of !== undefined && inner(type.of);
    default:
      return false;
  }
}

/** Of two types that fit each other, the one that says less. */
export function moreGeneral(a: Type, b: Type): Type {
  return isAtLeastAsGeneral(a, b) ? a : b;
}

function isAtLeastAsGeneral(a: Type, b: Type): boolean {
  if (a.kind === 'dyn' || a.kind === 'any' || a.kind === 'param') return true;
  if (b.kind === 'dyn' || b.kind === 'any' || b.kind === 'param') return false;
  if (a.kind === 'wrapper') return equalTypes(a.of, b.kind === 'wrapper' ? b.of : b);
  if (a.kind !== b.kind) return b.kind === 'null';
  switch (a.kind) {
    case 'list':
      return b.kind === 'list' && isAtLeastAsGeneral(a.element, b.element);
    case 'map':
      return b.kind === 'map' && isAtLeastAsGeneral(a.key, b.key) && isAtLeastAsGeneral(a.value, b.value);
    case 'opaque':
      return (
        b.kind === 'opaque' &&
        a.params.every((param, index) => isAtLeastAsGeneral(param, b.params[index] ?? DYN))
      );
    case 'type':
      return true;
    default:
      return equalTypes(a, b);
  }
}
