import { authorizerValue, CelError, resourceCheckValue, type Value } from '../../../cel/index.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { JsonObject } from '../../../schema/json.ts';
import type { Authorizer } from '../../auth/index.ts';
import type { Resource } from '../../resource.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import { objectKey } from '../../store/key.ts';
import { authorizeAs } from '../webhooks/match-conditions.ts';
import { reviewRequest } from '../webhooks/review.ts';
import type { PolicyExpression } from './expression.ts';
import { shownAs } from './match.ts';
import type { NamedExpression, Policy } from './policy.ts';

/** Cost units that the validations, the messages, the audit annotations or the mutations of one policy may use up together. */
export const POLICY_BUDGET = 10_000_000;
/** The same of its match conditions. */
const CONDITION_BUDGET = 2_500_000;
const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/** What an expression came to. `spent`: it used up the budget, and nothing more is to be evaluated. */
export type Outcome =
  | { readonly value: Value; readonly error?: undefined; readonly spent?: undefined }
  | { readonly value?: undefined; readonly error: string; readonly spent?: true };

/** Evaluates the expressions of one policy about one request. */
export interface Evaluation {
  /** Within the budget that the last {@link Evaluation.grant} gave. */
  readonly evaluate: (expression: PolicyExpression) => Outcome;
  readonly grant: (budget: number) => void;
  /** Whether all conditions hold; the text is why that cannot be said. */
  readonly conditionsHold: () => boolean | string;
}

/** What all policies see of one request. */
export interface Subject {
  readonly request: AdmissionRequest;
  readonly shown: Resource;
  readonly bindings: Readonly<Record<string, unknown>>;
}

/** Bindings that are made when an expression uses them. */
export function subjectOf(authorizer: Authorizer, request: AdmissionRequest, shown: Resource): Subject {
  const { scope, name } = request;
  const { resource } = scope;
  const authorize = authorizeAs(authorizer, request);
  const bindings = {};
  lazily(bindings, 'object', () => shownAs(shown, resource, request.object) ?? null);
  lazily(bindings, 'oldObject', () => shownAs(shown, resource, request.old) ?? null);
  lazily(bindings, 'request', () => requestOf(request, shown));
  lazily(bindings, 'namespaceObject', () => namespaceOf(request));
  lazily(bindings, 'authorizer', () => authorizerValue(authorize));
  lazily(bindings, 'authorizer.requestResource', () =>
    resourceCheckValue(authorize, {
      group: resource.group,
      resource: resource.resource,
      namespace: scope.namespace,
      name,
      ...(scope.subresource ? { subresource: scope.subresource.name } : {}),
    }),
  );
  return { request, shown, bindings };
}

/** A property that is computed when it is first read. */
function lazily(target: object, name: string, compute: () => unknown): void {
  let known: { readonly value: unknown } | undefined;
  Object.defineProperty(target, name, {
    enumerable: true,
    get: () => {
      known ??= { value: compute() };
      return known.value;
    },
  });
}

function requestOf(request: AdmissionRequest, shown: Resource): JsonObject {
  const {
    uid: _uid,
    object: _object,
    oldObject: _old,
    ...rest
  } = reviewRequest('', request, shown, undefined, undefined);
  return rest;
}

/** The namespace that the object is in, as far as policies see it; `null` for namespaces themselves and outside of them. */
function namespaceOf({ scope, object, old }: AdmissionRequest): JsonObject | null {
  if (!scope.resource.namespaced) return null;
  const name = object?.metadata.namespace ?? old?.metadata.namespace ?? scope.namespace;
  const found = scope.server.store.get(objectKey('', 'namespaces', scope.cluster, '', name))?.object;
  if (!found) return null;
  const { ownerReferences: _owners, managedFields: _fields, uid, ...metadata } = found.metadata;
  const { spec, status } = found as KubeObject & { spec?: JsonObject; status?: { phase?: string } };
  return {
    metadata: { ...metadata, ...(uid === undefined ? {} : { UID: uid }) } as unknown as JsonObject,
    ...(spec === undefined ? {} : { spec }),
    status: { ...(status?.phase === undefined ? {} : { phase: status.phase }) },
  };
}

export function evaluationOf(policy: Policy, subject: Subject, params: KubeObject | null): Evaluation {
  let budget = POLICY_BUDGET;
  const bindings = Object.create(null) as Record<string, unknown>;
  Object.defineProperties(bindings, Object.getOwnPropertyDescriptors(subject.bindings));
  bindings.params = params;
  const variables = {};
  bindings.variables = variables;
  for (const variable of policy.variables) lazily(variables, variable.name, () => variableValue(variable));

  function variableValue({ name, expression }: NamedExpression): Value {
    if (!expression.program)
      return new CelError(
        `composited variable ${JSON.stringify(name)} fails to compile: ${expression.problem ?? ''}`,
      );
    const result = expression.program.evaluate(bindings);
    budget -= result.cost;
    return result.error
      ? new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${result.error.message}`)
      : (result.value ?? null);
  }

  function evaluate(expression: PolicyExpression): Outcome {
    const { program, source } = expression;
    if (!program) return { error: `compilation error: ${expression.problem ?? ''}` };
    const { value, error, cost } = program.evaluate(bindings);
    budget -= cost;
    if (budget < 0) return { error: OUT_OF_BUDGET, spent: true };
    if (error) return { error: `expression '${source}' resulted in error: ${error.message}` };
    return { value: value ?? null };
  }

  return {
    evaluate,
    grant(units) {
      budget = units;
    },
    conditionsHold() {
      if (policy.matchConditions.length === 0) return true;
      budget = CONDITION_BUDGET;
      const problems: string[] = [];
      for (const { expression } of policy.matchConditions) {
        const outcome = evaluate(expression);
        // One that does not hold decides, whatever is wrong with others.
        if (outcome.value === false) return false;
        if (outcome.error !== undefined) problems.push(outcome.error);
        if (outcome.spent) break;
      }
      if (problems.length === 0) return true;
      return problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
    },
  };
}
