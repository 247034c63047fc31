import type { NewCondition } from '../../../kube/conditions.ts';
import type { Condition } from '../../../kube/object.ts';
import type { JsonObject, JsonValue } from '../../../schema/json.ts';
import { isObject } from '../../../schema/json.ts';
import { patchManager } from './owner.ts';
import type { Reason } from './reason.ts';
import {
  conditionsOf,
  type InstanceStatus,
  nodeText,
  type StatusInput,
  transitioned,
  waitingText,
} from './status.ts';
import type { InstanceStep } from './step.ts';

/** The status of an object of the kind Graph. Equal inputs give equal statuses. */
export function graphStatus(input: StatusInput): InstanceStatus {
  const { instance, step, now, account } = input;
  const before = isObject(instance['status']) ? instance['status'] : {};
  const previous = conditionsOf(instance);
  const { generation } = instance.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const tell = (condition: NewCondition): Condition =>
    transitioned(previous, { ...condition, ...observed }, now);
  const accepted = tell(acceptance(input, previous));
  const converged = tell(convergence(input));
  const ready = tell(worst(accepted, converged));
  const failed =
    step?.nodes.some((node) => node.state === 'ERROR') === true || input.unresolved !== undefined;
  // Who could not write objects may not be able to delete them either.
  const worked = step !== undefined && !failed && input.failure === undefined;
  const status: JsonObject = {
    ...kept(before, 'managedResources', step && (step.managed as unknown as JsonValue[])),
    ...kept(before, 'contributions', step && contributions(input, step)),
    ...kept(
      before,
      'appliedServiceAccount',
      worked || before['appliedServiceAccount'] === undefined ? account : undefined,
    ),
    conditions: [ready, accepted, converged] as unknown as JsonValue[],
  };
  const state =
    input.deleting !== undefined ? 'DELETING' : ready.status === 'True' ? 'ACTIVE' : 'IN_PROGRESS';
  return { status, state: failed && state === 'IN_PROGRESS' ? 'ERROR' : state, problems: [] };
}

/** What is known now, or was known before where nothing is known now; no empty list. */
function kept(before: JsonObject, field: string, now: JsonValue | undefined): JsonObject {
  const value = now === undefined ? before[field] : now;
  return value === undefined || (Array.isArray(value) && value.length === 0) ? {} : { [field]: value };
}

function contributions({ instance }: StatusInput, step: InstanceStep): JsonValue[] {
  return (step.shrunkInventory.contributions ?? []).map(({ ref, node = '', subresource }) => ({
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    ...(ref.namespace !== '' && { namespace: ref.namespace }),
    name: ref.name,
    ...(subresource && { subresource }),
    fieldManager: patchManager(instance, node),
  }));
}

function acceptance({ unresolved, graph }: StatusInput, previous: readonly Condition[]): NewCondition {
  const type = 'Accepted';
  if (unresolved !== undefined) return { type, status: 'False', reason: 'InvalidGraph', message: unresolved };
  const before = previous.find((condition) => condition.type === type);
  if (!graph)
    return before ?? { type, status: 'Unknown', reason: 'Unknown', message: 'the nodes were not looked at' };
  const count = `${graph.nodes.length} ${graph.nodes.length === 1 ? 'node' : 'nodes'}`;
  return { type, status: 'True', reason: 'Compiled', message: `${count} compiled` };
}

function convergence(input: StatusInput): NewCondition {
  const { unresolved, unmanaged, suspended, deleting, failure, step } = input;
  const type = 'ResourcesConverged';
  const say = (status: Condition['status'], reason: string, message: string): NewCondition => ({
    ...{ type, status, reason, message },
  });
  if (deleting !== undefined)
    return deleting.startsWith('waits')
      ? say('Unknown', 'Deleting', deleting)
      : say('False', 'DeleteFailed', deleting);
  if (unresolved !== undefined) return say('Unknown', 'InvalidGraph', 'nothing is applied');
  if (unmanaged !== undefined) return say('False', 'ApplyFailed', unmanaged);
  if (suspended === true)
    return say('False', 'ReconciliationSuspended', 'the annotation kro.run/reconcile holds everything back');
  if (failure !== undefined)
    return say('False', failure.includes('cannot be removed') ? 'PruneFailed' : 'DataPending', failure);
  if (!step) return say('Unknown', 'Unknown', 'the objects were not looked at');
  if (step.ready) return say('True', 'Applied', 'all nodes are applied and ready');
  const going = step.nodes.find(({ state }) => state === 'DELETING');
  if (going) return say('False', 'WaitingForReadiness', nodeText(going));
  return say('False', reasonFor(step), waitingText(step));
}

/** A failure comes before what only takes time, and a value that is missing before readiness. */
function reasonFor({ nodes }: InstanceStep): string {
  const failures = nodes.filter(({ state }) => state === 'ERROR').flatMap(({ reasons }) => reasons);
  if (failures.some(isConflict)) return 'FieldManagerConflict';
  if (failures.length > 0) return 'ApplyFailed';
  const reasons = nodes.filter(({ state }) => state !== 'SKIPPED').flatMap((node) => node.reasons);
  const waitsOnly = reasons.every(({ kind }) => kind === 'NotReady' || kind === 'Apply');
  return waitsOnly ? 'WaitingForReadiness' : 'DataPending';
}

function isConflict(reason: Reason): boolean {
  if (reason.kind === 'Conflict') return true;
  return reason.kind === 'Failed' && /\bconflicts?\b/.test(reason.message);
}

function worst(...parts: readonly Condition[]): NewCondition {
  const bad =
    parts.find(({ status }) => status === 'False') ?? parts.find(({ status }) => status === 'Unknown');
  if (!bad)
    return { type: 'Ready', status: 'True', reason: 'Ready', message: 'all nodes are applied and ready' };
  return { type: 'Ready', status: bad.status, reason: bad.reason, message: bad.message };
}
