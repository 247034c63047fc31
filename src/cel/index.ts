/**
 * The Common Expression Language as Kubernetes uses it: the whole language, checked, budgeted and fast.
 *
 * ```ts
 * const env = createEnvironment({ version: '1.36', variables: { self: schemaType(schema, { name: 'Widget' }) ?? DYN } });
 * const { program, issues } = env.compile('self.replicas <= self.maxReplicas');
 * if (program) program.evaluate({ self: { replicas: 1, maxReplicas: 3 } }); // { value: true, cost: 5 }
 * ```
 *
 * - **Environment** ({@link createEnvironment}): which functions, variables and types expressions may use. A release of
 *   Kubernetes names a set of libraries; others can be added. `parse`, `check`, `compile`.
 * - **Text** (`syntax/`): parser with exact places, macros, {@link unparse}. Limits of length and depth.
 * - **Types** (`types/`, `check/`): {@link schemaType} makes types of OpenAPI schemas. Issues say where, what was found and what
 *   would fit. `estimate()` bounds the cost before anything is evaluated, from the sizes that schemas declare.
 * - **Values** (`values/`): ints of 64 bits without loss, JSON read in place and only as far as an expression looks.
 *   {@link fromJson}, {@link toJson}.
 * - **Evaluation** (`evaluate/`): closures. Costs are counted as Kubernetes counts them, and a budget, a signal or a question
 *   ends it. With `unknowns` it says on which missing inputs the result depends.
 *
 * Errors of expressions are data: issues when they are compiled, `error` when they are evaluated. Nothing here throws for
 * what an expression or its inputs hold. Nothing here reads a clock, waits, or does I/O.
 */

export type { Checked } from './check/checker.ts';
export type { CheckOptions } from './check/checker-state.ts';
export type { CostEstimate } from './check/cost-estimate.ts';
export {
  type CheckResult,
  type CompileResult,
  createEnvironment,
  DEFAULT_MAX_DEPTH,
  DEFAULT_MAX_LENGTH,
  type Environment,
  type EnvironmentOptions,
} from './environment.ts';
export type { AttributePath } from './evaluate/frame.ts';
export { blockLibrary, languageLibraries, twoVariableLibrary } from './library/all.ts';
export {
  AUTHORIZER,
  type AuthorizationAnswer,
  type AuthorizationQuestion,
  type Authorize,
  authorizerLibrary,
  authorizerSelectorsLibrary,
  authorizerValue,
  RESOURCE_CHECK,
  resourceCheckValue,
} from './library/authorizer.ts';
export { encodersLibrary } from './library/encoders.ts';
export { formatsLibrary } from './library/formats.ts';
export {
  type Constant,
  type FunctionDeclaration,
  globalOverload,
  type Library,
  memberOverload,
  type Overload,
} from './library/function.ts';
export { jsonPatchLibrary, jsonPatchType } from './library/json-patch.ts';
export { type KubernetesVersion, kubernetesLibraries } from './library/kubernetes.ts';
export { kubernetesListsLibrary, listsLibrary } from './library/lists.ts';
export { mathLibrary } from './library/math.ts';
export { cidrLibrary, ipLibrary } from './library/network.ts';
export { bindingsLibrary, optionalsLibrary } from './library/optionals.ts';
export { QUANTITY, quantityLibrary } from './library/quantity.ts';
export { kubernetesRegexLibrary, regexLibrary } from './library/regex.ts';
export { semverLibrary } from './library/semver.ts';
export { setsLibrary } from './library/sets.ts';
export { standardLibrary } from './library/standard.ts';
export { stringsLibrary } from './library/strings.ts';
export { urlsLibrary } from './library/urls.ts';
export {
  type Bindings,
  type EvaluateOptions,
  type EvaluationError,
  type EvaluationResult,
  PER_CALL_BUDGET,
  type Program,
} from './program.ts';
export { childrenOf, type Expr, type ParsedExpression } from './syntax/ast.ts';
export type { Macro, MacroFactory } from './syntax/macros.ts';
export type { ParseResult } from './syntax/parser.ts';
export { type ExpressionIssue, formatIssues, type SourcePosition } from './syntax/source-position.ts';
export { unparse } from './syntax/unparse.ts';
export { escapeFieldName, type SchemaTypeOptions, schemaType } from './types/schema-type.ts';
export {
  BOOL,
  BYTES,
  boundOf,
  DOUBLE,
  DURATION,
  DYN,
  formatType,
  INT,
  listType,
  mapType,
  NULL,
  type ObjectType,
  opaqueType,
  optionalType,
  STRING,
  TIMESTAMP,
  TYPE,
  type Type,
  typeParam,
  UINT,
} from './types/type.ts';
export { adapterOf } from './types/type-adapter.ts';
export { type ToJson, type ToJsonOptions, toJson, typeNameOf } from './values/convert.ts';
export { compareValues, equalValues } from './values/equality.ts';
export { fromJson } from './values/from-json.ts';
export { List } from './values/list.ts';
export { CelMap, mapOf } from './values/map.ts';
export {
  CelError,
  Double,
  Duration,
  NONE,
  Opaque,
  type OpaqueKind,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  Unknown,
  type Value,
} from './values/value.ts';
export { countElements, type Walk } from './values/walking.ts';
