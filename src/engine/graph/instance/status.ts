import { toJson } from '../../../cel/index.ts';
import { findCondition, type NewCondition, setCondition } from '../../../kube/conditions.ts';
import type { Condition, KubeObject } from '../../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, listAt, stringAt } from '../../../schema/json.ts';
import { type CompiledGraph, ENGINE_CONDITIONS } from '../compile/index.ts';
import { evaluateExpression } from '../expression/index.ts';
import { type FieldPath, fieldValue, type TemplateField, type UnresolvedField } from '../template/index.ts';
import { reasonText } from './reason.ts';
import type { InstanceStep } from './step.ts';
import type { NodeReport } from './walk.ts';
import type { InstanceState } from './words.ts';

export interface InstanceStatus {
  /** To be the whole status of the instance. */
  readonly status: JsonObject;
  readonly state: InstanceState;
  /** Expressions of the status that failed; those that wait for something are no problem. */
  readonly problems: readonly string[];
}

export interface StatusInput {
  readonly instance: KubeObject;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Absent where the graph could not be resolved. */
  readonly graph?: CompiledGraph;
  readonly step?: InstanceStep;
  /** Why finalizer and labels are not on the instance. */
  readonly unmanaged?: string;
  /** Why there is no graph. */
  readonly unresolved?: string;
  /** What went wrong around the step, such as reads or deletions that failed. */
  readonly failure?: string;
  readonly suspended?: boolean;
  /** With whose rights objects are written, where that is not the engine itself. */
  readonly account?: string;
  /** Where its objects are, for messages. */
  readonly cluster?: string;
  /** The instance is being deleted: what is waited for, or what blocks it. */
  readonly deleting?: string;
  /** Of one expression, as in the step. */
  readonly costLimit?: number;
}

const MAX_STATUS_MESSAGE = 2_000;
const SHOWN_NODES = 5;

/** The status of an instance: fields that can be resolved now, conditions, and the state. Equal inputs give equal statuses. */
export function instanceStatus(input: StatusInput): InstanceStatus {
  const { instance, graph, step } = input;
  const problems: string[] = [];
  const fields =
    graph && step
      ? resolvedFields(graph, step, problems, input.costLimit)
      : input.deleting === undefined
        ? {}
        : fieldsBefore(instance);
  const own = engineConditions(input);
  const previous = conditionsOf(instance);
  const author = graph && step ? authorConditions(graph, step, own, previous, input, problems) : undefined;
  const replaced = graph ? graph.conditions.length > 0 : input.deleting !== undefined && areAuthors(previous);
  const conditions = replaced ? authorOnWire(author, own, previous, input) : own;
  const state = author?.failed === true ? 'ERROR' : stateOf(input, own);
  const listed = graph?.listsResources === true && step ? { managedResources: step.managed } : {};
  return {
    status: {
      ...(listed as unknown as JsonObject),
      ...fields,
      state,
      conditions: conditions as unknown as JsonValue[],
    },
    state,
    problems,
  };
}

export function conditionsOf(instance: KubeObject): Condition[] {
  return listAt(instance, 'status', 'conditions').filter(isObject) as unknown as Condition[];
}

/** What an instance said before it was deleted it goes on to say: nothing is evaluated any more. */
function fieldsBefore({ status }: KubeObject): JsonObject {
  const { state: _state, conditions: _conditions, ...fields } = isObject(status) ? status : {};
  return fields;
}

/** Whether conditions on the wire are those of an author, told without the graph. */
function areAuthors(conditions: readonly Condition[]): boolean {
  const engines = ['InstanceManaged', 'GraphResolved'].every((type) => findCondition(conditions, type));
  return conditions.length > 0 && !engines;
}

function stateOf(input: StatusInput, conditions: readonly Condition[]): InstanceState {
  if (input.deleting !== undefined) return 'DELETING';
  if (findCondition(conditions, 'Ready')?.status === 'True') return 'ACTIVE';
  const failed =
    input.unmanaged !== undefined ||
    input.unresolved !== undefined ||
    input.failure !== undefined ||
    input.step?.nodes.some((node) => node.state === 'ERROR') === true;
  return failed ? 'ERROR' : 'IN_PROGRESS';
}

/** What the engine says of every instance, with the time of each transition kept. */
function engineConditions(input: StatusInput): Condition[] {
  const { instance, now } = input;
  const generation = instance.metadata.generation;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const parts: NewCondition[] = [managed(input), resolvedGraph(input), resources(input)];
  const previous = conditionsOf(instance);
  const made = parts.map((part) => transitioned(previous, { ...part, ...observed }, now));
  return [transitioned(previous, { ...worst(made), ...observed }, now), ...made];
}

export function transitioned(
  previous: readonly Condition[],
  condition: NewCondition,
  now: number,
): Condition {
  const { conditions } = setCondition(
    previous.filter(({ type }) => type === condition.type),
    condition,
    now,
  );
  return conditions[0] as Condition;
}

function managed({ unmanaged }: StatusInput): NewCondition {
  return unmanaged === undefined
    ? { type: 'InstanceManaged', status: 'True', reason: 'Managed', message: 'finalizer and labels are set' }
    : { type: 'InstanceManaged', status: 'False', reason: 'ManagementFailed', message: unmanaged };
}

function resolvedGraph({ unresolved, graph, deleting, instance }: StatusInput): NewCondition {
  const type = 'GraphResolved';
  const before = deleting === undefined ? undefined : findCondition(conditionsOf(instance), type);
  if (before) return before;
  if (unresolved !== undefined)
    return { type, status: 'False', reason: 'ResolutionFailed', message: unresolved };
  if (!graph) return { type, status: 'Unknown', reason: 'Unknown', message: 'the graph was not asked for' };
  return { type, status: 'True', reason: 'Resolved', message: 'the graph is known' };
}

/** What is wrong says where. */
function resources(input: StatusInput): NewCondition {
  const condition = resourcesHere(input);
  if (input.cluster === undefined || condition.status === 'True' || input.suspended === true)
    return condition;
  return { ...condition, message: `on cluster ${input.cluster}: ${condition.message}` };
}

function resourcesHere({ deleting, suspended, failure, step }: StatusInput): NewCondition {
  const type = 'ResourcesReady';
  if (deleting !== undefined) return { type, status: 'Unknown', reason: 'UnderDeletion', message: deleting };
  if (suspended === true)
    return {
      type,
      status: 'False',
      reason: 'ReconciliationSuspended',
      message: 'the annotation kro.run/reconcile holds everything back',
    };
  if (failure !== undefined) return { type, status: 'False', reason: 'NotReady', message: failure };
  if (!step) return { type, status: 'Unknown', reason: 'Unknown', message: 'resources were not looked at' };
  const terminating = step.nodes.find(({ state }) => state === 'DELETING');
  if (terminating)
    return { type, status: 'False', reason: 'ResourceDeleting', message: nodeText(terminating) };
  if (step.ready)
    return { type, status: 'True', reason: 'AllResourcesReady', message: 'all resources are ready' };
  return { type, status: 'False', reason: 'NotReady', message: waitingText(step) };
}

export function nodeText({ id, reasons }: NodeReport): string {
  const [first] = reasons;
  const more = reasons.length > 1 ? ` (and ${reasons.length - 1} more)` : '';
  return `${id}: ${first ? reasonText(first) : 'in progress'}${more}`;
}

/** Nodes that fail or wait by themselves come before those that wait for others. */
export function waitingText({ nodes }: InstanceStep): string {
  const open = nodes.filter(({ state }) => state !== 'SYNCED' && state !== 'SKIPPED');
  const weight = ({ state, reasons }: NodeReport): number =>
    state === 'ERROR' ? 0 : reasons.every(({ kind }) => kind === 'Dependency') ? 2 : 1;
  const sorted = open.toSorted((a, b) => weight(a) - weight(b));
  const more = sorted.length > SHOWN_NODES ? `; and ${sorted.length - SHOWN_NODES} more nodes` : '';
  return `${sorted.slice(0, SHOWN_NODES).map(nodeText).join('; ')}${more}`.slice(0, MAX_STATUS_MESSAGE);
}

/** `Ready` is as the worst of those it depends on: False before Unknown, of several the newest. */
function worst(parts: readonly Condition[]): NewCondition {
  const weight = (condition: Condition): number =>
    condition.status === 'False' ? 0 : condition.status === 'Unknown' ? 1 : 2;
  const [first] = parts.toSorted(
    (a, b) => weight(a) - weight(b) || (a.lastTransitionTime < b.lastTransitionTime ? 1 : -1),
  );
  if (!first || first.status === 'True')
    return { type: 'Ready', status: 'True', reason: 'Ready', message: 'all resources are ready' };
  return { type: 'Ready', status: first.status, reason: first.reason, message: first.message };
}

/** The fields of the status of which all inputs are there. */
function resolvedFields(
  graph: CompiledGraph,
  step: InstanceStep,
  problems: string[],
  costLimit: number | undefined,
): JsonObject {
  const fields = new Map(graph.status.fields.map((field) => [JSON.stringify(field.path), field]));
  const resolve = (value: JsonValue | undefined, path: FieldPath): JsonValue | undefined => {
    const field = fields.get(JSON.stringify(path));
    if (field) return resolvedField(field, step, problems, costLimit);
    if (Array.isArray(value)) {
      const items = value
        .map((item, index) => resolve(item, [...path, index]))
        .filter((item) => item !== undefined);
      return items.length > 0 ? items : undefined;
    }
    if (!isObject(value)) return undefined;
    const out: JsonObject = {};
    for (const key of Object.keys(value)) {
      const item = resolve(value[key], [...path, key]);
      if (item !== undefined) out[key] = item;
    }
    return Object.keys(out).length > 0 ? out : undefined;
  };
  const all = resolve(graph.status.value, []);
  return isObject(all) ? all : {};
}

function resolvedField(
  field: TemplateField,
  step: InstanceStep,
  problems: string[],
  costLimit: number | undefined,
): JsonValue | undefined {
  const { value, unresolved } = fieldValue(field, step.bindings, costLimit);
  if (unresolved) reportFailure(unresolved, problems);
  // An API server drops nulls, and a status that differs from what was written would be written again and again.
  return value === null ? undefined : value;
}

function reportFailure({ kind, path, expression, message }: UnresolvedField, problems: string[]): void {
  if (kind === 'Failed') problems.push(`status.${path}: \${${expression}}: ${message}`);
}

interface AuthorConditions {
  readonly conditions: readonly NewCondition[];
  readonly failed: boolean;
}

/**
 * The conditions that the author's expressions give, each one or a list. What is not known now, because an expression waits, fails or
 * says the same type as another one, stays what it was.
 */
function authorConditions(
  graph: CompiledGraph,
  step: InstanceStep,
  own: readonly Condition[],
  previous: readonly Condition[],
  { instance, costLimit }: StatusInput,
  problems: string[],
): AuthorConditions {
  const schema = {
    ...(step.bindings['schema'] as object),
    status: { ...(instance['status'] as object), conditions: own },
  };
  const bindings = { ...step.bindings, schema };
  const found = problems.length;
  let waiting = false;
  const given = graph.conditions.map(({ expression }) => {
    const { value, unresolved } = evaluateExpression(expression, bindings, costLimit);
    if (unresolved?.kind === 'Failed')
      problems.push(`status.conditions: \${${unresolved.expression}}: ${unresolved.message}`);
    else if (unresolved) waiting = true;
    if (unresolved) return undefined;
    const conditions = conditionsIn(toJson(value));
    if (!conditions) problems.push(`status.conditions: \${${expression.source}}: the value is no condition`);
    return conditions;
  });
  const times = new Map<string, number>();
  for (const { type } of given.flatMap((conditions) => conditions ?? []))
    times.set(type, (times.get(type) ?? 0) + 1);
  for (const [type, count] of times)
    if (count > 1) problems.push(`status.conditions: a condition "${type}" is given ${count} times`);
  const made = new Map<string, NewCondition>();
  for (const [index, conditions] of given.entries()) {
    const { types = [] } = graph.conditions[index] ?? {};
    const before = types.filter((type) => !times.has(type)).map((type) => findCondition(previous, type));
    for (const condition of conditions ?? before)
      if (condition && (times.get(condition.type) ?? 0) <= 1) made.set(condition.type, condition);
  }
  const failed = problems.length > found;
  const engines = new Set<string>(ENGINE_CONDITIONS);
  for (const { types } of graph.conditions) for (const type of types) engines.delete(type);
  // What the engine said while there was no graph, or none with conditions, is nobody's word any more.
  if (waiting || failed)
    for (const condition of previous)
      if (!made.has(condition.type) && !engines.has(condition.type)) made.set(condition.type, condition);
  return { conditions: [...made.values()], failed };
}

/** One condition or a list of them. */
function conditionsIn(read: ReturnType<typeof toJson>): NewCondition[] | undefined {
  if ('error' in read) return undefined;
  const items = (Array.isArray(read.json) ? read.json : [read.json]).map(conditionOf);
  const conditions = items.filter((item) => item !== undefined);
  return conditions.length === items.length ? conditions : undefined;
}

function conditionOf(json: JsonValue): NewCondition | undefined {
  const type = stringAt(json, 'type') ?? '';
  const status = stringAt(json, 'status');
  if (type === '' || (status !== 'True' && status !== 'False' && status !== 'Unknown')) return undefined;
  const reason = stringAt(json, 'reason') ?? '';
  return { type, status, reason, message: stringAt(json, 'message') ?? '' };
}

/** Without a step there is nothing to evaluate: what the author's conditions were stays, and the engine's own problem is told beside it. */
function authorOnWire(
  author: AuthorConditions | undefined,
  own: readonly Condition[],
  previous: readonly Condition[],
  { instance, now }: StatusInput,
): readonly AuthorsCondition[] {
  if (!author) {
    const resourcesReady = own.filter(({ type }) => type === 'ResourcesReady');
    return [...previous.filter(({ type }) => type !== 'ResourcesReady'), ...resourcesReady];
  }
  const { generation } = instance.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return author.conditions.map((condition) => {
    const before = previous.find((item) => item === condition);
    return before ?? withoutEmpty(transitioned(previous, { ...condition, ...observed }, now));
  });
}

/** What the author gives no reason and no message has none. */
type AuthorsCondition = Omit<Condition, 'reason' | 'message'> &
  Partial<Pick<Condition, 'reason' | 'message'>>;

function withoutEmpty({ reason, message, ...condition }: Condition): AuthorsCondition {
  return { ...condition, ...(reason !== '' && { reason }), ...(message !== '' && { message }) };
}
