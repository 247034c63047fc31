import type { KubeObject, ObjectRef } from '../../../kube/object.ts';
import { type CompiledGraph, type GraphNode, isExternal } from '../compile/index.ts';
import type { GraphClock, GraphMeter } from '../expression/index.ts';
import type { UnresolvedField } from '../template/index.ts';
import type { DesiredObject } from './desired-object.ts';
import type { Contribution } from './inventory.ts';
import type { Observed, Read } from './observed.ts';
import type { OriginOptions } from './origin.ts';
import type { GraphOwner } from './owner.ts';
import type { Reason } from './reason.ts';
import type { NodeState } from './words.ts';

/** An object of the instance, as it is. */
export interface ManagedResource {
  readonly nodeID: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

export interface NodeReport {
  readonly id: string;
  readonly state: NodeState;
  /** Empty where the node is SYNCED. */
  readonly reasons: readonly Reason[];
  /** The objects of the node, as far as they are known. */
  readonly refs: readonly ObjectRef[];
}

export interface StepOptions {
  readonly owner: GraphOwner;
  /** 1000 by default. */
  readonly maxCollectionSize?: number;
  /** Of one expression. */
  readonly costLimit?: number;
  /** Whatever is there counts as ready; for looking ahead. */
  readonly assumeReady?: boolean;
  /** What `time.now` tells, milliseconds since the epoch; without it that is an error. */
  readonly now?: number;
  readonly meter?: GraphMeter;
  /** Where the instance comes from, if that is another cluster. */
  readonly origin?: OriginOptions;
  /** What was rendered by the steps before for the same instance, graph and options. Only what has other inputs is rendered again. */
  readonly rendered?: Map<string, RenderedNode>;
}

/** The objects of a node, and what they were made of: equal only where it is the same. */
export interface RenderedNode {
  readonly inputs: readonly unknown[];
  readonly objects: readonly DesiredObject[];
}

export interface Walk {
  readonly instance: KubeObject;
  readonly observed: Observed;
  readonly options: StepOptions;
  readonly setId: string;
  readonly clock: GraphClock;
  /** What nodes that use others wait for. */
  readonly gating: CompiledGraph['gating'];
  /** Of nodes that come later, as far as they are there: for those that use them by `defer()`. */
  readonly ahead: Readonly<Record<string, unknown>>;
  /** This is the look for those: of what may have been changed meanwhile, only objects count that carry the instance's mark. */
  readonly looksAhead: boolean;
  /** What expressions see of nodes that others need not wait for, by their ids. */
  readonly bindings: Record<string, unknown>;
  readonly reads: Read[];
  readonly objects: DesiredObject[];
  readonly managed: ManagedResource[];
  readonly contributions: Contribution[];
  /** By {@link refKey}, the node that makes it. */
  readonly makers: Map<string, string>;
  readonly reports: Map<string, NodeReport>;
  readonly values: Map<string, unknown>;
}

/** The cluster that an instance comes from, where the objects of a node are that name none and do not stay on the hub. */
export function originOf({ options: { origin } }: Walk, node: GraphNode): string | undefined {
  const elsewhere = node.targeted || node.onHub || isExternal(node.kind) || node.kind === 'Value';
  return !origin || elsewhere || origin.stays(node.of) ? undefined : origin.cluster;
}

/** Whether those that use a node may begin. */
export function isReady(walk: Walk, id: string): boolean {
  if (id === 'schema') return true;
  return walk.gating === 'Scope'
    ? Object.hasOwn(walk.bindings, id)
    : walk.reports.get(id)?.state === 'SYNCED';
}

export function reasonOf({ kind, path, expression, message }: UnresolvedField): Reason {
  return kind === 'Pending'
    ? { kind: 'Value', path, expression, message }
    : { kind: 'Failed', path, expression, message };
}

export function unresolvedReport(
  node: GraphNode,
  reason: Reason,
  refs: readonly ObjectRef[] = [],
): NodeReport {
  return { id: node.id, state: reason.kind === 'Failed' ? 'ERROR' : 'IN_PROGRESS', reasons: [reason], refs };
}

export function unread(
  walk: Walk,
  node: GraphNode,
  read: Read,
  what: string,
  refs: readonly ObjectRef[],
): NodeReport {
  walk.reads.push(read);
  return { id: node.id, state: 'IN_PROGRESS', reasons: [{ kind: 'Unread', what }], refs };
}
