import type {
  CompiledGraph,
  GraphOwner,
  InstanceKind,
  InstanceStatus,
  RevisionRecord,
  StatusInput,
} from '../../engine/graph/index.ts';
import type { ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';

/** A definition whose instances this cluster looks after. */
export interface ServedGraph {
  readonly owner: GraphOwner;
  readonly kind: InstanceKind;
  readonly revisions: readonly RevisionRecord[];
  /** By number; those that compile. */
  readonly graphs: ReadonlyMap<number, CompiledGraph>;
  /** The revision that all instances of this cluster are held at, where they do not say otherwise. */
  readonly pinned: number | undefined;
  /** How many instances go to another revision within a minute; all at once where nothing is said. */
  readonly pace?: number | undefined;
  /** The definition goes and its instances stay: each is let go with its objects. */
  readonly abandoning?: boolean;
  /** How its instances say how they are, where that is not as instances of definitions do. */
  readonly statusOf?: (input: StatusInput) => InstanceStatus;
}

export function instanceResource({ group, version, plural, kind, namespaced }: InstanceKind): ResourceId {
  return { group, version, resource: plural, kind, namespaced };
}

/** Of two copies of an object the one that was written later. Revisions of one API server are numbers in order. */
export function laterOf<T extends KubeObject>(a: T, b: T | undefined): T {
  return b !== undefined && revisionOf(b) > revisionOf(a) ? b : a;
}

function revisionOf(object: KubeObject): bigint {
  const text = object.metadata.resourceVersion ?? '';
  return /^\d+$/.test(text) ? BigInt(text) : -1n;
}

/** Without what no reader here needs, and what is often half of an object. */
export function lean<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}
