import {
  candidateNames,
  type ResolvedName,
  resolveFunction,
  resolveNamespaced,
  resolveQualified,
  type Scope,
} from '../evaluate/scope.ts';
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
import { type ExpressionIssue, issueAt } from '../syntax/source-position.ts';
import {
  assignable,
  assignableAll,
  moreGeneral,
  type Substitution,
  substitute,
} from '../types/substitution.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  ERROR,
  equalTypes,
  formatType,
  INT,
  isOptional,
  listType,
  mapType,
  NULL,
  optionalType,
  paramsOf,
  STRING,
  type Type,
  UINT,
} from '../types/type.ts';
import { Double, Uint } from '../values/value.ts';

/** An expression whose types are known. */
export interface Checked {
  readonly ast: ParsedExpression;
  readonly type: Type;
  /** By id of the node. */
  readonly types: readonly (Type | undefined)[];
  /** By id of the call, the signatures that may be meant. */
  readonly overloads: ReadonlyMap<number, readonly Overload[]>;
}

export interface CheckOptions {
  /** Elements of a literal must agree in type. */
  readonly homogeneousLiterals: boolean;
}

interface Checker {
  readonly ast: ParsedExpression;
  readonly scope: Scope;
  readonly options: CheckOptions;
  readonly types: (Type | undefined)[];
  readonly overloads: Map<number, readonly Overload[]>;
  readonly found: Substitution;
  readonly issues: ExpressionIssue[];
  locals: Local | undefined;
  fresh: number;
}

interface Local {
  readonly name: string;
  readonly type: Type;
  readonly outer: Local | undefined;
}

const MAX_ISSUES = 100;

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
    overloads: new Map(),
    found: new Map(),
    issues: [],
    locals: undefined,
    fresh: 0,
  };
  check(checker, ast.expr);
  if (checker.issues.length > 0) return { issues: checker.issues };
  const types = checker.types.map((type) => type && substitute(checker.found, type, true));
  return { checked: { ast, type: types[ast.expr.id] ?? DYN, types, overloads: checker.overloads } };
}

function report(checker: Checker, at: number, message: string, hint?: string): Type {
  if (checker.issues.length < MAX_ISSUES) checker.issues.push(issueAt(checker.ast.source, at, message, hint));
  return ERROR;
}

function freshParam(checker: Checker): Type {
  return { kind: 'param', name: `_var${checker.fresh++}` };
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
  if (typeWeight(type) > MAX_TYPE)
    type = report(checker, expr.at, 'the type of the expression is too complex');
  checker.types[expr.id] = type;
  return type;
}

/** Parts of a type; a map whose keys and values have the same type doubles it, again and again. */
const MAX_TYPE = 2_000;
const WEIGHTS = new WeakMap<Type, number>();

function typeWeight(type: Type): number {
  if (type.kind !== 'list' && type.kind !== 'map' && type.kind !== 'opaque') return 1;
  let weight = WEIGHTS.get(type);
  if (weight === undefined) {
    weight = 1;
    if (type.kind === 'list') weight += typeWeight(type.element);
    else if (type.kind === 'map') weight += typeWeight(type.key) + typeWeight(type.value);
    else for (const param of type.params) weight += typeWeight(param);
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

function isLocalIn(checker: Checker): (name: string) => boolean {
  return (name) => local(checker, name) !== undefined;
}

function identType(checker: Checker, expr: Expr & { kind: 'ident' }): Type {
  const own = local(checker, expr.name);
  if (own) return own;
  const resolved = resolveQualified(checker.scope, expr, isLocalIn(checker));
  return resolved ? resolvedType(resolved.found) : undeclared(checker, expr.at, expr.name);
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
    const resolved = resolveQualified(checker.scope, expr, isLocalIn(checker));
    if (resolved) return resolvedType(resolved.found);
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
        return report(checker, at, `type '${formatType(operand)}' does not support field selection`);
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
      return report(checker, at, `type '${formatType(operand)}' does not support field selection`);
  }
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
    const args = expr.args.map((arg) => check(checker, arg));
    const declaration = resolveFunction(scope, expr.function);
    if (!declaration) return undeclared(checker, expr.at, expr.function);
    return resolve(checker, expr, expr.function, declaration.overloads, false, args);
  }
  const namespaced = resolveNamespaced(scope, expr.target, expr.function, isLocalIn(checker));
  if (namespaced) {
    const args = expr.args.map((arg) => check(checker, arg));
    return resolve(checker, expr, namespaced.name, namespaced.overloads, false, args);
  }
  const target = check(checker, expr.target);
  const args = expr.args.map((arg) => check(checker, arg));
  const declaration = resolveFunction(scope, expr.function);
  if (!declaration) return undeclared(checker, expr.at, expr.function);
  return resolve(checker, expr, expr.function, declaration.overloads, true, [target, ...args]);
}

/** Tries all signatures; where several fit and differ in what they give, the result may be anything. */
function resolve(
  checker: Checker,
  expr: CallExpr,
  name: string,
  overloads: readonly Overload[],
  member: boolean,
  args: readonly Type[],
): Type {
  // What already went wrong is not reported again.
  if (args.some((arg) => arg.kind === 'error')) return ERROR;
  const fitting: Overload[] = [];
  let result: Type | undefined;
  for (const overload of overloads) {
    if (overload.member !== member || overload.params.length !== args.length) continue;
    const signature = instantiate(checker, overload);
    if (!assignableAll(checker.found, args, signature.params)) continue;
    fitting.push(overload);
    const own = substitute(checker.found, signature.result, false);
    if (result === undefined) result = own;
    else if (result.kind !== 'dyn' && !equalTypes(result, own)) result = DYN;
  }
  if (result === undefined) return mismatch(checker, expr, name, overloads, member, args);
  checker.overloads.set(expr.id, fitting);
  return result;
}

const SHOWN_OVERLOADS = 8;

function mismatch(
  checker: Checker,
  expr: CallExpr,
  name: string,
  overloads: readonly Overload[],
  member: boolean,
  args: readonly Type[],
): Type {
  const [target, ...rest] = args.map((arg) => formatType(substitute(checker.found, arg, true)));
  const applied = member
    ? `${target}.(${rest.join(', ')})`
    : `(${args.length === 0 ? '' : [target, ...rest].join(', ')})`;
  const signatures = overloads.map(({ params, member: isMember }) => {
    const [first, ...others] = params.map(formatType);
    return isMember ? `${first}.(${others.join(', ')})` : `(${params.map(formatType).join(', ')})`;
  });
  const more = signatures.length > SHOWN_OVERLOADS ? ', …' : '';
  return report(
    checker,
    expr.at,
    `found no matching overload for '${name}' applied to '${applied}'`,
    `fitting would be ${signatures.slice(0, SHOWN_OVERLOADS).join(', ')}${more}`,
  );
}

const SIGNATURE_PARAMS = new WeakMap<Overload, readonly string[]>();

/** The signature with type parameters of its own. */
function instantiate(checker: Checker, overload: Overload): { params: readonly Type[]; result: Type } {
  let names = SIGNATURE_PARAMS.get(overload);
  if (!names) {
    const found = new Set<string>();
    for (const param of overload.params) paramsOf(param, found);
    paramsOf(overload.result, found);
    names = [...found];
    SIGNATURE_PARAMS.set(overload, names);
  }
  if (names.length === 0) return overload;
  const fresh: Substitution = new Map(names.map((name) => [name, freshParam(checker)]));
  return {
    params: overload.params.map((param) => substitute(fresh, param, false)),
    result: substitute(fresh, overload.result, false),
  };
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
  const [want, have] = [wanted, found].map((type) => formatType(substitute(checker.found, type, true)));
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
      const type = formatType(range);
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
