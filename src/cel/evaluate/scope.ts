import type { Constant } from '../library/function.ts';
import type { Expr } from '../syntax/ast.ts';
import { qualifiedName } from '../syntax/parser.ts';
import type { ObjectType, Type } from '../types/type.ts';
import type { Adapter } from '../values/list.ts';
import type { FunctionTable } from './signature.ts';

export interface Variable {
  readonly name: string;
  readonly type: Type;
  /** Makes the value of what is bound to it. */
  readonly adapter: Adapter;
}

export type ResolvedName =
  | { readonly kind: 'variable'; readonly variable: Variable }
  | { readonly kind: 'constant'; readonly constant: Constant };

/** All names that an environment gives meaning to. */
export interface Scope {
  /** Names are tried within it first, and within its parents. */
  readonly container: string;
  readonly variables: ReadonlyMap<string, ResolvedName>;
  readonly constants: ReadonlyMap<string, ResolvedName>;
  readonly functions: ReadonlyMap<string, FunctionTable>;
  readonly types: ReadonlyMap<string, ObjectType>;
  /** First parts of the variables and constants whose names have several: only `a.b` that begins so can be one name. */
  readonly nameRoots: ReadonlySet<string>;
  /** First parts of the functions whose names have several, such as `math` of `math.abs`. */
  readonly functionRoots: ReadonlySet<string>;
  /** Types of variables have type parameters. */
  readonly generic: boolean;
}

/** The first parts of names that have several. */
export function rootsOf(...names: Iterable<string>[]): ReadonlySet<string> {
  const roots = new Set<string>();
  for (const group of names) {
    for (const name of group) {
      const dot = name.indexOf('.', 1);
      if (dot > 0) roots.add(name.slice(0, dot));
    }
  }
  return roots;
}

const DOT = 46;

function isAbsolute(name: string): boolean {
  return name.charCodeAt(0) === DOT;
}

/** The full names that a name may stand for, in order. */
export function candidateNames(scope: Scope, name: string): string[] {
  if (isAbsolute(name)) return [name.slice(1)];
  if (scope.container === '') return [name];
  const out: string[] = [];
  for (
    let prefix = scope.container;
    prefix !== '';
    prefix = prefix.slice(0, Math.max(0, prefix.lastIndexOf('.')))
  ) {
    out.push(`${prefix}.${name}`);
  }
  out.push(name);
  return out;
}

export function resolveName(scope: Scope, name: string): ResolvedName | undefined {
  if (scope.container === '' && !isAbsolute(name))
    return scope.variables.get(name) ?? scope.constants.get(name);
  for (const candidate of candidateNames(scope, name)) {
    const found = scope.variables.get(candidate) ?? scope.constants.get(candidate);
    if (found) return found;
  }
  return undefined;
}

/** The name with which `a.b.c` begins, where it is nothing but names. */
function rootName(expr: Expr): string | undefined {
  let inner = expr;
  while (inner.kind === 'select' && !inner.testOnly) inner = inner.operand;
  return inner.kind === 'ident' ? inner.name : undefined;
}

/** What `a.b.c` means as one name, unless its first part is a variable of a macro. */
export function resolveQualified(
  scope: Scope,
  expr: Expr,
  isLocal: (name: string) => boolean,
): ResolvedName | undefined {
  const root = rootName(expr);
  if (root === undefined) return undefined;
  const absolute = isAbsolute(root);
  if (!absolute && isLocal(root)) return undefined;
  if (expr.kind === 'ident') return resolveName(scope, root);
  if (scope.container === '' && !scope.nameRoots.has(absolute ? root.slice(1) : root)) return undefined;
  const name = qualifiedName(expr);
  return name === undefined ? undefined : resolveName(scope, name);
}

export function resolveFunction(scope: Scope, name: string): FunctionTable | undefined {
  if (scope.container === '' && !isAbsolute(name)) return scope.functions.get(name);
  for (const candidate of candidateNames(scope, name)) {
    const found = scope.functions.get(candidate);
    if (found) return found;
  }
  return undefined;
}

/** A call `a.b.f(x)` whose target is a namespace and not a value, as in `math.greatest(x)`. */
export function resolveNamespaced(
  scope: Scope,
  target: Expr,
  name: string,
  isLocal: (name: string) => boolean,
): FunctionTable | undefined {
  const root = rootName(target);
  if (root === undefined) return undefined;
  const absolute = isAbsolute(root);
  if (scope.container === '' && !scope.functionRoots.has(absolute ? root.slice(1) : root)) return undefined;
  if (!absolute && isLocal(root)) return undefined;
  const prefix = qualifiedName(target);
  const found = prefix === undefined ? undefined : resolveFunction(scope, `${prefix}.${name}`);
  return found && found.globals.length > 0 ? found : undefined;
}
