import type {
  DispatchSpec,
  DispatchStatus,
  ObjectState,
  ObjectWord,
  OwnedObject,
} from '../engine/dispatch/index.ts';
import { contestedForMs, isContested } from '../engine/drift/back-off.ts';
import type { Health } from '../engine/health/health.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import { type ReturnedStatus, returnedStatus } from '../engine/reflect/index.ts';
import type { LocalFacts } from '../engine/render/local-facts.ts';
import type { KindRule } from '../engine/rules/index.ts';
import { setCondition } from '../kube/conditions.ts';
import type { Change } from '../kube/informer.ts';
import { type Condition, type KubeObject, type ObjectRef, refKey, refText } from '../kube/object.ts';
import { type Clock, formatTime } from '../runtime/clock.ts';
import { deepEqual } from '../schema/json.ts';
import { jsonText } from '../schema/json-text.ts';
import type { PendingRemoval } from './prune.ts';
import type { PreparedUpdate } from './workload-updates.ts';

/** Why a word of the hub was not taken. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
  /** Which spec of the Dispatch was refused: the hub may have written another one since. */
  readonly observedGeneration: number;
}

/** A dispatch as the spoke holds it: what it accepted, and how far it is. In memory; the durable part is the ownership record. */
export interface Held {
  readonly name: string;
  accepted: DispatchSpec;
  /** By object key. */
  readonly owned: Map<string, OwnedObject>;
  /** Rendered objects by key: what shall be. */
  wanted: ReadonlyMap<string, KubeObject>;
  /** How each of them is written, by key. */
  readonly strategies: ReadonlyMap<string, ApplyStrategy>;
  /** What could not be rendered. */
  problems: readonly string[];
  /** What was known of the cluster when it was rendered. */
  readonly facts?: LocalFacts | undefined;
  /** Why the content is not here; `wanted` is empty then and says nothing. */
  readonly missing: string | undefined;
  /** What it made of its order and does not give away while the content is not here, or cannot be computed, by key. */
  claims: ReadonlySet<string>;
  /** Why a newer word of the hub was not taken. */
  refusal: Refusal | undefined;
  readonly states: Map<string, LocalState>;
  pendingRemovals: readonly PendingRemoval[];
  /** When this word was taken, on the monotonic clock. */
  readonly acceptedAt: number;
  removed: readonly ObjectRef[];
  /** Whether everything of `accepted` was carried out. */
  complete: boolean;
  appliedGeneration: number | undefined;
  appliedAt: string | undefined;
  /** Attempts since the last success, for back-off. */
  attempts: number;
}

/** How one object of a dispatch is doing. */
export interface LocalState {
  readonly ref: ObjectRef;
  failure: { reason: string; message: string; word: ObjectWord; retryAt?: number } | undefined;
  /** What it has to wait for before it is applied. */
  waiting: { reason: string; message: string } | undefined;
  /** Whether it was applied as it is wanted now: only what was not is applied when the dispatch is tried again. */
  settled: boolean;
  /** Whether another dispatch makes it, as it is wanted here. */
  lookingOn?: boolean;
  /** The manager that changed it last against what is wanted. */
  rival: string | undefined;
  health: Health;
  /** A workload whose change is looked after, as it was written last. */
  update?: PreparedUpdate | undefined;
  /** What is returned of its status. */
  returned?: ReturnedStatus | undefined;
  /** Of the object as it was applied last. */
  fingerprint: string;
  /** Of the object as it was seen last, '' where it was gone: what an apply is measured against. */
  seenFingerprint: string;
  /** resourceVersion of the object as it was applied last. */
  revision: number;
  /** Applies under way. */
  applying: number;
  /** The newest change that came meanwhile. */
  seen: Change | undefined;
  /** When it was corrected in a row, on the monotonic clock. */
  corrections: readonly number[];
  /** Corrections that failed since the last that did not, for back-off. */
  attempts: number;
}

export function newState(ref: ObjectRef): LocalState {
  return {
    ref,
    failure: undefined,
    waiting: undefined,
    settled: false,
    rival: undefined,
    health: { state: 'Progressing', reason: 'Applying', message: 'it is being applied' },
    fingerprint: '',
    seenFingerprint: '',
    revision: 0,
    applying: 0,
    seen: undefined,
    corrections: [],
    attempts: 0,
  };
}

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

/** Notes what an object that was seen has to return. True where that is something else than before. */
export function noteReturned(
  { accepted }: Held,
  state: LocalState,
  live: KubeObject,
  rule: KindRule | undefined,
): boolean {
  const whole = rule?.aggregate !== undefined;
  const { returns = 'Aggregate', returnFields } = accepted;
  // Until it was applied, or read, for its author, no content of an object is told.
  if (returnFields && !state.settled) return false;
  const returned = returnedStatus(live, state.health.state, returns, whole, returnFields);
  if (deepEqual(returned, state.returned)) return false;
  state.returned = returned;
  return true;
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

/** Whether a dispatch has not let go of an object. */
export function standsBy({ wanted, claims }: Held, key: string): boolean {
  return wanted.has(key) || claims.has(key);
}

/** Whether a dispatch has made an object, by its record. */
export function madeBy(held: Held | undefined, key: string): boolean {
  return (held?.owned.get(key)?.uid ?? '') !== '';
}

/** When the status changes by itself next, because a fight over an object is over; undefined where there is none. */
export function contestedMs(held: Held, clock: Clock): number | undefined {
  const waits = [...held.states.values()].map((state) =>
    contestedForMs(state.corrections, clock.monotonic()),
  );
  const longest = Math.max(0, ...waits);
  return longest > 0 ? longest : undefined;
}

/** Marks everything as carried out. The time is that of the first completion of this generation. */
export function markComplete(held: Held, now: number): void {
  held.complete = true;
  held.attempts = 0;
  if (held.appliedGeneration === held.accepted.position.generation && held.appliedAt !== undefined) return;
  held.appliedGeneration = held.accepted.position.generation;
  held.appliedAt = formatTime(now);
}
