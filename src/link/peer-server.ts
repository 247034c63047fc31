import type { Duplex } from 'node:stream';
import type { Handler, Request, Response, Upgrader } from '../kube/exchange.ts';
import { failure } from '../kube/status-error.ts';
import { IDLE_SESSION_MS, type ServedSession, serveHttp2Session } from '../kube/wire/index.ts';
import { errorText, type Runtime } from '../runtime/index.ts';
import { messageResponse, parseMessage } from './tunnel-protocol.ts';

/**
 * What a replica of the hub does for another. Requests with the header `atoll-spoke` are for that spoke, and are answered only by
 * a connection that this replica has itself: what came from a replica is never passed to a third, so there are no loops.
 *
 * - `GET /peer/spokes` → lines: `{replica}`, then `{spoke, here}` for each change, those that are here first
 * - `POST /peer/check` `{spoke}` → `{alive}`: whether the spoke's connection here answers
 * - `POST /peer/disconnect` `{spoke, message}` → 204: cuts its connection here
 */
export const PEER_PATHS = {
  spokes: '/peer/spokes',
  check: '/peer/check',
  disconnect: '/peer/disconnect',
} as const;

/** Names the spoke of a request. */
export const SPOKE_HEADER = 'atoll-spoke';
/** Marks an answer that is none of the spoke's: it could not be asked. The value says why. */
export const UNREACHABLE_HEADER = 'atoll-unreachable';

const BODY_LIMIT = 64 * 1024 * 1024;

/** A spoke that this replica reaches itself: it dialled here, or this replica has its kubeconfig. */
export interface ReachedHere {
  readonly handler: Handler;
  readonly upgrade?: Upgrader;
}

export interface PeerServices {
  readonly replica: string;
  /** How this replica itself reaches a spoke. */
  connection(spoke: string): ReachedHere | undefined;
  /** All spokes that it reaches itself. */
  spokes(): Iterable<string>;
  /** Calls `listener` when a spoke comes or goes. Returns what stops that. */
  onSpoke(listener: (spoke: string) => void): () => void;
  alive(spoke: string): Promise<boolean>;
  disconnect(spoke: string, message: string): void;
}

/** Serves one connection of another replica, which has proved to be one. */
export function servePeer(runtime: Runtime, socket: Duplex, services: PeerServices): ServedSession {
  async function answer(request: Request): Promise<Response> {
    // The name by which this replica was asked is not the spoke's.
    const { [SPOKE_HEADER]: spoke, host: _host, ...headers } = request.headers;
    if (spoke === undefined) return answerPeer(request);
    const connection = services.connection(spoke);
    if (connection === undefined) return unreachable('the spoke is not connected to this replica');
    try {
      return unmarked(await connection.handler({ ...request, headers }));
    } catch (error) {
      return unreachable(errorText(error));
    }
  }

  const upgrade: Upgrader = async (request) => {
    const { [SPOKE_HEADER]: spoke = '', host: _host, ...headers } = request.headers;
    const connection = services.connection(spoke);
    if (connection === undefined) return unreachable('the spoke is not connected to this replica');
    if (connection.upgrade === undefined) return unreachable('the link to the spoke carries no streams');
    try {
      const answered = await connection.upgrade({ ...request, headers });
      return 'socket' in answered ? answered : unmarked(answered);
    } catch (error) {
      return unreachable(errorText(error));
    }
  };

  async function answerPeer(request: Request): Promise<Response> {
    switch (`${request.method} ${request.path}`) {
      case `GET ${PEER_PATHS.spokes}`:
        return { status: 200, headers: {}, body: spokeLines(services, request.signal) };
      case `POST ${PEER_PATHS.check}`: {
        const spoke = parseMessage(request.body)?.spoke;
        return messageResponse(200, { alive: typeof spoke === 'string' && (await services.alive(spoke)) });
      }
      case `POST ${PEER_PATHS.disconnect}`: {
        const { spoke, message } = parseMessage(request.body) ?? {};
        if (typeof spoke !== 'string') throw failure(400, 'BadRequest', 'a spoke is to be named');
        services.disconnect(spoke, typeof message === 'string' ? message : 'the spoke was removed');
        return messageResponse(204);
      }
      default:
        throw failure(404, 'NotFound', `replicas have no ${request.method} ${request.path}`);
    }
  }

  return serveHttp2Session(runtime, socket, answer, {
    upgrade,
    bodyBytes: BODY_LIMIT,
    // The watches and shells of all spokes here share one connection.
    maxConcurrentStreams: 100_000,
    maxUpgrades: 10_000,
    // Whoever is a replica hears where spokes are for as long as it is connected.
    idleTimeoutMs: IDLE_SESSION_MS,
  });
}

/** Spokes that come and go while the reader is slow are told once: what counts is where they are now. */
async function* spokeLines(
  services: PeerServices,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const changed = new Set<string>(services.spokes());
  let wake = (): void => {};
  const stop = services.onSpoke((spoke) => {
    changed.add(spoke);
    wake();
  });
  const onAbort = (): void => wake();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    yield line({ replica: services.replica });
    while (signal?.aborted !== true) {
      if (changed.size === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const lines = [...changed].map((spoke) =>
        line({ spoke, here: services.connection(spoke) !== undefined }),
      );
      changed.clear();
      yield Buffer.concat(lines);
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', onAbort);
  }
}

function line(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

function unreachable(message: string): Response {
  const text = message.replace(/[^\x20-\x7e]/g, '?').slice(0, 500);
  return { status: 502, headers: { [UNREACHABLE_HEADER]: text || 'unknown' }, body: new Uint8Array() };
}

/** A spoke cannot say of itself that it was not asked. */
function unmarked(response: Response): Response {
  if (response.headers[UNREACHABLE_HEADER] === undefined) return response;
  const { [UNREACHABLE_HEADER]: _said, ...headers } = response.headers;
  return { ...response, headers };
}
