import type { KubeObject, ObjectRef } from '../kube/object.ts';
import type { JsonValue } from '../schema/json.ts';
import type { LabelSelector } from '../schema/label-selector.ts';
import type { DivisionOptions } from './divide/index.ts';
import type { FailoverOptions } from './failover/options.ts';
import type { ClusterMatch, Placement } from './place/placement.ts';
import type { ReturnMode } from './reflect/member-status.ts';
import type { RolloutStrategy } from './rollout/strategy.ts';
import type { WorkloadUpdate } from './rollout/workload-update.ts';

export type { ClusterFacts, ClusterMatch, Placement } from './place/placement.ts';

/** Which object of the hub an intent was compiled from. */
export interface SourceRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
}

/** Who wrote an intent last, as the hub's API server knows them. */
export interface Author {
  readonly username: string;
  readonly groups?: readonly string[];
}

/** What someone wants somewhere: every dialect compiles to this, and everything behind it knows nothing else. */
export interface Intent {
  readonly source: SourceRef;
  /** With whose rights it is carried out, here and on every spoke. */
  readonly author?: Author;
  /** Portable objects: free of what belongs to the cluster they were read from. In apply order. */
  readonly objects: readonly KubeObject[];
  readonly placement: Placement;
  readonly overrides: readonly Override[];
  /** How replicas are divided among the clusters; every cluster gets all of them where nothing is said. */
  readonly replicas?: DivisionOptions;
  /** While true nothing is dispatched; what is on the spokes stays. */
  readonly suspend: boolean;
  /** How many objects one change may take away from a cluster by no longer selecting them (`"50%"`, `3`). */
  readonly deletionBudget: number | string;
  /** How many of its clusters may be left at once by no longer being chosen; any number where nothing is said. */
  readonly clusterBudget?: number | string;
  /** Those of the objects that only come along with the others, and may come along with other intents as well. */
  readonly shared?: readonly ObjectRef[];
  /** What of the status of the objects comes back; what is needed to aggregate known kinds where nothing is said. */
  readonly returns?: ReturnMode;
  /** Top-level fields of the objects that come back beside the status; `*` is all but the metadata. */
  readonly returnFields?: readonly string[];
  /** How the objects are written on a spoke; server-side apply where nothing is said. */
  readonly applyStrategy?: ApplyStrategy;
  /** The same for some of the objects. Of several that mean an object each says what those before it left open. */
  readonly objectStrategies?: readonly ObjectStrategy[];
  /** When each cluster gets a new content; all at once where nothing is said. */
  readonly rollout?: RolloutStrategy;
  /** How many contents are kept to go back to; none where neither this nor `rollout` is said. */
  readonly revisionHistoryLimit?: number;
  /** A change of the intent itself is carried out with the next change of its objects. */
  readonly lazy?: boolean;
  /** Clusters that keep what they have. */
  readonly suspendedOn?: readonly string[];
  /** Clusters that are given what is new and do not take it yet. */
  readonly heldOn?: readonly string[];
  /** What becomes of the objects on a spoke where the order itself gets lost; they stay for good where nothing is said. */
  readonly removeWhenLostSeconds?: number;
  /** Nothing is placed anew. */
  readonly keepDecision?: boolean;
  /** Objects of the hub that must be there before anything is sent. */
  readonly waitFor?: readonly ObjectRef[];
  /** When copies move to other clusters by themselves; never where nothing is said. */
  readonly failover?: FailoverOptions;
}

/** How a spoke writes an object, and what becomes of it in the end. */
export interface ApplyStrategy {
  /**
   * `ServerSideApply` (the default) owns the fields that are stated and no others. `Update` replaces the whole object but
   * for what its cluster owns. `CreateOnly` makes an object that is not there and never changes it. `ReadOnly` writes
   * nothing: it only tells how the object is.
   */
  readonly strategy?: 'ServerSideApply' | 'Update' | 'CreateOnly' | 'ReadOnly';
  /** Server-side apply: take fields over from other managers. True by default; with false a conflict is reported. */
  readonly force?: boolean;
  readonly ignoreFields?: readonly IgnoredFields[];
  /** What to do about an object that is there and that nobody's dispatch made: leave it alone (the default) or take it over. */
  readonly adopt?: 'Never' | 'Always';
  /** Leave the number of replicas to the cluster, once the object is there. */
  readonly retainReplicas?: boolean;
  /** Let the object stay, without marks, where it would be removed. */
  readonly preserveOnDeletion?: boolean;
  /** `WhenImmutable`: an object of which a field cannot be changed is deleted and made anew. It is reported otherwise. */
  readonly replace?: 'Never' | 'WhenImmutable';
  readonly deletion?: DeletionOptions;
  /**
   * What to do about an object that comes to an end by itself (a Job, a Pod): from then on it is left alone, even where it is
   * changed or deleted on the cluster, and removed after `ttlSeconds` where that is given. Kept up like any other by default.
   */
  readonly onFinish?: { readonly ttlSeconds?: number };
  /** How the pods of a workload change within a cluster; in the workload's own way where nothing is said. */
  readonly workloadUpdate?: WorkloadUpdate;
}

export interface IgnoredFields {
  /** Left alone as soon as the object is there (`OnPresent`), or as soon as another writer has changed them (`OnChange`). */
  readonly condition: 'OnPresent' | 'OnChange';
  /** Such as `spec.replicas`, `spec.template.spec.containers[*].image` or `/spec/replicas`. */
  readonly paths: readonly string[];
}

/** How an object is deleted, as `kubectl delete` has it. */
export interface DeletionOptions {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
}

export interface ObjectStrategy extends ApplyStrategy {
  readonly target: OverrideTarget;
}

/**
 * A change of selected objects on some clusters. Overrides are applied in their order, and later ones see what earlier ones did; the
 * parts of one in the order in which they stand here, so that the patch has the last word.
 */
export interface Override extends ClusterMatch {
  /** For people: dispatches and plans say it beside what it changes. */
  readonly name?: string;
  readonly target?: OverrideTarget;
  /** Set where it stands in a policy apart from the intent. */
  readonly policy?: PolicyOrigin;
  readonly images?: readonly ImageOverride[];
  readonly imageParts?: readonly ImagePartOverride[];
  readonly command?: readonly WordsOverride[];
  readonly args?: readonly WordsOverride[];
  readonly labels?: EntriesOverride;
  readonly annotations?: EntriesOverride;
  readonly patch?: readonly PatchOperation[];
}

/** The policy that an override stands in. What such an override finds nothing of is no mistake: it was written for many. */
export interface PolicyOrigin {
  /** Its kind and name, for people. */
  readonly name: string;
  /** What it means of the intent: no other object is touched. */
  readonly objects: readonly ObjectRef[];
  /** Clusters that it does not mean, whatever else it says of clusters. */
  readonly exceptOn?: readonly string[];
}

/** Which objects an override changes; all of the intent's where nothing is given. */
export interface OverrideTarget {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  /** '' means objects that are in none; any where nothing is said. */
  readonly namespace?: string;
  readonly labelSelector?: LabelSelector;
}

/** RFC 6902, with values that depend on the cluster, and with changes inside of documents that are strings. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test' | 'edit';
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
  /** CEL over `cluster` that gives the value, instead of `value`. Where the cluster changes, it is evaluated again there. */
  readonly expression?: string;
  /** Of `edit`: how the string at `path` is to be read. */
  readonly format?: 'json' | 'yaml';
  /** Of `edit`: what to change in it, `add`, `remove`, `replace` and `test`, with paths of the document inside. */
  readonly operations?: readonly PatchOperation[];
}

/** Replaces parts of images, in every container of the targets. */
export interface ImageOverride {
  /** Repository to look for, without tag; `*` is every image. */
  readonly name: string;
  readonly newName?: string;
  /** Registry to use instead: put before a name that has none; '' takes it off. */
  readonly newRegistry?: string;
  /** '' takes it off. */
  readonly newTag?: string;
  readonly digest?: string;
}

/** Changes one part of images as it is written there: of one image where a path is given, of every container's otherwise. */
export interface ImagePartOverride {
  readonly part: 'Registry' | 'Repository' | 'Tag';
  /** `add` puts the value at the end of the part. The tag is the digest where an image has one. */
  readonly op: 'add' | 'replace' | 'remove';
  readonly value?: string;
  readonly path?: string;
}

/** Changes the command or the arguments of a container. */
export interface WordsOverride {
  /** Its name; every container where nothing is said. */
  readonly container?: string;
  /** Every word that is one of these goes. */
  readonly remove?: readonly string[];
  /** Comes at the end. */
  readonly add?: readonly string[];
}

/** Changes labels or annotations of the object itself. */
export interface EntriesOverride {
  readonly remove?: readonly string[];
  /** Only where the key is there. */
  readonly replace?: Readonly<Record<string, string>>;
  readonly add?: Readonly<Record<string, string>>;
}
