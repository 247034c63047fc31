import type { FunctionTable, Resolution, Signature, SignatureGroup } from '../evaluate/signature.ts';
import { scalarKey, signaturesFor } from '../evaluate/signature.ts';
import type { Overload } from '../library/function.ts';
import type { CallExpr } from '../syntax/ast.ts';
import { assignableAll, isScalar, type Substitution, substitute } from '../types/substitution.ts';
import { BOOL, DYN, ERROR, equalTypes, formatType, type Type } from '../types/type.ts';
import { type Checker, freshParam, report } from './checker-state.ts';

/** Tries all signatures; where several fit and differ in what they give, the result may be anything. */
export function resolveCall(
  checker: Checker,
  expr: CallExpr,
  table: FunctionTable,
  member: boolean,
  args: readonly Type[],
): Type {
  const group = signaturesFor(table, member, args.length);
  const key = scalarKey(args);
  let resolution = key === 0 ? undefined : group?.known?.get(key);
  if (resolution === undefined) {
    // What already went wrong is not reported again.
    for (const arg of args) if (arg.kind === 'error') return ERROR;
    resolution = group && resolutionOf(checker, group, args);
    if (resolution === undefined) return mismatch(checker, expr, table, member, args);
    if (key !== 0) group?.known?.set(key, resolution);
  }
  checker.overloads[expr.id] = resolution.overloads;
  if (table.readsLiteral && checker.options.validLiterals) {
    checker.literalCalls ??= [];
    checker.literalCalls.push(expr);
  }
  return resolution.result;
}

/** Scalars stand for themselves alone, so what is found for them holds wherever they come again. */
function resolutionOf(
  checker: Checker,
  group: SignatureGroup,
  args: readonly Type[],
): Resolution | undefined {
  let overloads: readonly Overload[] | undefined;
  let result: Type | undefined;
  for (const signature of group.signatures) {
    const own = applied(checker, signature, args);
    if (own === undefined) continue;
    overloads = overloads === undefined ? signature.alone : [...overloads, signature.overload];
    if (result === undefined) result = own;
    else if (result.kind !== 'dyn' && !equalTypes(result, own)) result = DYN;
  }
  return overloads && result && { overloads, result };
}

/** What a signature gives for arguments; `undefined` where they do not fit. */
function applied(checker: Checker, signature: Signature, args: readonly Type[]): Type | undefined {
  const { overload, generics, uniform } = signature;
  if (generics.length === 0) {
    return assignableAll(checker.found, args, overload.params) ? overload.result : undefined;
  }
  if (uniform && overload.result.kind === 'bool' && sameScalars(args)) return BOOL;
  const fresh: Substitution = new Map();
  for (const name of generics) fresh.set(name, freshParam(checker));
  const params = overload.params.map((param) => substitute(fresh, param, false));
  if (!assignableAll(checker.found, args, params)) return undefined;
  return substitute(checker.found, substitute(fresh, overload.result, false), false);
}

function sameScalars(args: readonly Type[]): boolean {
  const [first] = args;
  if (first === undefined || !isScalar(first)) return false;
  for (const arg of args) if (arg.kind !== first.kind) return false;
  return true;
}

const SHOWN_OVERLOADS = 8;

function mismatch(
  checker: Checker,
  expr: CallExpr,
  { name, overloads }: FunctionTable,
  member: boolean,
  args: readonly Type[],
): Type {
  const [target, ...rest] = args.map((arg) => formatType(substitute(checker.found, arg, true)));
  const call = member
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
    `found no matching overload for '${name}' applied to '${call}'`,
    `fitting would be ${signatures.slice(0, SHOWN_OVERLOADS).join(', ')}${more}`,
  );
}
