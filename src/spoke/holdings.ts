import {
  DISPATCH_LABEL,
  type Dispatch,
  type DispatchSpec,
  judgeDispatch,
  manifestProblems,
  type OwnedObject,
  type OwnershipRecord,
  rememberingVerifier,
  strategyOf,
} from '../engine/dispatch/index.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import type { LocalFacts } from '../engine/render/local-facts.ts';
import { dependsOnFacts, type Rendered, render } from '../engine/render/render.ts';
import type { Result } from '../kube/controller.ts';
import { type KubeObject, refKey, refOf } from '../kube/object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { deepEqual } from '../schema/json.ts';
import { type Conflict, createContests } from './conflicts.ts';
import { ContentMissing, type ContentStore } from './content.ts';
import { type Held, type LocalState, madeBy, newState, type Refusal, standsBy } from './held.ts';
import { claim, type SpokeMemory, tooMuchToRemember } from './memory.ts';
import { isShared } from './sharing.ts';

/** What a spoke holds: the dispatches that it took, and which of them wants which object. */
export interface Holdings {
  get(name: string): Held | undefined;
  all(): Iterable<Held>;
  /** How many are held. */
  readonly size: number;
  /** The dispatch that has the say over an object. Another that wants it too reports so. */
  claimant(key: string): string | undefined;
  /** The dispatches that only look at an object, which has nothing to do with who has it. */
  readers(key: string): ReadonlySet<string>;
  /**
   * Hands objects that a dispatch may no longer want to those that want them now: neither deletes nor makes them anew. By key:
   * true when another has it durably, a reason to wait while another is still coming; absent where nobody else wants it.
   */
  handOver(from: Held, keys: readonly string[]): Promise<ReadonlyMap<string, true | string>>;
  /** The UID of an object that a dispatch wants and another one made and lets go, which it takes over with this. */
  inherit(to: Held, key: string): string | undefined;
  /** Whose an object on the cluster is, by UID, or by its mark where the UID could not be noted yet. */
  ownerOf(object: KubeObject): { readonly dispatch: string; readonly wants: boolean } | undefined;
  /** Why nothing is held of a dispatch whose first word was refused. */
  refusal(name: string): Refusal | undefined;
  /** Objects of a dispatch that others want as well, or have. */
  conflicts(name: string): readonly Conflict[];
  /** Takes a new word of the hub, if it may be taken: remembered durably before anything is done. */
  accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined>;
  /** After a restart: what was accepted before is held again, from the spoke's own API server. */
  recall(name: string, dispatch: Dispatch | undefined): Promise<void>;
  /** Whether a dispatch was ordered by another hub than the one that the spoke belongs to. */
  isOfAnotherHub(name: string): boolean;
  /** A dispatch wants nothing any more; what it made is still its own. */
  letGo(name: string): void;
  /** Nothing is left of a dispatch, on the spoke or in its orders. */
  forget(name: string): Promise<void>;
  /** Orders of a hub that the spoke belonged to before. They are kept up until the hub of now orders the same. */
  inherited(): readonly string[];
  /** Whether values of a dispatch were computed from facts of the cluster that are no more: then it is to be recalled. */
  outdated(name: string): boolean;
  /** Whether the next word of a dispatch is being taken: then only that may write what is remembered of it. */
  accepting(name: string): boolean;
  /** Whether an order of a hub before is over: all that it made belongs to orders of the hub of now, durably. */
  superseded(name: string): boolean;
}

export interface HoldingsOptions {
  readonly spoke: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: SpokeMemory;
  readonly content: ContentStore;
  /** Whether the spoke's hub was pinned when it joined: then no other is believed for being the first to say something. */
  readonly pinned?: boolean;
  /** What the cluster knows of itself, for values that depend on it. The same object as long as nothing of it changes. */
  readonly facts?: () => LocalFacts | undefined;
  /** The dispatches that are here, accepted or not. */
  readonly ordered: () => readonly Dispatch[];
  /** Name of the contract by which no newer word is taken now. */
  readonly holding?: () => string | undefined;
  /** An object is free for a dispatch that wanted it and did not have it. */
  readonly onFreed: (name: string) => void;
  readonly onRefused: (name: string) => void;
}

const CONTENT_RETRY_MS = { first: 100, longest: 2_000 };
/** Reasons for which a word is not taken now and may be later: what it wants must not be taken away from others meanwhile. */
const STILL_COMING: ReadonlySet<string> = new Set(['ContentMissing', 'Held']);

export function createHoldings(options: HoldingsOptions): Holdings {
  const { memory, log } = options;
  const held = new Map<string, Held>();
  const claimants = new Map<string, string>();
  /** The dispatches that only look at an object. */
  const readers = new Map<string, Set<string>>();
  const refusals = new Map<string, Refusal>();
  const contests = createContests((name) => options.onRefused(name));
  /** Those whose next word is being taken: nothing is handed to them, since what they own is being written. */
  const accepting = new Set<string>();
  /** How long to wait before content that is missing is looked for again. */
  const waits = new Map<string, number>();
  const verify = rememberingVerifier();
  /** Lineage of the hub that the spoke belongs to, as it was read last. */
  let owner: string | undefined;
  /** The highest epoch of that hub that was accepted. */
  let newestEpoch = 0;

  async function accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined> {
    if (!dispatch) return undefined;
    accepting.add(name);
    try {
      return await take(name, dispatch);
    } finally {
      accepting.delete(name);
    }
  }

  async function take(name: string, dispatch: Dispatch): Promise<Result | undefined> {
    const before = memory.record(name);
    const trust = await memory.trust();
    owner = trust?.lineage;
    if (trust === undefined && options.pinned === true) {
      const message = 'this spoke has no hub any more; on the spoke: atoll takeover';
      refuse(dispatch, { reason: 'AnotherHub', message });
      return undefined;
    }
    const verdict = judgeDispatch(options.spoke, name, dispatch.spec, trust, before?.accepted, verify);
    if (verdict.verdict === 'refuse') {
      refuse(dispatch, verdict);
      return undefined;
    }
    const waitsFor = verdict.verdict === 'accept' ? heldBack(dispatch.spec) : undefined;
    if (waitsFor !== undefined) {
      refuse(dispatch, { reason: 'Held', message: `${waitsFor}; ${keptText(before?.accepted)}` });
      return undefined;
    }
    const current = held.get(name);
    if (current) current.refusal = undefined;
    if (verdict.verdict === 'known') return undefined;
    let objects: readonly KubeObject[];
    try {
      objects = await options.content.objects(dispatch.spec);
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      refuse(dispatch, { reason: 'ContentMissing', message: error.message });
      const wait = waits.get(name) ?? CONTENT_RETRY_MS.first;
      waits.set(name, Math.min(CONTENT_RETRY_MS.longest, wait * 2));
      return { requeueAfterMs: wait };
    }
    waits.delete(name);
    // What takes everything away orders nothing; the first word that orders nothing takes nothing away either.
    const { revision, tombstones } = dispatch.spec;
    const isVoid = revision !== '' && tombstones.length === 0 && before === undefined;
    const [problem, ...more] = objects.length > 0 || isVoid ? manifestProblems(objects) : [];
    if (problem) {
      const others = more.length > 0 ? ` (and ${more.length} more problems)` : '';
      refuse(dispatch, {
        reason: 'InvalidManifests',
        message: `${problem.message}${others}; ${keptText(before?.accepted)}`,
      });
      return undefined;
    }
    const { lineage, generation } = dispatch.spec.position;
    if (trust === undefined) {
      owner = (await memory.pin({ lineage, publicKey: dispatch.spec.publicKey })).lineage;
      // Another hub was first.
      if (owner !== lineage) return { requeueAfterMs: 10 };
    }
    newestEpoch = Math.max(newestEpoch, dispatch.spec.position.epoch);
    const content = contentOf(objects, dispatch.spec, options.facts?.());
    const owned = claim(current?.owned.values() ?? before?.owned ?? [], dispatch.spec, content.strategies);
    const tooMuch = tooMuchToRemember(dispatch.spec, owned);
    if (tooMuch !== undefined) {
      refuse(dispatch, { reason: 'TooManyObjects', message: `${tooMuch}; ${keptText(before?.accepted)}` });
      return undefined;
    }
    await memory.save(name, { accepted: dispatch.spec, owned });
    log.info('accepted a dispatch', { dispatch: name, generation, objects: objects.length });
    hold(name, dispatch, content);
    return undefined;
  }

  /** Why a word that may be taken is not taken yet. */
  function heldBack({ hold, position }: DispatchSpec): string | undefined {
    if (hold === true) return `the hub holds generation ${position.generation}`;
    const contract = options.holding?.();
    if (contract === undefined) return undefined;
    return `generation ${position.generation} waits, since SpokeContract ${contract} holds new orders`;
  }

  function refuse(
    { metadata: { name = '', generation = 0 } }: Dispatch,
    { reason, message }: Omit<Refusal, 'observedGeneration'>,
  ): void {
    const current = held.get(name);
    if ((current?.refusal ?? refusals.get(name))?.message !== message)
      log[reason === 'Held' ? 'info' : 'warn']('did not take a dispatch', {
        dispatch: name,
        reason,
        why: message,
      });
    const refusal = { reason, message, observedGeneration: generation };
    if (current) current.refusal = refusal;
    else refusals.set(name, refusal);
    options.onRefused(name);
  }

  async function recall(name: string, dispatch: Dispatch | undefined): Promise<void> {
    const record = memory.record(name);
    if (!record) return;
    owner ??= (await memory.trust())?.lineage;
    if (record.accepted.position.lineage === owner)
      newestEpoch = Math.max(newestEpoch, record.accepted.position.epoch);
    try {
      hold(
        name,
        dispatch,
        contentOf(await options.content.objects(record.accepted), record.accepted, options.facts?.()),
      );
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      const known = held.get(name);
      // What is held of the same word stays and is kept up.
      if (
        known &&
        known.missing === undefined &&
        known.wanted.size > 0 &&
        deepEqual(known.accepted, record.accepted)
      ) {
        log.warn('cannot compute a dispatch anew', { dispatch: name, why: error.message });
        return;
      }
      hold(name, dispatch, contentOf([], record.accepted, undefined), error.message);
    }
  }

  function hold(
    name: string,
    dispatch: Dispatch | undefined,
    { rendered, facts, ...content }: Content,
    missing?: string,
  ): void {
    const record = memory.record(name);
    if (!record) return;
    const before = held.get(name);
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
    const applied = [before && { ...before, position: before.accepted.position }, dispatch?.status].find(
      (known) => known?.position?.epoch === epoch,
    );
    // Somebody may have edited the record: what is accepted is claimed, as it was when it was accepted.
    const owned = missing === undefined ? claim(record.owned, record.accepted, strategies) : record.owned;
    const next: Held = {
      name,
      accepted: record.accepted,
      owned: ownedNow(owned, before),
      wanted,
      strategies,
      acceptedAt: options.clock.monotonic(),
      problems: rendered.problems,
      facts,
      missing,
      claims: missing === undefined && rendered.problems.length === 0 ? NOBODY : madeOf(record),
      refusal: undefined,
      states,
      pendingRemovals: [],
      removed: [],
      complete: false,
      appliedGeneration: applied?.appliedGeneration,
      appliedAt: applied?.appliedAt,
      attempts: missing === undefined ? 0 : (before?.attempts ?? 0),
    };
    held.set(name, next);
    refusals.delete(name);
    for (const other of held.values()) {
      if (isInherited(other) && !isInherited(next)) yieldTo(other, next);
      else if (isInherited(next) && !isInherited(other)) yieldTo(next, other);
    }
    settleClaims(before, next);
  }

  /**
   * Whether an order is of a former time: of another hub, or of an epoch before. A hub that was restored and confirmed says
   * everything again that it remembers; what it does not remember stays, and yields to what it says.
   */
  function isInherited({ accepted }: Held): boolean {
    const { lineage, epoch } = accepted.position;
    return owner !== undefined && (lineage !== owner || epoch < newestEpoch);
  }

  /** What the hub of now wants, orders of a hub before want no more. They keep the UIDs until those are taken over. */
  function yieldTo(old: Held, next: Held): void {
    for (const key of keysOf(old)) {
      if (!takes(next, key)) continue;
      old.states.delete(key);
      contests.leave(key, old.name);
      if (claimants.get(key) === old.name) claimants.delete(key);
    }
    old.wanted = new Map([...old.wanted].filter(([key]) => !takes(next, key)));
    old.claims = new Set([...old.claims].filter((key) => !takes(next, key)));
  }

  function superseded(name: string): boolean {
    const current = held.get(name);
    if (!current || !isInherited(current) || current.missing !== undefined) return false;
    if (current.wanted.size > 0 || current.problems.length > 0 || current.pendingRemovals.length > 0)
      return false;
    const taken = new Set<string>();
    for (const other of held.values())
      if (!isInherited(other))
        for (const { ref, uid } of memory.record(other.name)?.owned ?? [])
          if (uid !== '') taken.add(refKey(ref));
    return [...current.owned].every(([key, { uid }]) => uid === '' || taken.has(key));
  }

  /** What is no longer wanted goes to the next that wants it; what is free, or was made by this dispatch, is claimed. */
  function settleClaims(before: Held | undefined, next: Held): void {
    const { name } = next;
    for (const key of before ? keysOf(before) : []) {
      unread(key, name);
      if (takes(next, key)) continue;
      contests.leave(key, name);
      if (claimants.get(key) === name) passOn(key);
    }
    for (const key of keysOf(next)) {
      // Any number may look at an object, whoever has it.
      if (!takes(next, key)) {
        const all = readers.get(key) ?? new Set();
        readers.set(key, all.add(name));
        continue;
      }
      const claimant = claimants.get(key);
      const made = madeBy(next, key) && !(claimant !== undefined && madeBy(held.get(claimant), key));
      if (claimant !== undefined && claimant !== name) contests.join(key, name, claimant);
      if (claimant === undefined || made) claimants.set(key, name);
    }
  }

  function unread(key: string, name: string): void {
    const all = readers.get(key);
    if (all?.delete(name) === true && all.size === 0) readers.delete(key);
  }

  function passOn(key: string): void {
    claimants.delete(key);
    for (const other of held.values()) {
      if (!takes(other, key)) continue;
      claimants.set(key, other.name);
      options.onFreed(other.name);
      return;
    }
  }

  function conflicts(name: string): readonly Conflict[] {
    const current = held.get(name);
    if (!current) return [];
    return contests.of(name).flatMap(({ key, names }) => {
      const object = current.wanted.get(key);
      const winner = claimants.get(key) ?? '';
      const has = winner === name;
      const others = (has ? [...names].filter((one) => one !== name).sort() : [winner]).flatMap((one) => {
        const other = held.get(one);
        // What only comes along with either is made by one for both.
        return other && !isShared(current, other, key) ? other.accepted : [];
      });
      return object && others.length > 0 ? [{ ref: refOf(object), has, others }] : [];
    });
  }

  function inherit(to: Held, key: string): string | undefined {
    for (const other of held.values()) {
      if (other === to || standsBy(other, key) || !takes(to, key) || accepting.has(to.name)) continue;
      const theirs = other.owned.get(key);
      const own = to.owned.get(key);
      if (own === undefined || theirs === undefined || theirs.uid === '') continue;
      to.owned.set(key, { ...own, uid: theirs.uid });
      log.info('took an object over from another dispatch', {
        dispatch: to.name,
        from: other.name,
        object: key,
      });
      return theirs.uid;
    }
    return undefined;
  }

  async function handOver(from: Held, keys: readonly string[]): Promise<ReadonlyMap<string, true | string>> {
    const out = new Map<string, true | string>();
    const heirs = new Set<Held>();
    for (const key of keys) {
      const heir = [...held.values()].find((other) => other !== from && takes(other, key));
      const coming =
        heir && accepting.has(heir.name) ? heir.name : heir ? undefined : comingFor(from.name, key);
      if (heir && coming === undefined) {
        if ((heir.owned.get(key)?.uid ?? '') === '') inherit(heir, key);
        claimants.set(key, heir.name);
        heirs.add(heir);
        out.set(key, true);
      } else if (coming !== undefined) out.set(key, `dispatch ${coming} is about to take it over`);
    }
    for (const heir of heirs) {
      await memory.save(heir.name, { accepted: heir.accepted, owned: [...heir.owned.values()] });
      options.onFreed(heir.name);
    }
    return out;
  }

  /** A dispatch that wants an object and is not held yet: after a restart, or because its word has just come. */
  function comingFor(from: string, key: string): string | undefined {
    const wants = (spec: DispatchSpec): boolean => spec.objects.some((ref) => refKey(ref) === key);
    for (const name of memory.names()) {
      const record = memory.record(name);
      if (name !== from && !held.has(name) && record && wants(record.accepted)) return name;
    }
    for (const { metadata, spec } of options.ordered()) {
      const name = metadata.name ?? '';
      const refusal = refusals.get(name) ?? held.get(name)?.refusal;
      if (name === from || (refusal !== undefined && !STILL_COMING.has(refusal.reason))) continue;
      const { generation } = held.get(name)?.accepted.position ?? { generation: -1 };
      if (spec.position.generation > generation && wants(spec)) return name;
    }
    return undefined;
  }

  function ownerOf(object: KubeObject): { dispatch: string; wants: boolean } | undefined {
    const key = refKey(refOf(object));
    let found: { dispatch: string; wants: boolean } | undefined;
    for (const dispatch of memory.names()) {
      const current = held.get(dispatch);
      const owned = current
        ? current.owned.get(key)
        : memory.record(dispatch)?.owned.find(({ ref }) => refKey(ref) === key);
      const isTheirs =
        owned !== undefined &&
        (owned.uid === object.metadata.uid || object.metadata.labels?.[DISPATCH_LABEL] === dispatch);
      if (!isTheirs) continue;
      // Of one that is not held yet after a restart that is not known.
      if (!current || takes(current, key)) return { dispatch, wants: true };
      found ??= { dispatch, wants: false };
    }
    return found;
  }

  return {
    inherit,
    handOver,
    ownerOf,
    conflicts,
    get: (name) => held.get(name),
    all: () => held.values(),
    get size() {
      return held.size;
    },
    claimant: (key) => claimants.get(key),
    readers: (key) => readers.get(key) ?? NOBODY,
    refusal: (name) => refusals.get(name),
    accept,
    recall,
    superseded,
    outdated(name: string): boolean {
      const current = held.get(name);
      if (!current || !dependsOnFacts(current.accepted.patches)) return false;
      return current.facts !== options.facts?.();
    },
    accepting: (name) => accepting.has(name),
    inherited: () => [...held.values()].filter(isInherited).map(({ name }) => name),
    isOfAnotherHub: (name) =>
      owner !== undefined && (held.get(name)?.accepted.position.lineage ?? owner) !== owner,
    letGo(name: string): void {
      const current = held.get(name);
      if (!current) return;
      const keys = [...keysOf(current)];
      current.wanted = new Map();
      current.claims = NOBODY;
      current.states.clear();
      for (const key of keys) {
        contests.leave(key, name);
        unread(key, name);
        if (claimants.get(key) === name) passOn(key);
      }
    },
    async forget(name: string): Promise<void> {
      await memory.forget(name);
      for (const key of held.get(name)?.wanted.keys() ?? []) {
        contests.leave(key, name);
        unread(key, name);
      }
      held.delete(name);
      waits.delete(name);
    },
  };
}

function keptText(accepted: DispatchSpec | undefined): string {
  return accepted === undefined
    ? 'nothing was taken before'
    : `generation ${accepted.position.generation} stays and is kept up`;
}

const NOBODY: ReadonlySet<string> = new Set();

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

/** Whether a dispatch would answer for an object if it had it. */
function takes(current: Held, key: string): boolean {
  return standsBy(current, key) && current.strategies.get(key)?.strategy !== 'ReadOnly';
}

function* keysOf({ wanted, claims }: Held): Generator<string> {
  yield* wanted.keys();
  yield* claims;
}

/** What was made of an order, as it is remembered. */
function madeOf({ accepted, owned }: OwnershipRecord['spec']): ReadonlySet<string> {
  const named = new Set(accepted.objects.map(refKey));
  const made = owned.filter(({ uid }) => uid !== '').map(({ ref }) => refKey(ref));
  return new Set(made.filter((key) => named.has(key)));
}

/** What the content of a dispatch comes to on this cluster. */
interface Content {
  readonly rendered: Rendered;
  readonly strategies: ReadonlyMap<string, ApplyStrategy>;
  /** What it was computed with. */
  readonly facts: LocalFacts | undefined;
}

function contentOf(
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
