import { healthOf } from '../engine/health/health.ts';
import { kindRank } from '../engine/order/kind-rank.ts';
import type { Client } from '../kube/client.ts';
import type { Change } from '../kube/informer.ts';
import { refKey, refText } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Logger } from '../runtime/log.ts';
import { deepEqual } from '../schema/json.ts';
import { type Applied, applyOwned, fingerprint, revisionOf } from './apply.ts';
import type { Held, LocalState } from './held.ts';
import type { Holdings } from './holdings.ts';
import type { SpokeMemory } from './memory.ts';
import { prune } from './prune.ts';
import type { ManagedWatches } from './watches.ts';

/** Brings the cluster to what is held. Every step may be repeated, and writes nothing where all is so already. */
export interface Convergence {
  /** Applies all objects in order of kind, then carries out the tombstones. True when everything is done. */
  carryOut(current: Held): Promise<boolean>;
  /** Brings one object to what it shall be. */
  applyOne(current: Held, key: string): Promise<void>;
}

export interface ConvergenceOptions {
  readonly client: Client;
  readonly log: Logger;
  readonly memory: SpokeMemory;
  readonly holdings: Holdings;
  readonly watches: ManagedWatches;
  /** A change that was seen while an object was being applied, told when that is over. */
  readonly onSeen: (change: Change) => void;
}

const PARALLEL_APPLIES = 8;

export function createConvergence(options: ConvergenceOptions): Convergence {
  const { client, holdings, memory, log } = options;

  async function carryOut(current: Held): Promise<boolean> {
    await applyAll(current);
    await removeOrdered(current);
    const failed = [...current.states.values()].some((state) => state.failure !== undefined);
    const unclear = current.problems.length > 0 || current.missing !== undefined;
    return !failed && !unclear && current.pendingRemovals.length === 0;
  }

  async function applyAll(current: Held): Promise<void> {
    const entries = [...current.wanted].sort(([, a], [, b]) => kindRank(a.kind) - kindRank(b.kind));
    const rankAt = (index: number): number => kindRank(entries[index]?.[1].kind ?? '');
    for (let start = 0; start < entries.length; ) {
      let end = start + 1;
      while (end < entries.length && end - start < PARALLEL_APPLIES && rankAt(end) === rankAt(start))
        end += 1;
      await Promise.all(entries.slice(start, end).map(([key]) => apply(current, key)));
      start = end;
    }
    await rememberUids(current);
  }

  async function apply(current: Held, key: string): Promise<void> {
    const object = current.wanted.get(key);
    const state = current.states.get(key);
    if (!object || !state) return;
    const claimant = holdings.claimant(key);
    if (claimant !== undefined && claimant !== current.name) {
      const message = `it is claimed by dispatch ${claimant} as well; select it in one propagation only`;
      state.failure = { reason: 'Claimed', message };
      return;
    }
    try {
      // First, so that nothing that happens after the apply is missed.
      await options.watches.watch(state.ref);
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
    state.applying += 1;
    const result = await applyOwned(client, current.name, object, current.owned.get(key)?.uid ?? '');
    state.applying -= 1;
    // A newer word of the hub came meanwhile: it is not this apply that says how the object shall be.
    if (holdings.get(current.name) === current) take(current, key, state, result);
    const { seen } = state;
    if (seen === undefined || state.applying > 0) return;
    state.seen = undefined;
    options.onSeen(seen);
  }

  function take(current: Held, key: string, state: LocalState, result: Applied): void {
    if (result.outcome === 'failed') {
      const { reason, message } = result;
      if (state.failure?.message !== message)
        log.warn('could not apply', { object: refText(state.ref), reason, why: message });
      state.failure = { reason, message };
      return;
    }
    const { live } = result;
    state.failure = undefined;
    state.fingerprint = fingerprint(live);
    state.seenFingerprint = state.fingerprint;
    state.revision = revisionOf(live);
    state.health = healthOf(live);
    const owned = current.owned.get(key);
    const uid = live.metadata.uid ?? '';
    if (owned && owned.uid !== uid) current.owned.set(key, { ...owned, uid });
  }

  /** Writes down what was made, unless a newer word was accepted meanwhile: then that has the say. */
  async function rememberUids(current: Held): Promise<void> {
    if (holdings.get(current.name) !== current) return;
    const owned = [...current.owned.values()];
    if (!deepEqual(memory.record(current.name)?.owned, owned))
      await memory.save(current.name, { accepted: current.accepted, owned });
  }

  async function removeOrdered(current: Held): Promise<void> {
    const removed = new Set(current.removed.map(refKey));
    const open = current.accepted.tombstones.filter((tombstone) => !removed.has(refKey(tombstone.ref)));
    if (open.length === 0) return;
    const { done, pending } = await prune(client, current.name, open, current.owned);
    current.pendingRemovals = pending;
    if (done.length === 0) return;
    current.removed = [...current.removed, ...done];
    for (const ref of done) current.owned.delete(refKey(ref));
    await rememberUids(current);
    log.info('removed by order', { dispatch: current.name, objects: done.map(refText) });
  }

  return {
    carryOut,
    async applyOne(current: Held, key: string): Promise<void> {
      await apply(current, key);
      await rememberUids(current);
    },
  };
}
