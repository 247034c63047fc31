import {
  type Dispatch,
  type DispatchSpec,
  judgeDispatch,
  type OwnedObject,
  strategyOf,
} from '../engine/dispatch/index.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import { type Rendered, render } from '../engine/render/render.ts';
import type { Result } from '../kube/controller.ts';
import { type KubeObject, refKey, refOf } from '../kube/object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { deepEqual } from '../schema/json.ts';
import { ContentMissing, type ContentStore } from './content.ts';
import { type Held, type LocalState, madeBy, newState } from './held.ts';
import { claim, type SpokeMemory } from './memory.ts';

export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** What a spoke holds: the dispatches that it took, and which of them wants which object. */
export interface Holdings {
  get(name: string): Held | undefined;
  all(): Iterable<Held>;
  /** The dispatch that has the say over an object. Another that wants it too reports so. */
  claimant(key: string): string | undefined;
  /**
   * Hands objects that a dispatch may no longer want to those that want them now: neither deletes nor makes them anew. By key:
   * true when another has it durably, a reason to wait while another is still coming; absent where nobody else wants it.
   */
  handOver(from: Held, keys: readonly string[]): Promise<ReadonlyMap<string, true | string>>;
  /** The UID of an object that a dispatch wants and another one made and lets go, which it takes over with this. */
  inherit(to: Held, key: string): string | undefined;
  /** Why nothing is held of a dispatch whose first word was refused. */
  refusal(name: string): Refusal | undefined;
  /** Takes a new word of the hub, if it may be taken: remembered durably before anything is done. */
  accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined>;
  /** After a restart: what was accepted before is held again, from the spoke's own API server. */
  recall(name: string, dispatch: Dispatch | undefined): Promise<void>;
  /** Nothing is left of a dispatch, on the spoke or in its orders. */
  forget(name: string): Promise<void>;
  /** Orders of a hub that the spoke belonged to before. They are kept up until the hub of now orders the same. */
  inherited(): readonly string[];
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
  /** The dispatches that are here, accepted or not. */
  readonly ordered: () => readonly Dispatch[];
  /** An object is free for a dispatch that wanted it and did not have it. */
  readonly onFreed: (name: string) => void;
  readonly onRefused: (name: string) => void;
}

const CONTENT_RETRY_MS = 2_000;

export function createHoldings(options: HoldingsOptions): Holdings {
  const { memory, log } = options;
  const held = new Map<string, Held>();
  const claimants = new Map<string, string>();
  const refusals = new Map<string, Refusal>();
  /** Those whose next word is being taken: nothing is handed to them, since what they own is being written. */
  const accepting = new Set<string>();
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
      refuse(name, { reason: 'AnotherHub', message });
      return undefined;
    }
    const verdict = judgeDispatch(options.spoke, name, dispatch.spec, trust, before?.accepted);
    if (verdict.verdict === 'refuse') {
      refuse(name, verdict);
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
      refuse(name, { reason: 'ContentMissing', message: error.message });
      return { requeueAfterMs: CONTENT_RETRY_MS };
    }
    const { lineage, generation } = dispatch.spec.position;
    if (trust === undefined) {
      owner = (await memory.pin({ lineage, publicKey: dispatch.spec.publicKey })).lineage;
      // Another hub was first.
      if (owner !== lineage) return { requeueAfterMs: 10 };
    }
    newestEpoch = Math.max(newestEpoch, dispatch.spec.position.epoch);
    const content = contentOf(objects, dispatch.spec);
    const owned = claim(current?.owned.values() ?? before?.owned ?? [], dispatch.spec, content.strategies);
    await memory.save(name, { accepted: dispatch.spec, owned });
    log.info('accepted a dispatch', { dispatch: name, generation, objects: objects.length });
    hold(name, dispatch, content);
    return undefined;
  }

  function refuse(name: string, { reason, message }: Refusal): void {
    const current = held.get(name);
    if ((current?.refusal ?? refusals.get(name))?.message !== message)
      log.warn('refused a dispatch', { dispatch: name, reason, why: message });
    if (current) current.refusal = { reason, message };
    else refusals.set(name, { reason, message });
    options.onRefused(name);
  }

  async function recall(name: string, dispatch: Dispatch | undefined): Promise<void> {
    const record = memory.record(name);
    if (!record) return;
    owner ??= (await memory.trust())?.lineage;
    if (record.accepted.position.lineage === owner)
      newestEpoch = Math.max(newestEpoch, record.accepted.position.epoch);
    try {
      hold(name, dispatch, contentOf(await options.content.objects(record.accepted), record.accepted));
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      hold(name, dispatch, contentOf([], record.accepted), error.message);
    }
  }

  function hold(
    name: string,
    dispatch: Dispatch | undefined,
    { rendered, strategies }: Content,
    missing?: string,
  ): void {
    const record = memory.record(name);
    if (!record) return;
    const before = held.get(name);
    const wanted = new Map(rendered.objects.map((object) => [refKey(refOf(object)), object]));
    const states = new Map<string, LocalState>();
    for (const [key, object] of wanted) {
      const state = before?.states.get(key) ?? newState(refOf(object));
      state.settled &&=
        deepEqual(before?.wanted.get(key), object) &&
        deepEqual(before?.strategies.get(key), strategies.get(key));
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
      missing,
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
    const kept = new Map([...old.wanted].filter(([key]) => !takes(next, key)));
    for (const key of old.wanted.keys()) {
      if (kept.has(key)) continue;
      old.states.delete(key);
      if (claimants.get(key) === old.name) claimants.delete(key);
    }
    old.wanted = kept;
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
    const { name, wanted } = next;
    for (const key of before?.wanted.keys() ?? [])
      if (claimants.get(key) === name && !wanted.has(key)) passOn(key);
    for (const key of wanted.keys()) {
      const claimant = claimants.get(key);
      const made = madeBy(next, key) && !(claimant !== undefined && madeBy(held.get(claimant), key));
      if (claimant === undefined || made) claimants.set(key, name);
    }
  }

  function passOn(key: string): void {
    claimants.delete(key);
    for (const other of held.values()) {
      if (!other.wanted.has(key)) continue;
      claimants.set(key, other.name);
      options.onFreed(other.name);
      return;
    }
  }

  function inherit(to: Held, key: string): string | undefined {
    for (const other of held.values()) {
      if (other === to || other.wanted.has(key) || !takes(to, key) || accepting.has(to.name)) continue;
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
      if (name === from || (refusal !== undefined && refusal.reason !== 'ContentMissing')) continue;
      const { generation } = held.get(name)?.accepted.position ?? { generation: -1 };
      if (spec.position.generation > generation && wants(spec)) return name;
    }
    return undefined;
  }

  return {
    inherit,
    handOver,
    get: (name) => held.get(name),
    all: () => held.values(),
    claimant: (key) => claimants.get(key),
    refusal: (name) => refusals.get(name),
    accept,
    recall,
    superseded,
    accepting: (name) => accepting.has(name),
    inherited: () => [...held.values()].filter(isInherited).map(({ name }) => name),
    async forget(name: string): Promise<void> {
      await memory.forget(name);
      held.delete(name);
    },
  };
}

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
  return current.wanted.has(key) && current.strategies.get(key)?.strategy !== 'ReadOnly';
}

/** What the content of a dispatch comes to on this cluster. */
interface Content {
  readonly rendered: Rendered;
  readonly strategies: ReadonlyMap<string, ApplyStrategy>;
}

function contentOf(objects: readonly KubeObject[], spec: DispatchSpec): Content {
  const rendered = render(objects, spec.patches);
  const strategies = new Map(
    rendered.objects.map((object) => [refKey(refOf(object)), strategyOf(spec, object)]),
  );
  return { rendered, strategies };
}
