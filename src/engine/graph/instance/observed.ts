import type { GroupVersionKind, KubeObject, ObjectRef } from '../../../kube/object.ts';
import type { LabelSelector } from '../../../schema/label-selector.ts';

/** Objects of a kind by their labels. */
export interface ObjectQuery {
  readonly apiVersion: string;
  readonly kind: string;
  /** All namespaces where it is empty. */
  readonly namespace: string;
  readonly selector: LabelSelector;
}

/** What is known of a cluster. What is not known yet is asked for by a step; whoever runs it looks and steps again. */
export interface Observed {
  /** `undefined`: not looked at yet. `null`: it is not there. */
  readonly object: (ref: ObjectRef) => KubeObject | null | undefined;
  /** `undefined`: not looked at yet. */
  readonly selected: (query: ObjectQuery) => readonly KubeObject[] | undefined;
  /**
   * Digest of what was last applied of an object. Nodes that depend on it wait until that is what is desired now; where the
   * function is absent every object counts as applied. `by` is who adds fields to an object of somebody else.
   */
  readonly applied?: (ref: ObjectRef, by?: string) => string | undefined;
  /** Why the last attempt to apply the object failed. */
  readonly failure?: (ref: ObjectRef, by?: string) => string | undefined;
  /** Whether a kind is namespaced. `undefined`: not asked yet. `null`: it is not served. Absent: all are. */
  readonly namespaced?: (of: GroupVersionKind) => boolean | null | undefined;
}

export type Read =
  | { readonly kind: 'Object'; readonly node: string; readonly ref: ObjectRef }
  | { readonly kind: 'Selected'; readonly node: string; readonly query: ObjectQuery }
  | { readonly kind: 'Kind'; readonly node: string; readonly of: GroupVersionKind };
