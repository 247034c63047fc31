import { toJson, type Value } from '../../../cel/index.ts';
import { asJson, type KubeObject } from '../../../kube/object.ts';
import { hasCode, type StatusError } from '../../../kube/status-error.ts';
import { mergeApplied } from '../../../schema/apply/index.ts';
import {
  clone,
  deepEqual,
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
} from '../../../schema/json.ts';
import { applyJsonPatch } from '../../../schema/json-patch.ts';
import { PatchError } from '../../../schema/patch-error.ts';
import type { Authorizer } from '../../auth/index.ts';
import type { Resource } from '../../resource.ts';
import { decodeObject } from '../../rest/decode.ts';
import type { AdmissionRequest, Scope } from '../../rest/scope.ts';
import type { AdmissionPlugin } from '../plugin.ts';
import { type Concern, concernsOf } from './concern.ts';
import { POLICY_BUDGET } from './evaluate.ts';
import { isPolicyResource, shownAs } from './match.ts';
import type { MutatingPolicy, Mutation } from './policy.ts';
import { policyRefusal } from './refusal.ts';
import type { BoundPolicy, StoredPolicies } from './stored-policies.ts';

/** What has become of a request so far, for the case that the plugin runs once more over it. */
interface History {
  /** Those that have been asked and want to be again when the object has changed after them. */
  readonly repeatable: BoundPolicy<MutatingPolicy>[];
  /** The object as the policies have left it. */
  left: JsonObject;
}

/** MutatingAdmissionPolicies: changes to what is written, by expressions that the cluster holds. */
export function mutatingAdmissionPolicies(policies: StoredPolicies, authorizer: Authorizer): AdmissionPlugin {
  const histories = new WeakMap<AdmissionRequest, History>();

  function run(bound: BoundPolicy<MutatingPolicy>, request: AdmissionRequest, object: KubeObject): boolean {
    let before: JsonValue | undefined;
    for (const concern of concernsOf([bound], authorizer, request)) {
      // Most policies are about few requests.
      before ??= clone(asJson(object));
      mutate(concern, request, object);
    }
    return before !== undefined && !deepEqual(before, asJson(object));
  }

  return {
    name: 'MutatingAdmissionPolicy',
    mutate(request): void {
      const mutating = policies.of(request.scope.cluster)?.mutating ?? [];
      const { object } = request;
      if (mutating.length === 0 || !object || isPolicyResource(request.scope.resource)) return;
      const history = histories.get(request);
      if (history) {
        if (deepEqual(history.left, asJson(object))) return;
        for (const bound of history.repeatable) run(bound, request, object);
      } else {
        const repeatable: BoundPolicy<MutatingPolicy>[] = [];
        const due = new Set<BoundPolicy<MutatingPolicy>>();
        for (const bound of mutating) {
          if (run(bound, request, object)) for (const earlier of repeatable) due.add(earlier);
          if (bound.policy.reinvoked) repeatable.push(bound);
        }
        // One more round, and no third.
        for (const bound of due) run(bound, request, object);
        histories.set(request, { repeatable, left: {} });
      }
      const known = histories.get(request);
      if (known) known.left = known.repeatable.length > 0 ? clone(asJson(object)) : {};
    },
  };
}

/** Why a policy cannot be followed. */
class MutationProblem extends Error {}

function mutate(concern: Concern<MutatingPolicy>, request: AdmissionRequest, object: KubeObject): void {
  const { policy, binding } = concern;
  try {
    if (!concern.evaluation) throw new MutationProblem(concern.problem);
    const holds = concern.renew().conditionsHold();
    if (typeof holds === 'string') throw new MutationProblem(holds);
    if (!holds) return;
    for (const mutation of policy.mutations) {
      const evaluation = concern.renew();
      evaluation.grant(POLICY_BUDGET);
      const { value, error } = evaluation.evaluate(mutation.expression);
      if (value === undefined) throw new MutationProblem(error);
      apply(mutation, value, request.scope, concern.shown, object);
    }
  } catch (error) {
    if (!(error instanceof MutationProblem)) throw error;
    if (!policy.ignoresFailure) throw refused(request, policy.name, binding?.name, error.message);
  }
}

function refused(
  { scope, name }: AdmissionRequest,
  policy: string,
  binding: string | undefined,
  why: string,
): StatusError {
  const by =
    binding === undefined
      ? `policy ${JSON.stringify(policy)}`
      : `policy '${policy}' with binding '${binding}'`;
  return policyRefusal(scope.resource, name, 'Invalid', `${by} denied request: ${why}`);
}

/** Changes the object in place. Throws {@link MutationProblem}. */
function apply(mutation: Mutation, value: Value, scope: Scope, shown: Resource, object: KubeObject): void {
  const written = toJson(value, { longIntegers: 'bigint' });
  if ('error' in written) throw new MutationProblem(written.error);
  const foreign = hasKindOfItsOwn(scope);
  const seen = asJson(foreign ? object : (shownAs(shown, scope.resource, object) ?? object));
  if (mutation.type === 'JSONPatch') {
    const result = patched(seen, written.json as JsonValue);
    if (result !== undefined) take(result, scope, object);
  } else if (foreign) {
    throw new MutationProblem(
      `error applying patch: there is no schema by which to merge kind ${object.kind}; a JSONPatch can change it`,
    );
  } else take(merged(seen, written.json as JsonObject, shown), scope, object);
}

/** What is written to some subresources is an object of another kind than the resource: a Scale, PodExecOptions. */
function hasKindOfItsOwn({ resource, subresource }: Scope): boolean {
  return subresource?.kind !== undefined && subresource.kind !== resource.kind;
}

function merged(seen: JsonObject, applied: JsonObject, shown: Resource): JsonObject {
  const { apiVersion, kind } = seen;
  const outcome = mergeApplied(
    seen,
    { apiVersion: apiVersion ?? '', kind: kind ?? '', ...applied },
    shown.type,
  );
  if ('errors' in outcome)
    throw new MutationProblem(
      `error applying patch: invalid ApplyConfiguration: ${outcome.errors.join('; ')}`,
    );
  return outcome.object;
}

/** `undefined` where a test of the patch fails: then nothing of it is done. */
function patched(seen: JsonObject, operations: JsonValue): JsonObject | undefined {
  try {
    const result = applyJsonPatch(seen, operations);
    if (!isObject(result)) throw new MutationProblem('JSON Patch: it does not leave an object');
    return result;
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (isFailedTest(error, operations)) return undefined;
    throw new MutationProblem(`JSON Patch: ${error.message}`);
  }
}

function isFailedTest(error: PatchError, operations: JsonValue): boolean {
  const operation =
    Array.isArray(operations) && error.index !== undefined ? operations[error.index] : undefined;
  return error.reason === 'Failed' && isObject(operation) && operation.op === 'test';
}

function take(next: JsonObject, scope: Scope, object: KubeObject): void {
  const { name, namespace } = object.metadata;
  let decoded: KubeObject;
  try {
    const given = { ...next, apiVersion: object.apiVersion, kind: object.kind };
    if (hasKindOfItsOwn(scope)) decoded = { ...given, metadata: objectAt(given, 'metadata') ?? {} };
    else decoded = decodeObject(scope.resource, given, [], scope.server.resources(scope.cluster)).object;
  } catch (error) {
    if (!hasCode(error, 400)) throw error;
    throw new MutationProblem(error.message);
  }
  if (decoded.metadata.name !== name || decoded.metadata.namespace !== namespace)
    throw new MutationProblem('the name and the namespace of an object may not be mutated');
  for (const key of Object.keys(object)) delete object[key];
  Object.assign(object, decoded);
}
