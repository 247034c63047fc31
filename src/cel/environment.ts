import { type Checked, checkExpression } from './check/checker.ts';
import { type CostEstimate, estimateCost } from './check/cost-estimate.ts';
import { planExpression } from './evaluate/planner.ts';
import { type ResolvedName, rootsOf, type Scope } from './evaluate/scope.ts';
import { type FunctionTable, functionTable } from './evaluate/signature.ts';
import type { Constant, FunctionDeclaration, Library } from './library/function.ts';
import { type KubernetesVersion, kubernetesLibraries } from './library/kubernetes.ts';
import { createProgram, type Program } from './program.ts';
import type { ParsedExpression } from './syntax/ast.ts';
import { type Macro, macroTable } from './syntax/macros.ts';
import { type ParseOptions, type ParseResult, parseExpression } from './syntax/parser.ts';
import type { ExpressionIssue } from './syntax/source-position.ts';
import { DYN, type ObjectType, paramsOf, type Type } from './types/type.ts';
import { adapterOf } from './types/type-adapter.ts';
import { TypeValue } from './values/value.ts';

export interface EnvironmentOptions {
  /** The libraries and features that this release of Kubernetes lets new expressions use. The newest by default. */
  readonly version?: KubernetesVersion;
  /** Instead of a release's. The standard library must be among them. */
  readonly libraries?: readonly Library[];
  /** On top of a release's. */
  readonly extraLibraries?: readonly Library[];
  readonly variables?: Readonly<Record<string, Type>>;
  /** Types that expressions may construct, `Name{field: value}`. */
  readonly types?: readonly ObjectType[];
  /** Names are looked up within it first. */
  readonly container?: string;
  /** Durations, timestamps and regular expressions that are written out must be ones; Kubernetes asks it since 1.29. */
  readonly validLiterals?: boolean;
  /** Elements of a literal must agree in type, as Kubernetes wants; otherwise they may be anything. */
  readonly homogeneousLiterals?: boolean;
  readonly limits?: Partial<Pick<ParseOptions, 'maxLength' | 'maxDepth'>>;
}

export type CheckResult =
  | { readonly checked: Checked; readonly issues?: undefined }
  | { readonly checked?: undefined; readonly issues: readonly ExpressionIssue[] };

export type CompileResult =
  | {
      readonly program: Program;
      /** Static type of the result. */
      readonly type: Type;
      readonly issues?: undefined;
      /** Before any evaluation, from the declared sizes of variables. */
      readonly estimate: () => CostEstimate;
    }
  | { readonly program?: undefined; readonly issues: readonly ExpressionIssue[] };

/** What expressions may use: functions, variables, types. */
export interface Environment {
  readonly parse: (expression: string) => ParseResult;
  readonly check: (expression: string | ParsedExpression) => CheckResult;
  /** Parses and checks. */
  readonly compile: (expression: string) => CompileResult;
  /** Without checking: types are looked at when values are. */
  readonly compileUnchecked: (expression: string) => CompileResult;
  /** The same, with more. */
  readonly extend: (options: EnvironmentOptions) => Environment;
}

export const DEFAULT_MAX_LENGTH = 100_000;
export const DEFAULT_MAX_DEPTH = 250;

export function createEnvironment(options: EnvironmentOptions = {}): Environment {
  const ground = options.libraries ?? kubernetesLibraries(options.version);
  const libraries = joined(ground, options.extraLibraries ?? []);
  const base = baseOf(libraries);
  const scope = scopeOf(base, options);
  const optionals = libraries.some((library) => library.name === 'optionals');
  const parseOptions: ParseOptions = {
    macros: base.macros,
    optionals,
    quotedFields: true,
    maxLength: options.limits?.maxLength ?? DEFAULT_MAX_LENGTH,
    maxDepth: options.limits?.maxDepth ?? DEFAULT_MAX_DEPTH,
  };
  const validLiterals = options.validLiterals ?? options.version !== '1.28';
  const checkOptions = { homogeneousLiterals: options.homogeneousLiterals ?? true, validLiterals };
  const parse = (expression: string): ParseResult => parseExpression(expression, parseOptions);
  const check = (expression: string | ParsedExpression): CheckResult => {
    const parsed = typeof expression === 'string' ? parse(expression) : { ast: expression };
    if (!parsed.ast) return { issues: parsed.issues ?? [] };
    return checkExpression(parsed.ast, scope, checkOptions);
  };
  return {
    parse,
    check,
    compile: (expression) => {
      const { checked, issues } = check(expression);
      if (!checked) return { issues };
      const { ast } = checked;
      return {
        program: createProgram(ast, (partial) => planExpression(ast.expr, scope, checked, partial)),
        type: checked.type,
        estimate: () => estimateCost(checked, scope),
      };
    },
    compileUnchecked: (expression) => {
      const { ast, issues } = parse(expression);
      if (!ast) return { issues };
      const unchecked: Checked = { ast, type: DYN, types: [], overloads: [], references: [] };
      return {
        program: createProgram(ast, (partial) => planExpression(ast.expr, scope, undefined, partial)),
        type: DYN,
        estimate: () => estimateCost(unchecked, scope),
      };
    },
    extend: (more) =>
      createEnvironment({
        ...options,
        ...more,
        variables: { ...options.variables, ...more.variables },
        types: [...(options.types ?? []), ...(more.types ?? [])],
        extraLibraries: [...(options.extraLibraries ?? []), ...(more.extraLibraries ?? [])],
      }),
  };
}

/** By the libraries of a release and the last one on top of them: the same list each time, so that its base is made once. */
const JOINED = new WeakMap<readonly Library[], WeakMap<Library, readonly Library[]>>();

function joined(ground: readonly Library[], extra: readonly Library[]): readonly Library[] {
  let libraries = ground;
  for (const library of new Set(extra)) {
    let known = JOINED.get(libraries);
    if (!known) {
      known = new WeakMap();
      JOINED.set(libraries, known);
    }
    let next = known.get(library);
    if (!next) {
      next = [...libraries, library];
      known.set(library, next);
    }
    libraries = next;
  }
  return libraries;
}

interface Base {
  readonly functions: ReadonlyMap<string, FunctionTable>;
  readonly constants: ReadonlyMap<string, ResolvedName>;
  readonly macros: ReadonlyMap<string, readonly Macro[]>;
  readonly functionRoots: ReadonlySet<string>;
}

const BASES = new WeakMap<readonly Library[], Base>();

/** What a set of libraries amounts to; environments that differ in their variables alone share it. */
function baseOf(libraries: readonly Library[]): Base {
  const known = BASES.get(libraries);
  if (known) return known;
  const constants = libraries.flatMap((library): readonly Constant[] => library.constants ?? []);
  const functions = mergedFunctions(libraries);
  const base: Base = {
    functions,
    constants: new Map(constants.map((constant) => [constant.name, { kind: 'constant', constant }])),
    macros: macroTable(libraries.flatMap((library): readonly Macro[] => library.macros ?? [])),
    functionRoots: rootsOf(functions.keys()),
  };
  BASES.set(libraries, base);
  return base;
}

function scopeOf(base: Base, options: EnvironmentOptions): Scope {
  const variables = new Map<string, ResolvedName>();
  for (const [name, type] of Object.entries(options.variables ?? {})) {
    variables.set(name, { kind: 'variable', variable: { name, type, adapter: adapterOf(type) } });
  }
  const types = options.types ?? [];
  let { constants } = base;
  if (types.length > 0) {
    const named = types.map(({ name }, index): [string, ResolvedName] => {
      const type: Type = { kind: 'type', of: types[index] };
      return [name, { kind: 'constant', constant: { name, type, value: new TypeValue(name) } }];
    });
    constants = new Map([...constants, ...named]);
  }
  return {
    container: options.container ?? '',
    variables,
    constants,
    functions: base.functions,
    types: new Map(types.map((type) => [type.name, type])),
    nameRoots: rootsOf(variables.keys(), constants.keys()),
    functionRoots: base.functionRoots,
    generic: Object.values(options.variables ?? {}).some((type) => paramsOf(type).size > 0),
  };
}

/** Libraries may each add overloads to a function; of two with the same id the later one holds. */
function mergedFunctions(libraries: readonly Library[]): Map<string, FunctionTable> {
  const merged = new Map<string, FunctionDeclaration>();
  for (const { functions } of libraries) {
    for (const { name, overloads } of functions) {
      const before = merged.get(name)?.overloads ?? [];
      const ids = new Set(overloads.map((overload) => overload.id));
      merged.set(name, {
        name,
        overloads: [...before.filter((overload) => !ids.has(overload.id)), ...overloads],
      });
    }
  }
  return new Map(Array.from(merged, ([name, declaration]) => [name, functionTable(declaration)]));
}
