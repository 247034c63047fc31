import type { Duplex } from 'node:stream';
import type { Request, Response } from '../../kube/exchange.ts';
import { badRequest } from '../../kube/status-error.ts';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { isWebSocketRequest, webSocketResponse } from '../websocket/index.ts';
import { answerPort, declaredPorts } from '../workloads/containers/index.ts';
import type { Pod } from '../workloads/kinds.ts';
import { BrokenPipe } from './byte-pipe.ts';
import { acceptSpdy, type SpdyStream } from './spdy/index.ts';
import { agreedProtocol, isSpdyRequest, spdyResponse } from './spdy-upgrade.ts';
import { webSocketDuplex } from './web-socket-duplex.ts';

const PROTOCOL = 'portforward.k8s.io';
/** SPDY within a WebSocket, as clients speak it since Kubernetes 1.31. */
const TUNNELLED = `SPDY/3.1+${PROTOCOL}`;
/** How long one stream of a pair may be alone. */
const PAIR_MS = 30_000;
const MAX_WAITING = 64;

/** Answers `portforward` over SPDY, directly or within a WebSocket. `podNow` is the pod as long as it runs. Throws 400. */
export function portForward(runtime: Runtime, request: Request, podNow: () => Pod | undefined): Response {
  if (isWebSocketRequest(request))
    return webSocketResponse(
      request,
      [TUNNELLED],
      (webSocket) =>
        forward(runtime, webSocketDuplex(webSocket, runtime.log), new Uint8Array(), podNow, request.signal),
      { clock: runtime.clock },
    );
  if (!isSpdyRequest(request)) throw badRequest('Upgrade request required');
  return spdyResponse(agreedProtocol(request, [PROTOCOL]), (socket, head) =>
    forward(runtime, socket, head, podNow, request.signal),
  );
}

/** A connection of the client's user: a stream for its bytes, and one that tells what went wrong. */
interface Pair {
  error?: SpdyStream;
  data?: SpdyStream;
  cancel(): void;
}

async function forward(
  runtime: Runtime,
  socket: Duplex,
  head: Uint8Array,
  podNow: () => Pod | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { clock, log } = runtime;
  const waiting = new Map<string, Pair>();
  const session = acceptSpdy(socket, head, (stream) => {
    const type = (stream.headers.get('streamtype') ?? '').toLowerCase();
    const port = Number(stream.headers.get('port'));
    if ((type !== 'error' && type !== 'data') || !Number.isInteger(port) || port < 1 || port > 65_535) {
      stream.reset();
      return;
    }
    // Clients of old give no number: then a pair is what comes one after the other for a port.
    const key = stream.headers.get('requestid') ?? `port ${port}`;
    const pair = waiting.get(key) ?? newPair(key);
    if (pair === undefined || pair[type] !== undefined) {
      stream.reset();
      return;
    }
    pair[type] = stream;
    const { data, error } = pair;
    if (data === undefined || error === undefined) return;
    waiting.delete(key);
    pair.cancel();
    connect(podNow(), port, data, error).catch((cause: unknown) => {
      log.error('a forwarded connection failed', { error: errorText(cause) });
      data.reset();
      error.reset();
    });
  });

  function newPair(key: string): Pair | undefined {
    if (waiting.size >= MAX_WAITING) return undefined;
    const timer = clock.after(PAIR_MS, () => {
      waiting.delete(key);
      pair.error?.reset();
      pair.data?.reset();
    });
    const pair: Pair = { cancel: () => timer.cancel() };
    waiting.set(key, pair);
    return pair;
  }

  const stop = (): void => {
    socket.destroy();
  };
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await session.closed;
  } catch (error) {
    log.debug('a client broke the rules of SPDY', { error: errorText(error) });
  } finally {
    signal?.removeEventListener('abort', stop);
    for (const pair of waiting.values()) pair.cancel();
  }
}

async function connect(
  pod: Pod | undefined,
  port: number,
  data: SpdyStream,
  error: SpdyStream,
): Promise<void> {
  try {
    const why = refusal(pod, port);
    if (why !== undefined || pod === undefined) {
      await error.write(Buffer.from(why ?? ''));
      data.cancel();
      data.end();
      return;
    }
    await answerPort(pod, port, data, data);
  } catch (cause) {
    if (!(cause instanceof BrokenPipe)) throw cause;
  } finally {
    error.end();
  }
}

/** What a runtime says where nobody listens. */
function refusal(pod: Pod | undefined, port: number): string | undefined {
  if (pod === undefined) return `error forwarding port ${port}: the pod does not run any more`;
  if (declaredPorts(pod).has(port)) return undefined;
  const name = `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`;
  return `error forwarding port ${port} to pod ${name}: dial tcp4 127.0.0.1:${port}: connect: connection refused`;
}
