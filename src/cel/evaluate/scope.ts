import type { Constant, FunctionDeclaration } from '../library/function.ts';
import type { Expr } from '../syntax/ast.ts';
import { qualifiedName } from '../syntax/parser.ts';
import type { ObjectType, Type } from '../types/type.ts';
import type { Adapter } from '../values/list.ts';

export interface Variable {
  readonly name: string;
  readonly type: Type;
  /** Makes the value of what is bound to it. */
  readonly adapter: Adapter;
}

/** All names that an environment gives meaning to. */
export interface Scope {
  /** Names are tried within it first, and within its parents. */
  readonly container: string;
  readonly variables: ReadonlyMap<string, Variable>;
  readonly constants: ReadonlyMap<string, Constant>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly types: ReadonlyMap<string, ObjectType>;
}

export type ResolvedName =
  | { readonly kind: 'variable'; readonly variable: Variable }
  | { readonly kind: 'constant'; readonly constant: Constant };

/** The full names that a name may stand for, in order. */
export function candidateNames(scope: Scope, name: string): string[] {
  if (name.startsWith('.')) return [name.slice(1)];
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
  for (const candidate of candidateNames(scope, name)) {
    const variable = scope.variables.get(candidate);
    if (variable) return { kind: 'variable', variable };
    const constant = scope.constants.get(candidate);
    if (constant) return { kind: 'constant', constant };
  }
  return undefined;
}

/** What `a.b.c` means as one name, unless its first part is a variable of a macro. */
export function resolveQualified(
  scope: Scope,
  expr: Expr,
  isLocal: (name: string) => boolean,
): { readonly name: string; readonly found: ResolvedName } | undefined {
  const name = qualifiedName(expr);
  if (name === undefined) return undefined;
  const dot = name.indexOf('.', 1);
  if (!name.startsWith('.') && isLocal(dot === -1 ? name : name.slice(0, dot))) return undefined;
  const found = resolveName(scope, name);
  return found && { name, found };
}

export function resolveFunction(scope: Scope, name: string): FunctionDeclaration | undefined {
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
): FunctionDeclaration | undefined {
  const prefix = qualifiedName(target);
  if (prefix === undefined) return undefined;
  const dot = prefix.indexOf('.', 1);
  if (!prefix.startsWith('.') && isLocal(dot === -1 ? prefix : prefix.slice(0, dot))) return undefined;
  const found = resolveFunction(scope, `${prefix}.${name}`);
  return found?.overloads.some((overload) => !overload.member) ? found : undefined;
}
