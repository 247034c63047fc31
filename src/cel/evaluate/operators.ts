import { compareTexts, compareValues, equalValues } from '../values/equality.ts';
import { addInts, subtractInts } from '../values/integer.ts';
import { List } from '../values/list.ts';
import { CelMap } from '../values/map.ts';
import { costSize } from '../values/size.ts';
import { type CelError, Failure, mergeFailures, Opaque, type Value } from '../values/value.ts';
import { checkLimits, noSuchOverload, type Step } from './frame.ts';

/** Two operands of which at least one has no value. */
function failed(a: Value, b: Value): Failure | undefined {
  if (a instanceof Failure) return b instanceof Failure ? mergeFailures(a, b) : a;
  return b instanceof Failure ? b : undefined;
}

/** Comparing takes as long as the smaller of two. */
function compareCost(a: Value, b: Value): number {
  if (typeof a !== 'object' && typeof b !== 'object' && (typeof a !== 'string' || typeof b !== 'string'))
    return 1;
  if (a instanceof Opaque || b instanceof Opaque) return 1;
  return Math.ceil(Math.min(costSize(a), costSize(b)) * 0.1);
}

export function equalityStep(left: Step, right: Step, wanted: boolean): Step {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a === 'number' && typeof b === 'number') {
      frame.cost++;
      return (a === b) === wanted;
    }
    if (typeof a === 'string' && typeof b === 'string') {
      frame.cost += Math.ceil(Math.min(a.length, b.length) * 0.1);
      return (a === b) === wanted;
    }
    const failure = failed(a, b);
    if (failure) return failure;
    frame.cost += compareCost(a, b);
    return equalValues(a, b) === wanted;
  };
}

const RELATIONS: Readonly<Record<string, (order: number) => boolean>> = {
  '_<_': (order) => order < 0,
  '_<=_': (order) => order <= 0,
  '_>_': (order) => order > 0,
  '_>=_': (order) => order >= 0,
};

export function isRelation(name: string): boolean {
  return Object.hasOwn(RELATIONS, name);
}

export function relationStep(name: string, left: Step, right: Step, at: number): Step {
  const holds = RELATIONS[name] ?? (() => false);
  const general = (frame: Parameters<Step>[0], a: Value, b: Value): Value => {
    const failure = failed(a, b);
    if (failure) return failure;
    frame.cost += compareCost(a, b);
    const order = typeof a === 'string' && typeof b === 'string' ? compareTexts(a, b) : compareValues(a, b);
    return order === undefined ? noSuchOverload(name, at) : holds(order);
  };
  switch (name) {
    case '_<=_':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
        frame.cost++;
        return a <= b;
      };
    case '_<_':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
        frame.cost++;
        return a < b;
      };
    default:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== 'number' || typeof b !== 'number') return general(frame, a, b);
        frame.cost++;
        return name === '_>_' ? a > b : a >= b;
      };
  }
}

/** `+` and `-` of small ints at once; everything else by overloads. */
export function additiveStep(
  name: string,
  left: Step,
  right: Step,
  general: (a: Value, b: Value, frame: Parameters<Step>[0]) => Value,
): Step {
  const small = name === '_+_' ? addInts : subtractInts;
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a === 'number' && typeof b === 'number') {
      frame.cost++;
      return small(a, b);
    }
    return general(a, b, frame);
  };
}

function notBool(name: string, at: number): CelError {
  return noSuchOverload(`${name} with an operand that is no bool`, at);
}

/** One side that decides, decides; only then do failures count. */
export function logicalStep(name: '_&&_' | '_||_', left: Step, right: Step, at: number): Step {
  const deciding = name === '_||_';
  const other = !deciding;
  return (frame) => {
    const a = left(frame);
    if (a === deciding) return deciding;
    const b = right(frame);
    if (b === deciding) return deciding;
    if (a === other && b === other) return other;
    const x = a === other || a instanceof Failure ? a : notBool(name, at);
    const y = b === other || b instanceof Failure ? b : notBool(name, at);
    return failed(x, y) ?? other;
  };
}

export function conditionalStep(condition: Step, whenTrue: Step, whenFalse: Step, at: number): Step {
  return (frame) => {
    const chosen = condition(frame);
    if (chosen === true) return whenTrue(frame);
    if (chosen === false) return whenFalse(frame);
    return chosen instanceof Failure ? chosen : noSuchOverload('_?_:_ with a condition that is no bool', at);
  };
}

/** `element in list` and `key in map` */
export function membershipStep(element: Step, container: Step, at: number): Step {
  return (frame) => {
    const wanted = element(frame);
    const inside = container(frame);
    const failure = failed(wanted, inside);
    if (failure) return failure;
    if (inside instanceof CelMap) {
      frame.cost++;
      return inside.get(wanted) !== undefined;
    }
    if (!(inside instanceof List)) return noSuchOverload('@in', at);
    frame.cost += inside.size;
    checkLimits(frame);
    let found = false;
    for (let index = 0; index < inside.size && !found; index++)
      found = equalValues(wanted, inside.get(index));
    return found;
  };
}
