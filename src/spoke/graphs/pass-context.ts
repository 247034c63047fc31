import { type GraphMeter, instanceStatus, type StatusInput } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import type { GroupVersionKind, KubeObject } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { InstanceMemory } from './instance-memory.ts';
import type { InstanceWrites } from './instance-writes.ts';
import type { Interest, Interests } from './interest.ts';
import type { KindWatches, WatchWish } from './kind-watch.ts';
import type { Members } from './members.ts';
import type { GraphMetrics } from './metrics.ts';
import type { Origins } from './origins.ts';
import type { Pace } from './pace.ts';
import type { ReadsByHand } from './reads-by-hand.ts';
import type { ServedGraph } from './served-graph.ts';
import type { Transitions } from './transitions.ts';

/** What all passes over instances have. */
export interface PassContext {
  readonly runtime: Runtime;
  readonly client: Client;
  /** Writes the objects of the instance: the same, or one with the rights of somebody else. */
  readonly childClient: Client;
  /** Whether what others made may only be read with the rights of `childClient`, too. */
  readonly actsForOthers: boolean;
  readonly watches: KindWatches;
  readonly members: Members;
  readonly interests: Interests;
  readonly reads: ReadsByHand;
  readonly pace: Pace;
  readonly origins: Origins;
  /** Whether instances of a kind stay here that come from other clusters. */
  readonly stays: (of: GroupVersionKind) => boolean;
  readonly transitions: Transitions;
  readonly metrics: GraphMetrics;
  readonly meter: GraphMeter;
  /** The name of the cluster, for messages. */
  readonly cluster?: ClusterName;
  /** Of one expression. */
  readonly costLimit?: number;
  readonly maxCollectionSize?: number;
  /** Objects of one instance written at the same time. */
  readonly applyConcurrency: number;
  /** After which an instance that waits is looked at again although nothing tells. */
  readonly requeueMs?: number;
  /** Pauses after passes in which something failed, doubled each time. */
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
}

export interface PassResult {
  /** What to be told of from now on. */
  readonly interest: Interest;
  readonly wishes: readonly WatchWish[];
  readonly requeueAfterMs?: number;
  /** The instance as the last step saw it, where there was one. */
  readonly looked?: KubeObject;
  /** The instance is gone. */
  readonly gone?: boolean;
}

/** Watches tell when objects are gone; this is for one that was missed. */
export const LEAVING_POLL_MS = 30_000;

/** The result of a pass after which there is nothing to be told of. */
export const AT_REST: PassResult = { interest: { refs: new Set(), queries: [] }, wishes: [] };

/** The result of a pass over an instance that needs nobody any more. */
export const GONE: PassResult = { ...AT_REST, gone: true };

/** What a pass found to tell of an instance. */
export type Said = Omit<StatusInput, 'instance' | 'now' | 'cluster' | 'costLimit'>;

/** Writes on an instance how it is. */
export async function tellInstance(
  { runtime: { clock }, cluster, costLimit, transitions }: PassContext,
  { statusOf = instanceStatus, kind }: ServedGraph,
  writes: InstanceWrites,
  memory: InstanceMemory,
  instance: KubeObject,
  said: Said,
): Promise<void> {
  const { status } = statusOf({
    ...said,
    ...(cluster !== undefined && { cluster }),
    ...(costLimit !== undefined && { costLimit }),
    instance,
    now: clock.now(),
  });
  const written = await writes.status(instance, status);
  transitions.told(kind.plural, instance, status);
  memory.instance = written;
}
