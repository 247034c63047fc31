import type { GroupVersionKind } from '../../../kube/object.ts';
import type { JsonObject } from '../../../schema/json.ts';
import type { Expression } from '../expression/index.ts';
import type { Template } from '../template/index.ts';
import type { Frame } from './uses.ts';

export type NodeKind = 'Resource' | 'Collection' | 'External' | 'ExternalCollection' | 'Value';

export interface ForEachDimension {
  readonly variable: string;
  readonly expression: Expression;
}

/** A node as it was compiled. Nothing in it changes, so any number of instances share it. */
export interface GraphNode {
  readonly id: string;
  /** As its own expressions call it; the last part of the id where graphs are nested. */
  readonly local: string;
  /** What names stand for in its expressions; absent where each is the id of a node. */
  readonly frame?: Frame;
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
  /** Those of them that are needed only where a condition, `a ? b : c`, goes that way. */
  readonly partial: readonly string[];
  /** Expressions that use those. */
  readonly branching: readonly Expression[];
  /** Nodes that are used by `defer()` and not waited for. */
  readonly soft: readonly string[];
  /** The object; of external nodes `metadata` with name, namespace and selector; of values `{value}`. */
  readonly template: Template<JsonObject>;
  /** Empty but for collections. The last one varies fastest. */
  readonly forEach: readonly ForEachDimension[];
  readonly includeWhen: readonly Expression[];
  readonly readyWhen: readonly Expression[];
  readonly propagateWhen: readonly Expression[];
  /** It adds fields to objects that are somebody else's. */
  readonly contributes: boolean;
  /** It does so by a field manager of its own, to the object or to its status, and other nodes see nothing of it. */
  readonly patches: 'object' | 'status' | undefined;
  /** Which kind it is, is known when its template is rendered; `of` and `apiVersion` are empty. */
  readonly dynamic: boolean;
  /** Its objects are on other clusters than the instance. */
  readonly targeted: boolean;
  /** Those clusters are named by Secrets of the hub with kubeconfigs. */
  readonly bySecret: boolean;
  /** They are there, made by others, and only looked at. */
  readonly reads: boolean;
  /** On another cluster: which of their fields come back beside the status, see `returnedFields`. */
  readonly returns: readonly string[];
  /** Only the hub serves their kind, so they are made there. */
  readonly onHub: boolean;
  /** Of those: which fields of the status come back, see `returnedStatus`. */
  readonly returnsStatus: readonly string[];
}

/** Whether other nodes see it as a list. */
export function isList(kind: NodeKind): boolean {
  return kind === 'Collection' || kind === 'ExternalCollection';
}

/** Whether the graph only reads it. */
export function isExternal(kind: NodeKind): boolean {
  return kind === 'External' || kind === 'ExternalCollection';
}
