import { digestOf } from '../../engine/digest.ts';
import { projectOn } from '../../engine/drift/projection.ts';
import { type DesiredObject, writerKey } from '../../engine/graph/index.ts';
import { asJson, type KubeObject, type ObjectRef, refKey } from '../../kube/object.ts';
import { laterOf } from './served-graph.ts';

/** What was written of an object by one field manager, and what came of it. */
interface Written {
  readonly wanted: KubeObject;
  readonly digest: string;
  /** Of what the object said, just after it was written, about the fields that are wanted. */
  readonly baseline: string;
  readonly at: number;
  /** The revision of the object that was last compared with the baseline, and what came of it. */
  checked: { readonly version: string; readonly intact: boolean };
  /** How often in a row somebody else's change was undone. */
  readonly corrections: number;
  /** Not to be corrected before this time: who fights is slowed down. */
  readonly notBefore: number;
}

/** An object that was written. */
interface Known {
  /** As it was written, until a watch has seen it. */
  object: KubeObject | undefined;
  at: number;
  /** By `writerKey`: an instance itself, and each of its nodes that patches the object. */
  readonly writers: Map<string, Written>;
}

/**
 * What this process remembers of an instance: nothing that may not be lost. Without it every object is applied once more, and
 * everything that carries the instance's mark is looked at once more. All times are of the clock that never goes back.
 */
export interface InstanceMemory {
  /** The instance as it was last written, which a watch may not have told of yet. */
  instance: KubeObject | undefined;
  /** Digest of the objects that were wanted when there was last nothing to remove. */
  prunedFor: string | undefined;
  /** The wall time that expressions see: it goes on when an instant comes that they asked for. */
  clock: { readonly now: number; readonly wakeAt: number | undefined } | undefined;
  /** A write was not answered: there may be an object that nothing here tells of. */
  uncertain: boolean;
  /** Whether kinds are namespaced that expressions named; only those that are served. */
  readonly kinds: Map<string, boolean>;
  /** Passes in a row in which something failed. */
  attempts: number;
  /** Objects that a pass could not write, by `writerKey`. */
  readonly failures: Map<string, string>;
  /** Objects that were to be others however often a pass wrote them, by `writerKey`: of what, and until when they are let be. */
  readonly restless: Map<string, { readonly of: string; readonly until: number }>;
  wrote(desired: DesiredObject, result: KubeObject, now: number): void;
  /** The object as it is known: as a watch has it, or as it was written just now. */
  seen(key: string, watched: KubeObject | undefined, now: number): KubeObject | null;
  /** The digest of what was applied, if the object still says so. */
  applied(ref: ObjectRef, by: string | undefined, live: KubeObject, now: number): string | undefined;
  /** Whether a watch tells nothing new: it is what was written, and what the last step saw. From now on the watch is believed. */
  told(key: string, watched: KubeObject): boolean;
  /** Milliseconds until something must be looked at again although nothing changes; `undefined` where that is never. */
  due(now: number): number | undefined;
  /** Whether nothing but these, by `writerKey`, was written, as far as it is remembered. */
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
  const known = new Map<string, Known>();
  const failures = new Map<string, string>();

  return {
    instance: undefined,
    prunedFor: undefined,
    clock: undefined,
    uncertain: false,
    attempts: 0,
    failures,
    restless: new Map(),
    kinds: new Map(),
    wrote({ ref, digest, object: wanted, contributedBy }, object, now) {
      const key = refKey(ref);
      const entry = known.get(key) ?? { object: undefined, at: now, writers: new Map<string, Written>() };
      known.set(key, entry);
      const writer = writerKey(ref, contributedBy);
      const before = entry.writers.get(writer);
      const undone = before?.digest === digest && !before.checked.intact;
      const fresh = before === undefined || now - before.at > PEACE_MS;
      const corrections = undone ? (fresh ? 1 : before.corrections + 1) : 0;
      const pause =
        corrections < 2 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(corrections - 2, 20));
      entry.object = object;
      entry.at = now;
      entry.writers.set(writer, {
        wanted,
        digest,
        baseline: projection(wanted, object),
        at: now,
        checked: { version: object.metadata.resourceVersion ?? '', intact: true },
        corrections,
        notBefore: now + pause,
      });
    },
    seen(key, watched, now) {
      const entry = known.get(key);
      if (!entry?.object) return watched ?? null;
      if (watched && laterOf(watched, entry.object) === watched) {
        entry.object = undefined;
        return watched;
      }
      if (now - entry.at < UNSEEN_MS) return entry.object;
      entry.object = undefined;
      return watched ?? null;
    },
    applied(ref, by, live, now) {
      const written = known.get(refKey(ref))?.writers.get(writerKey(ref, by));
      if (!written) return undefined;
      const version = live.metadata.resourceVersion ?? '';
      if (written.checked.version !== version)
        written.checked = { version, intact: projection(written.wanted, live) === written.baseline };
      return written.checked.intact || now < written.notBefore ? written.digest : undefined;
    },
    told(key, watched) {
      const entry = known.get(key);
      const { resourceVersion } = watched.metadata;
      if (!entry || entry.writers.size === 0) return false;
      // In a version that others state: that which is written is told by its own watch.
      if (![...entry.writers.values()].some(({ wanted }) => wanted.apiVersion === watched.apiVersion))
        return true;
      for (const { checked } of entry.writers.values())
        if (!checked.intact || checked.version !== resourceVersion) return false;
      entry.object = undefined;
      return true;
    },
    due(now) {
      let earliest: number | undefined;
      for (const { object, at, writers } of known.values())
        for (const { checked, notBefore } of writers.values()) {
          const time = object ? at + UNSEEN_MS : checked.intact ? undefined : notBefore;
          if (time !== undefined) earliest = Math.min(earliest ?? time, time);
        }
      return earliest === undefined ? undefined : Math.max(1, earliest - now);
    },
    wroteOnly(keys) {
      for (const { writers } of known.values())
        for (const key of writers.keys()) if (!keys.has(key)) return false;
      return true;
    },
    forgetOthers(keys) {
      for (const [ref, { writers }] of known) {
        for (const key of writers.keys()) if (!keys.has(key)) writers.delete(key);
        if (writers.size === 0) known.delete(ref);
      }
    },
  };
}

function projection(wanted: KubeObject, live: KubeObject): string {
  return digestOf(projectOn(asJson(wanted), asJson(live)) ?? null);
}
