import type { Clock } from '../../runtime/clock.ts';

/** How fast instances of a definition go from one revision to another. */
export interface Pace {
  /**
   * Lets an instance go on, or says in how many milliseconds to ask again. No more than `perMinute` go on within any minute; nothing
   * of it is kept over a restart, after which as many may go on once more.
   */
  admit(definition: string, perMinute: number): number;
  forget(definition: string): void;
}

const MINUTE_MS = 60_000;

export function createPace(clock: Clock): Pace {
  /** When instances went on, oldest first. */
  const admitted = new Map<string, number[]>();
  return {
    admit(definition, perMinute) {
      const now = clock.monotonic();
      const recent = (admitted.get(definition) ?? []).filter((at) => at > now - MINUTE_MS);
      admitted.set(definition, recent);
      const [oldest] = recent;
      if (oldest !== undefined && recent.length >= perMinute) return oldest + MINUTE_MS - now;
      recent.push(now);
      return 0;
    },
    forget: (definition) => void admitted.delete(definition),
  };
}
