import type { ContractRequest } from '../engine/contract/index.ts';
import { healthOf } from '../engine/health/health.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import { type Providers, providersAmong } from '../engine/order/dependencies.ts';
import { kindRank } from '../engine/order/kind-rank.ts';
import { type RetainedField, retainedFields } from '../engine/retain/index.ts';
import type { UpdateProgress, WorkloadUpdate } from '../engine/rollout/index.ts';
import type { Client } from '../kube/client.ts';
import type { Change } from '../kube/informer.ts';
import { type KubeObject, refKey, refText } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { deepEqual } from '../schema/json.ts';
import { type Applied, type ApplyRequest, applyOwned, described, type Permit } from './apply.ts';
import type { Autoscalers } from './autoscalers.ts';
import { type Contracts, isAsWanted } from './contract/index.ts';
import { fingerprintOf, revisionOf, wholeFingerprintOf } from './fingerprint.ts';
import { leaveAlone, noteEnd, removalDueMs } from './finished.ts';
import { type Held, type LocalState, noteReturned, standsBy } from './held.ts';
import type { Holdings } from './holdings.ts';
import { marked, originOf } from './marks.ts';
import type { SpokeMemory } from './memory.ts';
import type { Ownership } from './ownership.ts';
import { type PruneOptions, prune, unnotedUid } from './prune.ts';
import { clearForReplacement } from './replace.ts';
import { replicasOf, retentionOf } from './retention.ts';
import type { Rules } from './rules.ts';
import { isShared, lookOn, onlookers } from './sharing.ts';
import type { ManagedWatches } from './watches.ts';
import { prepareUpdate, unholdable, updateOf } from './workload-updates.ts';

/** Brings the cluster to what is held. Every step may be repeated, and writes nothing where all is so already. */
export interface Convergence {
  /** Applies what is not applied yet in order of kind, then carries out the tombstones. True when everything is done. */
  carryOut(current: Held): Promise<boolean>;
  /** Removes all that a dispatch made, which wants nothing any more. True when nothing is left. */
  removeAll(current: Held, reason: string): Promise<boolean>;
  /** Brings one object to what it shall be. `drifted` when another writer changed it. */
  applyOne(current: Held, key: string, drifted: boolean): Promise<void>;
  /** Of an object as it was seen: another one means that somebody changed what is wanted. */
  fingerprint(current: Held, key: string, live: KubeObject): string;
}

export interface ConvergenceOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: SpokeMemory;
  readonly holdings: Holdings;
  readonly ownership: Ownership;
  readonly watches: ManagedWatches;
  readonly autoscalers: Autoscalers;
  readonly rules: Rules;
  readonly contracts: Contracts;
  /** A change that was seen while an object was being applied, told when that is over. */
  readonly onSeen: (change: Change) => void;
  /** An object that a dispatch makes for another one as well was applied: the other looks again. */
  readonly onShared: (dispatch: string) => void;
  /** An object that others may wait for is there and works. */
  readonly onProvided: () => void;
  /** An object is to be looked at again after a time. */
  readonly onDue: (dispatch: string, key: string, delayMs: number) => void;
}

const PARALLEL_APPLIES = 8;
/** Until the removal of what has finished is tried again. */
const REMOVAL_RETRY_MS = 5_000;
/** Longer waits are cut: timers have a bound, and clocks jump. */
const LONGEST_WAIT_MS = 3_600_000;
/** How long an object that is ordered away may find another dispatch that wants it: the hub moves it in two writes. */
export const RELEASE_GRACE_MS = 1_000;
/** How long others that have something in a namespace that is ordered away may take to let it go. */
const LEAVING_GRACE_MS = 30_000;
/** Kinds that others wait for. */
const PROVIDERS = new Set(['CustomResourceDefinition', 'APIService']);

function askedBy({ accepted }: Held): Pick<ContractRequest, 'author' | 'source'> {
  return { author: accepted.author, source: accepted.source };
}

export function createConvergence(options: ConvergenceOptions): Convergence {
  const turns = new Map<string, Promise<void>>();
  const { client, clock, holdings, ownership, memory, log, rules, contracts } = options;
  const { claims } = holdings;

  async function carryOut(current: Held): Promise<boolean> {
    await applyAll(current);
    await removeOrdered(current);
    const open = [...current.states.values()].some(
      ({ settled, failure, lookingOn }) => (!settled && lookingOn !== true) || failure !== undefined,
    );
    const unclear = current.problems.length > 0 || current.missing !== undefined;
    return !open && !unclear && current.pendingRemovals.length === 0;
  }

  async function applyAll(current: Held): Promise<void> {
    const entries = [...current.wanted]
      .filter(([key]) => current.states.get(key)?.settled !== true)
      .sort(([, a], [, b]) => kindRank(a.kind) - kindRank(b.kind));
    if (entries.length === 0) return;
    const providerOf = providersAmong(everythingWanted());
    openWatches(current, entries, providerOf);
    const rankAt = (index: number): number => kindRank(entries[index]?.[1].kind ?? '');
    for (let start = 0; start < entries.length; ) {
      let end = start + 1;
      while (end < entries.length && end - start < PARALLEL_APPLIES && rankAt(end) === rankAt(start))
        end += 1;
      await Promise.all(entries.slice(start, end).map(([key]) => apply(current, key, false, providerOf)));
      start = end;
    }
    await rememberUids(current);
  }

  /** The watches of all kinds at once: one after another, in order of kind, they are most of the time of a first order. */
  function openWatches(
    current: Held,
    entries: readonly (readonly [string, KubeObject])[],
    providerOf: Providers,
  ): void {
    for (const [key, object] of entries) {
      const state = current.states.get(key);
      if (!state || current.strategies.get(key)?.strategy === 'ReadOnly') continue;
      // What keeps a kind from being watched is told when its objects are applied.
      if (!waitingFor(object, providerOf)) options.watches.watch(state.ref).catch(() => undefined);
    }
  }

  function* everythingWanted(): Generator<KubeObject> {
    for (const held of holdings.all()) yield* held.wanted.values();
  }

  /** Why an object cannot be made yet: the one that brings its kind along is not at work. */
  function waitingFor(object: KubeObject, providerOf: Providers): LocalState['waiting'] {
    const provider = providerOf(object);
    if (!provider) return undefined;
    const key = refKey(provider);
    const claimant = claims.claimant(key);
    const state = claimant === undefined ? undefined : holdings.get(claimant)?.states.get(key);
    if (!state || (state.settled && state.health.state === 'Healthy')) return undefined;
    return { reason: 'WaitingForKind', message: `it waits until ${refText(provider)} is served` };
  }

  /** The other dispatch that has an object which this one wants too. */
  function claimedBy({ name }: Held, key: string): string | undefined {
    const claimant = claims.claimant(key);
    return claimant === name || claims.readers(key).has(name) ? undefined : claimant;
  }

  async function apply(current: Held, key: string, drifted: boolean, providerOf?: Providers): Promise<void> {
    const object = current.wanted.get(key);
    const state = current.states.get(key);
    if (!object || !state) return;
    const claimant = claimedBy(current, key);
    const maker = claimant === undefined ? undefined : holdings.get(claimant);
    if (maker && isShared(current, maker, key)) {
      lookOn(current, maker, key, state);
      return;
    }
    state.lookingOn = false;
    if (claimant !== undefined) {
      const message = `it is claimed by dispatch ${claimant} as well; select it in one propagation only`;
      state.failure = { reason: 'Claimed', message, word: 'AlreadyExists' };
      return;
    }
    const ended = current.owned.get(key);
    if (ended?.finished !== undefined && ended.uid === '') {
      leaveAlone(state, ended);
      return;
    }
    // What was applied before has its kind.
    state.waiting = state.settled
      ? undefined
      : waitingFor(object, providerOf ?? providersAmong(everythingWanted()));
    if (state.waiting) return;
    const strategy = current.strategies.get(key) ?? {};
    try {
      // First, so that nothing that happens after the apply is missed.
      await (strategy.strategy === 'ReadOnly'
        ? options.watches.watchOne(state.ref)
        : options.watches.watch(state.ref));
      if (replicasOf(object, rules.of(object))) await options.autoscalers.ready();
    } catch (error) {
      // A kind that is not served is told by the write.
      if (!hasCode(error, 404)) {
        // Whatever it is, it is about this kind: the rest of the dispatch goes on.
        const word = hasCode(error, 403) ? 'CreationFailed' : 'RetrievalFailed';
        state.failure = { ...described(error), word };
        state.settled = false;
        return;
      }
    }
    if (strategy.onFinish && hasEnded(current, key)) {
      await afterItsEnd(current, key, state);
      return;
    }
    await inTurn(key, () => write(current, key, state, object, drifted));
    const { seen } = state;
    if (seen === undefined || state.applying > 0) return;
    state.seen = undefined;
    options.onSeen(seen);
  }

  /** Whether an object has come to its end, if it is the one that was made by this dispatch. Notes what is new about that. */
  function hasEnded(current: Held, key: string): boolean {
    const owned = current.owned.get(key);
    if (!owned) return false;
    const live = options.watches.seen(owned.ref);
    if (owned.finished !== undefined) {
      // Somebody took it away since.
      if (live?.metadata.uid !== owned.uid) current.owned.set(key, { ...owned, uid: '' });
      return true;
    }
    return live !== undefined && noteEnd(current, key, live, clock.now());
  }

  /** Leaves an object alone that has finished, or removes it where that is due. */
  async function afterItsEnd(current: Held, key: string, state: LocalState): Promise<void> {
    const owned = current.owned.get(key);
    if (!owned) return;
    leaveAlone(state, owned);
    const { onFinish, deletion } = current.strategies.get(key) ?? {};
    const dueMs = removalDueMs(owned, onFinish?.ttlSeconds, clock.now());
    if (dueMs === undefined) return;
    if (dueMs > 0) {
      options.onDue(current.name, key, Math.min(dueMs, LONGEST_WAIT_MS));
      return;
    }
    // Without that on record it would be made anew by whoever finds it gone.
    await rememberUids(current);
    if (memory.record(current.name)?.owned.find(({ uid }) => uid === owned.uid)?.finished === undefined) {
      options.onDue(current.name, key, REMOVAL_RETRY_MS);
      return;
    }
    const tombstone = { ref: owned.ref, reason: 'it finished', ...(deletion ? { deletion } : {}) };
    const { done } = await prune(pruning(current), [tombstone]);
    if (holdings.get(current.name) !== current) return;
    if (done.length === 0) {
      options.onDue(current.name, key, REMOVAL_RETRY_MS);
      return;
    }
    const gone = { ...owned, uid: '' };
    current.owned.set(key, gone);
    leaveAlone(state, gone);
    log.info('removed what had finished', { dispatch: current.name, object: refText(owned.ref) });
  }

  /**
   * One write of an object at a time, and none of a word that is not the newest any more: it would bring back what the newer
   * one has taken away.
   */
  async function inTurn(key: string, act: () => Promise<void>): Promise<void> {
    const turn = (turns.get(key) ?? Promise.resolve()).then(act, act);
    turns.set(key, turn);
    try {
      await turn;
    } finally {
      if (turns.get(key) === turn) turns.delete(key);
    }
  }

  async function write(
    current: Held,
    key: string,
    state: LocalState,
    object: KubeObject,
    drifted: boolean,
  ): Promise<void> {
    if (holdings.get(current.name) !== current) return;
    const strategy = current.strategies.get(key) ?? {};
    state.applying += 1;
    const retained = retainedOf(current, object);
    const settings = updateOf(object, strategy);
    const attempt = (): Promise<Applied> => {
      const uid = current.owned.get(key)?.uid ?? '';
      return applyOwned(contracts.clientFor(current.accepted.author), clock, {
        object,
        strategy,
        drifted,
        dispatch: current.name,
        origin: originOf(current.accepted),
        ownedUid: uid === '' ? (ownership.inherit(current, key) ?? '') : uid,
        retained,
        letGo(name) {
          const other = holdings.get(name);
          return other !== undefined && !standsBy(other, key);
        },
        seen: options.watches.seen(state.ref),
        permit: permitOf(current, object, retained),
        ...(settings
          ? { update: updating(current, object, settings, retained, state.update?.progress) }
          : {}),
        reads: current.accepted.returnFields !== undefined,
      });
    };
    const unknown = current.owned.get(key)?.uid ? rules.unknownFields(object) : undefined;
    const unheld = settings && unholdable(object, settings, retained);
    let result: Applied;
    // To write it would take from the cluster what may be its own.
    if (unknown !== undefined)
      result = { outcome: 'failed', reason: 'InvalidRule', message: unknown, word: 'FieldRetentionFailed' };
    else if (unheld !== undefined)
      result = { outcome: 'failed', reason: 'InvalidUpdate', message: unheld, word: 'UpdateFailed' };
    else result = await attempt();
    if (result.outcome === 'failed' && result.unchangeable && holdings.get(current.name) === current)
      result = await replaced(current, key, state, result, strategy, attempt);
    state.applying -= 1;
    // A newer word of the hub came meanwhile: it is not this apply that says how the object shall be.
    const now = holdings.get(current.name);
    if (now === current) take(current, key, state, result);
    // But whose it is, the newer word has to know: it may be the one that takes it away.
    else if (now && result.outcome === 'applied') noteOwner(now, key, result);
  }

  /** Makes an object anew that cannot be changed to what it shall be, where that is asked for; says what to do otherwise. */
  async function replaced(
    current: Held,
    key: string,
    { ref }: LocalState,
    failed: Extract<Applied, { outcome: 'failed' }>,
    strategy: ApplyStrategy,
    again: () => Promise<Applied>,
  ): Promise<Applied> {
    const owned = current.owned.get(key);
    const request = { ref, strategy, owned, pruning: pruning(current) };
    const kept = await clearForReplacement(failed, failed.unchangeable ?? [], request);
    if (kept || holdings.get(current.name) !== current) return kept ?? failed;
    log.info('deleted what could not be changed', { dispatch: current.name, object: refText(ref) });
    if (owned) current.owned.set(key, { ...owned, uid: '' });
    return again();
  }

  function noteOwner(held: Held, key: string, { live, owned: ours }: Applied & { outcome: 'applied' }): void {
    const owned = held.owned.get(key);
    const uid = live.metadata.uid ?? '';
    if (ours && owned && owned.uid !== uid) held.owned.set(key, { ...owned, uid });
  }

  function updating(
    current: Held,
    object: KubeObject,
    settings: WorkloadUpdate,
    retained: readonly RetainedField[],
    known: UpdateProgress | undefined,
  ): NonNullable<ApplyRequest['update']> {
    const order = current.accepted.position.generation;
    return (live, signal) =>
      prepareUpdate({ object, settings, retained, known, order, now: clock.now(), client, signal }, live);
  }

  function permitOf(current: Held, object: KubeObject, retained: readonly RetainedField[]): Permit {
    const wanted = marked(object, current.name, originOf(current.accepted));
    return {
      looks: contracts.any,
      refusal: (verb, ref, live) =>
        contracts.refusal({
          ...askedBy(current),
          verb,
          ref,
          object,
          oldObject: live,
          changes: contracts.any && bringsSomethingNew(current, wanted, live, retained),
        }),
    };
  }

  /** Outside of its windows a contract lets what was carried out before be kept up, but nothing be carried on. */
  function bringsSomethingNew(
    current: Held,
    wanted: KubeObject,
    live: KubeObject | undefined,
    retained: readonly RetainedField[],
  ): boolean {
    if (current.appliedGeneration === current.accepted.position.generation) return false;
    return live === undefined || !isAsWanted(live, wanted, retained);
  }

  function retainedOf(current: Held, object: KubeObject): RetainedField[] {
    return retainedFields(object, retentionOf(current, object, rules.of(object), options.autoscalers));
  }

  function fingerprint(current: Held, key: string, live: KubeObject): string {
    const wanted = current.states.get(key)?.update?.object ?? current.wanted.get(key);
    if (!wanted || current.strategies.get(key)?.strategy === 'Update') return wholeFingerprintOf(live);
    const asApplied = marked(wanted, current.name, originOf(current.accepted));
    return fingerprintOf(live, asApplied, retainedOf(current, wanted));
  }

  function take(current: Held, key: string, state: LocalState, result: Applied): void {
    if (result.outcome === 'failed') {
      const { reason, message, word, retryAt } = result;
      if (state.failure?.message !== message)
        log.warn('could not apply', { object: refText(state.ref), reason, why: message });
      state.failure = { reason, message, word, ...(retryAt === undefined ? {} : { retryAt }) };
      state.settled = false;
      return;
    }
    state.failure = undefined;
    // Another may have got it while it was being written.
    state.settled = claimedBy(current, key) === undefined;
    if (result.outcome === 'absent') {
      state.health = { state: 'Progressing', reason: 'Missing', message: 'it is not on the cluster' };
      state.returned = undefined;
      return;
    }
    const { live, rival } = result;
    const before = state.health.state;
    if (rival !== undefined) state.rival = rival;
    state.update = result.update;
    state.fingerprint = fingerprint(current, key, live);
    state.seenFingerprint = state.fingerprint;
    state.revision = revisionOf(live);
    state.health = state.update?.health ?? healthOf(live, rules.of(live)?.health);
    const { wakeAt } = state.update ?? {};
    if (wakeAt !== undefined) {
      const delayMs = Math.min(Math.max(0, wakeAt - clock.now()), LONGEST_WAIT_MS);
      options.onDue(current.name, key, delayMs);
    }
    noteReturned(current, state, live, rules.of(live));
    for (const { held } of onlookers(holdings.all(), current, key)) options.onShared(held.name);
    if (PROVIDERS.has(live.kind) && before !== 'Healthy' && state.health.state === 'Healthy')
      options.onProvided();
    noteOwner(current, key, result);
  }

  /** Writes down what was made, unless a newer word was accepted meanwhile: then that has the say. */
  async function rememberUids(current: Held): Promise<void> {
    if (holdings.get(current.name) !== current || holdings.accepting(current.name)) return;
    const owned = [...current.owned.values()];
    if (!deepEqual(memory.record(current.name)?.owned, owned))
      await memory.save(current.name, { accepted: current.accepted, owned });
  }

  function pruning(current: Held): PruneOptions {
    const acting = contracts.clientFor(current.accepted.author);
    const refusal: PruneOptions['refusal'] = (ref, live) =>
      contracts.refusal({ ...askedBy(current), verb: 'delete', ref, oldObject: live, changes: true });
    return {
      client,
      acting,
      clock,
      owned: current.owned,
      dispatch: current.name,
      refusal,
      ownerOf: ownership.ownerOf,
      patient: clock.monotonic() < current.acceptedAt + LEAVING_GRACE_MS,
    };
  }

  /** Notes UIDs of what was made and could not be noted. Returns why it is not known of some, by key: that concerns no others. */
  async function noteUnnoted(current: Held, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const unknown = new Map<string, string>();
    const note = async (key: string): Promise<void> => {
      const claimed = current.owned.get(key);
      if (claimed?.uid !== '' || claimed.finished !== undefined) return;
      try {
        const uid = await unnotedUid(pruning(current), claimed);
        if (uid !== undefined) current.owned.set(key, { ...claimed, uid });
      } catch (error) {
        unknown.set(key, `it cannot be looked at: ${described(error).message}`);
      }
    };
    for (let start = 0; start < keys.length; start += PARALLEL_APPLIES)
      await Promise.all(keys.slice(start, start + PARALLEL_APPLIES).map(note));
    return unknown;
  }

  async function removeOrdered(current: Held): Promise<void> {
    const removed = new Set(current.removed.map(refKey));
    const open = current.accepted.tombstones.filter((tombstone) => !removed.has(refKey(tombstone.ref)));
    if (open.length === 0) return;
    const { name, owned } = current;
    await Promise.allSettled(open.map(({ ref }) => turns.get(refKey(ref))));
    const keys = open.map(({ ref }) => refKey(ref)).filter((key) => owned.has(key));
    // Whoever takes over what it made knows it by its UID.
    const unknown = await noteUnnoted(current, keys);
    if (holdings.get(name) !== current) return;
    const known = keys.filter((key) => !unknown.has(key));
    const handed = new Map([...unknown, ...(await ownership.handOver(current, known))]);
    if (clock.monotonic() < current.acceptedAt + RELEASE_GRACE_MS)
      for (const key of keys) if (!handed.has(key)) handed.set(key, 'another dispatch may want it');
    const { done, pending } = await prune({ ...pruning(current), handed }, open);
    if (holdings.get(name) !== current) return;
    current.pendingRemovals = pending;
    if (done.length === 0) return;
    current.removed = [...current.removed, ...done];
    for (const ref of done) current.owned.delete(refKey(ref));
    await rememberUids(current);
    log.info('removed by order', { dispatch: name, objects: done.map(refText) });
  }

  async function removeAll(current: Held, reason: string): Promise<boolean> {
    const tombstones = [...current.owned.values()].map(({ ref }) => ({ ref, reason }));
    const keys = [...current.owned.keys()];
    await Promise.allSettled(keys.map((key) => turns.get(key)));
    const handed = await ownership.handOver(current, keys);
    const { done, pending } = await prune({ ...pruning(current), handed }, tombstones);
    current.pendingRemovals = pending;
    for (const ref of done) current.owned.delete(refKey(ref));
    await rememberUids(current);
    return pending.length === 0;
  }

  return {
    carryOut,
    removeAll,
    fingerprint,
    async applyOne(current: Held, key: string, drifted: boolean): Promise<void> {
      await apply(current, key, drifted);
      await rememberUids(current);
    },
  };
}
