import type { SpokeFindings } from '../../dialects/kubevela/report.ts';
import {
  isRestless,
  type Liveness,
  observeLink,
  type ProbeVerdict,
  steadyInMs,
} from '../../engine/liveness/index.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ProbeMemory } from './probe.ts';

/** What a probe found. */
export type Connection = Pick<SpokeFindings, 'connected' | 'info' | 'infoProblem' | 'probedAt' | 'apis'>;

/** What is remembered of one cluster between passes. */
export interface Sighting {
  /** Changes of other things must not probe again. */
  probed?: { readonly at: number; readonly up: boolean; readonly found: Connection };
  memory: ProbeMemory;
  verdict?: ProbeVerdict;
  /** What a look that went well told, for verdicts that stand though a probe failed. */
  lastGood?: Connection;
  /** What the last one told that did not, for verdicts that stand though a probe went well. */
  lastBad?: Connection;
  liveness?: Liveness;
  /** When it was read well for the last time. The stored status may be older: it is written when facts change. */
  syncedAt?: number;
  /** Who it said to be. */
  id?: string;
  /** What was applied on it when its APIs were read last: that may have brought others. */
  applied?: string | undefined;
  /** Whose id it showed, while it is kept out for that. */
  duplicateOf?: string;
  /** Whether it is known to have no registration. */
  released?: boolean;
}

/** By the names of clusters. */
export interface Sightings {
  /** That of a cluster, a new one where it was not seen yet. */
  of(name: string): Sighting;
  known(name: string): Sighting | undefined;
  forget(name: string): void;
  /** Names of those that are kept out because another one is the same. */
  duplicates(): readonly string[];
}

export function createSightings(): Sightings {
  const sightings = new Map<string, Sighting>();
  return {
    of(name): Sighting {
      const present = sightings.get(name) ?? { memory: {} };
      sightings.set(name, present);
      return present;
    },
    known: (name) => sightings.get(name),
    forget: (name) => void sightings.delete(name),
    duplicates: () =>
      [...sightings].filter(([, { duplicateOf }]) => duplicateOf !== undefined).map(([name]) => name),
  };
}

/** Remembers whether a cluster was there just now. Times of what it returns are wall time. */
export function sighted(clock: Clock, sighting: Sighting, isUp: boolean): Liveness {
  const seen = observeLink(sighting.liveness, isUp, clock.monotonic());
  sighting.liveness = seen;
  return { ...seen, since: clock.now() - (clock.monotonic() - seen.since) };
}

/** How long until a cluster that is there, and that came and went before, is told to be connected. */
export function steadyAfterMs(clock: Clock, { liveness }: Sighting): number | undefined {
  const waitMs = liveness && steadyInMs(liveness, clock.monotonic());
  return waitMs === 0 ? undefined : waitMs;
}

const RESTLESS = 'the spoke comes and goes: it counts as connected again when it stays';

/**
 * What is told of a cluster of which `found` was found. One that comes and goes is told to be away until it stays, always in
 * the same words: neither its status nor its Events grow with its restlessness.
 */
export function steadied(clock: Clock, { liveness }: Sighting, found: Connection): Connection {
  if (!liveness || !isRestless(liveness, clock.monotonic())) return found;
  const { probedAt } = found;
  return {
    ...(probedAt === undefined ? {} : { probedAt }),
    connected: { ok: false, unauthorized: false, message: RESTLESS },
  };
}

export function lastSynced({ syncedAt }: Sighting): Pick<SpokeFindings, 'syncedAt'> {
  return syncedAt === undefined ? {} : { syncedAt };
}
