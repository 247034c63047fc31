import type { Condition, KubeObject, ObjectRef } from '../../kube/object.ts';
import { digestOf } from '../digest.ts';
import type { HealthState } from '../health/verdict.ts';
import type { ApplyStrategy, Author, DeletionOptions, ObjectStrategy, SourceRef } from '../intent.ts';
import type { ReturnedStatus, ReturnMode } from '../reflect/member-status.ts';
import type { ObjectPatch } from '../render/override.ts';
import type { ObjectWord } from './words.ts';

/** Where everything that the hub writes on a spoke lives. */
export const SYSTEM_NAMESPACE = 'atoll-system';
export const ATOLL_API_VERSION = 'atoll.dev/v1alpha1';
/** On every object that a spoke applies: names the dispatch. An index for watches; it carries no right. */
export const DISPATCH_LABEL = 'atoll.dev/dispatch';
/** On every object that a spoke applies: for people, who asked for it. Goes when the object is released. */
export const MANAGED_BY_ANNOTATION = 'atoll.dev/managed-by';
/** On a Bundle: how long its data are, so that this can be read without them. */
export const BYTES_ANNOTATION = 'atoll.dev/bytes';
/** On a workload: which pod template it has, and how far a change of it is. Written together with the fields that hold it. */
export const WORKLOAD_UPDATE_ANNOTATION = 'atoll.dev/workload-update';

/** An explicit order to delete. Absence never deletes. */
export interface Tombstone {
  readonly ref: ObjectRef;
  readonly reason: string;
  /** Let it stay, without marks. */
  readonly orphan?: boolean;
  readonly deletion?: DeletionOptions;
}

/** Which word of the hub this is. Compared in this order; a spoke never goes back. */
export interface Position {
  /** Identity of the hub's history: another lineage is another hub. */
  readonly lineage: string;
  /** Raised when a hub takes over deliberately, for example after a restore. */
  readonly epoch: number;
  /** Raised with every change of this dispatch's content. */
  readonly generation: number;
}

export interface DispatchSpec {
  readonly source: SourceRef;
  /** Who asks for it, as the hub knows them: the spoke judges it by its contract, and acts with their rights. */
  readonly author?: Author;
  readonly position: Position;
  /** What this generation stands for on the whole fleet: a generation means one content. */
  readonly digest?: string;
  /** `generation:end of digest` of the generations before it, newest first: what this hub remembers having said. */
  readonly history?: readonly string[];
  /** The hub's own objects that this comes from (see `packOrigin`): with them a lost hub is rebuilt. */
  readonly origin?: string;
  /** Digest of the content: the objects before this cluster's patches. */
  readonly revision: string;
  /** Bundles that hold the content, in order. */
  readonly bundles: readonly string[];
  /** What the content holds, so that removals can be told without opening bundles. */
  readonly objects: readonly ObjectRef[];
  readonly patches: readonly ObjectPatch[];
  readonly tombstones: readonly Tombstone[];
  /** How objects are written; server-side apply where nothing is said. */
  readonly apply?: ApplyStrategy;
  /** The same for some of the objects. */
  readonly objectApply?: readonly ObjectStrategy[];
  /** Not to be taken yet: what was accepted before stays and is kept up, nothing of this is carried out, deletions included. */
  readonly hold?: boolean;
  /**
   * What becomes of the objects where this order itself gets lost: where it is deleted on the spoke without an order to, or the spoke
   * is another hub's by now. They are removed so long after; without it they stay and are kept up for good.
   */
  readonly removeWhenLostSeconds?: number;
  /** Objects that only come along with the others: other dispatches may bring the same, which is no conflict. */
  readonly shared?: readonly ObjectRef[];
  /** What of the status of the objects is returned; `Aggregate` where nothing is said. */
  readonly returns?: ReturnMode;
  /** Top-level fields of the objects that are returned beside the status; `*` is all but the metadata. */
  readonly returnFields?: readonly string[];
  /** The hub's public key, base64 of its SPKI. Pinned by the spoke at first contact. */
  readonly publicKey: string;
  /** Ed25519 over the canonical JSON of the rest and the spoke's and the dispatch's names, base64. */
  readonly signature?: string;
}

export interface ObjectState {
  readonly ref: ObjectRef;
  readonly health: HealthState;
  readonly reason: string;
  readonly message: string;
  /** What stands in the way of propagating it; absent where nothing does. */
  readonly word?: ObjectWord;
}

export interface DispatchSummary {
  readonly total: number;
  readonly applied: number;
  readonly healthy: number;
}

/** Written by the spoke only. */
export interface DispatchStatus {
  /** The last position that was accepted. */
  readonly position?: Position;
  /** Digest of revision and patches that are fully applied. */
  readonly appliedRevision?: string;
  readonly appliedGeneration?: number;
  readonly appliedAt?: string;
  readonly summary?: DispatchSummary;
  /** Objects that are not healthy, and failures; the healthy ones are counted only. */
  readonly objects?: readonly ObjectState[];
  /** What is returned of the status of objects, as the order asks; in the order of their keys. */
  readonly returned?: readonly ReturnedStatus[];
  /** Tombstones carried out at `appliedGeneration`. */
  readonly removed?: readonly ObjectRef[];
  readonly conditions?: readonly Condition[];
}

export interface Dispatch extends KubeObject {
  readonly spec: DispatchSpec;
  readonly status?: DispatchStatus;
}

export interface BundleSpec {
  readonly digest: string;
  readonly encoding: 'json+gzip';
  /** Base64 of one part of the compressed content. */
  readonly data: string;
  readonly part: number;
  readonly parts: number;
}

export interface Bundle extends KubeObject {
  readonly spec: BundleSpec;
}

/** What the spoke took upon itself: the accepted word of the hub, and which objects it made, by UID. Written before acting. */
export interface OwnershipRecord extends KubeObject {
  readonly spec: {
    readonly accepted: DispatchSpec;
    readonly owned: readonly OwnedObject[];
    /** Since when the order is lost that says what becomes of its objects then. */
    readonly lostSince?: string;
  };
}

export interface OwnedObject {
  readonly ref: ObjectRef;
  /** Empty until the object was applied for the first time. */
  readonly uid: string;
  /** Noted when the object was accepted, since an order to remove it may come without saying so. */
  readonly preserve?: boolean;
  readonly deletion?: DeletionOptions;
  /** When it was seen to have come to its end by itself: it is left alone since. */
  readonly finished?: string;
}

/** How many earlier generations a hub remembers of each dispatch. */
export const HISTORY_LENGTH = 16;

/** The history after `generation` with `digest` was said. */
export function extendHistory(history: readonly string[], generation: number, digest: string): string[] {
  return [said(generation, digest), ...history].slice(0, HISTORY_LENGTH);
}

/**
 * Whether a hub with this history said something else at `generation` than what a spoke heard: then it was restored from an
 * older state and went on from there. False where the history does not reach back so far.
 */
export function contradicts(
  history: readonly string[] | undefined,
  generation: number,
  digest: string | undefined,
): boolean {
  if (digest === undefined) return false;
  const remembered = history?.find((entry) => entry.startsWith(`${generation}:`));
  return remembered !== undefined && remembered !== said(generation, digest);
}

/** 64 bits of a digest are enough to tell two contents of one generation apart. */
function said(generation: number, digest: string): string {
  return `${generation}:${digest.slice(-16)}`;
}

/** One word for everything that a spoke was told: equal for hub and spoke when the spoke has taken all of it. */
export function fleetRevision(entries: Iterable<{ name: string; generation: number }>): string {
  const sorted = [...entries].map(({ name, generation }) => `${name}@${generation}`).sort();
  return sorted.length === 0 ? '' : digestOf(sorted);
}

/** `spec.generation` order over positions: negative when `a` is older. Undefined when the lineages differ. */
export function comparePositions(a: Position, b: Position): number | undefined {
  if (a.lineage !== b.lineage) return undefined;
  return a.epoch - b.epoch || a.generation - b.generation;
}

/** The name of an intent's dispatch on every spoke: readable, and unique by the UID of its source. */
export function dispatchName(source: Pick<SourceRef, 'kind' | 'namespace' | 'name' | 'uid'>): string {
  const readable = `${source.namespace === '' ? source.kind.toLowerCase() : source.namespace}-${source.name}`
    .slice(0, 48)
    .replace(/[^a-z0-9-]/g, '-');
  return `${readable}-${source.uid.slice(0, 8)}`;
}
