import type { Clock } from './clock.ts';
import { type Logger, silentLogger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type Random, seededRandom, systemRandom } from './random.ts';
import { systemClock } from './system-clock.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

/** What every shell is handed instead of reaching for globals: time, randomness, a place to log and to count. */
export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface VirtualRuntime extends Runtime {
  readonly clock: VirtualClock;
}

export function systemRuntime(log: Logger = silentLogger): Runtime {
  return { clock: systemClock(), random: systemRandom(), log, metrics: createMetrics() };
}

/** A runtime for simulations: the same `seed` gives the same run. `start` is that of the clock. */
export function virtualRuntime(seed: number, log: Logger = silentLogger, start?: number): VirtualRuntime {
  return { clock: virtualClock(start), random: seededRandom(seed), log, metrics: createMetrics() };
}
