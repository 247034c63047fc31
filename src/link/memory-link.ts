import { Duplex } from 'node:stream';
import {
  type Handler,
  isUpgraded,
  type Request,
  type Response,
  type Upgraded,
  type Upgrader,
} from '../kube/exchange.ts';
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

export interface MemoryLinkOptions {
  /** One way, milliseconds. */
  readonly latencyMs?: number;
  /** Answers requests to switch protocols. */
  readonly upgrade?: Upgrader;
}

/** Carries requests to `handler`. Up from the start. What a request did before a cut stays done, as with a real network. */
export function memoryLink(
  runtime: Runtime,
  spoke: string,
  handler: Handler,
  options: MemoryLinkOptions = {},
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

  async function carryUpgrade(upgrade: Upgrader, request: Request): Promise<Upgraded | Response> {
    const { signal: cutSignal } = connection;
    if (!status.state.up) throw new LinkDown(spoke, status.state.reason, status.state.message);
    if (request.signal?.aborted) throw request.signal.reason;
    const gone = new AbortController();
    const release = forward(cutSignal, request.signal, gone);
    let answer: Upgraded | Response;
    try {
      await travel(gone.signal);
      answer = await unlessAborted(upgrade({ ...request, signal: gone.signal }), gone.signal, (late) => {
        if (isUpgraded(late)) late.socket.destroy();
      });
      await travel(gone.signal);
    } catch (error) {
      release();
      throw error;
    }
    release();
    if (!isUpgraded(answer)) return answer;
    return { ...answer, socket: carrySocket(answer.socket, cutSignal) };
  }

  /** The spoke's end of a stream as the hub sees it: late by the latency, broken when the link is. */
  function carrySocket(far: Duplex, cut: AbortSignal): Duplex {
    const later = (act: () => void): void => {
      travel(cut).then(act, (error: unknown) => near.destroy(error instanceof Error ? error : undefined));
    };
    const near = new Duplex({
      allowHalfOpen: true,
      read(): void {
        far.resume();
      },
      write(chunk: Buffer, _encoding, done): void {
        later(() => {
          if (far.destroyed || far.write(chunk)) done();
          else far.once('drain', done);
        });
      },
      final(done): void {
        later(() => {
          far.end();
          done();
        });
      },
      destroy(error, done): void {
        cut.removeEventListener('abort', onCut);
        // What was written whole is left to arrive.
        const over = error === null && near.readableEnded && near.writableFinished;
        if (!over && !far.destroyed) far.destroy();
        done(error);
      },
    });
    const onCut = (): void => void near.destroy(cut.reason as Error);
    cut.addEventListener('abort', onCut, { once: true });
    far.on('data', (chunk: Buffer) => {
      // One chunk is on its way at a time, so that chunks keep their order and a slow reader is felt.
      far.pause();
      later(() => {
        if (near.push(chunk)) far.resume();
      });
    });
    far.on('end', () => later(() => near.push(null)));
    far.on('error', (error) => near.destroy(error));
    far.once('close', () => {
      if (!far.readableEnded) near.destroy(new Error('the spoke broke the stream off'));
    });
    near.on('error', () => {});
    far.pause();
    if (cut.aborted) onCut();
    return near;
  }

  async function travel(signal: AbortSignal): Promise<void> {
    if (latencyMs > 0) await sleep(runtime.clock, latencyMs, signal);
    else signal.throwIfAborted();
  }

  return {
    spoke,
    handler: carry,
    ...(options.upgrade === undefined ? {} : { upgrade: carryUpgrade.bind(undefined, options.upgrade) }),
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

/** `promise`, or the signal's reason as soon as it is aborted; `late` gets what comes after that. Leaves no listener behind. */
function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason);
      // A failure that comes too late is the same failure: the exchange was broken off.
      promise.then(late, () => {});
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
