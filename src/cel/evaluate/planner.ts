import type { Overload } from '../library/function.ts';
import type { CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr, StructExpr } from '../syntax/ast.ts';
import { childrenOf } from '../syntax/ast.ts';
import { adapt } from '../values/convert.ts';
import { List } from '../values/list.ts';
import { EntryMap, normalKey, ObjectMap } from '../values/map.ts';
import { CelError, Failure, Optional, Uint, type Value } from '../values/value.ts';
import { callStep, type Dispatch, dispatchOf, invoke } from './call.ts';
import {
  appendShape,
  appendStep,
  bindStep,
  type FoldSlots,
  foldStep,
  insertShape,
  insertStep,
} from './fold.ts';
import { type AttributePath, noSuchOverload, type Step } from './frame.ts';
import {
  additiveStep,
  conditionalStep,
  equalityStep,
  isRelation,
  logicalStep,
  membershipStep,
  relationStep,
} from './operators.ts';
import {
  candidateNames,
  resolveFunction,
  resolveNamespaced,
  resolveQualified,
  type Scope,
  type Variable,
} from './scope.ts';
import { attributeStep, indexStep, optionalAccessStep, presenceStep, selectStep } from './select.ts';

/** An expression made into closures. */
export interface Plan {
  readonly run: Step;
  readonly slotCount: number;
  /** The variables of the environment that are used; their slots are their indices. */
  readonly variables: readonly Variable[];
}

interface Planner {
  readonly scope: Scope;
  /** What the checker found, by id of the call. */
  readonly overloads: ReadonlyMap<number, readonly Overload[]>;
  readonly variables: Variable[];
  readonly variableSlots: Map<string, number>;
  /** Slots of macro variables come after those of variables, whose number is not known yet: they count down from −1. */
  locals: number;
  names: LocalNames | undefined;
}

interface LocalNames {
  readonly name: string;
  readonly step: Step;
  readonly outer: LocalNames | undefined;
}

export function planExpression(
  expr: Expr,
  scope: Scope,
  overloads: ReadonlyMap<number, readonly Overload[]> = new Map(),
): Plan {
  const variables = collectVariables(expr, scope);
  const planner: Planner = {
    scope,
    overloads,
    variables,
    variableSlots: new Map(variables.map((variable, slot) => [variable.name, slot])),
    locals: variables.length,
    names: undefined,
  };
  const run = plan(planner, expr);
  return { run, slotCount: planner.locals, variables };
}

/** Every variable that a name in the expression might mean; macro variables that hide one cost it only a slot. */
function collectVariables(expr: Expr, scope: Scope): Variable[] {
  const found = new Map<string, Variable>();
  const nothing = (): boolean => false;
  const walk = (node: Expr): void => {
    if (node.kind === 'ident' || node.kind === 'select') {
      const resolved = resolveQualified(scope, node, nothing);
      if (resolved?.found.kind === 'variable')
        found.set(resolved.found.variable.name, resolved.found.variable);
    }
    for (const child of childrenOf(node)) walk(child);
  };
  walk(expr);
  return [...found.values()];
}

function localStep(planner: Planner, name: string): Step | undefined {
  for (let entry = planner.names; entry; entry = entry.outer) if (entry.name === name) return entry.step;
  return undefined;
}

function plan(planner: Planner, expr: Expr): Step {
  switch (expr.kind) {
    case 'literal': {
      const { value } = expr;
      return () => value;
    }
    case 'ident':
    case 'select':
      return planAttribute(planner, expr);
    case 'call':
      return planCall(planner, expr);
    case 'list':
      return planList(planner, expr);
    case 'map':
      return planMap(planner, expr);
    case 'struct':
      return planStruct(planner, expr);
    case 'comprehension':
      return planFold(planner, expr);
  }
}

/** The path of `a.b[0].c`, where it starts at a variable of the environment. */
function pathOf(planner: Planner, expr: Expr): AttributePath | undefined {
  const isLocal = (name: string): boolean => localStep(planner, name) !== undefined;
  if (expr.kind === 'ident' || (expr.kind === 'select' && !expr.testOnly)) {
    const resolved = resolveQualified(planner.scope, expr, isLocal);
    if (resolved) return resolved.found.kind === 'variable' ? [resolved.found.variable.name] : undefined;
  }
  if (expr.kind === 'select') {
    const operand = pathOf(planner, expr.operand);
    return operand && [...operand, expr.field];
  }
  if (expr.kind !== 'call' || !['_[_]', '_?._', '_[?_]'].includes(expr.function)) return undefined;
  const [operand, index] = expr.args;
  if (!operand || index?.kind !== 'literal') return undefined;
  if (typeof index.value !== 'string' && typeof index.value !== 'number') return undefined;
  const path = pathOf(planner, operand);
  return path && [...path, index.value];
}

function planAttribute(planner: Planner, expr: Expr): Step {
  const plain = planPlain(planner, expr);
  const path = pathOf(planner, expr);
  return path ? attributeStep(path, plain) : plain;
}

/** Without asking whether it is known: that is asked for the whole path only. */
function planPlain(planner: Planner, expr: Expr): Step {
  if (expr.kind === 'call' && pathOf(planner, expr)) {
    const [operand, index] = expr.args;
    if (operand && index) {
      const inner = planPlain(planner, operand);
      const key = plan(planner, index);
      if (expr.function === '_[_]') return indexStep(inner, key, expr.at);
      return optionalAccessStep(inner, key, expr.at, expr.function === '_?._');
    }
  }
  if (expr.kind !== 'ident' && expr.kind !== 'select') return plan(planner, expr);
  if (expr.kind === 'ident') {
    const local = localStep(planner, expr.name);
    if (local) return local;
  }
  if (expr.kind === 'ident' || !expr.testOnly) {
    const resolved = resolveQualified(planner.scope, expr, (name) => localStep(planner, name) !== undefined);
    if (resolved) {
      if (resolved.found.kind === 'constant') {
        const { value } = resolved.found.constant;
        return (frame) => {
          frame.cost++;
          return value;
        };
      }
      return variableStep(planner.variableSlots.get(resolved.found.variable.name) ?? 0);
    }
  }
  if (expr.kind === 'ident') {
    const missing = new CelError(`undeclared reference to '${expr.name}'`, expr.at);
    return () => missing;
  }
  const operand = planPlain(planner, expr.operand);
  return expr.testOnly
    ? presenceStep(operand, expr.field, expr.at)
    : selectStep(operand, expr.field, expr.at);
}

function variableStep(slot: number): Step {
  return (frame) => {
    frame.cost++;
    const value = frame.slots[slot];
    return value === undefined ? frame.load(slot) : value;
  };
}

function planCall(planner: Planner, expr: CallExpr): Step {
  const { at, args } = expr;
  if (expr.target === undefined) {
    const [first, second, third] = args;
    const name = expr.function;
    if (name === 'cel.@block' && first?.kind === 'list' && second) return planBlock(planner, first, second);
    if (first && second) {
      if (name === '_&&_' || name === '_||_')
        return logicalStep(name, plan(planner, first), plan(planner, second), at);
      if (name === '_==_' || name === '_!=_') {
        return equalityStep(plan(planner, first), plan(planner, second), name === '_==_');
      }
      if (name === '@in') return membershipStep(plan(planner, first), plan(planner, second), at);
      if (isRelation(name)) return relationStep(name, plan(planner, first), plan(planner, second), at);
      if (name === '_?_:_' && third) {
        return conditionalStep(plan(planner, first), plan(planner, second), plan(planner, third), at);
      }
      if (name === '_[_]' || name === '_?._' || name === '_[?_]') {
        const path = pathOf(planner, expr);
        if (path) return attributeStep(path, planPlain(planner, expr));
        const operand = plan(planner, first);
        const index = plan(planner, second);
        return name === '_[_]'
          ? indexStep(operand, index, at)
          : optionalAccessStep(operand, index, at, name === '_?._');
      }
      if (name === '_+_' || name === '_-_') {
        const dispatch = findDispatch(planner, expr, name, false, 2);
        return additiveStep(name, plan(planner, first), plan(planner, second), (a, b, frame) =>
          invoke(dispatch, [a, b], frame),
        );
      }
    }
    if (name === '@not_strictly_false' && first) {
      const inner = plan(planner, first);
      return (frame) => {
        const value = inner(frame);
        frame.cost++;
        return value !== false;
      };
    }
    if (name === '!_' && first) {
      const inner = plan(planner, first);
      return (frame) => {
        const value = inner(frame);
        frame.cost++;
        if (typeof value === 'boolean') return !value;
        return value instanceof Failure ? value : noSuchOverload(name, at);
      };
    }
    return callStep(
      findDispatch(planner, expr, name, false, args.length),
      args.map((arg) => plan(planner, arg)),
    );
  }
  const namespaced = resolveNamespaced(
    planner.scope,
    expr.target,
    expr.function,
    (name) => localStep(planner, name) !== undefined,
  );
  if (namespaced) {
    const dispatch = findDispatch(planner, expr, namespaced.name, false, args.length);
    return callStep(
      dispatch,
      args.map((arg) => plan(planner, arg)),
    );
  }
  const dispatch = findDispatch(planner, expr, expr.function, true, args.length + 1);
  const target = plan(planner, expr.target);
  return callStep(dispatch, [target, ...args.map((arg) => plan(planner, arg))]);
}

/** The overloads that the checker left open, or all of the name and number of arguments. */
function findDispatch(
  planner: Planner,
  expr: CallExpr,
  name: string,
  member: boolean,
  count: number,
): Dispatch {
  const checked = planner.overloads.get(expr.id);
  const all = resolveFunction(planner.scope, name)?.overloads ?? [];
  const fitting = all.filter((overload) => overload.member === member && overload.params.length === count);
  return dispatchOf(name, checked && checked.length > 0 ? checked : fitting, expr.at);
}

const NO_BOOL = 'optional entries hold optionals';

function planList(planner: Planner, expr: ListExpr): Step {
  const elements = expr.elements.map((element) => plan(planner, element));
  const optional = new Set(expr.optional);
  const literals = expr.elements.map((element) => (element.kind === 'literal' ? element.value : undefined));
  if (optional.size === 0 && !literals.includes(undefined)) {
    const constant = new List(literals);
    return (frame) => {
      frame.cost += 10;
      return constant;
    };
  }
  return (frame) => {
    const items: Value[] = [];
    let failure: Failure | undefined;
    for (let index = 0; index < elements.length; index++) {
      const value = elements[index]?.(frame) ?? null;
      if (value instanceof Failure) failure ??= value;
      else if (!optional.has(index)) items.push(value);
      else if (!(value instanceof Optional)) failure ??= new CelError(NO_BOOL, expr.at);
      else if (value.value !== undefined) items.push(value.value);
    }
    frame.cost += 10;
    return failure ?? new List(items);
  };
}

function planMap(planner: Planner, expr: MapExpr): Step {
  const entries = expr.entries.map((entry) => ({
    key: plan(planner, entry.key),
    value: plan(planner, entry.value),
    optional: entry.optional,
    at: entry.at,
  }));
  return (frame) => {
    const items = new Map<string | number | bigint | boolean, readonly [Value, Value]>();
    let failure: Failure | undefined;
    for (const entry of entries) {
      const key = entry.key(frame);
      let value = entry.value(frame);
      if (key instanceof Failure || value instanceof Failure) {
        failure ??= key instanceof Failure ? key : value instanceof Failure ? value : undefined;
        continue;
      }
      if (entry.optional) {
        if (!(value instanceof Optional)) {
          failure ??= new CelError(NO_BOOL, entry.at);
          continue;
        }
        if (value.value === undefined) continue;
        value = value.value;
      }
      const name = typeof key === 'object' && key !== null && !isKey(key) ? undefined : normalKey(key);
      if (name === undefined) failure ??= new CelError('unsupported key type', entry.at);
      else if (items.has(name))
        failure ??= new CelError(`Failed with repeated key: ${String(name).slice(0, 100)}`, entry.at);
      else items.set(name, [key, value]);
    }
    frame.cost += 30;
    return failure ?? new EntryMap(items);
  };
}

/** Doubles find keys but are none. */
function isKey(key: object): boolean {
  return key instanceof Uint;
}

function planStruct(planner: Planner, expr: StructExpr): Step {
  const { scope } = planner;
  const type = candidateNames(scope, expr.type)
    .map((name) => scope.types.get(name))
    .find((found) => found !== undefined);
  if (!type) {
    const unknown = new CelError(`unknown type: ${expr.type}`, expr.at);
    return () => unknown;
  }
  const fields = expr.entries.map((entry) => ({
    property: type.field(entry.field)?.property ?? entry.field,
    missing:
      type.field(entry.field) === undefined
        ? new CelError(`no such field: ${entry.field}`, entry.at)
        : undefined,
    value: plan(planner, entry.value),
    optional: entry.optional,
    at: entry.at,
  }));
  const shape = { typeName: type.name, fields: undefined, rest: adapt };
  return (frame) => {
    const raw: Record<string, Value> = Object.create(null) as Record<string, Value>;
    let failure: Failure | undefined;
    for (const field of fields) {
      const value = field.value(frame);
      if (field.missing || value instanceof Failure) {
        failure ??= field.missing ?? (value instanceof Failure ? value : undefined);
      } else if (!field.optional) raw[field.property] = value;
      else if (!(value instanceof Optional)) failure ??= new CelError(NO_BOOL, field.at);
      else if (value.value !== undefined) raw[field.property] = value.value;
    }
    frame.cost += 40;
    return failure ?? new ObjectMap(raw, shape);
  };
}

function withName<T>(planner: Planner, name: string, step: Step, body: () => T): T {
  const outer = planner.names;
  planner.names = { name, step, outer };
  try {
    return body();
  } finally {
    planner.names = outer;
  }
}

function readSlot(slot: number): Step {
  return (frame) => {
    frame.cost++;
    return frame.slots[slot] as Value;
  };
}

function planFold(planner: Planner, expr: ComprehensionExpr): Step {
  const range = plan(planner, expr.range);
  const accumulator = planner.locals++;
  const isBind =
    expr.range.kind === 'list' &&
    expr.range.elements.length === 0 &&
    expr.condition.kind === 'literal' &&
    expr.condition.value === false;
  if (isBind) {
    const init = plan(planner, expr.init);
    const body = withName(planner, expr.accumulator, readSlot(accumulator), () => plan(planner, expr.result));
    return bindStep(init, body, accumulator);
  }
  const slots: FoldSlots = {
    variable: planner.locals++,
    variable2: expr.variable2 === undefined ? undefined : planner.locals++,
    accumulator,
  };
  const withVariables = (body: () => Step): Step => {
    const second = expr.variable2;
    const inner =
      second === undefined || slots.variable2 === undefined
        ? body
        : () => withName(planner, second, readSlot(slots.variable2 ?? 0), body);
    return withName(planner, expr.accumulator, readSlot(accumulator), () =>
      withName(planner, expr.variable, readSlot(slots.variable), inner),
    );
  };
  const inLoop = (part: Expr): Step => withVariables(() => plan(planner, part));
  const appending = appendShape(expr);
  if (appending) {
    const filter = appending.filter && inLoop(appending.filter);
    return appendStep(range, filter, inLoop(appending.element), slots, expr.at);
  }
  const inserting = insertShape(expr);
  if (inserting) {
    const filter = inserting.filter && inLoop(inserting.filter);
    const key = inserting.key && inLoop(inserting.key);
    return insertStep(range, filter, key, inLoop(inserting.value), slots, expr.at);
  }
  const always = expr.condition.kind === 'literal' && expr.condition.value === true;
  const init = plan(planner, expr.init);
  const condition = always ? undefined : inLoop(expr.condition);
  const step = inLoop(expr.step);
  const result = withName(planner, expr.accumulator, readSlot(accumulator), () => plan(planner, expr.result));
  return foldStep({ range, init, condition, step, result }, slots, expr.at);
}

/** Numbered expressions, each evaluated when it is first used. */
function planBlock(planner: Planner, slots: ListExpr, body: Expr): Step {
  const first = planner.locals;
  planner.locals += slots.elements.length;
  const declare = (index: number): Step => {
    const element = slots.elements[index];
    if (!element) return plan(planner, body);
    const step = plan(planner, element);
    const slot = first + index;
    const lazy: Step = (frame) => {
      frame.cost++;
      const known = frame.slots[slot];
      if (known !== undefined) return known;
      const value = step(frame);
      frame.slots[slot] = value;
      return value;
    };
    return withName(planner, `@index${index}`, lazy, () => declare(index + 1));
  };
  const run = declare(0);
  return (frame) => {
    for (let index = 0; index < slots.elements.length; index++) frame.slots[first + index] = undefined;
    return run(frame);
  };
}
