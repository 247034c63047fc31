import type { GroupVersionKind } from '../../../kube/object.ts';
import type { JsonObject } from '../../../schema/json.ts';
import type { Expression } from '../expression/index.ts';
import type { Template } from '../template/index.ts';

export type NodeKind = 'Resource' | 'Collection' | 'External' | 'ExternalCollection' | 'Value';

export interface ForEachDimension {
  readonly variable: string;
  readonly expression: Expression;
}

/** A node as it was compiled. Nothing in it changes, so any number of instances share it. */
export interface GraphNode {
  readonly id: string;
  readonly kind: NodeKind;
  /** In the definition, from 0. */
  readonly position: number;
  /** From 1; nodes that depend on others are higher. Objects are deleted from the highest down. */
  readonly wave: number;
  readonly of: GroupVersionKind;
  readonly apiVersion: string;
  readonly namespaced: boolean;
  /** Ids of nodes, sorted. */
  readonly dependencies: readonly string[];
  /** The object; of external nodes `metadata` with name, namespace and selector; of values `{value}`. */
  readonly template: Template<JsonObject>;
  /** Empty but for collections. The last one varies fastest. */
  readonly forEach: readonly ForEachDimension[];
  readonly includeWhen: readonly Expression[];
  readonly readyWhen: readonly Expression[];
  readonly propagateWhen: readonly Expression[];
  /** It adds fields to objects that are somebody else's. */
  readonly contributes: boolean;
  /** Its objects are on other clusters than the instance. */
  readonly targeted: boolean;
  /** They are there, made by others, and only looked at. */
  readonly reads: boolean;
  /** With a target: which of their fields come back beside the status, see `returnedFields`. */
  readonly returns: readonly string[];
}

/** Whether other nodes see it as a list. */
export function isList(kind: NodeKind): boolean {
  return kind === 'Collection' || kind === 'ExternalCollection';
}

/** Whether the graph only reads it. */
export function isExternal(kind: NodeKind): boolean {
  return kind === 'External' || kind === 'ExternalCollection';
}
