import type { ComprehensionExpr, Expr } from '../syntax/ast.ts';
import { List } from '../values/list.ts';
import { CelMap, EntryMap, normalKey } from '../values/map.ts';
import { CelError, Failure, type Value } from '../values/value.ts';
import { countIteration, type Frame, noSuchOverload, type Step } from './frame.ts';

export interface FoldSlots {
  readonly variable: number;
  readonly variable2: number | undefined;
  readonly accumulator: number;
}

export interface FoldSteps {
  readonly range: Step;
  readonly init: Step;
  readonly condition: Step | undefined;
  readonly step: Step;
  readonly result: Step;
}

/** `body(frame)` is false when the loop is to end. */
function iterate(
  frame: Frame,
  range: Value,
  slots: FoldSlots,
  at: number,
  body: (frame: Frame) => boolean,
): CelError | undefined {
  const { variable, variable2 } = slots;
  if (range instanceof List) {
    const { size } = range;
    for (let index = 0; index < size; index++) {
      countIteration(frame);
      if (variable2 === undefined) frame.slots[variable] = range.get(index);
      else {
        frame.slots[variable] = index;
        frame.slots[variable2] = range.get(index);
      }
      if (!body(frame)) return undefined;
    }
    return undefined;
  }
  if (!(range instanceof CelMap)) return noSuchOverload('a macro over what is neither list nor map', at);
  if (variable2 === undefined) {
    for (const key of range.keys()) {
      countIteration(frame);
      frame.slots[variable] = key;
      if (!body(frame)) return undefined;
    }
    return undefined;
  }
  for (const [key, value] of range.entries()) {
    countIteration(frame);
    frame.slots[variable] = key;
    frame.slots[variable2] = value;
    if (!body(frame)) return undefined;
  }
  return undefined;
}

/** The fold as its parts say it. */
export function foldStep(steps: FoldSteps, slots: FoldSlots, at: number): Step {
  const { range, init, condition, step, result } = steps;
  const { accumulator } = slots;
  const body = (frame: Frame): boolean => {
    if (condition !== undefined && condition(frame) === false) return false;
    frame.slots[accumulator] = step(frame);
    return true;
  };
  return (frame) => {
    const over = range(frame);
    if (over instanceof Failure) return over;
    frame.slots[accumulator] = init(frame);
    const failed = iterate(frame, over, slots, at, body);
    return failed ?? result(frame);
  };
}

/** `cel.bind`: no loop at all. */
export function bindStep(init: Step, result: Step, accumulator: number): Step {
  return (frame) => {
    frame.cost += BIND_COST;
    frame.slots[accumulator] = init(frame);
    return result(frame);
  };
}
/** Of the empty list that the macro stands for. */
const BIND_COST = 10;

/** A fold that appends to a list; the list is changed in place, as nobody else can see it yet. */
export interface AppendShape {
  readonly filter: Expr | undefined;
  readonly element: Expr;
}
/** A fold that adds entries to a map. */
export interface InsertShape {
  readonly filter: Expr | undefined;
  readonly key: Expr | undefined;
  readonly value: Expr;
}

function isAccumulator(expr: Expr | undefined, fold: ComprehensionExpr): boolean {
  return expr?.kind === 'ident' && expr.name === fold.accumulator;
}

function isTrue(expr: Expr): boolean {
  return expr.kind === 'literal' && expr.value === true;
}

/** The part of a step under its filter, as the macros write it. */
function filtered(fold: ComprehensionExpr): { filter: Expr | undefined; body: Expr } | undefined {
  const { step } = fold;
  if (!isTrue(fold.condition) || !isAccumulator(fold.result, fold)) return undefined;
  if (step.kind !== 'call' || step.function !== '_?_:_') return { filter: undefined, body: step };
  const [filter, body, otherwise] = step.args;
  return filter && body && isAccumulator(otherwise, fold) ? { filter, body } : undefined;
}

export function appendShape(fold: ComprehensionExpr): AppendShape | undefined {
  if (fold.init.kind !== 'list' || fold.init.elements.length > 0) return undefined;
  const parts = filtered(fold);
  if (parts?.body.kind !== 'call' || parts.body.function !== '_+_') return undefined;
  const [accumulator, added] = parts.body.args;
  if (!isAccumulator(accumulator, fold) || added?.kind !== 'list') return undefined;
  const [element] = added.elements;
  return element && added.elements.length === 1 && added.optional.length === 0
    ? { filter: parts.filter, element }
    : undefined;
}

export function insertShape(fold: ComprehensionExpr): InsertShape | undefined {
  if (fold.init.kind !== 'map' || fold.init.entries.length > 0) return undefined;
  const parts = filtered(fold);
  if (parts?.body.kind !== 'call' || parts.body.function !== 'cel.@mapInsert') return undefined;
  const [accumulator, second, third] = parts.body.args;
  if (!isAccumulator(accumulator, fold) || !second) return undefined;
  return third
    ? { filter: parts.filter, key: second, value: third }
    : { filter: parts.filter, key: undefined, value: second };
}

/** Costs of the nodes that a step in place does not visit: the accumulator, the list literal and `+`. */
const APPEND_COST = 12;
const INSERT_COST = 2;
const SKIP_COST = 1;

export function appendStep(
  range: Step,
  filter: Step | undefined,
  element: Step,
  slots: FoldSlots,
  at: number,
): Step {
  return (frame) => {
    const over = range(frame);
    if (over instanceof Failure) return over;
    // The literal of the empty list, and the accumulator as the result.
    frame.cost += 11;
    const items: Value[] = [];
    let failure: Failure | undefined;
    const failed = iterate(frame, over, slots, at, () => {
      const chosen = keeps(filter, frame, at);
      if (chosen !== true) {
        if (chosen !== false) failure = chosen;
        return failure === undefined;
      }
      const item = element(frame);
      frame.cost += APPEND_COST;
      if (item instanceof Failure) {
        failure = item;
        return false;
      }
      items.push(item);
      return true;
    });
    return failed ?? failure ?? new List(items);
  };
}

function keeps(filter: Step | undefined, frame: Frame, at: number): boolean | Failure {
  if (filter === undefined) return true;
  const chosen = filter(frame);
  if (chosen === false) frame.cost += SKIP_COST;
  if (typeof chosen === 'boolean' || chosen instanceof Failure) return chosen;
  return noSuchOverload('_?_:_ with a condition that is no bool', at);
}

export function insertStep(
  range: Step,
  filter: Step | undefined,
  key: Step | undefined,
  value: Step,
  slots: FoldSlots,
  at: number,
): Step {
  return (frame) => {
    const over = range(frame);
    if (over instanceof Failure) return over;
    // The literal of the empty map, and the accumulator as the result.
    frame.cost += 31;
    const items = new Map<string | number | bigint | boolean, readonly [Value, Value]>();
    let failure: Failure | undefined;
    const failed = iterate(frame, over, slots, at, () => {
      const chosen = keeps(filter, frame, at);
      if (chosen !== true) {
        if (chosen !== false) failure = chosen;
        return failure === undefined;
      }
      const name = key?.(frame);
      const item = value(frame);
      frame.cost += INSERT_COST;
      failure = name === undefined ? insertAll(items, item, at) : insertOne(items, name, item, at);
      return failure === undefined;
    });
    return failed ?? failure ?? new EntryMap(items);
  };
}

type Items = Map<string | number | bigint | boolean, readonly [Value, Value]>;

function insertOne(items: Items, key: Value, value: Value, at: number): Failure | undefined {
  if (key instanceof Failure) return key;
  if (value instanceof Failure) return value;
  const normal = normalKey(key);
  if (normal === undefined) return new CelError('unsupported key type', at);
  if (items.has(normal))
    return new CelError(`insert failed: key ${String(normal).slice(0, 100)} already exists`, at);
  items.set(normal, [key, value]);
  return undefined;
}

function insertAll(items: Items, value: Value, at: number): Failure | undefined {
  if (value instanceof Failure) return value;
  if (!(value instanceof CelMap)) return noSuchOverload('cel.@mapInsert', at);
  for (const [key, item] of value.entries()) {
    const failure = insertOne(items, key, item, at);
    if (failure) return failure;
  }
  return undefined;
}
