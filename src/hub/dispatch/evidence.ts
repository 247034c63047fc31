import {
  comparePositions,
  contradicts,
  type Dispatch,
  type DispatchSpec,
  type Position,
  type RefusalReason,
} from '../../engine/dispatch/index.ts';
import { applyOn, type Plan } from '../../engine/plan/plan.ts';
import { findCondition } from '../../kube/conditions.ts';
import type { Condition } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';

/** What this hub says to one spoke, as far as it can be held against what it said before. */
export interface OwnWord {
  readonly spoke: string;
  readonly position: Position;
  readonly plan: Plan | undefined;
  readonly history: readonly string[];
}

/** Reasons for which a spoke does not take an order of its hub: it heard more, or something else, before. */
const PASSED: ReadonlySet<string> = new Set<RefusalReason>(['StaleGeneration', 'Diverged']);

/**
 * Why an order proves that this hub was restored from an old state: it cannot have said that as far as it remembers. Only for
 * orders of which this hub's key verified the signature: all else is only said, and one cluster must not stop a whole fleet by
 * saying something.
 */
export function proofOfRestore(signed: DispatchSpec, own: OwnWord): string | undefined {
  const relation = comparePositions(signed.position, own.position);
  const { epoch, generation } = signed.position;
  if (relation === undefined) return undefined;
  if (relation > 0)
    return `the spoke has generation ${generation} of epoch ${epoch}, this hub knows ${own.position.generation} of epoch ${own.position.epoch} only: the hub was restored from an old state`;
  if (epoch !== own.position.epoch) return undefined;
  if (relation === 0 && !asks(signed, own))
    return `the spoke has another content under generation ${generation}: the hub was restored from an old state`;
  if (contradicts(own.history, generation, signed.digest))
    return `the hub does not remember generation ${generation} as the spoke has it: it was restored from an old state and changed since`;
  return undefined;
}

/** Nobody has to show more of what a spoke makes up. */
const LONGEST_CLAIM = 500;

/** What a spoke says of itself that a restored hub would hear. Nobody signed it. */
export function claimOf(present: Dispatch | undefined, own: OwnWord): string | undefined {
  return claimed(present, own)?.slice(0, LONGEST_CLAIM);
}

function claimed(present: Dispatch | undefined, own: OwnWord): string | undefined {
  const there = present?.status?.position;
  if (there && (comparePositions(there, own.position) ?? 0) > 0)
    return `it says that it took generation ${there.generation} of epoch ${there.epoch}, and this hub never said more than generation ${own.position.generation} of epoch ${own.position.epoch}`;
  // An order that was written where someone had deleted the one before says nothing of that, but the spoke remembers it.
  if (present && isPassed(present) && comparePositions(present.spec.position, own.position) === 0)
    return `it does not take generation ${own.position.generation}: ${refusalOf(present)?.message ?? ''}`;
  return undefined;
}

/** What a spoke says of an order that it did not take. */
export function refusalOf(dispatch: Dispatch | undefined): Condition | undefined {
  const accepted = findCondition(dispatch?.status?.conditions, 'Accepted');
  return accepted?.status === 'False' ? accepted : undefined;
}

/** Whether a spoke refuses just this order for what it heard before. */
export function isPassed(dispatch: Dispatch): boolean {
  const refusal = refusalOf(dispatch);
  return (
    refusal !== undefined &&
    PASSED.has(refusal.reason) &&
    refusal.observedGeneration === dispatch.metadata.generation
  );
}

/** Whether a dispatch says what is wanted of a spoke. */
function asks(spec: DispatchSpec, { spoke, plan }: OwnWord): boolean {
  const told = plan && applyOn(plan, spoke);
  return (
    spec.revision === (plan?.revision ?? '') &&
    deepEqual(spec.objects, plan?.objects ?? []) &&
    deepEqual(spec.patches, plan?.patches.get(spoke) ?? []) &&
    deepEqual(spec.apply, told?.apply) &&
    deepEqual(spec.objectApply, told?.objectApply)
  );
}
