import type { PropagationFindings } from '../../dialects/propagation/report.ts';
import type { RevisionReport, RolloutReport } from '../../dialects/propagation/types.ts';
import type { Compiled } from '../../engine/compiled.ts';
import type { FailoverRecord } from '../../engine/failover/index.ts';
import type { Author, ClusterFacts } from '../../engine/intent.ts';
import type { Decision } from '../../engine/place/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { Activation, ResourceSelector } from '../../engine/select/index.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import type { Result } from '../../kube/controller.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { ClaimTerms, LostClaim } from '../claims/index.ts';

/** What the hub must remember of an intent, durable before anything is sent. */
export interface IntentRecord {
  readonly dispatchGeneration?: number;
  readonly dispatchDigest?: string;
  readonly dispatchHistory?: readonly string[];
  /** Clusters that may hold objects of it. */
  readonly dispatchedTo?: readonly string[];
  /** What the next decision starts from. */
  readonly decision?: Decision;
  /** What the next division starts from. */
  readonly replicas?: ReplicaRecord;
  /** What of it moves to other clusters by itself. */
  readonly failover?: FailoverRecord;
  /** Selected objects that another intent has. */
  readonly lost?: readonly LostClaim[];
  /** Which version of the intent is in force, where changes wait for its objects. */
  readonly activation?: Activation;
  /** Contents that are kept to go back to: while there are any, something is stored for it. */
  readonly revisions?: readonly RevisionReport[];
  readonly rollout?: RolloutReport;
  /** Where another scheduler wants it, whom its placement names. Written by that scheduler, never by the hub. */
  readonly scheduled?: ScheduledElsewhere;
}

/** An object of which the API server told that it was deleted, and whose own status is all that was remembered of it. */
export interface GoneIntent {
  readonly object: KubeObject;
  readonly record: IntentRecord | undefined;
}

/** The word of a scheduler that is not the hub's. */
export interface ScheduledElsewhere {
  readonly schedulerName: string;
  readonly clusterNames: readonly string[];
}

/** What compiling may ask beside the object itself. */
export interface CompileReading {
  /** All objects of a kind at the hub. Empty while they cannot be had: then what was compiled is not used. */
  objects(apiVersion: string, kind: string): readonly KubeObject[];
  /** The same for a kind that need not be served, since objects only name it: then there are none. */
  named?(apiVersion: string, kind: string): readonly KubeObject[];
  readonly clusters: readonly ClusterFacts[];
}

/** What became of an intent. `observations` has every cluster that it concerns, `summary` their sum. */
export interface IntentFindings extends PropagationFindings {
  readonly observations: readonly ClusterObservation[];
  /** Clusters that are no longer chosen and may still have something of it. */
  readonly removing?: readonly ClusterObservation[];
  /** Clusters that keep what they have although they are chosen, with the reason. */
  readonly blocked?: ReadonlyMap<string, string>;
}

/**
 * Objects of one dialect, as intents. The hub carries intents and knows no dialect: what a dialect's objects ask for, where
 * they are remembered and how they are told what became of them is said here.
 *
 * Keys are `<kind>/<namespace>/<name>`, with `<kind>` as {@link owns} knows it. A source tells the `onChange` that it was
 * opened with of keys whose wish changed; not of status, which is the hub's own.
 */
export interface IntentSource<T extends KubeObject = KubeObject> {
  /** Keeps an object until what it brought is gone from every cluster that has it. */
  readonly finalizer: string;
  /**
   * Set where objects hold what they bring, so that nothing of the hub is read for their authors: their rights to read are not
   * asked for, and an author that is not known is no obstacle here. What a spoke's contract says of authors holds.
   */
  readonly selfContained?: true;
  /** Whether all objects that there are are known. */
  readonly synced: boolean;
  owns(key: string): boolean;
  get(key: string): T | undefined;
  entries(): Iterable<[string, T]>;
  compile(object: T, reading: CompileReading): Compiled;
  /** By what the object claims what it selects; it shares that with everyone where nothing is said. */
  claim?(object: T): Omit<ClaimTerms, 'lost' | 'isSent'> | undefined;
  /** How early it is planned when many wait: the highest first. 0 where nothing is said. */
  schedulePriority?(object: T): number;
  /** Where only what these select may change what an object comes to: others are not asked {@link concernedBy}. */
  reach?(object: T): readonly ResourceSelector[] | undefined;
  /** Whether a change of another object may change what this one comes to. `compiled` is what it came to last. */
  concernedBy(object: T, compiled: Compiled | undefined, changed: KubeObject): boolean;
  /** Who wrote the object last, as the hub's API server knows them; undefined where that is not known. */
  author(object: T): Author | undefined;
  /** Whether what an object brought stays on the clusters, without marks, when the object is deleted. */
  releases?(object: T): boolean;
  /** Why what an object brought must not be taken away yet although the object is being deleted. Its source tells of it. */
  holdsDeletion?(object: T): string | undefined;
  record(object: T): IntentRecord | undefined;
  /** Whether an object that is being deleted stays until clusters that are away have let go of what it brought, too. */
  waitsForAway?(object: T): boolean;
  /** Rejects with 404 where the object is gone. */
  writeRecord(object: T, record: IntentRecord): Promise<void>;
  /** Tells the object what became of it; writes on change only. */
  report(object: T, findings: IntentFindings): Promise<Result | undefined>;
  /** Tells the object that the hub cannot read which clusters there are, and so decides nothing; writes on change only. */
  tellUnread?(object: T): Promise<void>;
  /** A no-op where the object is gone. */
  setFinalizers(object: T, finalizers: readonly string[]): Promise<void>;
  stop(): void;
}
