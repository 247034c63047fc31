import type { Overload } from '../library/function.ts';
import type {
  CallExpr,
  ComprehensionExpr,
  Expr,
  IdentExpr,
  ListExpr,
  MapExpr,
  SelectExpr,
  StructExpr,
} from '../syntax/ast.ts';
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
import { type AttributePath, loadVariable, noSuchOverload, type Step } from './frame.ts';
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
  type ResolvedName,
  resolveFunction,
  resolveNamespaced,
  resolveQualified,
  type Scope,
  type Variable,
} from './scope.ts';
import {
  attributeStep,
  indexStep,
  optionalAccessStep,
  presenceStep,
  selectStep,
  variableFieldStep,
} from './select.ts';
import { signaturesFor } from './signature.ts';

/** An expression made into closures. */
export interface Plan {
  readonly run: Step;
  readonly slotCount: number;
  /** Names of the environment's variables that are used. */
  readonly variables: readonly string[];
}

/** By id of calls the overloads that may be meant, by id of names what they stand for. */
interface Findings {
  readonly overloads: readonly (readonly Overload[] | undefined)[];
  readonly references: readonly (ResolvedName | undefined)[];
}

interface Planner {
  readonly scope: Scope;
  /** What the checker found, if it was asked. */
  readonly checked: Findings | undefined;
  /** Attributes may be unknown, so each is asked about before it is read. */
  readonly mindsUnknowns: boolean;
  /** The environment's variables that were met, and their slots: a few, so that they are looked through. */
  readonly variables: string[];
  readonly variableSlots: number[];
  /** So far. */
  slotCount: number;
  names: LocalNames | undefined;
  readonly isLocal: (name: string) => boolean;
}

interface LocalNames {
  readonly name: string;
  readonly step: Step;
  readonly outer: LocalNames | undefined;
}

export function planExpression(
  expr: Expr,
  scope: Scope,
  checked: Findings | undefined,
  mindsUnknowns: boolean,
): Plan {
  const planner: Planner = {
    scope,
    checked,
    mindsUnknowns,
    variables: [],
    variableSlots: [],
    slotCount: 0,
    names: undefined,
    isLocal: (name) => localStep(planner, name) !== undefined,
  };
  const run = plan(planner, expr);
  return { run, slotCount: planner.slotCount, variables: planner.variables };
}

function slotOf(planner: Planner, name: string): number {
  const index = planner.variables.indexOf(name);
  const known = index === -1 ? undefined : planner.variableSlots[index];
  if (known !== undefined) return known;
  planner.variables.push(name);
  planner.variableSlots.push(planner.slotCount);
  return planner.slotCount++;
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
  const { isLocal } = planner;
  if (expr.kind === 'ident' || (expr.kind === 'select' && !expr.testOnly)) {
    const resolved = resolveQualified(planner.scope, expr, isLocal);
    if (resolved) return resolved.kind === 'variable' ? [resolved.variable.name] : undefined;
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
  if (!planner.mindsUnknowns) return plain;
  const path = pathOf(planner, expr);
  return path ? attributeStep(path, plain) : plain;
}

/** Without asking whether it is known: that is asked for the whole path only. */
function planPlain(planner: Planner, expr: Expr): Step {
  if (expr.kind === 'call' && planner.mindsUnknowns && pathOf(planner, expr)) {
    const [operand, index] = expr.args;
    if (operand && index) {
      const inner = planPlain(planner, operand);
      const key = plan(planner, index);
      if (expr.function === '_[_]') return indexStep(inner, key, expr.at);
      return optionalAccessStep(inner, key, expr.at, expr.function === '_?._');
    }
  }
  if (expr.kind === 'ident') return planName(planner, expr);
  if (expr.kind !== 'select') return plan(planner, expr);
  const { operand, field, at } = expr;
  if (expr.testOnly) return presenceStep(planPlain(planner, operand), field, at);
  const resolved = resolve(planner, expr);
  if (resolved) return resolvedStep(planner, resolved);
  if (operand.kind === 'ident') {
    const variable = localStep(planner, operand.name) ? undefined : resolve(planner, operand);
    if (variable?.kind === 'variable') {
      return variableFieldStep(slotOf(planner, variable.variable.name), variable.variable, field, at);
    }
  }
  return selectStep(planPlain(planner, operand), field, at);
}

function planName(planner: Planner, expr: IdentExpr): Step {
  const local = localStep(planner, expr.name);
  if (local) return local;
  const resolved = resolve(planner, expr);
  if (resolved) return resolvedStep(planner, resolved);
  const missing = new CelError(`undeclared reference to '${expr.name}'`, expr.at);
  return () => missing;
}

function resolve(planner: Planner, expr: IdentExpr | SelectExpr): ResolvedName | undefined {
  const { checked, scope, isLocal } = planner;
  return checked ? checked.references[expr.id] : resolveQualified(scope, expr, isLocal);
}

function resolvedStep(planner: Planner, resolved: ResolvedName): Step {
  if (resolved.kind === 'variable') {
    return variableStep(slotOf(planner, resolved.variable.name), resolved.variable);
  }
  const { value } = resolved.constant;
  return (frame) => {
    frame.cost++;
    return value;
  };
}

function variableStep(slot: number, variable: Variable): Step {
  return (frame) => {
    frame.cost++;
    const value = frame.slots[slot];
    return value === undefined ? loadVariable(frame, slot, variable) : value;
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
        const path = planner.mindsUnknowns ? pathOf(planner, expr) : undefined;
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
    return planFunction(planner, expr, name, false, args);
  }
  const namespaced = resolveNamespaced(planner.scope, expr.target, expr.function, planner.isLocal);
  if (namespaced) return planFunction(planner, expr, namespaced.name, false, args);
  return planFunction(planner, expr, expr.function, true, [expr.target].concat(args));
}

function planFunction(
  planner: Planner,
  expr: CallExpr,
  name: string,
  member: boolean,
  args: readonly Expr[],
): Step {
  const dispatch = findDispatch(planner, expr, name, member, args.length);
  const steps: Step[] = [];
  for (const arg of args) steps.push(plan(planner, arg));
  return callStep(dispatch, steps, args);
}

/** The overloads that the checker left open, or all of the name and number of arguments. */
function findDispatch(
  planner: Planner,
  expr: CallExpr,
  name: string,
  member: boolean,
  count: number,
): Dispatch {
  const checked = planner.checked?.overloads[expr.id];
  if (checked !== undefined) return dispatchOf(name, checked, expr.at);
  const table = resolveFunction(planner.scope, name);
  const fitting = table && signaturesFor(table, member, count)?.signatures;
  return dispatchOf(
    name,
    (fitting ?? []).map((signature) => signature.overload),
    expr.at,
  );
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
  const accumulator = planner.slotCount++;
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
    variable: planner.slotCount++,
    variable2: expr.variable2 === undefined ? undefined : planner.slotCount++,
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
  const first = planner.slotCount;
  planner.slotCount += slots.elements.length;
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
