import {
  adapterOf,
  CelError,
  CelMap,
  DYN,
  type Expr,
  globalOverload,
  INT,
  type Library,
  type Macro,
  mapType,
  type ObjectType,
  STRING,
  TIMESTAMP,
  type Type,
  toJson,
  type Value,
} from '../../../cel/index.ts';
import { syntaxError } from '../../../cel/syntax/syntax-error.ts';
import { ObjectMap } from '../../../cel/values/map.ts';
import { isObject, listAt, stringAt } from '../../../schema/json.ts';

const FIELDS: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['type', STRING],
  ['status', STRING],
  ['reason', STRING],
  ['message', STRING],
  ['lastTransitionTime', TIMESTAMP],
  ['observedGeneration', INT],
]);

/** A condition, as `runtime.newCondition` makes and `runtime.condition` finds it. */
export const CONDITION_TYPE: ObjectType = {
  kind: 'object',
  name: 'runtime.Condition',
  field: (name) => {
    const type = FIELDS.get(name);
    return type && { type };
  },
  fieldNames: () => [...FIELDS.keys()],
};
const asCondition = adapterOf(CONDITION_TYPE);

const GIVEN = ['type', 'status', 'reason', 'message'];
const STATUSES = ['True', 'False', 'Unknown'];

function newCondition(given: Value): Value {
  const read = toJson(given);
  if ('error' in read) return new CelError(`runtime.newCondition: ${read.error}`);
  const { json } = read;
  for (const name of GIVEN) {
    if (isObject(json) && json[name] !== undefined && typeof json[name] !== 'string')
      return new CelError(`runtime.newCondition: ${name} must be a string`);
  }
  const problem = conditionProblem(stringAt(json, 'type') ?? '', stringAt(json, 'status') ?? '');
  if (problem !== undefined) return new CelError(`runtime.newCondition: ${problem}`);
  return asCondition({ reason: '', message: '', ...(json as object) });
}

function conditionProblem(type: string, status: string): string | undefined {
  if (!STATUSES.includes(status)) return `status must be True, False or Unknown, not "${status}"`;
  return type === '' ? 'type must not be empty' : undefined;
}

function condition(object: Value, type: Value): Value {
  const absent = { type, status: '', reason: '', message: '', observedGeneration: 0 };
  if (!(object instanceof CelMap)) return new CelError('runtime.condition: the first argument is no object');
  // Of a schema that hides the status the object itself has it.
  const raw = object instanceof ObjectMap ? object.raw : {};
  const found = listAt(raw, 'status', 'conditions').find((item) => stringAt(item, 'type') === type);
  return asCondition(found ?? absent);
}

/** The keys of the argument are written as names: `runtime.newCondition({type: 'Ready', status: 'True'})`. */
const newConditionMacro: Macro = {
  name: 'newCondition',
  receiver: true,
  argumentCount: 1,
  expand: (factory, call) => {
    const [given] = call.args;
    if (call.target?.kind !== 'ident' || call.target.name !== 'runtime' || !given) return undefined;
    if (given.kind !== 'map')
      throw syntaxError(given.at, 'newCondition() takes {type: …, status: …, reason: …, message: …}');
    const names = new Set<string>();
    const entries = given.entries.map((entry) => {
      const name = keyName(entry.key);
      if (name === undefined || !GIVEN.includes(name))
        throw syntaxError(entry.key.at, `a condition has the fields ${GIVEN.join(', ')}`);
      if (names.has(name)) throw syntaxError(entry.key.at, `${name} is given twice`);
      names.add(name);
      const key: Expr = { kind: 'literal', id: factory.nextId(), at: entry.key.at, value: name };
      return { ...entry, key };
    });
    for (const name of ['type', 'status'])
      if (!names.has(name)) throw syntaxError(given.at, `a condition needs ${name}`);
    return {
      kind: 'call',
      id: factory.nextId(),
      at: call.at,
      function: 'runtime.@newCondition',
      target: undefined,
      args: [{ ...given, entries }],
    };
  },
};

function keyName(key: Expr): string | undefined {
  if (key.kind === 'ident') return key.name;
  return key.kind === 'literal' && typeof key.value === 'string' ? key.value : undefined;
}

/** What the conditions of an instance may be written with, and nothing else. */
export const conditionLibrary: Library = {
  name: 'runtime',
  functions: [
    {
      name: 'runtime.@newCondition',
      overloads: [
        globalOverload('runtime_newCondition', [mapType(STRING, DYN)], CONDITION_TYPE, newCondition),
      ],
    },
    {
      name: 'runtime.condition',
      overloads: [globalOverload('runtime_condition', [DYN, STRING], CONDITION_TYPE, condition)],
    },
  ],
  macros: [newConditionMacro],
};

export interface ConditionCall {
  readonly function: 'newCondition' | 'condition';
  /** Of `newCondition`, where it is written out. */
  readonly type?: string;
  /** Of `newCondition`: what is wrong with what is written out. */
  readonly problem?: string;
  /** Of `condition`: the variable that is asked. */
  readonly object?: string;
}

/** The calls of this library in an expression, as far as they are written out. */
export function conditionCalls(expr: Expr, childrenOf: (expr: Expr) => readonly Expr[]): ConditionCall[] {
  const calls: ConditionCall[] = [];
  const visit = (item: Expr): void => {
    if (item.kind === 'call') {
      const [first, second] = item.args;
      if (item.function === 'runtime.@newCondition' && first?.kind === 'map') {
        const written = (name: string): string | undefined => {
          const value = first.entries.find(({ key }) => keyName(key) === name)?.value;
          return value?.kind === 'literal' && typeof value.value === 'string' ? value.value : undefined;
        };
        const type = written('type');
        const problem = conditionProblem(type ?? 'computed', written('status') ?? 'True');
        calls.push({
          function: 'newCondition',
          ...(type !== undefined && { type }),
          ...(problem !== undefined && { problem }),
        });
      } else if (isRuntime(item.target) && item.function === 'condition') {
        const type = second?.kind === 'literal' ? second.value : undefined;
        calls.push({
          function: 'condition',
          ...(first?.kind === 'ident' && { object: first.name }),
          ...(typeof type === 'string' && { type }),
        });
      }
    }
    for (const child of childrenOf(item)) visit(child);
  };
  visit(expr);
  return calls;
}

function isRuntime(target: Expr | undefined): boolean {
  return target?.kind === 'ident' && target.name === 'runtime';
}
