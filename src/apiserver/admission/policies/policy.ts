import type { Type } from '../../../cel/index.ts';
import { BOOL, type Environment, NULL, STRING } from '../../../cel/index.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../../schema/json.ts';
import {
  compileExpression,
  type ExpressionScope,
  misplacedPart,
  mutationTypes,
  OBJECT,
  PATCHES,
  type PolicyExpression,
  policyEnvironment,
  variablesType,
  type Wanted,
} from './expression.ts';
import { type Match, matchOf } from './match.ts';

const BOOLEAN: Wanted = [BOOL];
const TEXT: Wanted = [STRING];
const TEXT_OR_NULL: Wanted = [STRING, NULL];

export interface NamedExpression {
  readonly name: string;
  readonly expression: PolicyExpression;
}

/** What both kinds of policies have. */
export interface Policy {
  readonly name: string;
  readonly match: Match;
  readonly paramKind: { readonly apiVersion: string; readonly kind: string } | undefined;
  readonly matchConditions: readonly NamedExpression[];
  readonly variables: readonly NamedExpression[];
  /** Of `variables`. */
  readonly variablesType: Type;
  readonly ignoresFailure: boolean;
}

export interface Validation {
  readonly expression: PolicyExpression;
  readonly message: string;
  readonly messageExpression: PolicyExpression | undefined;
  readonly reason: string;
}

export interface ValidatingPolicy extends Policy {
  readonly validations: readonly Validation[];
  /** By key. */
  readonly auditAnnotations: readonly NamedExpression[];
}

export interface Mutation {
  readonly type: 'ApplyConfiguration' | 'JSONPatch';
  readonly expression: PolicyExpression;
}

export interface MutatingPolicy extends Policy {
  readonly mutations: readonly Mutation[];
  /** Asked once more when a later policy or webhook has changed the object. */
  readonly reinvoked: boolean;
}

function objects(parent: unknown, key: string): JsonObject[] {
  return listAt(parent, key).filter(isObject);
}

function text(parent: unknown, key: string): string {
  return stringAt(parent, key) ?? '';
}

/** What an expression is written with: in mutating policies, the parts of an object that it constructs, too. */
function environmentFor(env: Environment, scope: ExpressionScope, source: string): Environment {
  return scope.mutating ? env.extend(mutationTypes(env, source)) : env;
}

/** Compiles conditions, which know nothing of the variables. */
export function compileConditions(parent: JsonObject, scope: ExpressionScope): NamedExpression[] {
  const env = policyEnvironment(scope);
  return objects(parent, 'matchConditions').map((condition) => {
    const source = text(condition, 'expression');
    const expression = compileExpression(environmentFor(env, scope, source), source, BOOLEAN);
    return { name: text(condition, 'name'), expression };
  });
}

/** Compiles the variables, each of which may use those before it; `env` knows them all. */
function compileVariables(
  spec: JsonObject,
  scope: ExpressionScope,
): { variables: NamedExpression[]; type: Type; env: Environment } {
  const variables: NamedExpression[] = [];
  const fields: Record<string, Type> = {};
  const base = policyEnvironment(scope);
  const given = objects(spec, 'variables');
  // Where there are none, there is no such name.
  const environment = (): Environment =>
    given.length === 0 ? base : base.extend({ variables: { variables: variablesType({ ...fields }) } });
  for (const variable of given) {
    const name = text(variable, 'name');
    const source = text(variable, 'expression');
    const expression = compileExpression(environmentFor(environment(), scope, source), source);
    variables.push({ name, expression });
    fields[name] = expression.type;
  }
  return { variables, type: variablesType(fields), env: environment() };
}

function commonOf(policy: KubeObject, scope: ExpressionScope): { common: Policy; env: Environment } {
  const spec = objectAt(policy, 'spec') ?? {};
  const kind = objectAt(spec, 'paramKind');
  const { variables, type, env } = compileVariables(spec, scope);
  const common: Policy = {
    name: policy.metadata.name ?? '',
    match: matchOf(objectAt(spec, 'matchConstraints') ?? {}),
    paramKind: kind && { apiVersion: text(kind, 'apiVersion'), kind: text(kind, 'kind') },
    matchConditions: compileConditions(spec, scope),
    variables,
    variablesType: type,
    ignoresFailure: spec.failurePolicy === 'Ignore',
  };
  return { common, env };
}

function scopeOf(policy: KubeObject): ExpressionScope {
  return { hasParams: objectAt(policy, 'spec', 'paramKind') !== undefined };
}

/** Reads and compiles a ValidatingAdmissionPolicy. What does not compile says so in its `problem`. */
export function validatingPolicy(
  policy: KubeObject,
  scope: ExpressionScope = scopeOf(policy),
): ValidatingPolicy {
  const { common, env } = commonOf(policy, scope);
  const spec = objectAt(policy, 'spec') ?? {};
  const variables = common.variables.length === 0 ? {} : { variables: common.variablesType };
  const messages = policyEnvironment({ ...scope, hasAuthorizer: false }).extend({ variables });
  return {
    ...common,
    validations: objects(spec, 'validations').map((validation) => {
      const message = text(validation, 'messageExpression');
      return {
        expression: compileExpression(env, text(validation, 'expression'), BOOLEAN),
        message: text(validation, 'message').trim(),
        messageExpression: message === '' ? undefined : compileExpression(messages, message, TEXT),
        reason: text(validation, 'reason') || 'Invalid',
      };
    }),
    auditAnnotations: objects(spec, 'auditAnnotations').map((annotation) => ({
      name: text(annotation, 'key'),
      expression: compileExpression(env, text(annotation, 'valueExpression'), TEXT_OR_NULL),
    })),
  };
}

/** Reads and compiles a MutatingAdmissionPolicy. */
export function mutatingPolicy(
  policy: KubeObject,
  scope: ExpressionScope = { ...scopeOf(policy), mutating: true },
): MutatingPolicy {
  const { common, env } = commonOf(policy, scope);
  const spec = objectAt(policy, 'spec') ?? {};
  return {
    ...common,
    reinvoked: spec.reinvocationPolicy === 'IfNeeded',
    mutations: objects(spec, 'mutations').map((mutation) => mutationOf(mutation, env, scope)),
  };
}

function mutationOf(mutation: JsonObject, env: Environment, scope: ExpressionScope): Mutation {
  const type = mutation.patchType === 'JSONPatch' ? 'JSONPatch' : 'ApplyConfiguration';
  const source = text(
    objectAt(mutation, type === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration'),
    'expression',
  );
  const wanted: Wanted = [type === 'JSONPatch' ? PATCHES : OBJECT];
  const expression = compileExpression(environmentFor(env, scope, source), source, wanted);
  const misplaced = expression.program && misplacedPart(expression.program);
  return {
    type,
    expression:
      misplaced === undefined ? expression : { ...expression, program: undefined, problem: misplaced },
  };
}
