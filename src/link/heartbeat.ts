import type { Http2Session } from 'node:http2';
import type { Runtime, Timer } from '../runtime/index.ts';

/** Whether the other end answers an HTTP/2 ping in time. */
export function pingSession(runtime: Runtime, session: Http2Session, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    if (session.destroyed || session.closed) {
      resolve(false);
      return;
    }
    const timer = runtime.clock.after(timeoutMs, () => resolve(false));
    const onAnswer = (error: Error | null): void => {
      timer.cancel();
      resolve(error === null);
    };
    // False when too many pings are unanswered already.
    if (!session.ping(onAnswer)) {
      timer.cancel();
      resolve(false);
    }
  });
}

/**
 * Pings the other end every `intervalMs` and calls `onDead` once when a ping is not answered within `timeoutMs`. This finds
 * connections whose other end vanished without a word. Returns what stops it.
 */
export function heartbeat(
  runtime: Runtime,
  session: Http2Session,
  intervalMs: number,
  timeoutMs: number,
  onDead: () => void,
): () => void {
  let stopped = false;
  let timer: Timer | undefined;
  const beat = async (): Promise<void> => {
    const alive = await pingSession(runtime, session, timeoutMs);
    if (stopped) return;
    if (alive) timer = runtime.clock.after(intervalMs, () => void beat());
    else {
      stopped = true;
      onDead();
    }
  };
  timer = runtime.clock.after(intervalMs, () => void beat());
  const stop = (): void => {
    stopped = true;
    timer?.cancel();
  };
  session.once('close', stop);
  return stop;
}
