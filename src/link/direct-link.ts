import { type Handler, readBody, type Upgrader } from '../kube/exchange.ts';
import { errorText, jitter, type Runtime, type Timer } from '../runtime/index.ts';
import { type Link, type LinkState, linkStatus } from './link.ts';

export interface DirectLink extends Link {
  close(): void;
}

export interface DirectLinkOptions {
  /** That of the client, where it has one. */
  readonly upgrade?: Upgrader;
  /** What is asked to see whether the spoke is there; `/readyz` by default. */
  readonly probePath?: string;
  /** 10 s by default. */
  readonly probeIntervalMs?: number;
  /** 5 s by default. */
  readonly probeTimeoutMs?: number;
}

/** One missed probe may be a hiccup. */
const FAILURES_UNTIL_DOWN = 2;
const PROBE_BODY_LIMIT = 64 * 1024;

/**
 * A link over a client of the spoke's own API server (a kubeconfig). Requests always go through; whether the link counts
 * as up is known from a probe.
 */
export function directLink(
  runtime: Runtime,
  spoke: string,
  handler: Handler,
  options: DirectLinkOptions = {},
): DirectLink {
  const { probePath = '/readyz', probeIntervalMs = 10_000, probeTimeoutMs = 5_000 } = options;
  const status = linkStatus(runtime, spoke);
  let failures = 0;
  let closed = false;
  let timer: Timer | undefined;

  async function probe(): Promise<void> {
    const abort = new AbortController();
    const deadline = runtime.clock.after(probeTimeoutMs, () =>
      abort.abort(new Error(`no answer to ${probePath} within ${probeTimeoutMs} ms`)),
    );
    try {
      const response = await handler({ method: 'GET', path: probePath, headers: {}, signal: abort.signal });
      await readBody(response, PROBE_BODY_LIMIT);
      if (response.status !== 200) throw new Error(`${probePath} answered ${response.status}`);
      failures = 0;
      if (!closed) status.set(true, 'Connected', 'connected');
    } catch (error) {
      failures += 1;
      const down = !status.state.up || failures >= FAILURES_UNTIL_DOWN;
      if (down && !closed) status.set(false, 'ProbeFailed', errorText(abort.signal.reason ?? error));
    } finally {
      deadline.cancel();
    }
    if (!closed)
      timer = runtime.clock.after(jitter(runtime.random, probeIntervalMs, 0.1), () => void probe());
  }
  void probe();

  return {
    spoke,
    handler,
    ...(options.upgrade === undefined ? {} : { upgrade: options.upgrade }),
    get up(): boolean {
      return status.state.up;
    },
    get state(): LinkState {
      return status.state;
    },
    onChange: (listener) => status.onChange(listener),
    close(): void {
      closed = true;
      timer?.cancel();
      status.set(false, 'Stopped', 'the hub stops serving this link');
    },
  };
}
