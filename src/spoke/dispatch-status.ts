import type { DispatchStatus, ObjectState } from '../engine/dispatch/index.ts';
import { contestedForMs, isContested } from '../engine/drift/back-off.ts';
import { setCondition } from '../kube/conditions.ts';
import { type Condition, refKey, refText } from '../kube/object.ts';
import type { Clock } from '../runtime/clock.ts';
import { jsonText } from '../schema/json-text.ts';
import type { Held, LocalState, Refusal } from './held.ts';
import type { PendingRemoval } from './prune.ts';

/** Objects that are not as they should be, for status; healthy ones are only counted. */
function troubled(held: Held, clock: Clock): ObjectState[] {
  const out: ObjectState[] = [];
  for (const state of held.states.values()) {
    const { ref, failure, waiting, health } = state;
    if (failure) {
      const { reason, message, word, retryAt } = failure;
      out.push({ ref, health: retryAt === undefined ? 'Degraded' : 'Progressing', reason, message, word });
    } else if (waiting) out.push({ ref, health: 'Progressing', ...waiting });
    else if (isContested(state.corrections, clock.monotonic())) {
      out.push({ ref, health: 'Degraded', reason: 'Contested', message: contestedText(state) });
    } else if (health.state !== 'Healthy')
      out.push({ ref, health: health.state, reason: health.reason, message: health.message });
  }
  for (const { ref, message, word, reason = 'Removing' } of held.pendingRemovals)
    out.push({ ref, health: 'Progressing', reason, message, word });
  return out.sort((a, b) => (refKey(a.ref) < refKey(b.ref) ? -1 : 1));
}

function contestedText({ rival, corrections }: LocalState): string {
  const who = rival === undefined ? 'another writer' : `field manager ${rival}`;
  return `${who} keeps changing it: corrected ${corrections.length} times in a row; stop that writer, or leave the fields to it with spec.apply.ignoreFields`;
}

/** Most objects that a status names: it must stay small however large the dispatch is. */
const MAX_LISTED = 50;

/** The status that a spoke writes on a dispatch. Equal for equal states, so that an unchanged one need not be written. */
export function statusOf(held: Held, previous: DispatchStatus | undefined, clock: Clock): DispatchStatus {
  const failures = [...held.states.values()].filter((state) => state.failure !== undefined);
  const objects = troubled(held, clock);
  const healthyCount = held.states.size - objects.filter(({ ref }) => held.states.has(refKey(ref))).length;
  let conditions: Condition[] = [...(previous?.conditions ?? [])];
  const set = (type: string, ok: boolean | undefined, reason: string, message: string): void => {
    const status = ok === undefined ? 'Unknown' : ok ? 'True' : 'False';
    conditions = setCondition(conditions, { type, status, reason, message }, clock.now()).conditions;
  };
  if (held.refusal) conditions = withRefusal(conditions, held.refusal, clock.now());
  else set('Accepted', true, 'Accepted', `generation ${held.accepted.position.generation} is accepted`);
  const firstFailure = failures.find(({ failure }) => failure?.word !== 'ContractRefused') ?? failures[0];
  const waiting = [...held.states.values()].find((state) => state.waiting !== undefined);
  if (held.missing !== undefined) set('Applied', false, 'ContentMissing', held.missing);
  else if (held.problems.length > 0) set('Applied', false, 'RenderFailed', problemText(held.problems));
  else if (firstFailure?.failure) {
    const more = failures.length > 1 ? ` (and ${failures.length - 1} more objects)` : '';
    set(
      'Applied',
      false,
      firstFailure.failure.word === 'ContractRefused' ? 'ContractRefused' : 'ApplyFailed',
      `${firstFailure.ref.kind} ${firstFailure.ref.name}: ${firstFailure.failure.message}${more}`,
    );
  } else if (waiting?.waiting)
    set('Applied', false, 'Applying', `${refText(waiting.ref)}: ${waiting.waiting.message}`);
  else if (held.complete) set('Applied', true, 'Applied', `all ${held.states.size} objects are applied`);
  else if (held.pendingRemovals.length > 0)
    set('Applied', false, 'Applying', removalText(held.pendingRemovals));
  else set('Applied', false, 'Applying', 'objects are being applied');
  const refused = objects.filter(({ word }) => word === 'ContractRefused');
  const [keptBack] = refused;
  if (keptBack) {
    const more = refused.length > 1 ? ` (and ${refused.length - 1} more objects)` : '';
    const { reason, message, ref } = keptBack;
    set('Permitted', false, 'ContractRefused', `${refText(ref)}: ${reason}: ${message}${more}`);
  } else if (conditions.some(({ type }) => type === 'Permitted'))
    set('Permitted', true, 'Permitted', 'the contract of the cluster allows all of it');
  const bad = objects.find((object) => object.health === 'Degraded') ?? objects[0];
  const contested = objects.filter((object) => object.reason === 'Contested');
  const [first] = contested;
  if (first) {
    const more = contested.length > 1 ? ` (and ${contested.length - 1} more objects)` : '';
    set('Contested', true, 'OtherWriter', `${refText(first.ref)}: ${first.message}${more}`);
  } else if (conditions.some(({ type }) => type === 'Contested'))
    set('Contested', false, 'Settled', 'no other writer changes what is applied');
  if (bad) set('Healthy', false, bad.reason, `${bad.ref.kind} ${bad.ref.name}: ${bad.message}`);
  else set('Healthy', true, 'Healthy', 'all objects are healthy');
  return {
    position: held.accepted.position,
    ...(held.appliedGeneration === undefined ? {} : { appliedGeneration: held.appliedGeneration }),
    ...(held.complete
      ? { appliedRevision: held.accepted.revision }
      : previous?.appliedRevision === undefined
        ? {}
        : { appliedRevision: previous.appliedRevision }),
    ...(held.appliedAt === undefined ? {} : { appliedAt: held.appliedAt }),
    summary: {
      total: held.states.size,
      applied: held.states.size - failures.length - [...held.states.values()].filter(isWaiting).length,
      healthy: healthyCount,
    },
    objects: objects.slice(0, MAX_LISTED),
    ...returnedOf(held),
    removed: [...held.removed].sort((a, b) => (refKey(a) < refKey(b) ? -1 : 1)),
    conditions,
  };
}

/** A status is an object of the API server as well, which has its bounds. */
const MAX_RETURNED = 512 * 1024;

/** Absent where there is nothing, as it was before anything was returned. */
function returnedOf({ states }: Held): Pick<DispatchStatus, 'returned'> {
  const returned = [...states.values()].flatMap((state) => state.returned ?? []);
  if (returned.length === 0) return {};
  returned.sort((a, b) => (refKey(a.ref) < refKey(b.ref) ? -1 : 1));
  let size = 0;
  return {
    returned: returned.map((item) => {
      size += jsonText(item.status).length + (item.fields ? jsonText(item.fields).length : 0);
      if (size <= MAX_RETURNED) return item;
      const { fields: _fields, ...rest } = item;
      return { ...rest, status: {}, truncated: true };
    }),
  };
}

function isWaiting({ failure, waiting }: LocalState): boolean {
  return failure === undefined && waiting !== undefined;
}

/** Problems that are told of what cannot be rendered: an override may be about all objects. */
const MAX_PROBLEMS = 5;

function problemText(problems: readonly string[]): string {
  const more = problems.length - MAX_PROBLEMS;
  return `${problems.slice(0, MAX_PROBLEMS).join('; ')}${more > 0 ? ` (and ${more} more problems)` : ''}`;
}

function removalText(pending: readonly PendingRemoval[]): string {
  const [first] = pending;
  if (first === undefined) return '';
  const rest = pending.length > 1 ? ` (${pending.length} objects are still going)` : '';
  return `${refText(first.ref)} is still there: ${first.message}${rest}`;
}

/** The status of a dispatch of which nothing was ever accepted. */
export function refusedStatus(
  previous: DispatchStatus | undefined,
  refusal: Refusal,
  now: number,
): DispatchStatus {
  return { ...previous, conditions: withRefusal(previous?.conditions, refusal, now) };
}

function withRefusal(
  conditions: readonly Condition[] | undefined,
  refusal: Refusal,
  now: number,
): Condition[] {
  return setCondition(conditions, { type: 'Accepted', status: 'False', ...refusal }, now).conditions;
}

/** When the status changes by itself next, because a fight over an object is over; undefined where there is none. */
export function contestedMs(held: Held, clock: Clock): number | undefined {
  const waits = [...held.states.values()].map((state) =>
    contestedForMs(state.corrections, clock.monotonic()),
  );
  const longest = Math.max(0, ...waits);
  return longest > 0 ? longest : undefined;
}
