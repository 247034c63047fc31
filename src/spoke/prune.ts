import { type ContractRefusal, refusalText } from '../engine/contract/index.ts';
import {
  DISPATCH_LABEL,
  type ObjectWord,
  type OwnedObject,
  type Tombstone,
} from '../engine/dispatch/index.ts';
import { compareForApply, kindRank } from '../engine/order/kind-rank.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import { DeadlineExceeded, within } from '../kube/deadline.ts';
import { gvkOf, type KubeObject, type ObjectRef, refKey, refOf, refText } from '../kube/object.ts';
import { hasCode, ignoring, StatusError } from '../kube/status-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import { keptInside } from './contract/index.ts';
import { inhabitantOf, type OwnerOf } from './foreign-content.ts';
import { release } from './marks.ts';
import { DELETION_PROTECTED, isKeptFrom, isProtected, untouchable } from './protected.ts';
import { SPOKE_MANAGER } from './write.ts';

/** An object that was ordered to go and is still there, for example because of a finalizer. */
export interface PendingRemoval {
  readonly ref: ObjectRef;
  readonly message: string;
  readonly word: ObjectWord;
  /** One word for what stands in the way; `Removing` where it is left out. */
  readonly reason?: string;
  /** When it may go, milliseconds since the epoch, where the contract says. */
  readonly retryAt?: number;
}

export interface Pruned {
  /** Gone, released, or never ours: no longer owned. */
  readonly done: readonly ObjectRef[];
  readonly pending: readonly PendingRemoval[];
}

export interface PruneOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly dispatch: string;
  readonly owned: ReadonlyMap<string, OwnedObject>;
  /** Objects that another dispatch wants, by key: `true` for those that it has by now, otherwise why they wait for it. */
  readonly handed?: ReadonlyMap<string, true | string>;
  /** The API with the rights of whoever acts for the author; `client` where it is left out. */
  readonly acting?: Client;
  /** What the contract of the cluster's owner says just before an object is deleted. */
  readonly refusal?: (ref: ObjectRef, live: KubeObject) => ContractRefusal | undefined;
  /** Whose an object is that lies in a namespace; by its mark where it is left out. */
  readonly ownerOf?: OwnerOf;
  /** Whether a namespace waits for another dispatch that still wants something in it: that may be about to let it go, too. */
  readonly patient?: boolean;
}

const DEADLINE_MS = 30_000;
const PARALLEL_DELETES = 8;

/**
 * Carries out tombstones in the reverse of apply order; what was made first goes when all that was made later is gone, so
 * that the controller that has to clean up after an object outlives it. Only objects that this spoke made are deleted: one
 * that someone else put in the same place stays. What it made it knows by UID; where it stopped between making an object,
 * the first time or anew, and noting its UID, by the mark that it put on it.
 */
export async function prune(options: PruneOptions, tombstones: readonly Tombstone[]): Promise<Pruned> {
  const done: ObjectRef[] = [];
  const pending: PendingRemoval[] = [];
  const order = [...tombstones].sort((a, b) => compareForApply(b.ref, a.ref));
  for (let start = 0; start < order.length; ) {
    const rank = kindRank(order[start]?.ref.kind ?? '');
    let end = start + 1;
    while (end < order.length && kindRank(order[end]?.ref.kind ?? '') === rank) end += 1;
    const holder = pending.find(({ word }) => word !== 'ContractRefused');
    if (holder !== undefined) {
      const message = `it goes after ${refText(holder.ref)}, which is still there`;
      for (const { ref } of order.slice(start, end))
        if (options.owned.has(refKey(ref))) pending.push({ ref, message, word: 'WaitingForRemoval' });
        else done.push(ref);
    } else
      for (let next = start; next < end; next += PARALLEL_DELETES) {
        const batch = order.slice(next, Math.min(end, next + PARALLEL_DELETES));
        const results = await Promise.all(
          batch.map((tombstone) => heldBy(options, pending, tombstone) ?? remove(options, tombstone)),
        );
        results.forEach((result, index) => {
          const ref = batch[index]?.ref;
          if (result !== undefined) pending.push(result);
          else if (ref) done.push(ref);
        });
      }
    start = end;
  }
  return { done, pending };
}

/** What the contract keeps must not go with its namespace, or with the definition of its kind. */
function heldBy(
  { owned }: PruneOptions,
  pending: readonly PendingRemoval[],
  { ref }: Tombstone,
): PendingRemoval | undefined {
  if (!owned.has(refKey(ref))) return undefined;
  const isNamespace = ref.kind === 'Namespace' && ref.apiVersion === 'v1';
  if (!isNamespace && ref.kind !== 'CustomResourceDefinition') return undefined;
  const kept = pending.find(({ word, ref: one }) => {
    if (word !== 'ContractRefused') return false;
    return isNamespace ? one.namespace === ref.name : ref.name.endsWith(`.${gvkOf(one).group}`);
  });
  if (!kept) return undefined;
  const message = `it would take ${refText(kept.ref)} along, which the contract of the cluster keeps`;
  return {
    ref,
    message,
    word: 'ContractRefused',
    ...(kept.retryAt === undefined ? {} : { retryAt: kept.retryAt }),
  };
}

/** Removes one object. `undefined` when nothing is left to do about it. Never throws. */
async function remove(options: PruneOptions, tombstone: Tombstone): Promise<PendingRemoval | undefined> {
  const { ref } = tombstone;
  const claimed = options.owned.get(refKey(ref));
  if (claimed === undefined || untouchable(ref) !== undefined) return undefined;
  const releasing =
    tombstone.orphan === true || (tombstone.orphan === undefined && claimed.preserve === true);
  try {
    const handed = options.handed?.get(refKey(ref));
    if (handed === true) return undefined;
    if (handed !== undefined) return { ref, message: handed, word: 'WaitingForRemoval' };
    return await within(options.clock, DEADLINE_MS, (signal) =>
      removeOnce(options, tombstone, claimed, releasing, signal),
    );
  } catch (error) {
    // Gone, or its kind is gone.
    if (hasCode(error, 404)) return undefined;
    const late = error instanceof DeadlineExceeded;
    const word = releasing
      ? late
        ? 'LabelRemovalTimedOut'
        : 'LabelRemovalFailed'
      : late
        ? 'DeletionTimedOut'
        : 'DeletionFailed';
    return { ref, message: error instanceof StatusError ? error.message : errorText(error), word };
  }
}

async function removeOnce(
  options: PruneOptions,
  tombstone: Tombstone,
  claimed: OwnedObject,
  releasing: boolean,
  signal: AbortSignal,
): Promise<PendingRemoval | undefined> {
  const { ref } = tombstone;
  const { dispatch, acting: client = options.client } = options;
  const { resource, live } = await find(client, ref, signal);
  const { uid } = live.metadata;
  if (!isMade(live, claimed, dispatch) || isKeptFrom(live)) return undefined;
  if (releasing) {
    await release(options.client, resource, live, signal);
    return undefined;
  }
  if (live.metadata.deletionTimestamp === undefined) {
    if (isProtected(live)) return { ref, message: protectedText(ref), word: 'DeletionFailed' };
    const refusal = await refusalOf(options, live, signal);
    if (refusal) return { ref, ...refusal };
    const inhabited = ref.kind === 'Namespace' ? await inhabitedBy(options, ref, signal) : undefined;
    if (inhabited !== undefined && inhabited !== 'for good') return inhabited;
    if (inhabited !== undefined) {
      // It has become somebody's home: taking it away would take along what no order speaks of.
      await release(options.client, resource, live, signal);
      return undefined;
    }
    await remover(client, resource, live, tombstone, claimed, signal);
  }
  const left = await client.get(resource, ref.namespace, ref.name, { signal });
  if (left.metadata.uid !== uid) return undefined;
  return { ref, message: holdingText(left), word: 'WaitingForRemoval' };
}

/** The UID of an object that a spoke made and stopped before it noted that; undefined where there is none. */
export async function unnotedUid(
  options: Pick<PruneOptions, 'client' | 'acting' | 'clock' | 'dispatch'>,
  claimed: OwnedObject,
): Promise<string | undefined> {
  const { clock, dispatch, acting: client = options.client } = options;
  try {
    const { live } = await within(clock, DEADLINE_MS, (signal) => find(client, claimed.ref, signal));
    return isMade(live, claimed, dispatch) ? live.metadata.uid : undefined;
  } catch (error) {
    if (hasCode(error, 404)) return undefined;
    throw error;
  }
}

/** Whether somebody else lives in a namespace, or what it waits for until that is known. */
async function inhabitedBy(
  { client, dispatch, patient, ownerOf = byMark }: PruneOptions,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<PendingRemoval | 'for good' | undefined> {
  const inhabitant = await inhabitantOf(client, ref.name, dispatch, ownerOf, signal);
  if (inhabitant === undefined) return undefined;
  if (inhabitant.stays || (inhabitant.wants && patient !== true)) return 'for good';
  const message = `dispatch ${inhabitant.dispatch} has ${inhabitant.text} in it`;
  return { ref, message, word: 'WaitingForRemoval' };
}

function byMark({ metadata }: KubeObject): ReturnType<OwnerOf> {
  const dispatch = metadata.labels?.[DISPATCH_LABEL];
  return dispatch === undefined ? undefined : { dispatch, wants: false };
}

/** The object of an order, also where its cluster serves the kind in other versions by now. Throws a 404 where it is gone. */
async function find(
  client: Client,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<{ resource: ResourceId; live: KubeObject }> {
  const readIn = async (apiVersion: string): Promise<{ resource: ResourceId; live: KubeObject }> => {
    const resource = await client.resourceFor(apiVersion, ref.kind);
    return { resource, live: await client.get(resource, ref.namespace, ref.name, { signal }) };
  };
  try {
    return await readIn(ref.apiVersion);
  } catch (error) {
    const { group } = gvkOf(ref);
    // Of an object that is not there its name is told, of a kind or a version that is not served none.
    if (!hasCode(error, 404) || group === '' || error.status.details?.name !== undefined) throw error;
    const known = await client.getJson<ApiGroup>(`/apis/${group}`, { signal });
    for (const { groupVersion = ref.apiVersion } of known.versions ?? []) {
      if (groupVersion === ref.apiVersion) continue;
      try {
        return await readIn(groupVersion);
      } catch (other) {
        if (!hasCode(other, 404)) throw other;
      }
    }
    throw error;
  }
}

interface ApiGroup {
  readonly versions?: readonly { readonly groupVersion?: string }[];
}

/** Whether a spoke made what is there for a dispatch; also where it could not note that, the first time or once more. */
function isMade({ metadata }: KubeObject, { uid }: OwnedObject, dispatch: string): boolean {
  if (uid !== '' && metadata.uid === uid) return true;
  if (metadata.labels?.[DISPATCH_LABEL] !== dispatch) return false;
  // Instead of one that was made before there may be a copy of somebody else, whose mark is copied too.
  return uid === '' || metadata.managedFields?.some(({ manager }) => manager === SPOKE_MANAGER) === true;
}

async function refusalOf(
  { client, refusal }: PruneOptions,
  live: KubeObject,
  signal: AbortSignal,
): Promise<Omit<PendingRemoval, 'ref'> | undefined> {
  if (!refusal) return undefined;
  const found = refusal(refOf(live), live);
  const inside = found ? undefined : await keptInside(client, live, refusal, signal);
  if (!found && !inside) return undefined;
  const word = 'ContractRefused';
  if (inside) {
    const message = `it would take ${refText(inside.ref)} along; ${refusalText(inside.refusal)}`;
    return { word, reason: inside.refusal.reason, message };
  }
  return (
    found && {
      word,
      reason: found.reason,
      message: refusalText(found),
      ...(found.retryAt === undefined ? {} : { retryAt: found.retryAt }),
    }
  );
}

async function remover(
  client: Client,
  resource: ResourceId,
  live: KubeObject,
  tombstone: Tombstone,
  claimed: OwnedObject,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '', name = '', uid = '' } = live.metadata;
  const { propagationPolicy = 'Background', gracePeriodSeconds } =
    tombstone.deletion ?? claimed.deletion ?? {};
  // Another object is in its place by now: that is seen when it is read again.
  await ignoring(
    409,
    client.delete(resource, namespace, name, {
      preconditions: { uid },
      propagationPolicy,
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      signal,
    }),
  );
}

function protectedText(ref: ObjectRef): string {
  const at = ref.namespace === '' ? '' : ` -n ${ref.namespace}`;
  return `it is protected by ${DELETION_PROTECTED}; to let it go: kubectl${at} label ${ref.kind.toLowerCase()} ${ref.name} ${DELETION_PROTECTED}- (or annotate, where it is an annotation)`;
}

/** What holds an object that is being deleted. */
function holdingText({ metadata }: KubeObject): string {
  const { finalizers = [], deletionGracePeriodSeconds } = metadata;
  if (finalizers.includes('foregroundDeletion')) return 'it waits until the objects that it owns are gone';
  if (finalizers.length > 0)
    return `it waits for its finalizers: ${finalizers.join(', ')}; whoever put them there has to take them off`;
  const grace = deletionGracePeriodSeconds ?? 0;
  return grace > 0 ? `it has ${grace} s to end` : 'it is being deleted';
}
