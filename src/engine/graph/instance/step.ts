import type { KubeObject, ObjectRef } from '../../../kube/object.ts';
import type { CompiledGraph, GraphNode } from '../compile/index.ts';
import { CLOCK, graphClock } from '../expression/index.ts';
import { renderTemplate } from '../template/index.ts';
import type { DesiredObject } from './desired-object.ts';
import { inclusion } from './inclusion.ts';
import { EMPTY_INVENTORY, type Inventory, inventoryOf, readInventory, unionInventory } from './inventory.ts';
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
  const { status: _status, ...schema } = instance;
  const clock = graphClock(options.now, options.meter);
  const walk: Walk = {
    instance,
    observed,
    options,
    setId: applySetId(instance),
    clock,
    bindings: { schema, [CLOCK]: clock },
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
    reads: walk.reads,
    objects,
    managed: walk.managed,
    inventory: unionInventory(remembered.kind === 'Read' ? remembered.inventory : EMPTY_INVENTORY, own),
    shrunkInventory: own,
    settled: nodes.every(({ id, state }) => isSettled(walk, id, state)),
    ready: nodes.every(({ state }) => state === 'SYNCED' || state === 'SKIPPED'),
    bindings: { schema, [CLOCK]: clock, ...Object.fromEntries(walk.values) },
    wakes: clock.wakes,
  };
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
  const out = node.dependencies.find((id) => walk.reports.get(id)?.state === 'SKIPPED');
  if (out !== undefined) return report('SKIPPED', [{ kind: 'ExcludedBy', node: out }]);
  if (node.includeWhen.length > 0) walk.options.meter?.count('ignoredCheck');
  const included = inclusion(walk, node);
  if (included?.state === 'SKIPPED') walk.options.meter?.count('ignored');
  if (included) return report(included.state, [included.reason]);
  const waits = node.dependencies.filter((id) => !isReady(walk, id));
  if (waits.length > 0)
    return report(
      'IN_PROGRESS',
      waits.map((id) => ({ kind: 'Dependency', node: id })),
    );
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
  const { value, unresolved } = renderTemplate(node.template, walk.bindings, walk.options.costLimit);
  if (unresolved) return unresolvedReport(node, reasonOf(unresolved));
  walk.values.set(node.id, value['value']);
  walk.bindings[node.id] = value['value'];
  return { id: node.id, state: 'SYNCED', reasons: [], refs: [] };
}
