import { errorText, jitter, type Runtime } from '../runtime/index.ts';
import type { Controller, Result } from './controller.ts';
import { hasCode } from './status-error.ts';
import { createWorkQueue } from './work-queue.ts';

/** Made once: an abort without a reason makes an error, and its stack, each time. */
const STOPPED = new Error('it was stopped');

export interface ControllerOptions {
  /** In log lines. */
  name: string;
  /** Keys reconciled at the same time, 1 by default. */
  concurrency?: number;
  /** Brings what `key` names to its desired state. The signal is aborted when the controller stops. */
  reconcile: (key: string, signal: AbortSignal) => Promise<Result | void>;
  /** Delay after the first failure of a key, doubled for each further one up to `maxMs`. 200 ms and 30 s by default. */
  backoff?: { baseMs: number; maxMs: number };
  /** Of keys that wait those with the highest number come first; 0 where nothing is said. It must be cheap. */
  priorityOf?: (key: string) => number;
  /** Called when the work on a key has ended and there is nothing left to do, now or later. */
  onIdle?: () => void;
}

/**
 * Starts the workers of a queue of keys. Keys enqueued in one turn of the event loop are begun together after it, so
 * that a burst of events for one key is one reconcile.
 */
export function startController(runtime: Runtime, options: ControllerOptions): Controller {
  const { clock } = runtime;
  const log = runtime.log.with({ controller: options.name });
  const concurrency = options.concurrency ?? 1;
  const backoff = options.backoff ?? { baseMs: 200, maxMs: 30_000 };
  const stopping = new AbortController();
  const failures = new Map<string, number>();
  const idle = Promise.withResolvers<void>();
  let running = 0;
  let scheduled = false;

  const queue = createWorkQueue(clock, schedule, options.priorityOf);

  function schedule(): void {
    if (scheduled || running >= concurrency) return;
    scheduled = true;
    clock.defer(() => {
      scheduled = false;
      dispatch();
    });
  }

  function dispatch(): void {
    while (running < concurrency && !stopping.signal.aborted) {
      const key = queue.take();
      if (key === undefined) return;
      running += 1;
      work(key).then(ended, (error: unknown) => {
        log.error('the controller loop failed by a defect', { key, error: errorText(error) });
        ended();
      });
    }
  }

  function ended(): void {
    running -= 1;
    if (!stopping.signal.aborted) {
      dispatch();
      // Once, and by the last: whoever hears of it may make another controller for what comes next.
      if (running === 0 && queue.empty) options.onIdle?.();
    } else if (running === 0) idle.resolve();
  }

  async function work(key: string): Promise<void> {
    let afterMs: number | undefined;
    try {
      const result = await options.reconcile(key, stopping.signal);
      failures.delete(key);
      afterMs = result?.requeueAfterMs;
    } catch (error) {
      if (!stopping.signal.aborted) afterMs = failed(key, error);
    }
    queue.done(key);
    if (afterMs !== undefined) queue.add(key, afterMs);
  }

  function failed(key: string, error: unknown): number {
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    const delay = Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(count - 1, 20));
    const retryInMs = Math.ceil(Math.min(backoff.maxMs, jitter(runtime.random, delay, 0.2)));
    const line = { key, error: errorText(error), failures: count, retryInMs };
    // Somebody else wrote first: the usual way of optimistic concurrency, worth a word only when it does not end.
    if (hasCode(error, 409) && count < 5) log.debug('reconcile lost a race', line);
    else log.warn('reconcile failed', line);
    return retryInMs;
  }

  return {
    enqueue: queue.add,
    get busy() {
      return queue.busy;
    },
    stop() {
      if (!stopping.signal.aborted) {
        stopping.abort(STOPPED);
        queue.close();
        if (running === 0) idle.resolve();
      }
      return idle.promise;
    },
  };
}
