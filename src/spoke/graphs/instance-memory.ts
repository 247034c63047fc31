import { digestOf } from '../../engine/digest.ts';
import { projectOn } from '../../engine/drift/projection.ts';
import type { DesiredObject } from '../../engine/graph/index.ts';
import { asJson, type KubeObject, refKey } from '../../kube/object.ts';
import { laterOf } from './served-graph.ts';

/** What was written of an object, and what came of it. */
interface Written {
  readonly wanted: KubeObject;
  readonly digest: string;
  /** Of what the object said, just after it was written, about the fields that are wanted. */
  readonly baseline: string;
  /** As it was written, until a watch has seen it. */
  object: KubeObject | undefined;
  readonly at: number;
  /** The revision of the object that was last compared with the baseline, and what came of it. */
  checked: { readonly version: string; readonly intact: boolean };
  /** How often in a row somebody else's change was undone. */
  readonly corrections: number;
  /** Not to be corrected before this time: who fights is slowed down. */
  readonly notBefore: number;
}

/**
 * What this process remembers of an instance: nothing that may not be lost. Without it every object is applied once more, and
 * everything that carries the instance's mark is looked at once more.
 */
export interface InstanceMemory {
  /** The instance as it was last written, which a watch may not have told of yet. */
  instance: KubeObject | undefined;
  /** Digest of the objects that were wanted when there was last nothing to remove. */
  prunedFor: string | undefined;
  /** The time that expressions see: it goes on when an instant comes that they asked for. */
  clock: { readonly now: number; readonly wakeAt: number | undefined } | undefined;
  /** A write was not answered: there may be an object that nothing here tells of. */
  uncertain: boolean;
  /** Passes in a row in which something failed. */
  attempts: number;
  /** Objects that a pass could not write, by `refKey`. */
  readonly failures: Map<string, string>;
  wrote(desired: DesiredObject, result: KubeObject, now: number): void;
  /** The object as it is known: as a watch has it, or as it was written just now. */
  seen(key: string, watched: KubeObject | undefined, now: number): KubeObject | null;
  /** The digest of what was applied, if the object still says so. */
  applied(key: string, live: KubeObject, now: number): string | undefined;
  /** Whether a watch tells nothing new: it is what was written, and what the last step saw. From now on the watch is believed. */
  told(key: string, watched: KubeObject): boolean;
  /** Milliseconds until something must be looked at again although nothing changes; `undefined` where that is never. */
  due(now: number): number | undefined;
  /** Whether nothing but these was written, as far as it is remembered. */
  wroteOnly(keys: ReadonlySet<string>): boolean;
  forgetOthers(keys: ReadonlySet<string>): void;
}

/** A watch tells of a write sooner than this; an object that it has not told of is gone. */
const UNSEEN_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
/** After so much peace a fight is over. */
const PEACE_MS = 600_000;

export function instanceMemory(): InstanceMemory {
  const written = new Map<string, Written>();
  const failures = new Map<string, string>();

  return {
    instance: undefined,
    prunedFor: undefined,
    clock: undefined,
    uncertain: false,
    attempts: 0,
    failures,
    wrote({ ref, digest, object: wanted }, object, now) {
      const key = refKey(ref);
      const before = written.get(key);
      const undone = before?.digest === digest && !before.checked.intact;
      const fresh = before === undefined || now - before.at > PEACE_MS;
      const corrections = undone ? (fresh ? 1 : before.corrections + 1) : 0;
      const pause =
        corrections < 2 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(corrections - 2, 20));
      written.set(key, {
        wanted,
        digest,
        baseline: projection(wanted, object),
        object,
        at: now,
        checked: { version: object.metadata.resourceVersion ?? '', intact: true },
        corrections,
        notBefore: now + pause,
      });
    },
    seen(key, watched, now) {
      const entry = written.get(key);
      if (!entry?.object) return watched ?? null;
      if (watched && laterOf(watched, entry.object) === watched) {
        entry.object = undefined;
        return watched;
      }
      if (now - entry.at < UNSEEN_MS) return entry.object;
      entry.object = undefined;
      return watched ?? null;
    },
    applied(key, live, now) {
      const entry = written.get(key);
      if (!entry) return undefined;
      const version = live.metadata.resourceVersion ?? '';
      if (entry.checked.version !== version)
        entry.checked = { version, intact: projection(entry.wanted, live) === entry.baseline };
      return entry.checked.intact || now < entry.notBefore ? entry.digest : undefined;
    },
    told(key, watched) {
      const entry = written.get(key);
      const { resourceVersion } = watched.metadata;
      if (!entry?.checked.intact || entry.checked.version !== resourceVersion) return false;
      entry.object = undefined;
      return true;
    },
    due(now) {
      let earliest: number | undefined;
      for (const { object, at, checked, notBefore } of written.values()) {
        const time = object ? at + UNSEEN_MS : checked.intact ? undefined : notBefore;
        if (time !== undefined) earliest = Math.min(earliest ?? time, time);
      }
      return earliest === undefined ? undefined : Math.max(1, earliest - now);
    },
    wroteOnly(keys) {
      for (const key of written.keys()) if (!keys.has(key)) return false;
      return true;
    },
    forgetOthers(keys) {
      for (const key of written.keys()) if (!keys.has(key)) written.delete(key);
    },
  };
}

function projection(wanted: KubeObject, live: KubeObject): string {
  return digestOf(projectOn(asJson(wanted), asJson(live)) ?? null);
}
