import type { Clock } from '../runtime/clock.ts';

/** What the API server did not answer in time: whether it was done is not known. */
export class DeadlineExceeded extends Error {
  constructor(limitMs: number) {
    super(`the API server did not answer within ${limitMs / 1000} s; it is asked again`);
    this.name = 'DeadlineExceeded';
  }
}

/** Gives work a signal that is aborted after `limitMs`. Throws {@link DeadlineExceeded} then. */
export async function within<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  // Made when it is needed: an error looks at the stack, and most work is in time.
  let late: DeadlineExceeded | undefined;
  const over = Promise.withResolvers<never>();
  const timer = clock.after(limitMs, () => {
    late = new DeadlineExceeded(limitMs);
    ending.abort(late);
    // Whatever does not listen to the signal must not hold up the rest.
    over.reject(late);
  });
  try {
    return await Promise.race([work(ending.signal), over.promise]);
  } catch (error) {
    throw late ?? error;
  } finally {
    timer.cancel();
  }
}
