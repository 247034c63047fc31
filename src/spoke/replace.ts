import type { OwnedObject } from '../engine/dispatch/index.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import { type ObjectRef, refKey } from '../kube/object.ts';
import { StatusError } from '../kube/status-error.ts';
import type { Applied } from './apply.ts';
import { type PruneOptions, prune } from './prune.ts';

type Failed = Extract<Applied, { outcome: 'failed' }>;

/** How API servers say of a field that it stays as it is for as long as the object is there. */
const UNCHANGEABLE =
  /immutable|may not (be )?change|can(not|'t) (be )?change|updates to .* are forbidden|may not be updated/i;
/** What lies in them would go along: nobody gets that by changing a field. */
const CONTAINERS: ReadonlySet<string> = new Set([
  'Namespace',
  'CustomResourceDefinition',
  'PersistentVolume',
  'PersistentVolumeClaim',
]);

/**
 * The fields for which an object that is there was refused, where that is all that was wrong: an API server checks everything
 * else at the same time, so that the same object is taken where none is there.
 */
export function unchangeableFields(error: unknown): readonly string[] | undefined {
  if (!(error instanceof StatusError) || error.code !== 422) return undefined;
  const causes = error.status.details?.causes ?? [];
  if (causes.length === 0 || !causes.every(({ message = '' }) => UNCHANGEABLE.test(message)))
    return undefined;
  return [...new Set(causes.map(({ field = '' }) => field))].filter((field) => field !== '').sort();
}

/** The failure, with what can be done about it. */
export function unchangeable(failed: Failed, ref: ObjectRef, fields: readonly string[]): Failed {
  const at = ref.namespace === '' ? '' : ` -n ${ref.namespace}`;
  const remedy = CONTAINERS.has(ref.kind)
    ? `a ${ref.kind} is never deleted for that; take the change back, or give it another name`
    : `to have it deleted and made anew: spec.apply.replace: WhenImmutable at the hub, or on this cluster: kubectl${at} delete ${ref.kind.toLowerCase()} ${ref.name}`;
  const what = fields.length === 0 ? 'it' : fields.join(', ');
  return {
    ...failed,
    reason: 'Immutable',
    message: `${what} cannot be changed while it is there; ${remedy} (${failed.message})`,
  };
}

export interface Replacing {
  readonly ref: ObjectRef;
  readonly strategy: ApplyStrategy;
  readonly owned: OwnedObject | undefined;
  readonly pruning: PruneOptions;
}

/**
 * Deletes an object that cannot be changed to what it shall be, so that it can be made anew: only one that this spoke made, by UID, and
 * by all the rules of a removal. `undefined` when it is gone; what stands in the way otherwise.
 */
export async function clearForReplacement(
  failed: Failed,
  fields: readonly string[],
  { ref, strategy, owned, pruning }: Replacing,
): Promise<Failed | undefined> {
  const told = unchangeable(failed, ref, fields);
  if (strategy.replace !== 'WhenImmutable' || CONTAINERS.has(ref.kind)) return told;
  if (owned === undefined || owned.uid === '') return told;
  if (owned.preserve === true)
    return { ...told, message: `${told.message}; it is not deleted, since preserveOnDeletion keeps it` };
  const { done, pending } = await prune(pruning, [{ ref, reason: 'it is made anew' }]);
  if (done.some((one) => refKey(one) === refKey(ref))) return undefined;
  const [kept] = pending;
  const isGoing = kept?.word === 'WaitingForRemoval';
  return {
    outcome: 'failed',
    reason: isGoing ? 'Replacing' : (kept?.reason ?? 'Immutable'),
    message: `${fields.join(', ')} cannot be changed, so it is deleted and made anew: ${kept?.message ?? 'it is still there'}`,
    word: kept?.word ?? failed.word,
    ...(kept?.retryAt === undefined ? {} : { retryAt: kept.retryAt }),
  };
}
