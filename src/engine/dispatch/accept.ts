import { refKey } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import { comparePositions, contradicts, type DispatchSpec } from './dispatch.ts';
import { verifyDispatch } from './signature.ts';

/** Which hub a spoke belongs to. Pinned when the spoke joins; only the spoke's owner changes it. */
export interface HubTrust {
  readonly lineage: string;
  readonly publicKey: string;
}

export type Verdict =
  | { readonly verdict: 'accept' }
  /** The word that was accepted already. */
  | { readonly verdict: 'known' }
  | { readonly verdict: 'refuse'; readonly reason: RefusalReason; readonly message: string };

export type RefusalReason = 'BadSignature' | 'AnotherHub' | 'StaleGeneration' | 'Diverged';

/**
 * Whether a spoke takes a dispatch. It takes no word of another hub, none that is not signed for it, and none older than
 * the one it took before: a hub restored from a backup can neither roll it back nor delete.
 */
export function judgeDispatch(
  spoke: string,
  name: string,
  spec: DispatchSpec,
  trust: HubTrust | undefined,
  accepted: DispatchSpec | undefined,
  verify: typeof verifyDispatch = verifyDispatch,
): Verdict {
  if (
    trust !== undefined &&
    (trust.lineage !== spec.position.lineage || trust.publicKey !== spec.publicKey)
  ) {
    return {
      verdict: 'refuse',
      reason: 'AnotherHub',
      message: `this spoke belongs to hub ${trust.lineage.slice(0, 8)}, the dispatch is of hub ${spec.position.lineage.slice(0, 8)}. To hand the spoke over, on the spoke: atoll takeover`,
    };
  }
  if (!verify(trust?.publicKey ?? spec.publicKey, spoke, name, spec)) {
    return {
      verdict: 'refuse',
      reason: 'BadSignature',
      message: `the signature does not fit: it was not signed by its hub for spoke ${spoke}, or was changed since`,
    };
  }
  if (accepted === undefined) return { verdict: 'accept' };
  const order = comparePositions(spec.position, accepted.position);
  if (order === undefined) return { verdict: 'accept' };
  if (order === 0) {
    if (asksTheSame(spec, accepted))
      return ordersMoreAway(spec, accepted) ? { verdict: 'accept' } : { verdict: 'known' };
    return {
      verdict: 'refuse',
      reason: 'StaleGeneration',
      message: `generation ${spec.position.generation} was accepted before with another content`,
    };
  }
  const { epoch, generation } = accepted.position;
  if (epoch === spec.position.epoch && contradicts(spec.history, generation, accepted.digest)) {
    return {
      verdict: 'refuse',
      reason: 'Diverged',
      message: `the hub does not remember generation ${generation} as it was accepted here: it was restored from an old state and changed since. At the hub, look at \`atoll diff\`, then: atoll hub confirm`,
    };
  }
  if (order > 0) return { verdict: 'accept' };
  return {
    verdict: 'refuse',
    reason: 'StaleGeneration',
    message: `generation ${accepted.position.generation} was accepted before, this is ${spec.position.generation}: the hub may have been restored from an old state`,
  };
}

/** The hub learned of something that is left here and that nobody wants: it names it in the same word. */
function ordersMoreAway(spec: DispatchSpec, accepted: DispatchSpec): boolean {
  const named = new Set(accepted.tombstones.map(({ ref }) => refKey(ref)));
  return spec.tombstones.some(({ ref }) => !named.has(refKey(ref)));
}

/**
 * Whether two words want the same objects. Their tombstones may differ: a hub that writes a dispatch again after someone
 * deleted it on the spoke no longer knows them, and those that were accepted stay in force.
 */
function asksTheSame(a: DispatchSpec, b: DispatchSpec): boolean {
  return (
    a.signature === b.signature ||
    (a.revision === b.revision &&
      deepEqual(a.objects, b.objects) &&
      deepEqual(a.patches, b.patches) &&
      deepEqual(a.apply, b.apply) &&
      deepEqual(a.objectApply, b.objectApply))
  );
}
