import type { Handler, Request, Response } from '../kube/exchange.ts';
import { type Runtime, sleep } from '../runtime/index.ts';
import { type Link, LinkDown, type LinkState, linkStatus } from './link.ts';

/** A link inside one process, for simulations. */
export interface MemoryLink extends Link {
  /** Fails what is under way and what comes, until {@link heal}. */
  cut(message?: string): void;
  heal(): void;
  /** One way, milliseconds. */
  setLatency(latencyMs: number): void;
}

/** Carries requests to `handler`. Up from the start. What a request did before a cut stays done, as with a real network. */
export function memoryLink(
  runtime: Runtime,
  spoke: string,
  handler: Handler,
  options: { latencyMs?: number } = {},
): MemoryLink {
  const status = linkStatus(runtime, spoke);
  let latencyMs = options.latencyMs ?? 0;
  let connection = new AbortController();
  status.set(true, 'Connected', 'connected');

  async function carry(request: Request): Promise<Response> {
    const { signal: cutSignal } = connection;
    if (!status.state.up) throw new LinkDown(spoke, status.state.reason, status.state.message);
    if (request.signal?.aborted) throw request.signal.reason;
    const gone = new AbortController();
    const release = forward(cutSignal, request.signal, gone);
    try {
      await travel(gone.signal);
      const response = await unlessAborted(handler({ ...request, signal: gone.signal }), gone.signal);
      await travel(gone.signal);
      if (response.body instanceof Uint8Array) {
        release();
        return response;
      }
      return { ...response, body: carryStream(response.body, gone, release) };
    } catch (error) {
      release();
      throw error;
    }
  }

  async function* carryStream(
    source: AsyncIterable<Uint8Array>,
    gone: AbortController,
    release: () => void,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const iterator = source[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await unlessAborted(iterator.next(), gone.signal);
        if (next.done) return;
        await travel(gone.signal);
        yield next.value;
      }
    } finally {
      release();
      gone.abort(new Error('the reader has gone'));
      // Not awaited: a producer that is stuck must not hold up its reader. It learns of the end by its signal.
      iterator.return?.().catch((error: unknown) => {
        runtime.log.debug('a stream did not end well', { spoke, error: String(error) });
      });
    }
  }

  async function travel(signal: AbortSignal): Promise<void> {
    if (latencyMs > 0) await sleep(runtime.clock, latencyMs, signal);
    else signal.throwIfAborted();
  }

  return {
    spoke,
    handler: carry,
    get up(): boolean {
      return status.state.up;
    },
    get state(): LinkState {
      return status.state;
    },
    onChange: (listener) => status.onChange(listener),
    cut(message = 'the link was cut'): void {
      if (!status.state.up) return;
      status.set(false, 'Cut', message);
      connection.abort(new LinkDown(spoke, 'Cut', message));
    },
    heal(): void {
      if (status.state.up) return;
      connection = new AbortController();
      status.set(true, 'Connected', 'connected');
    },
    setLatency(value): void {
      latencyMs = value;
    },
  };
}

/** Aborts `gone` when either signal is; returns what takes the listeners away again. */
function forward(cut: AbortSignal, caller: AbortSignal | undefined, gone: AbortController): () => void {
  const onCut = (): void => gone.abort(cut.reason);
  const onCaller = (): void => gone.abort(caller?.reason);
  cut.addEventListener('abort', onCut, { once: true });
  caller?.addEventListener('abort', onCaller, { once: true });
  return () => {
    cut.removeEventListener('abort', onCut);
    caller?.removeEventListener('abort', onCaller);
  };
}

/** `promise`, or the signal's reason as soon as it is aborted. Leaves no listener behind. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.catch(() => {});
      reject(signal.reason);
      return;
    }
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
