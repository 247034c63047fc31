import {
  candidateNames,
  type ResolvedName,
  resolveFunction,
  resolveName,
  resolveNamespaced,
  resolveQualified,
  type Scope,
} from '../evaluate/scope.ts';
import type { FunctionTable } from '../evaluate/signature.ts';
import type { Overload } from '../library/function.ts';
import type {
  CallExpr,
  ComprehensionExpr,
  Expr,
  ListExpr,
  LiteralValue,
  MapExpr,
  ParsedExpression,
  SelectExpr,
  StructExpr,
} from '../syntax/ast.ts';
import type { ExpressionIssue } from '../syntax/source-position.ts';
import { assignable, moreGeneral, substitute } from '../types/substitution.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  ERROR,
  formatType,
  INT,
  isOptional,
  listType,
  mapType,
  NULL,
  optionalType,
  STRING,
  type Type,
  UINT,
} from '../types/type.ts';
import { Double, Uint } from '../values/value.ts';
import { type Checker, type CheckOptions, freshParam, report } from './checker-state.ts';
import { resolveCall } from './overload-resolution.ts';
import { literalIssues } from './validate-literals.ts';

/** An expression whose types are known. */
export interface Checked {
  readonly ast: ParsedExpression;
  readonly type: Type;
  /** By id of the node. */
  readonly types: readonly (Type | undefined)[];
  /** By id of the call, the signatures that may be meant. */
  readonly overloads: readonly (readonly Overload[] | undefined)[];
  /** By id of the name, what it stands for in the environment; a name of a macro stands for nothing there. */
  readonly references: readonly (ResolvedName | undefined)[];
}

export function checkExpression(
  ast: ParsedExpression,
  scope: Scope,
  options: CheckOptions,
):
  | { readonly checked: Checked; readonly issues?: undefined }
  | { readonly checked?: undefined; readonly issues: readonly ExpressionIssue[] } {
  const checker: Checker = {
    ast,
    scope,
    options,
    types: new Array<Type | undefined>(ast.idCount),
    overloads: new Array<readonly Overload[] | undefined>(ast.idCount),
    references: new Array<ResolvedName | undefined>(ast.idCount),
    found: new Map(),
    issues: [],
    locals: undefined,
    fresh: 0,
    literalCalls: undefined,
    isLocal: (name) => local(checker, name) !== undefined,
  };
  check(checker, ast.expr);
  if (checker.issues.length > 0) return { issues: checker.issues };
  const { types, literalCalls } = checker;
  if (literalCalls !== undefined) {
    const issues = literalIssues(ast.source, literalCalls);
    if (issues.length > 0) return { issues };
  }
  if (checker.fresh > 0 || scope.generic) {
    for (let id = 0; id < types.length; id++) {
      const type = types[id];
      if (type !== undefined) types[id] = substitute(checker.found, type, true);
    }
  }
  const { overloads, references } = checker;
  return { checked: { ast, type: types[ast.expr.id] ?? DYN, types, overloads, references } };
}

function local(checker: Checker, name: string): Type | undefined {
  for (let entry = checker.locals; entry; entry = entry.outer) if (entry.name === name) return entry.type;
  return undefined;
}

function withLocal<T>(checker: Checker, name: string, type: Type, body: () => T): T {
  const outer = checker.locals;
  checker.locals = { name, type, outer };
  try {
    return body();
  } finally {
    checker.locals = outer;
  }
}

function check(checker: Checker, expr: Expr): Type {
  let type = typeOf(checker, expr);
  const { kind } = type;
  if ((kind === 'list' || kind === 'map' || kind === 'opaque') && typeWeight(type) > MAX_TYPE)
    type = report(checker, expr.at, 'the type of the expression is too complex');
  checker.types[expr.id] = type;
  return type;
}

/** Parts of a type; a map whose keys and values have the same type doubles it, again and again. */
const MAX_TYPE = 2_000;
const WEIGHTS = new WeakMap<Type, number>();

function typeWeight(type: Type): number {
  let weight = WEIGHTS.get(type);
  if (weight === undefined) {
    weight = 1;
    if (type.kind === 'list') weight += typeWeight(type.element);
    else if (type.kind === 'map') weight += typeWeight(type.key) + typeWeight(type.value);
    else if (type.kind === 'opaque') for (const param of type.params) weight += typeWeight(param);
    WEIGHTS.set(type, weight);
  }
  return weight;
}

function typeOf(checker: Checker, expr: Expr): Type {
  switch (expr.kind) {
    case 'literal':
      return literalType(expr.value);
    case 'ident':
      return identType(checker, expr);
    case 'select':
      return selectType(checker, expr);
    case 'call':
      return callType(checker, expr);
    case 'list':
      return checkList(checker, expr);
    case 'map':
      return checkMap(checker, expr);
    case 'struct':
      return checkStruct(checker, expr);
    case 'comprehension':
      return checkFold(checker, expr);
  }
}

function literalType(value: LiteralValue): Type {
  if (value === null) return NULL;
  if (typeof value === 'boolean') return BOOL;
  if (typeof value === 'string') return STRING;
  if (value instanceof Uint) return UINT;
  if (value instanceof Double) return DOUBLE;
  return value instanceof Uint8Array ? BYTES : INT;
}

function resolvedType(found: ResolvedName): Type {
  return found.kind === 'variable' ? found.variable.type : found.constant.type;
}

function identType(checker: Checker, expr: Expr & { kind: 'ident' }): Type {
  const own = local(checker, expr.name);
  if (own) return own;
  const resolved = resolveName(checker.scope, expr.name);
  if (!resolved) return undeclared(checker, expr.at, expr.name);
  checker.references[expr.id] = resolved;
  return resolvedType(resolved);
}

function undeclared(checker: Checker, at: number, name: string): Type {
  const shown = name.startsWith('.') ? name.slice(1) : name;
  return report(
    checker,
    at,
    `undeclared reference to '${shown}' (in container '${checker.scope.container}')`,
  );
}

function selectType(checker: Checker, expr: SelectExpr): Type {
  if (!expr.testOnly) {
    const resolved = resolveQualified(checker.scope, expr, checker.isLocal);
    if (resolved) {
      checker.references[expr.id] = resolved;
      return resolvedType(resolved);
    }
  }
  const operand = substitute(checker.found, check(checker, expr.operand), false);
  const field = fieldType(checker, operand, expr.field, expr.at);
  return expr.testOnly ? BOOL : field;
}

function fieldType(checker: Checker, operand: Type, field: string, at: number): Type {
  if (isOptional(operand)) {
    const inner = substitute(checker.found, operand.params[0] ?? DYN, false);
    const found = fieldType(checker, inner, field, at);
    return found.kind === 'error' ? found : optionalType(found);
  }
  switch (operand.kind) {
    case 'map':
      // A key that is written like a field is a text.
      if (!assignable(checker.found, STRING, operand.key)) {
        return report(checker, at, `type '${shown(checker, operand)}' does not support field selection`);
      }
      return operand.value;
    case 'object': {
      const found = operand.field(field);
      if (found) return found.type;
      if (operand.unknownFields === true) return DYN;
      return report(checker, at, `undefined field '${field}'`, fieldHint(operand.fieldNames(), field));
    }
    case 'param':
      // Nothing is known of it yet, and from now on nothing can be.
      assignable(checker.found, operand, DYN);
      return DYN;
    case 'dyn':
    case 'error':
    case 'any':
      return DYN;
    default:
      return report(checker, at, `type '${shown(checker, operand)}' does not support field selection`);
  }
}

/** As messages show it: what nothing is known of may be anything. */
function shown(checker: Checker, type: Type): string {
  return formatType(substitute(checker.found, type, true));
}

const SHOWN_FIELDS = 12;

function fieldHint(names: readonly string[], wanted: string): string | undefined {
  const close = names.filter((name) => name.toLowerCase().startsWith(wanted.slice(0, 3).toLowerCase()));
  const shown = close.length > 0 ? close : names;
  if (shown.length === 0) return undefined;
  const more = shown.length > SHOWN_FIELDS ? ', …' : '';
  return `fields are ${shown.slice(0, SHOWN_FIELDS).join(', ')}${more}`;
}

function callType(checker: Checker, expr: CallExpr): Type {
  const { scope } = checker;
  const [first, second] = expr.args;
  if (expr.target === undefined) {
    if (expr.function === 'cel.@block' && first?.kind === 'list' && second)
      return checkBlock(checker, first, second);
    if (expr.function === '_?._' && first && second) return optionalSelect(checker, expr, first, second);
    return callOf(checker, expr, resolveFunction(scope, expr.function), undefined);
  }
  const namespaced = resolveNamespaced(scope, expr.target, expr.function, checker.isLocal);
  return namespaced
    ? callOf(checker, expr, namespaced, undefined)
    : callOf(checker, expr, resolveFunction(scope, expr.function), expr.target);
}

function callOf(
  checker: Checker,
  expr: CallExpr,
  table: FunctionTable | undefined,
  target: Expr | undefined,
): Type {
  const args: Type[] = [];
  if (target) args.push(check(checker, target));
  for (const arg of expr.args) args.push(check(checker, arg));
  if (!table) return undeclared(checker, expr.at, expr.function);
  return resolveCall(checker, expr, table, target !== undefined, args);
}

function optionalSelect(checker: Checker, expr: CallExpr, operand: Expr, field: Expr): Type {
  const type = substitute(checker.found, check(checker, operand), false);
  check(checker, field);
  if (field.kind !== 'literal' || typeof field.value !== 'string') {
    return report(checker, field.at, 'unsupported optional field selection');
  }
  const inner = isOptional(type) ? substitute(checker.found, type.params[0] ?? DYN, false) : type;
  const found = fieldType(checker, inner, field.value, expr.at);
  return found.kind === 'error' ? found : optionalType(found);
}

/** The type that two elements of a literal have in common. */
function join(checker: Checker, before: Type | undefined, type: Type, at: number): Type {
  if (before === undefined) return type;
  if (assignable(checker.found, before, type)) return moreGeneral(before, type);
  if (!checker.options.homogeneousLiterals) return DYN;
  if (before.kind !== 'error' && type.kind !== 'error') typeMismatch(checker, at, before, type);
  return ERROR;
}

function typeMismatch(checker: Checker, at: number, wanted: Type, found: Type): Type {
  const [want, have] = [wanted, found].map((type) => shown(checker, type));
  return report(checker, at, `expected type '${want}' but found '${have}'`);
}

/** What an element that was written with `?` adds. */
function unwrapped(checker: Checker, type: Type, at: number): Type {
  const known = substitute(checker.found, type, false);
  if (isOptional(known)) return known.params[0] ?? DYN;
  if (known.kind === 'dyn' || known.kind === 'error') return known;
  return typeMismatch(checker, at, optionalType(known), known);
}

function checkList(checker: Checker, expr: ListExpr): Type {
  const optional = new Set(expr.optional);
  let element: Type | undefined;
  for (const [index, item] of expr.elements.entries()) {
    const type = check(checker, item);
    element = join(checker, element, optional.has(index) ? unwrapped(checker, type, item.at) : type, item.at);
  }
  return listType(element ?? freshParam(checker));
}

function checkMap(checker: Checker, expr: MapExpr): Type {
  let key: Type | undefined;
  let value: Type | undefined;
  for (const entry of expr.entries) {
    key = join(checker, key, check(checker, entry.key), entry.key.at);
    const type = check(checker, entry.value);
    value = join(
      checker,
      value,
      entry.optional ? unwrapped(checker, type, entry.value.at) : type,
      entry.value.at,
    );
  }
  return mapType(key ?? freshParam(checker), value ?? freshParam(checker));
}

function checkStruct(checker: Checker, expr: StructExpr): Type {
  const type = candidateNames(checker.scope, expr.type)
    .map((name) => checker.scope.types.get(name))
    .find((found) => found !== undefined);
  for (const entry of expr.entries) {
    const given = check(checker, entry.value);
    if (!type) continue;
    const field = type.field(entry.field);
    if (!field) {
      report(
        checker,
        entry.at,
        `undefined field '${entry.field}'`,
        fieldHint(type.fieldNames(), entry.field),
      );
      continue;
    }
    const value = entry.optional ? unwrapped(checker, given, entry.value.at) : given;
    if (!assignable(checker.found, value, field.type)) {
      const [want, have] = [field.type, substitute(checker.found, value, true)].map(formatType);
      report(
        checker,
        entry.at,
        `expected type of field '${entry.field}' is '${want}' but provided type is '${have}'`,
      );
    }
  }
  return type ?? undeclared(checker, expr.at, expr.type);
}

function checkFold(checker: Checker, expr: ComprehensionExpr): Type {
  const range = substitute(checker.found, check(checker, expr.range), false);
  const init = check(checker, expr.init);
  const [first, second] = variableTypes(checker, expr, range);
  return withLocal(checker, expr.accumulator, init, () => {
    const loop = (): void => {
      expectType(checker, expr.condition, check(checker, expr.condition), BOOL);
      expectType(checker, expr.step, check(checker, expr.step), init);
    };
    const { variable2 } = expr;
    withLocal(checker, expr.variable, first, () => {
      if (variable2 === undefined) loop();
      else withLocal(checker, variable2, second, loop);
    });
    return substitute(checker.found, check(checker, expr.result), false);
  });
}

function expectType(checker: Checker, expr: Expr, found: Type, wanted: Type): void {
  if (found.kind !== 'error' && !assignable(checker.found, found, wanted)) {
    typeMismatch(checker, expr.at, wanted, found);
  }
}

function variableTypes(checker: Checker, expr: ComprehensionExpr, range: Type): [Type, Type] {
  const two = expr.variable2 !== undefined;
  switch (range.kind) {
    case 'list':
      return two ? [INT, range.element] : [range.element, ERROR];
    case 'map':
      return [range.key, range.value];
    case 'param':
      assignable(checker.found, range, DYN);
      return [DYN, DYN];
    case 'dyn':
    case 'any':
    case 'error':
      return [DYN, DYN];
    default: {
      const type = shown(checker, range);
      report(
        checker,
        expr.range.at,
        `expression of type '${type}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      );
      return [ERROR, ERROR];
    }
  }
}

function checkBlock(checker: Checker, slots: ListExpr, body: Expr): Type {
  const declare = (index: number): Type => {
    const element = slots.elements[index];
    if (!element) return check(checker, body);
    const type = check(checker, element);
    return withLocal(checker, `@index${index}`, type, () => declare(index + 1));
  };
  const type = declare(0);
  checker.types[slots.id] = listType(DYN);
  return type;
}
