import { DISPATCH_LABEL, type Dispatch, type DispatchSpec } from '../engine/dispatch/index.ts';
import { type KubeObject, refKey, refOf } from '../kube/object.ts';
import type { Logger } from '../runtime/log.ts';
import { type Held, madeBy, standsBy, takes } from './held.ts';
import type { Holdings } from './holdings.ts';
import type { SpokeMemory } from './memory.ts';

/** Whose the objects are that were made, by UID, and how one dispatch hands them to another: neither deleted nor made anew. */
export interface Ownership {
  /** Whose an object on the cluster is, by UID, or by its mark where the UID could not be noted yet. */
  ownerOf(object: KubeObject): { readonly dispatch: string; readonly wants: boolean } | undefined;
  /** The UID of an object that a dispatch wants and another one made and lets go, which it takes over with this. */
  inherit(to: Held, key: string): string | undefined;
  /**
   * Hands objects that a dispatch may no longer want to those that want them now. By key: true when another has it durably, a
   * reason to wait while another is still coming; absent where nobody else wants it.
   */
  handOver(from: Held, keys: readonly string[]): Promise<ReadonlyMap<string, true | string>>;
  /** Whether an order of a former time is over: all that it made belongs to orders of the hub of now, durably. */
  isOver(held: Held): boolean;
}

export interface OwnershipOptions {
  readonly log: Logger;
  readonly memory: SpokeMemory;
  readonly holdings: Holdings;
  /** The dispatches that are here, accepted or not. */
  readonly ordered: () => readonly Dispatch[];
  /** A dispatch was given an object. */
  readonly onGiven: (name: string) => void;
}

/** Reasons for which a word is not taken now and may be later: what it wants must not be taken away from others meanwhile. */
const STILL_COMING: ReadonlySet<string> = new Set(['ContentMissing', 'Held']);

export function createOwnership({ log, memory, holdings, ordered, onGiven }: OwnershipOptions): Ownership {
  const { claims } = holdings;

  function inherit(to: Held, key: string): string | undefined {
    const own = to.owned.get(key);
    if (own === undefined || !takes(to, key) || holdings.accepting(to.name)) return undefined;
    for (const other of holdings.all()) {
      if (other === to || standsBy(other, key)) continue;
      const uid = other.owned.get(key)?.uid ?? '';
      if (uid === '') continue;
      to.owned.set(key, { ...own, uid });
      log.info('took an object over from another dispatch', {
        dispatch: to.name,
        from: other.name,
        object: key,
      });
      return uid;
    }
    return undefined;
  }

  async function handOver(from: Held, keys: readonly string[]): Promise<ReadonlyMap<string, true | string>> {
    const out = new Map<string, true | string>();
    const heirs = new Set<Held>();
    for (const key of keys) {
      const heir = claims.heir(key, from.name);
      if (heir && !holdings.accepting(heir.name)) {
        if (!madeBy(heir, key)) inherit(heir, key);
        claims.give(key, heir.name);
        heirs.add(heir);
        out.set(key, true);
        continue;
      }
      const coming = heir?.name ?? comingFor(from.name, key);
      if (coming !== undefined) out.set(key, `dispatch ${coming} is about to take it over`);
    }
    for (const heir of heirs) {
      await memory.save(heir.name, { accepted: heir.accepted, owned: [...heir.owned.values()] });
      onGiven(heir.name);
    }
    return out;
  }

  /** A dispatch that wants an object and is not held yet: after a restart, or because its word has just come. */
  function comingFor(from: string, key: string): string | undefined {
    const wants = (spec: DispatchSpec): boolean => spec.objects.some((ref) => refKey(ref) === key);
    for (const name of memory.names()) {
      const record = memory.record(name);
      if (name !== from && !holdings.get(name) && record && wants(record.accepted)) return name;
    }
    for (const { metadata, spec } of ordered()) {
      const name = metadata.name ?? '';
      const refusal = holdings.refusal(name);
      if (name === from || (refusal !== undefined && !STILL_COMING.has(refusal.reason))) continue;
      const taken = holdings.get(name)?.accepted.position.generation ?? -1;
      if (spec.position.generation > taken && wants(spec)) return name;
    }
    return undefined;
  }

  function ownerOf(object: KubeObject): { dispatch: string; wants: boolean } | undefined {
    const key = refKey(refOf(object));
    let found: { dispatch: string; wants: boolean } | undefined;
    for (const dispatch of memory.names()) {
      const current = holdings.get(dispatch);
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

  function isOver(former: Held): boolean {
    if (!holdings.isFormer(former) || former.missing !== undefined) return false;
    if (former.wanted.size > 0 || former.problems.length > 0 || former.pendingRemovals.length > 0)
      return false;
    const taken = new Set<string>();
    for (const other of holdings.all())
      if (!holdings.isFormer(other))
        for (const { ref, uid } of memory.record(other.name)?.owned ?? [])
          if (uid !== '') taken.add(refKey(ref));
    return [...former.owned].every(([key, { uid }]) => uid === '' || taken.has(key));
  }

  return { ownerOf, inherit, handOver, isOver };
}
