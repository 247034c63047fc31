import type { PropagationFindings } from '../../dialects/propagation/report.ts';
import type { Compiled } from '../../engine/compiled.ts';
import type { Author, ClusterFacts } from '../../engine/intent.ts';
import type { Decision } from '../../engine/place/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import type { Result } from '../../kube/controller.ts';
import type { KubeObject } from '../../kube/object.ts';

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
}

/** What compiling may ask beside the object itself. */
export interface CompileReading {
  /** All objects of a kind at the hub. Empty while they cannot be had: then what was compiled is not used. */
  objects(apiVersion: string, kind: string): readonly KubeObject[];
  readonly clusters: readonly ClusterFacts[];
}

/** What became of an intent. `observations` has every cluster that it concerns, `summary` their sum. */
export interface IntentFindings extends PropagationFindings {
  readonly observations: readonly ClusterObservation[];
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
  /** Whether all objects that there are are known. */
  readonly synced: boolean;
  owns(key: string): boolean;
  get(key: string): T | undefined;
  entries(): Iterable<[string, T]>;
  compile(object: T, reading: CompileReading): Compiled;
  /** Whether a change of another object may change what this one comes to. `compiled` is what it came to last. */
  concernedBy(object: T, compiled: Compiled | undefined, changed: KubeObject): boolean;
  /** Who wrote the object last, as the hub's API server knows them; undefined where that is not known. */
  author(object: T): Author | undefined;
  record(object: T): IntentRecord | undefined;
  /** Rejects with 404 where the object is gone. */
  writeRecord(object: T, record: IntentRecord): Promise<void>;
  /** Tells the object what became of it; writes on change only. */
  report(object: T, findings: IntentFindings): Promise<Result | undefined>;
  /** A no-op where the object is gone. */
  setFinalizers(object: T, finalizers: readonly string[]): Promise<void>;
  stop(): void;
}
