/**
 * Time, randomness, logging, counting: the only room that touches the machine's clock and its random source.
 *
 * Everything above is handed a {@link Runtime}. With {@link systemRuntime} it runs for real; with
 * {@link virtualRuntime} a whole fleet runs in one process, repeatably, at any speed.
 */
export { type Alarm, createAlarm } from './alarm.ts';
export { type Clock, formatMicroTime, formatTime, parseTime, sleep, type Timer } from './clock.ts';
export { errorText, type LogFields, type Logger, silentLogger } from './log.ts';
export {
  type Counter,
  createMetrics,
  type Histogram,
  type HistogramRow,
  type MetricLabels,
  type MetricRow,
  type Metrics,
  type Sample,
} from './metrics.ts';
export { AlreadyRunning, isAlive, PROCESS_TITLE, readPidFile, takePidFile } from './pid-file.ts';
export { jitter, nameSuffix, type Random, seededRandom, systemRandom, uuid } from './random.ts';
export { type Runtime, systemRuntime, type VirtualRuntime, virtualRuntime } from './runtime.ts';
export { untilStopped } from './shutdown.ts';
export { systemClock } from './system-clock.ts';
export { type VirtualClock, virtualClock } from './virtual-clock.ts';
