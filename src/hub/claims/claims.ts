import type { Compiled } from '../../engine/compiled.ts';
import {
  createReach,
  explicitnessOf,
  type NamespaceLabels,
  type ResourceSelector,
  type SourceClaim,
  settleClaims,
} from '../../engine/select/index.ts';
import { gvkOf, type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';

/** By what an intent claims the objects that it selects. Intents without terms share objects with everyone. */
export interface ClaimTerms extends Omit<SourceClaim, 'explicitness'> {
  readonly selectors: readonly ResourceSelector[];
  /** What it had lost when its record was written. */
  readonly lost?: readonly LostClaim[];
  /** Whether anything was ever sent of it. */
  readonly isSent: boolean;
}

/** An object that another intent has. */
export interface LostClaim {
  /** `group/Kind/namespace/name`. */
  readonly object: string;
  /** Key of the intent that has it. */
  readonly winner: string;
}

export interface Settled {
  /** Without the objects that others have. */
  readonly compiled: Compiled;
  readonly lost: readonly LostClaim[];
  /** Of the first of them, for people. */
  readonly problem?: { readonly ok: false; readonly reason: string; readonly message: string };
}

export interface Claims {
  /** An intent came, went or changed. */
  touch(key: string): void;
  settle(key: string, compiled: Compiled): Settled;
  /** Whether an object that an intent no longer sends is sent by another: then losing it is no slip. */
  isContested(ref: ObjectRef): boolean;
  /**
   * The intent that has an object, or will have it, where this one lets it go: also one that selects it as it is now, and was not
   * looked at since. That is this one itself where it still selects it, or does again. Before the kind of the object was read, it
   * may be any that asks for that kind and was not looked at.
   */
  heirOf(key: string, ref: ObjectRef): string | undefined;
  /** Whether an intent has an object, or would have it if its holder had not. */
  contends(key: string, ref: ObjectRef): boolean;
  /** Who has an object, by its `refKey`, as far as that was settled. */
  holderOf(object: string): string | undefined;
  /** What an intent has and others select as well. */
  wanted(key: string): readonly WantedByOthers[];
}

/** An object that an intent has, and the keys of those that select it as well. */
export interface WantedByOthers {
  /** `group/Kind/namespace/name`. */
  readonly object: string;
  readonly by: readonly string[];
}

export interface ClaimsOptions {
  /** What is claimed under a key; `undefined` where it is gone or going, or claims nothing. */
  readonly terms: (key: string) => ClaimTerms | undefined;
  readonly namespaces?: NamespaceLabels;
  /** An object as it is at the hub now, where it stays. */
  readonly present?: (ref: ObjectRef) => KubeObject | undefined;
  /** Whether it is known of an object whether it is at the hub. */
  readonly isRead?: (ref: ObjectRef) => boolean;
  /** An object may be another's now. */
  readonly onChange: (key: string) => void;
  /** Others than before select what it has. */
  readonly onWanted?: (key: string) => void;
}

interface Contender extends SourceClaim {
  readonly key: string;
  readonly isSent: boolean;
}

export function createClaims(options: ClaimsOptions): Claims {
  const known = new Map<string, ClaimTerms>();
  const reach = createReach();
  const holders = new Map<string, string>();
  const heldBy = new Map<string, Set<string>>();
  /** Who would have an object if its holder had not. */
  const losers = new Map<string, Set<string>>();
  /** The same by the one that would have it. */
  const lostBy = new Map<string, Set<string>>();
  const touched = new Set<string>();
  /** Looked at by this process: what they have is in `holders`. */
  const settled = new Set<string>();

  function takeIn(): void {
    for (const key of touched) {
      const before = known.get(key);
      const terms = options.terms(key);
      if (terms) {
        known.set(key, terms);
        reach.set(key, terms.selectors);
        // Of what was before this process: who lost knows who has it.
        if (!before)
          for (const { object, winner } of terms.lost ?? []) if (!holders.has(object)) hold(object, winner);
      } else {
        known.delete(key);
        reach.delete(key);
        settled.delete(key);
        for (const object of [...(heldBy.get(key) ?? [])]) letGo(object, key);
        for (const object of [...(lostBy.get(key) ?? [])]) giveUp(object, key);
      }
      if (before && terms)
        for (const object of heldBy.get(key) ?? [])
          for (const rival of losers.get(object) ?? []) options.onChange(rival);
    }
    touched.clear();
  }

  function hold(object: string, key: string): void {
    const before = holders.get(object);
    if (before === key) return;
    if (before !== undefined) drop(heldBy, before, object);
    holders.set(object, key);
    put(heldBy, key, object);
  }

  function contend(object: string, key: string, winner: string): void {
    if (losers.get(object)?.has(key) === true) return;
    put(losers, object, key);
    put(lostBy, key, object);
    options.onWanted?.(winner);
  }

  function giveUp(object: string, key: string): void {
    if (losers.get(object)?.has(key) !== true) return;
    drop(losers, object, key);
    drop(lostBy, key, object);
    const winner = holders.get(object);
    if (winner !== undefined) options.onWanted?.(winner);
  }

  function letGo(object: string, key: string): void {
    drop(heldBy, key, object);
    if (holders.get(object) === key) holders.delete(object);
    for (const rival of losers.get(object) ?? []) options.onChange(rival);
  }

  /** `self` had it selected, whatever it is now. */
  function contendersFor(object: KubeObject, self?: string): Contender[] {
    const all = new Set(reach.of(object));
    if (self !== undefined) all.add(self);
    return [...all].flatMap((key): Contender[] => {
      const terms = known.get(key);
      if (!terms) return [];
      // What was selected may have lost on its way what it was selected by; that it was is known.
      const explicitness =
        explicitnessOf(terms.selectors, object, options.namespaces) ?? (key === self ? 'Kind' : undefined);
      return explicitness === undefined ? [] : [{ ...terms, key, explicitness }];
    });
  }

  function unsettledFor(key: string, ref: ObjectRef): string | undefined {
    const { group } = gvkOf(ref);
    for (const [other, { selectors }] of known) {
      if (other === key || settled.has(other)) continue;
      const mayMean = selectors.some(
        ({ apiVersion, kind, namespace = ref.namespace, name = ref.name }) =>
          kind === ref.kind &&
          namespace === ref.namespace &&
          name === ref.name &&
          gvkOf({ apiVersion, kind }).group === group,
      );
      if (mayMean) return other;
    }
    return undefined;
  }

  return {
    touch(key): void {
      touched.add(key);
      for (const object of lostBy.get(key) ?? []) {
        const winner = holders.get(object);
        if (winner !== undefined) options.onWanted?.(winner);
      }
    },
    settle(key, compiled): Settled {
      takeIn();
      if (!known.has(key)) return { compiled, lost: [] };
      const along = new Set(compiled.closure?.added.map(({ object }) => refKey(refOf(object))));
      const lost: LostClaim[] = [];
      const lostBefore = new Set(lostBy.get(key));
      const kept: KubeObject[] = [];
      const before = new Set(heldBy.get(key));
      let first: string | undefined;
      for (const object of compiled.intent.objects) {
        const name = refKey(refOf(object));
        // What only comes along is shared with everyone.
        const contenders = along.has(name) ? [] : contendersFor(object, key);
        if (contenders.length === 0) {
          kept.push(object);
          continue;
        }
        const sent = contenders.filter((claim) => claim.isSent && !settled.has(claim.key));
        const holder =
          contenders.find((claim) => claim.key === holders.get(name)) ?? settleClaims(sent)?.winner;
        const contest = settleClaims(contenders, holder);
        const previous = holders.get(name);
        if (!contest || contest.winner.key === key) {
          kept.push(object);
          before.delete(name);
          giveUp(name, key);
          hold(name, key);
          if (previous !== undefined && previous !== key) options.onChange(previous);
        } else {
          const { winner } = contest;
          hold(name, winner.key);
          contend(name, key, winner.key);
          lostBefore.delete(name);
          lost.push({ object: name, winner: winner.key });
          first ??= `${refText(refOf(object))}: ${contest.losers.find(({ claim }) => claim.key === key)?.reason ?? ''}`;
          if (previous !== winner.key) options.onChange(winner.key);
          before.delete(name);
        }
      }
      for (const object of before) letGo(object, key);
      for (const object of lostBefore) giveUp(object, key);
      settled.add(key);
      if (first === undefined) return { compiled, lost };
      const more = lost.length > 1 ? ` (and ${lost.length - 1} more objects)` : '';
      return {
        compiled: { ...compiled, intent: { ...compiled.intent, objects: kept } },
        lost,
        problem: { ok: false, reason: 'ClaimedByAnother', message: `${first}${more}` },
      };
    },
    wanted(key): readonly WantedByOthers[] {
      takeIn();
      return [...(heldBy.get(key) ?? [])].flatMap((object) => {
        const by = [...(losers.get(object) ?? [])].filter((rival) => rival !== key).sort();
        return by.length === 0 ? [] : [{ object, by }];
      });
    },
    isContested: (ref) => losers.has(refKey(ref)),
    contends(key, ref): boolean {
      takeIn();
      const object = refKey(ref);
      return holders.get(object) === key || losers.get(object)?.has(key) === true;
    },
    holderOf(object): string | undefined {
      takeIn();
      return holders.get(object);
    },
    heirOf(key, ref): string | undefined {
      takeIn();
      const object = refKey(ref);
      const holder = holders.get(object);
      if (holder !== undefined && holder !== key) return holder;
      const rival = holder === undefined && [...(losers.get(object) ?? [])].find((loser) => loser !== key);
      if (rival) return rival;
      const present = options.present?.(ref);
      if (!present && options.isRead?.(ref) === false) return unsettledFor(key, ref);
      const contenders = present ? contendersFor(present) : [];
      return settleClaims(
        contenders,
        contenders.find((claim) => claim.key === holder),
      )?.winner.key;
    },
  };
}

function put(sets: Map<string, Set<string>>, at: string, value: string): void {
  const set = sets.get(at);
  if (set) set.add(value);
  else sets.set(at, new Set([value]));
}

function drop(sets: Map<string, Set<string>>, at: string, value: string): void {
  const set = sets.get(at);
  if (set?.delete(value) === true && set.size === 0) sets.delete(at);
}
