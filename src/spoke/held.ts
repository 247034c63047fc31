import {
  type DispatchSpec,
  type DispatchStatus,
  type ObjectWord,
  type OwnedObject,
  type OwnershipRecord,
  strategyOf,
} from '../engine/dispatch/index.ts';
import type { Health } from '../engine/health/health.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import { type ReturnedStatus, returnedStatus } from '../engine/reflect/index.ts';
import type { LocalFacts } from '../engine/render/local-facts.ts';
import { type Rendered, render } from '../engine/render/render.ts';
import type { KindRule } from '../engine/rules/index.ts';
import type { Change } from '../kube/informer.ts';
import { type KubeObject, type ObjectRef, refKey, refOf } from '../kube/object.ts';
import { formatTime } from '../runtime/clock.ts';
import { deepEqual } from '../schema/json.ts';
import { claim } from './memory.ts';
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

/** What the content of a dispatch comes to on this cluster. */
export interface Content {
  readonly rendered: Rendered;
  readonly strategies: ReadonlyMap<string, ApplyStrategy>;
  /** What it was computed with. */
  readonly facts: LocalFacts | undefined;
}

export function contentOf(
  objects: readonly KubeObject[],
  spec: DispatchSpec,
  facts: LocalFacts | undefined,
): Content {
  const rendered = render(objects, spec.patches, facts);
  const strategies = new Map(
    rendered.objects.map((object) => [refKey(refOf(object)), strategyOf(spec, object)]),
  );
  return { rendered, strategies, facts };
}

export interface Holding {
  readonly name: string;
  /** What is remembered of it. */
  readonly record: OwnershipRecord['spec'];
  readonly content: Content;
  /** Why the content is not here. */
  readonly missing: string | undefined;
  /** As it was held until now: what is known of objects that stay as they are is still so. */
  readonly before: Held | undefined;
  /** What was told of it, before a restart too. */
  readonly told: DispatchStatus | undefined;
  /** On the monotonic clock. */
  readonly at: number;
}

/** A dispatch as it is held from now on. */
export function heldOf({ name, record, content, missing, before, told, at }: Holding): Held {
  const { rendered, facts } = content;
  const wanted = new Map(rendered.objects.map((object) => [refKey(refOf(object)), object]));
  // The cluster no longer says what a value is made of: the value of before stands.
  const strategies = new Map(content.strategies);
  if (before && rendered.problems.length > 0 && deepEqual(before.accepted, record.accepted))
    for (const [key, object] of before.wanted) {
      if (wanted.has(key)) continue;
      wanted.set(key, object);
      strategies.set(key, before.strategies.get(key) ?? {});
    }
  const states = new Map<string, LocalState>();
  for (const [key, object] of wanted) {
    const known = before?.states.get(key);
    const state = known?.ref.apiVersion === object.apiVersion ? known : newState(refOf(object));
    state.settled &&=
      // Another word is another try.
      state.update?.failed !== true &&
      deepEqual(before?.wanted.get(key), object) &&
      deepEqual(before?.strategies.get(key), strategies.get(key)) &&
      before?.accepted.returns === record.accepted.returns &&
      deepEqual(before?.accepted.returnFields, record.accepted.returnFields);
    states.set(key, state);
  }
  // Generations of another epoch say nothing about this one.
  const { epoch } = record.accepted.position;
  const applied = [before && { ...before, position: before.accepted.position }, told].find(
    (known) => known?.position?.epoch === epoch,
  );
  // Somebody may have edited the record: what is accepted is claimed, as it was when it was accepted.
  const owned = missing === undefined ? claim(record.owned, record.accepted, strategies) : record.owned;
  return {
    name,
    accepted: record.accepted,
    owned: ownedNow(owned, before),
    wanted,
    strategies,
    acceptedAt: at,
    problems: rendered.problems,
    facts,
    missing,
    claims: missing === undefined && rendered.problems.length === 0 ? NOTHING : madeOf(record),
    refusal: undefined,
    states,
    pendingRemovals: [],
    removed: [],
    complete: false,
    appliedGeneration: applied?.appliedGeneration,
    appliedAt: applied?.appliedAt,
    attempts: missing === undefined ? 0 : (before?.attempts ?? 0),
  };
}

const NOTHING: ReadonlySet<string> = new Set();

/** What is recorded as owned, with the UIDs that were learned while it was being written. */
function ownedNow(recorded: readonly OwnedObject[], before: Held | undefined): Map<string, OwnedObject> {
  const owned = new Map<string, OwnedObject>();
  for (const object of recorded) {
    const key = refKey(object.ref);
    const uid = before?.owned.get(key)?.uid || object.uid;
    owned.set(key, uid === object.uid ? object : { ...object, uid });
  }
  return owned;
}

/** What was made of an order, as it is remembered. */
function madeOf({ accepted, owned }: OwnershipRecord['spec']): ReadonlySet<string> {
  const named = new Set(accepted.objects.map(refKey));
  const made = owned.filter(({ uid }) => uid !== '').map(({ ref }) => refKey(ref));
  return new Set(made.filter((key) => named.has(key)));
}

/** A dispatch wants some of its objects no more; what it made is still its own. */
export function giveUp(held: Held, keys: readonly string[]): void {
  const given = new Set(keys);
  for (const key of given) held.states.delete(key);
  held.wanted = new Map([...held.wanted].filter(([key]) => !given.has(key)));
  held.claims = new Set([...held.claims].filter((key) => !given.has(key)));
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

/** Whether a dispatch has not let go of an object. */
export function standsBy({ wanted, claims }: Held, key: string): boolean {
  return wanted.has(key) || claims.has(key);
}

/** Whether a dispatch would answer for an object if it had it. */
export function takes(held: Held, key: string): boolean {
  return standsBy(held, key) && held.strategies.get(key)?.strategy !== 'ReadOnly';
}

/** The objects that a dispatch has not let go of. */
export function* keysOf({ wanted, claims }: Held): Generator<string> {
  yield* wanted.keys();
  yield* claims;
}

/** Whether a dispatch has made an object, by its record. */
export function madeBy(held: Held | undefined, key: string): boolean {
  return (held?.owned.get(key)?.uid ?? '') !== '';
}

/** Marks everything as carried out. The time is that of the first completion of this generation. */
export function markComplete(held: Held, now: number): void {
  held.complete = true;
  held.attempts = 0;
  if (held.appliedGeneration === held.accepted.position.generation && held.appliedAt !== undefined) return;
  held.appliedGeneration = held.accepted.position.generation;
  held.appliedAt = formatTime(now);
}
