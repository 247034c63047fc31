import type { CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr } from './ast.ts';
import { syntaxError } from './syntax-error.ts';

/** What a macro may make nodes with. */
export interface MacroFactory {
  readonly source: string;
  readonly nextId: () => number;
}

/** Rewrites a call while it is parsed. */
export interface Macro {
  readonly name: string;
  /** Written as `target.name(…)`. */
  readonly receiver: boolean;
  /** −1: any number. */
  readonly argumentCount: number;
  /** `undefined` leaves the call as it is. Throws a syntax error for arguments that do not fit. */
  readonly expand: (factory: MacroFactory, call: CallExpr) => Expr | undefined;
}

export const ACCUMULATOR = '@result';
const UNUSED = '#unused';

function literal(factory: MacroFactory, at: number, value: boolean | number): Expr {
  return { kind: 'literal', id: factory.nextId(), at, value };
}
function ident(factory: MacroFactory, at: number, name: string): Expr {
  return { kind: 'ident', id: factory.nextId(), at, name };
}
function callOf(factory: MacroFactory, at: number, name: string, ...args: Expr[]): CallExpr {
  return { kind: 'call', id: factory.nextId(), at, function: name, target: undefined, args };
}
function methodOf(factory: MacroFactory, at: number, target: Expr, name: string): CallExpr {
  return { kind: 'call', id: factory.nextId(), at, function: name, target, args: [] };
}
function listOf(factory: MacroFactory, at: number, ...elements: Expr[]): ListExpr {
  return { kind: 'list', id: factory.nextId(), at, elements, optional: [] };
}
function emptyMap(factory: MacroFactory, at: number): MapExpr {
  return { kind: 'map', id: factory.nextId(), at, entries: [] };
}

interface Fold {
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** Reads the variables (the first `variables` arguments) and builds the fold over the target. */
function fold(
  factory: MacroFactory,
  call: CallExpr,
  variables: 1 | 2,
  build: (at: number, result: () => Expr, args: readonly Expr[]) => Fold,
): ComprehensionExpr | undefined {
  if (!call.target) return undefined;
  const names = call.args.slice(0, variables).map((arg) => variableName(arg));
  if (names.length === 2 && names[0] === names[1]) {
    throw syntaxError(call.args[1]?.at ?? call.at, `duplicate variable name: ${names[1]}`);
  }
  const at = call.at;
  const parts = build(at, () => ident(factory, at, ACCUMULATOR), call.args.slice(variables));
  return {
    kind: 'comprehension',
    id: factory.nextId(),
    at,
    variable: names[0] ?? '',
    variable2: names[1],
    range: call.target,
    accumulator: ACCUMULATOR,
    ...parts,
  };
}

function variableName(arg: Expr): string {
  // The numbered variables of blocks have names that cannot be written.
  if (arg.kind === 'ident' && /^@(?:it|ac):/.test(arg.name)) return arg.name;
  if (arg.kind !== 'ident' || arg.name.startsWith('.'))
    throw syntaxError(arg.at, 'argument must be a simple name');
  if (arg.name === ACCUMULATOR || arg.name === '__result__') {
    throw syntaxError(arg.at, 'iteration variable overwrites accumulator variable');
  }
  return arg.name;
}

function all(variables: 1 | 2): Macro['expand'] {
  return (factory, call) =>
    fold(factory, call, variables, (at, result, [predicate]) => ({
      init: literal(factory, at, true),
      condition: callOf(factory, at, '@not_strictly_false', result()),
      step: callOf(factory, at, '_&&_', result(), predicate ?? result()),
      result: result(),
    }));
}

function exists(variables: 1 | 2): Macro['expand'] {
  return (factory, call) =>
    fold(factory, call, variables, (at, result, [predicate]) => ({
      init: literal(factory, at, false),
      condition: callOf(factory, at, '@not_strictly_false', callOf(factory, at, '!_', result())),
      step: callOf(factory, at, '_||_', result(), predicate ?? result()),
      result: result(),
    }));
}

function existsOne(variables: 1 | 2): Macro['expand'] {
  return (factory, call) =>
    fold(factory, call, variables, (at, result, [predicate]) => ({
      init: literal(factory, at, 0),
      condition: literal(factory, at, true),
      step: callOf(
        factory,
        at,
        '_?_:_',
        predicate ?? result(),
        callOf(factory, at, '_+_', result(), literal(factory, at, 1)),
        result(),
      ),
      result: callOf(factory, at, '_==_', result(), literal(factory, at, 1)),
    }));
}

/** Folds that gather: `[filter,] transform`. */
function gather(
  variables: 1 | 2,
  init: (factory: MacroFactory, at: number) => Expr,
  add: (factory: MacroFactory, at: number, result: Expr, element: Expr, call: CallExpr) => Expr,
): Macro['expand'] {
  return (factory, call) =>
    fold(factory, call, variables, (at, result, args) => {
      const [filter, element] = args.length === 2 ? args : [undefined, args[0]];
      const added = add(factory, at, result(), element ?? result(), call);
      return {
        init: init(factory, at),
        condition: literal(factory, at, true),
        step: filter ? callOf(factory, at, '_?_:_', filter, added, result()) : added,
        result: result(),
      };
    });
}

const appendElement = (factory: MacroFactory, at: number, result: Expr, element: Expr): Expr =>
  callOf(factory, at, '_+_', result, listOf(factory, at, element));

function filter(factory: MacroFactory, call: CallExpr): Expr | undefined {
  return fold(factory, call, 1, (at, result, [predicate]) => ({
    init: listOf(factory, at),
    condition: literal(factory, at, true),
    step: callOf(
      factory,
      at,
      '_?_:_',
      predicate ?? result(),
      appendElement(factory, at, result(), call.args[0] ?? result()),
      result(),
    ),
    result: result(),
  }));
}

function has(factory: MacroFactory, call: CallExpr): Expr {
  const [arg] = call.args;
  if (arg?.kind !== 'select' || arg.testOnly) {
    throw syntaxError(arg?.at ?? call.at, 'invalid argument to has() macro');
  }
  return { ...arg, id: factory.nextId(), testOnly: true };
}

/** A name for a value: a fold over nothing whose accumulator is the name. */
function bind(
  factory: MacroFactory,
  at: number,
  variable: string,
  value: Expr,
  body: Expr,
): ComprehensionExpr {
  return {
    kind: 'comprehension',
    id: factory.nextId(),
    at,
    variable: UNUSED,
    variable2: undefined,
    range: listOf(factory, at),
    accumulator: variable,
    init: value,
    condition: literal(factory, at, false),
    step: ident(factory, at, variable),
    result: body,
  };
}

function isNamespace(expr: Expr | undefined, name: string): boolean {
  return expr?.kind === 'ident' && expr.name === name;
}

function celBind(factory: MacroFactory, call: CallExpr): Expr | undefined {
  const [variable, value, body] = call.args;
  if (!isNamespace(call.target, 'cel') || !variable || !value || !body) return undefined;
  if (variable.kind !== 'ident')
    throw syntaxError(variable.at, 'cel.bind() variable names must be simple identifiers');
  return bind(factory, call.at, variable.name, value, body);
}

function optionalMap(flat: boolean): Macro['expand'] {
  return (factory, call) => {
    const [variable, body] = call.args;
    const { target, at } = call;
    if (!target || !variable || !body) return undefined;
    if (variable.kind !== 'ident') {
      throw syntaxError(variable.at, `${call.function}() variable name must be a simple identifier`);
    }
    const mapped = bind(factory, at, variable.name, methodOf(factory, at, target, 'value'), body);
    return callOf(
      factory,
      at,
      '_?_:_',
      methodOf(factory, at, target, 'hasValue'),
      flat ? mapped : callOf(factory, at, 'optional.of', mapped),
      callOf(factory, at, 'optional.none'),
    );
  };
}

function macro(name: string, receiver: boolean, argumentCount: number, expand: Macro['expand']): Macro {
  return { name, receiver, argumentCount, expand };
}

const emptyList = (factory: MacroFactory, at: number): Expr => listOf(factory, at);
const mapList = gather(1, emptyList, appendElement);
const insertEntry = gather(2, emptyMap, (factory, at, result, element, call) =>
  callOf(factory, at, 'cel.@mapInsert', result, call.args[0] ?? element, element),
);
const mergeEntries = gather(2, emptyMap, (factory, at, result, element) =>
  callOf(factory, at, 'cel.@mapInsert', result, element),
);
const transformList = gather(2, emptyList, appendElement);

export const standardMacros: readonly Macro[] = [
  macro('has', false, 1, has),
  macro('all', true, 2, all(1)),
  macro('exists', true, 2, exists(1)),
  macro('exists_one', true, 2, existsOne(1)),
  macro('existsOne', true, 2, existsOne(1)),
  macro('map', true, 2, mapList),
  macro('map', true, 3, mapList),
  macro('filter', true, 2, filter),
];

export const twoVariableMacros: readonly Macro[] = [
  macro('all', true, 3, all(2)),
  macro('exists', true, 3, exists(2)),
  macro('exists_one', true, 3, existsOne(2)),
  macro('existsOne', true, 3, existsOne(2)),
  macro('transformList', true, 3, transformList),
  macro('transformList', true, 4, transformList),
  macro('transformMap', true, 3, insertEntry),
  macro('transformMap', true, 4, insertEntry),
  macro('transformMapEntry', true, 3, mergeEntries),
  macro('transformMapEntry', true, 4, mergeEntries),
];

export const bindingMacros: readonly Macro[] = [macro('bind', true, 3, celBind)];

export const optionalMacros: readonly Macro[] = [
  macro('optMap', true, 2, optionalMap(false)),
  macro('optFlatMap', true, 2, optionalMap(true)),
];

function smallInt(expr: Expr | undefined): number | undefined {
  return expr?.kind === 'literal' && typeof expr.value === 'number' && expr.value >= 0
    ? expr.value
    : undefined;
}

function blockName(prefix: string, count: number): Macro['expand'] {
  return (factory, call) => {
    if (!isNamespace(call.target, 'cel')) return undefined;
    const numbers = call.args.map(smallInt);
    if (numbers.length !== count || numbers.includes(undefined)) {
      throw syntaxError(call.at, `cel.${call.function} requires non-negative int literals`);
    }
    return ident(factory, call.at, `${prefix}${numbers.join(':')}`);
  };
}

/** Numbered common subexpressions, the form that optimisers write. */
export const blockMacros: readonly Macro[] = [
  macro('block', true, 2, (factory, call) => {
    const [slots, body] = call.args;
    if (!isNamespace(call.target, 'cel') || slots?.kind !== 'list' || !body) return undefined;
    return callOf(factory, call.at, 'cel.@block', slots, body);
  }),
  macro('index', true, 1, blockName('@index', 1)),
  macro('iterVar', true, 2, blockName('@it:', 2)),
  macro('accuVar', true, 2, blockName('@ac:', 2)),
];

/** By name. Of two macros that are written alike the later one holds. */
export function macroTable(macros: Iterable<Macro>): ReadonlyMap<string, readonly Macro[]> {
  const table = new Map<string, Macro[]>();
  for (const item of macros) {
    const others = (table.get(item.name) ?? []).filter(
      (other) => other.receiver !== item.receiver || other.argumentCount !== item.argumentCount,
    );
    table.set(item.name, [...others, item]);
  }
  return table;
}
