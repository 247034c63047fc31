import type { KubeObject, ObjectRef } from '../../../kube/object.ts';
import type { CompiledGraph, GraphNode } from '../compile/index.ts';
import { CLOCK, evaluateExpression, graphClock } from '../expression/index.ts';
import { renderTemplate } from '../template/index.ts';
import { dimensionsOf, MAX_COLLECTION_SIZE } from './collection.ts';
import type { DesiredObject } from './desired-object.ts';
import { inclusion } from './inclusion.ts';
import { EMPTY_INVENTORY, type Inventory, inventoryOf, readInventory, unionInventory } from './inventory.ts';
import { bindingsFor, neededOf } from './node-scope.ts';
import type { Observed, Read } from './observed.ts';
import { applySetId } from './owner.ts';
import type { Reason } from './reason.ts';
import { visitExternal, visitSelected } from './visit-external.ts';
import { visitObjects } from './visit-objects.ts';
import {
  isReady,
  type ManagedResource,
  type NodeReport,
  reasonOf,
  type StepOptions,
  unresolvedReport,
  type Walk,
} from './walk.ts';
import type { NodeState } from './words.ts';

export interface InstanceStep {
  /** In the order in which nodes are made. */
  readonly nodes: readonly NodeReport[];
  /** What must be looked at before the step says more. */
  readonly reads: readonly Read[];
  /** All objects that are known now, in the order of their nodes; to be applied where their digest is not what was applied. */
  readonly objects: readonly DesiredObject[];
  /** Those objects of it that are there. */
  readonly managed: readonly ManagedResource[];
  /** To be on the instance before any object is applied: what was remembered, and these objects. */
  readonly inventory: Inventory;
  /** To be on the instance once everything else is gone. */
  readonly shrunkInventory: Inventory;
  /** Every node is either left out or known in full, so that what is not desired may go. */
  readonly settled: boolean;
  /** Every node is SYNCED or left out. */
  readonly ready: boolean;
  /** Objects of nodes as expressions see them; what status and conditions are computed from. */
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Instants at which expressions are to be evaluated anew; those of the status are added as it is computed. */
  readonly wakes: readonly number[];
}

/**
 * One step of an instance: from what is known of the cluster to what shall be there, what to look at next and why nodes wait. Pure;
 * stepping again with more that is known, until nothing is left to read or to apply, is how an instance gets on.
 */
export function stepInstance(
  graph: CompiledGraph,
  instance: KubeObject,
  observed: Observed,
  options: StepOptions,
): InstanceStep {
  // What is used before it is there is looked for first: as it is, whether or not it is as it shall be.
  const looksAhead = graph.nodes.some(({ soft }) => soft.length > 0);
  const ahead = looksAhead ? lookAhead(graph, instance, observed, options) : undefined;
  return oneStep(graph, instance, observed, options, ahead);
}

function lookAhead(
  graph: CompiledGraph,
  instance: KubeObject,
  { object, selected, namespaced }: Observed,
  { rendered: _rendered, meter: _meter, ...options }: StepOptions,
): InstanceStep {
  const asItIs: Observed = { object, selected, ...(namespaced && { namespaced }) };
  return oneStep(graph, instance, asItIs, { ...options, assumeReady: true }, 'looking');
}

function oneStep(
  graph: CompiledGraph,
  instance: KubeObject,
  observed: Observed,
  options: StepOptions,
  ahead: InstanceStep | 'looking' | undefined,
): InstanceStep {
  const schema = asExpressionsSee(instance, options.origin);
  const clock = graphClock(options.now, options.meter);
  const walk: Walk = {
    instance,
    observed,
    options,
    setId: applySetId(instance),
    clock,
    bindings: { schema, [CLOCK]: clock },
    gating: graph.gating,
    ahead: typeof ahead === 'object' ? ahead.bindings : {},
    looksAhead: ahead === 'looking',
    reads: [],
    objects: [],
    managed: [],
    contributions: [],
    makers: new Map(),
    reports: new Map(),
    values: new Map(),
  };
  let deleting = false;
  for (const node of graph.nodes) {
    const report: NodeReport = deleting
      ? { id: node.id, state: 'IN_PROGRESS', reasons: deletingReasons(walk), refs: [] }
      : metered(walk, node);
    walk.reports.set(node.id, report);
    if (report.state === 'DELETING') deleting = true;
  }
  const nodes = [...walk.reports.values()];
  const objects = deleting ? [] : walk.objects;
  const own = inventoryOf(
    objects.filter(({ contributedBy }) => contributedBy === undefined).map(({ ref }) => ref),
    instance,
    deleting ? [] : walk.contributions,
  );
  const remembered = readInventory(instance);
  return {
    nodes,
    reads: withoutDoubles(walk.reads, typeof ahead === 'object' ? ahead.reads : []),
    objects,
    managed: walk.managed,
    inventory: unionInventory(remembered.kind === 'Read' ? remembered.inventory : EMPTY_INVENTORY, own),
    shrunkInventory: own,
    settled: nodes.every(({ id, state }) => isSettled(walk, id, state)),
    ready: nodes.every(({ state }) => state === 'SYNCED' || state === 'SKIPPED'),
    bindings: walk.looksAhead
      ? walk.bindings
      : { schema, [CLOCK]: clock, ...Object.fromEntries(walk.values) },
    wakes: clock.wakes,
  };
}

/** All but the status; one that comes from another cluster goes by the name that it has there. */
function asExpressionsSee(
  { status: _status, ...instance }: KubeObject,
  origin: StepOptions['origin'],
): Omit<KubeObject, 'status'> {
  if (!origin) return instance;
  const { name, namespace } = origin;
  const { namespace: own, ...metadata } = instance.metadata;
  return { ...instance, metadata: { ...metadata, name, ...(own !== undefined && { namespace }) } };
}

function withoutDoubles(reads: readonly Read[], more: readonly Read[]): readonly Read[] {
  if (more.length === 0) return reads;
  const known = new Set(reads.map((read) => JSON.stringify(read)));
  return [...reads, ...more.filter((read) => !known.has(JSON.stringify(read)))];
}

function isSettled(walk: Walk, id: string, state: NodeState): boolean {
  if (state === 'SYNCED' || state === 'SKIPPED' || state === 'WAITING_FOR_READINESS') return true;
  // What is about to be applied is known; what failed is not done.
  return (
    state === 'IN_PROGRESS' &&
    (walk.reports.get(id)?.reasons ?? []).length > 0 &&
    (walk.reports.get(id)?.reasons ?? []).every((reason) => reason.kind === 'Apply')
  );
}

function deletingReasons({ reports }: Walk): Reason[] {
  return [...reports.values()].flatMap(({ reasons }) => reasons.filter(({ kind }) => kind === 'Deleting'));
}

function metered(walk: Walk, node: GraphNode): NodeReport {
  const { meter } = walk.options;
  if (!meter) return visitNode(walk, node);
  const began = meter.now();
  const report = visitNode(walk, node);
  meter.took('node', meter.now() - began);
  if (report.state === 'ERROR') meter.count('nodeFailed');
  return report;
}

function visitNode(walk: Walk, node: GraphNode): NodeReport {
  const report = (
    state: NodeState,
    reasons: readonly Reason[],
    refs: readonly ObjectRef[] = [],
  ): NodeReport => ({
    id: node.id,
    state,
    reasons,
    refs,
  });
  const { dependencies, partial } = node;
  const isOut = (id: string): boolean => walk.reports.get(id)?.state === 'SKIPPED';
  const always = partial.length === 0 ? dependencies : dependencies.filter((id) => !partial.includes(id));
  const out = always.find(isOut);
  if (out !== undefined) return report('SKIPPED', [{ kind: 'ExcludedBy', node: out }]);
  if (node.includeWhen.length > 0) walk.options.meter?.count('ignoredCheck');
  const included = inclusion(walk, node);
  if (included?.state === 'SKIPPED') walk.options.meter?.count('ignored');
  if (included) return report(included.state, [included.reason]);
  const waitsFor = (ids: readonly string[]): NodeReport =>
    report(
      'IN_PROGRESS',
      ids.map((id) => ({ kind: 'Dependency', node: id })),
    );
  const waits = always.filter((id) => !isReady(walk, id));
  if (waits.length > 0) return waitsFor(waits);
  const needed = neededOf(walk, node);
  const gone = needed.find(isOut);
  if (gone !== undefined) return report('SKIPPED', [{ kind: 'ExcludedBy', node: gone }]);
  if (needed.length > 0) return waitsFor(needed);
  switch (node.kind) {
    case 'External':
      return visitExternal(walk, node);
    case 'ExternalCollection':
      return visitSelected(walk, node);
    case 'Value':
      return visitValue(walk, node);
    default:
      return visitObjects(walk, node);
  }
}

function visitValue(walk: Walk, node: GraphNode): NodeReport {
  const { costLimit, maxCollectionSize = MAX_COLLECTION_SIZE } = walk.options;
  const bindings = bindingsFor(walk, node);
  const dimensions = dimensionsOf(node, bindings, { maxCollectionSize, costLimit });
  if (dimensions.reason) return unresolvedReport(node, dimensions.reason);
  const values: unknown[] = [];
  for (const variables of dimensions.items) {
    const { value, unresolved } = renderTemplate(node.template, { ...bindings, ...variables }, costLimit);
    if (unresolved) return unresolvedReport(node, reasonOf(unresolved));
    values.push(value['value']);
  }
  const value = node.forEach.length === 0 ? values[0] : values;
  walk.values.set(node.id, value);
  walk.bindings[node.id] = value;
  const reasons = walk.options.assumeReady === true ? [] : unreadyValues(walk, node, values);
  const failed = reasons.some(({ kind }) => kind === 'Failed');
  if (reasons.length > 0)
    return { id: node.id, state: failed ? 'ERROR' : 'WAITING_FOR_READINESS', reasons, refs: [] };
  return { id: node.id, state: 'SYNCED', reasons: [], refs: [] };
}

/** What `readyWhen` says of values. */
function unreadyValues(walk: Walk, node: GraphNode, values: readonly unknown[]): Reason[] {
  const name = node.forEach.length === 0 ? node.local : 'each';
  return values.flatMap((value) =>
    node.readyWhen.flatMap((expression, index): Reason[] => {
      const bindings = { [CLOCK]: walk.clock, [name]: value };
      const { value: ready, unresolved } = evaluateExpression(expression, bindings, walk.options.costLimit);
      if (ready === true) return [];
      const path = `readyWhen[${index}]`;
      if (unresolved) return [reasonOf({ ...unresolved, path })];
      return [{ kind: 'Value', path, expression: expression.source, message: 'it is not true' }];
    }),
  );
}
