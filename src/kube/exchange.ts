/**
 * One HTTP exchange with a Kubernetes API, free of sockets. The embedded API server is a {@link Handler}; an HTTP client,
 * a tunnel and an in-process call are {@link Handler}s as well. Whoever calls cannot tell which.
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
}

/** Never rejects for an answer of the server, whatever its status; rejects only when no answer could be had. */
export type Handler = (request: Request) => Promise<Response>;

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
