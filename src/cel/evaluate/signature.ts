import type { FunctionDeclaration, Overload } from '../library/function.ts';
import { scalarIndex } from '../types/substitution.ts';
import { paramsOf, type Type } from '../types/type.ts';

/** One overload, with what would otherwise be found out at every call that is checked. */
export interface Signature {
  readonly overload: Overload;
  /** The overload as a list of one. */
  readonly alone: readonly Overload[];
  /** Type parameters by name. */
  readonly generics: readonly string[];
  /** All parameters are the same type parameter, as those of `==` are. */
  readonly uniform: boolean;
}

/** What a call amounts to. */
export interface Resolution {
  readonly overloads: readonly Overload[];
  readonly result: Type;
}

/** The signatures of one form and number of arguments. */
export interface SignatureGroup {
  readonly signatures: readonly Signature[];
  /** What was found for scalars, by their kinds: no more than a few, as there are few kinds. Not kept where types are to be inferred. */
  readonly known: Map<number, Resolution> | undefined;
}

/** A function's overloads where the checker looks for them: by form and number of arguments. */
export interface FunctionTable extends FunctionDeclaration {
  readonly globals: readonly SignatureGroup[];
  readonly members: readonly SignatureGroup[];
  /** A text that is written out for it must be one that it can read. */
  readonly readsLiteral: boolean;
}

/** Functions whose text must be a duration, a moment, a regular expression. */
const READ_LITERALS: ReadonlySet<string> = new Set(['duration', 'timestamp', 'matches']);

export function functionTable({ name, overloads }: FunctionDeclaration): FunctionTable {
  return {
    name,
    overloads,
    globals: byCount(overloads, false),
    members: byCount(overloads, true),
    readsLiteral: READ_LITERALS.has(name),
  };
}

function byCount(overloads: readonly Overload[], member: boolean): readonly SignatureGroup[] {
  const own = overloads.filter((overload) => overload.member === member);
  const longest = Math.max(-1, ...own.map((overload) => overload.params.length));
  return Array.from({ length: longest + 1 }, (_, count) => {
    const signatures = own.filter((overload) => overload.params.length === count).map(signatureOf);
    return { signatures, known: signatures.every(isPlain) ? new Map<number, Resolution>() : undefined };
  });
}

/** `undefined` where nothing of the kind takes so many arguments. */
export function signaturesFor(
  table: FunctionTable,
  member: boolean,
  count: number,
): SignatureGroup | undefined {
  return (member ? table.members : table.globals)[count];
}

const MAX_KEYED = 3;
const KINDS = 9;

/** A number for the kinds of arguments that are scalars, all of them; 0 otherwise. */
export function scalarKey(args: readonly Type[]): number {
  if (args.length === 0 || args.length > MAX_KEYED) return 0;
  let key = 0;
  for (const arg of args) {
    const kind = scalarIndex(arg);
    if (kind === 0) return 0;
    key = key * KINDS + kind;
  }
  return key;
}

/** Gives the same for the same scalars, always. */
function isPlain({ overload, generics, uniform }: Signature): boolean {
  return generics.length === 0 || (uniform && overload.result.kind === 'bool');
}

function signatureOf(overload: Overload): Signature {
  const found = new Set<string>();
  for (const param of overload.params) paramsOf(param, found);
  paramsOf(overload.result, found);
  const [first] = overload.params;
  const uniform = overload.params.every((param) => isParam(param, first));
  return { overload, alone: [overload], generics: [...found], uniform };
}

function isParam(type: Type, first: Type | undefined): boolean {
  return type.kind === 'param' && first?.kind === 'param' && type.name === first.name;
}
