import type { Duplex } from 'node:stream';

/**
 * One HTTP exchange with a Kubernetes API, free of sockets. The embedded API server is a {@link Handler}; an HTTP client,
 * a tunnel and an in-process call are {@link Handler}s as well. Whoever calls cannot tell which.
 *
 * Beside a handler there may be an {@link Upgrader}: it answers requests that ask for another protocol on their connection
 * (`exec`, `attach`, `port-forward`, by WebSocket or SPDY/3.1) with a raw stream of bytes. Nothing here reads those bytes, so
 * whoever stands between joins the streams and adds nothing:
 *
 *     const answer = await link.upgrade({ method, path, headers, signal }); // with `upgrade` and `sec-websocket-*` as they came
 *     if (isUpgraded(answer)) return upgradedResponse(answer); // or joinStreams(socket, answer.socket)
 *
 * Upgraders: `httpHandler(endpoint).upgrade` (a real server), `link.upgrade` (tunnel, memory, direct), `http2Upgrader(session)`,
 * `handlerUpgrader(handler)` (a handler whose responses can `takeOver`, such as the embedded server). Whoever serves them:
 * `upgradedResponse(answer)` makes the `takeOver` response that a handler returns; the option `upgrade` of `serveHttp2Session`
 * (extended CONNECT), `serveUpgrade` of `startTunnelDialer`, `upgrade` of `memoryLink`. All are in `kube/wire`.
 */

/** A request. Header names are lower case; `path` holds the query (`/api/v1/pods?watch=1`), percent-encoded as on the wire. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Aborted when the caller has gone; a streaming response must end then. */
  readonly signal?: AbortSignal;
}

/** A response. A stream yields chunks as they are to be flushed; the consumer ends it early by returning from its loop. */
export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /**
   * For status 101: takes the connection over, once the caller has sent this head. `head` is what the client sent behind its
   * request. Resolves when the conversation is over; `request.signal` tells it to end.
   */
  readonly takeOver?: (socket: Duplex, head: Uint8Array) => Promise<void>;
}

/**
 * A stream that can hand over its chunks as they come, within the turn in which they come: what a thousand watchers are told
 * at once costs no turn of each. It is iterated or let flow, once.
 */
export interface FlowingBody extends AsyncIterable<Uint8Array> {
  /**
   * `take` says whether it takes more at once; after `false` it is given nothing until `resume`. `end` is called once, when
   * nothing more comes. Both may be called before this returns.
   */
  flow(take: (chunk: Uint8Array) => boolean, end: () => void): BodyFlow;
}

export interface BodyFlow {
  resume(): void;
  /** Nobody reads any more. `end` is called. */
  stop(): void;
}

export function isFlowing(body: AsyncIterable<Uint8Array>): body is FlowingBody {
  return 'flow' in body;
}

/** Never rejects for an answer of the server, whatever its status; rejects only when no answer could be had. */
export type Handler = (request: Request) => Promise<Response>;

/**
 * The other end has switched protocols. Both directions end on their own (half-close): `end()` says that nothing more comes,
 * `destroy()` breaks both off. The stream is destroyed with an error when the other end or the way to it breaks; what is not
 * read is not fetched either.
 */
export interface Upgraded {
  readonly status: 101;
  /** As the server sent them: `upgrade`, `sec-websocket-accept`, `sec-websocket-protocol`, `x-stream-protocol-version` … */
  readonly headers: Readonly<Record<string, string>>;
  readonly socket: Duplex;
}

/**
 * Answers a request whose `upgrade` header names a protocol. An ordinary {@link Response} means that the server did not
 * switch (403, 404, 400 …). Rejects as a {@link Handler} does. `request.signal` counts until the answer only: from then on
 * the stream is the caller's to destroy.
 */
export type Upgrader = (request: Request) => Promise<Upgraded | Response>;

export function isUpgraded(answer: Upgraded | Response): answer is Upgraded {
  return 'socket' in answer;
}

/** The protocol that a request asks to switch to, as its `upgrade` header names it; `undefined` for an ordinary request. */
export function upgradeProtocol(request: Request): string | undefined {
  const protocol = request.headers.upgrade?.trim();
  return protocol === '' ? undefined : protocol;
}

/** The whole body. `limit` bytes at most (throws RangeError beyond), 64 MiB by default. */
export async function readBody(response: Response, limit: number = 64 * 1024 * 1024): Promise<Uint8Array> {
  if (response.body instanceof Uint8Array) return response.body;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > limit) throw new RangeError(`response body exceeds ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

export async function* bodyChunks(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body instanceof Uint8Array) {
    if (response.body.byteLength > 0) yield response.body;
    return;
  }
  yield* response.body;
}

/** A handler whose API begins below `prefix` of another's, such as one logical cluster of a server: `/clusters/edge-7`. */
export function prefixedHandler(handler: Handler, prefix: string): Handler {
  return prefix === '' ? handler : (request) => handler({ ...request, path: `${prefix}${request.path}` });
}

/** The {@link Upgrader} that goes with a {@link prefixedHandler}. */
export function prefixedUpgrader(upgrader: Upgrader, prefix: string): Upgrader {
  return prefix === '' ? upgrader : (request) => upgrader({ ...request, path: `${prefix}${request.path}` });
}
