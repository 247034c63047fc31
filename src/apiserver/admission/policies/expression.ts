import {
  AUTHORIZER,
  BOOL,
  type CompileResult,
  childrenOf,
  createEnvironment,
  DYN,
  type Environment,
  type EnvironmentOptions,
  type Expr,
  formatIssues,
  formatType,
  jsonPatchLibrary,
  jsonPatchType,
  listType,
  mapType,
  type ObjectType,
  type Program,
  RESOURCE_CHECK,
  STRING,
  type Type,
} from '../../../cel/index.ts';

/** An expression of a policy with what it compiles to. */
export interface PolicyExpression {
  readonly source: string;
  readonly type: Type;
  readonly program: Program | undefined;
  /** Why it cannot be used, as the refusal of a policy says it; `undefined` where it can. */
  readonly problem: string | undefined;
}

/** What an expression may be about, beyond the request and its objects. */
export interface ExpressionScope {
  readonly hasParams: boolean;
  /** Whether it may be asked what somebody may do; it may, unless this is false. */
  readonly hasAuthorizer?: boolean;
  /** Whether parts of objects and patches may be constructed. */
  readonly mutating?: boolean;
  /** Types that objects are known to have; anything by default. */
  readonly object?: Type;
  readonly params?: Type;
}

type Fields = Readonly<Record<string, Type>>;

function recordType(name: string, fields: Fields): ObjectType {
  return {
    kind: 'object',
    name,
    field: (field) => {
      const type = Object.hasOwn(fields, field) ? fields[field] : undefined;
      return type && { type };
    },
    fieldNames: () => Object.keys(fields),
  };
}

const TEXTS = mapType(STRING, STRING);
const KIND = recordType('kubernetes.GroupVersionKind', { group: STRING, version: STRING, kind: STRING });
const RESOURCE = recordType('kubernetes.GroupVersionResource', {
  group: STRING,
  version: STRING,
  resource: STRING,
});
const USER = recordType('kubernetes.UserInfo', {
  username: STRING,
  uid: STRING,
  groups: listType(STRING),
  extra: mapType(STRING, listType(STRING)),
});
const REQUEST = recordType('kubernetes.AdmissionRequest', {
  kind: KIND,
  resource: RESOURCE,
  subResource: STRING,
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: STRING,
  name: STRING,
  namespace: STRING,
  operation: STRING,
  userInfo: USER,
  dryRun: BOOL,
  options: DYN,
});
const NAMESPACE = recordType('kubernetes.Namespace', {
  metadata: recordType('kubernetes.NamespaceMetadata', {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: TEXTS,
    annotations: TEXTS,
    UID: STRING,
    creationTimestamp: DYN,
    deletionGracePeriodSeconds: DYN,
    deletionTimestamp: DYN,
    generation: DYN,
    resourceVersion: STRING,
    finalizers: listType(STRING),
  }),
  spec: recordType('kubernetes.NamespaceSpec', { finalizers: listType(STRING) }),
  status: recordType('kubernetes.NamespaceStatus', { phase: STRING }),
});

function declarations({
  hasParams,
  hasAuthorizer = true,
  object = DYN,
  params = DYN,
}: ExpressionScope): Fields {
  return {
    object,
    oldObject: object,
    request: REQUEST,
    namespaceObject: NAMESPACE,
    ...(hasAuthorizer ? { authorizer: AUTHORIZER, 'authorizer.requestResource': RESOURCE_CHECK } : {}),
    ...(hasParams ? { params } : {}),
  };
}

const PLAIN: Environment = createEnvironment({ variables: declarations({ hasParams: false }) });
const WITH_PARAMS: Environment = createEnvironment({ variables: declarations({ hasParams: true }) });

/** What policies and conditions may be written with. */
export function policyEnvironment(scope: ExpressionScope): Environment {
  if (scope.object || scope.params || scope.hasAuthorizer === false)
    return createEnvironment({ variables: declarations(scope) });
  return scope.hasParams ? WITH_PARAMS : PLAIN;
}

/** The type of `variables`: one field for each, in the order in which they may use each other. */
export function variablesType(fields: Fields): ObjectType {
  return recordType('kubernetes.variables', fields);
}

/** What an expression must come to; the first is named where any is. */
export type Wanted = readonly [Type, ...Type[]];

/** Compiles an expression that must come to one of the wanted types, or to anything. */
export function compileExpression(env: Environment, source: string, wanted?: Wanted): PolicyExpression {
  const result: CompileResult = env.compile(source);
  if (!result.program) {
    const problem = `compilation failed: ${formatIssues(source, result.issues)}`;
    return { source, type: DYN, program: undefined, problem };
  }
  const { program, type } = result;
  const fits = wanted === undefined || wanted.some((one) => formatType(one) === formatType(type));
  return {
    source,
    type,
    program: fits ? program : undefined,
    problem: fits ? undefined : misfit(wanted, type),
  };
}

function misfit(wanted: Wanted, type: Type): string {
  const names = wanted.map(typeText);
  const what = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`;
  return `must evaluate to ${what} but got ${typeText(type)}`;
}

function typeText(type: Type): string {
  return type.kind === 'null' ? 'null_type' : formatType(type);
}

/** `Object`, and the objects within it by their paths: `Object.spec.template`. Their fields are judged when they are merged. */
const OBJECT_TYPE = /^Object(\.[A-Za-z_][A-Za-z0-9_]*)*$/;

function applyType(name: string): ObjectType {
  return { kind: 'object', name, field: () => ({ type: DYN }), fieldNames: () => [], unknownFields: true };
}

/** The type that an apply configuration must come to. */
export const OBJECT: ObjectType = applyType('Object');
/** What a JSON patch must come to. */
export const PATCHES: Type = listType(jsonPatchType);

/** What mutations may construct besides: the parts of an object that the expression names, and patches. */
export function mutationTypes(env: Environment, source: string): EnvironmentOptions {
  const { ast } = env.parse(source);
  const names = new Set<string>();
  const collect = (expr: Expr): void => {
    if (expr.kind === 'struct' && OBJECT_TYPE.test(expr.type)) names.add(expr.type);
    for (const child of childrenOf(expr)) collect(child);
  };
  if (ast) collect(ast.expr);
  names.delete(OBJECT.name);
  return {
    types: [OBJECT, jsonPatchType, ...[...names].map(applyType)],
    extraLibraries: [jsonPatchLibrary],
  };
}

/** A part of an object that is constructed where it does not belong (`Object{spec: Object.status{}}`); `undefined` where none is. */
export function misplacedPart(program: Program): string | undefined {
  let found: string | undefined;
  const visit = (expr: Expr): void => {
    if (expr.kind === 'struct' && OBJECT_TYPE.test(expr.type)) {
      for (const { field, value } of expr.entries) {
        if (value.kind !== 'struct' || !OBJECT_TYPE.test(value.type)) continue;
        const expected = `${expr.type}.${field}`;
        if (value.type !== expected)
          found ??= `unexpected type name "${value.type}", expected "${expected}", which matches field name path from root Object type`;
      }
    }
    for (const child of childrenOf(expr)) visit(child);
  };
  visit(program.ast.expr);
  return found;
}
