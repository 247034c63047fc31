import type { Readable, Writable } from 'node:stream';
import { constants, gzip } from 'node:zlib';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { type FlowingBody, type Handler, isFlowing, type Request, type Response } from '../exchange.ts';
import { failure, internalError, StatusError } from '../status-error.ts';
import { gatherBytes } from './gathered-bytes.ts';

/** The largest body that the Kubernetes API takes. */
export const DEFAULT_BODY_LIMIT: number = 3 * 1024 * 1024;
/** Responses above this are compressed for clients that ask for it. */
const GZIP_FROM = 128 * 1024;

export interface ExchangeLimits {
  /** Bytes of a request's body; more is answered with 413. 3 MiB by default. */
  readonly bodyBytes?: number;
  /** Bytes of the bodies of all requests under way; more are answered with 429. 256 MiB by default. */
  readonly bodyBudgetBytes?: number;
  /** How long a client may take to send a body. 60 s by default. */
  readonly bodyTimeoutMs?: number;
  /** How long a client may leave a response unread while more is waiting; then its stream is reset. 120 s by default. */
  readonly stallTimeoutMs?: number;
}

/** One exchange as HTTP/1.1 and HTTP/2 have it in common: both ends are node streams, only the heads differ. */
export interface Wire {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent when the request has no body. */
  readonly source?: Readable;
  /** Emits `close` when the exchange is over or the client has gone. */
  readonly sink: Writable;
  /** Sends the head. `hasBody` false ends the response as well. */
  respond(status: number, headers: Readonly<Record<string, string>>, hasBody: boolean): void;
  /** Breaks the response off, so that the client does not take it for complete. */
  reset(): void;
  /** Sends the head of status 101 and gives the connection away, where the request asked for that. Resolves when it is over. */
  handOver?(
    headers: Readonly<Record<string, string>>,
    takeOver: NonNullable<Response['takeOver']>,
  ): Promise<void>;
}

/** Exchanges that are under way, so that a server can be stopped in good order. */
export interface ExchangeServer {
  /** Never rejects: what goes wrong becomes a response, or resets the exchange when a response has begun. */
  serve(wire: Wire, handle: Handler): Promise<void>;
  readonly active: number;
  /** Ends the streams that are open (their `signal` is aborted) and answers everything else with 503 from now on. */
  drain(): void;
}

/** Request bodies held at a time: whoever is not authenticated yet can send them as well. */
const DEFAULT_BODY_BUDGET = 256 * 1024 * 1024;
/** Larger bodies are sent piece by piece, so that a client that does not read is noticed. */
const SLICE_BYTES = 512 * 1024;

class ClientGone extends Error {
  constructor() {
    super('the client has gone');
    this.name = 'ClientGone';
  }
}

class Shutdown extends Error {
  constructor() {
    super('the server is shutting down');
    this.name = 'Shutdown';
  }
}

interface Exchange {
  readonly controller: AbortController;
  /** Of its body, so far. */
  bodyBytes: number;
  streaming: boolean;
}

export function exchangeServer(runtime: Runtime, limits: ExchangeLimits = {}): ExchangeServer {
  const { bodyBytes = DEFAULT_BODY_LIMIT, bodyTimeoutMs = 60_000, stallTimeoutMs = 120_000 } = limits;
  const budget = limits.bodyBudgetBytes ?? DEFAULT_BODY_BUDGET;
  const exchanges = new Set<Exchange>();
  let held = 0;
  let draining = false;

  async function serve(wire: Wire, handle: Handler): Promise<void> {
    const exchange: Exchange = { controller: new AbortController(), bodyBytes: 0, streaming: false };
    const { signal } = exchange.controller;
    let finished = false;
    let begun = false;
    exchanges.add(exchange);
    const onClose = (): void => {
      if (!finished) exchange.controller.abort(new ClientGone());
    };
    // Errors of the socket arrive as `close` too; without a listener they would end the process.
    wire.sink.on('error', onClose).once('close', onClose);
    try {
      let response: Response;
      try {
        if (draining) throw failure(503, 'ServiceUnavailable', 'the server is shutting down');
        const body = wire.source === undefined ? undefined : await readSource(wire, exchange);
        const request: Request = {
          method: wire.method,
          path: wire.path,
          headers: wire.handOver === undefined ? withoutUpgrade(wire.headers) : wire.headers,
          signal,
          ...(body === undefined ? {} : { body }),
        };
        response = await handle(request);
      } catch (error) {
        if (signal.aborted || error instanceof ClientGone) return;
        response = failureResponse(error);
      }
      if (signal.aborted) {
        await abandon(response);
        return;
      }
      if (response.takeOver !== undefined) {
        if (wire.handOver === undefined) throw new Error('an upgrade was answered that nobody asked for');
        begun = true;
        exchange.streaming = true;
        if (draining) exchange.controller.abort(new Shutdown());
        await wire.handOver(response.headers, response.takeOver);
        return;
      }
      if (response.body instanceof Uint8Array) {
        const { headers, body } = isToBeCompressed(wire, response, response.body)
          ? await compressed(response, response.body)
          : { headers: response.headers, body: response.body };
        if (wire.sink.destroyed) return;
        const hasBody = body.byteLength > 0 && wire.method !== 'HEAD';
        const bare = response.status === 204 || response.status === 304;
        wire.respond(
          response.status,
          bare ? headers : { ...headers, 'content-length': String(body.byteLength) },
          hasBody,
        );
        begun = true;
        if (hasBody && body.byteLength > 2 * SLICE_BYTES) await sendStream(wire, slices(body), signal);
        else if (hasBody) wire.sink.end(body);
      } else {
        const hasBody = wire.method !== 'HEAD';
        try {
          wire.respond(response.status, response.headers, hasBody);
        } catch (error) {
          await abandon(response);
          throw error;
        }
        begun = true;
        exchange.streaming = true;
        if (draining) exchange.controller.abort(new Shutdown());
        if (hasBody && isFlowing(response.body)) await sendFlow(wire, response.body);
        else if (hasBody) await sendStream(wire, response.body, signal);
        else await abandon(response);
      }
    } catch (error) {
      if (!signal.aborted) {
        runtime.log.error('a response failed', {
          method: wire.method,
          path: pathOnly(wire.path),
          error: errorText(error),
        });
      }
      if (begun) wire.reset();
      else refuse(wire, error);
    } finally {
      finished = true;
      held -= exchange.bodyBytes;
      exchanges.delete(exchange);
    }
  }

  function failureResponse(error: unknown): Response {
    let answer: StatusError;
    if (error instanceof StatusError) answer = error;
    else {
      runtime.log.error('a request failed', { error: errorText(error) });
      answer = internalError(errorText(error), error);
    }
    const retryAfter = answer.status.details?.retryAfterSeconds;
    return {
      status: answer.code,
      headers: {
        'content-type': 'application/json',
        ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
        ...(answer.code === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      },
      body: Buffer.from(JSON.stringify(answer.status)),
    };
  }

  /** For a response whose head cannot be written, such as one with an invalid header. */
  function refuse(wire: Wire, cause: unknown): void {
    try {
      const response = failureResponse(internalError('the response cannot be sent', cause));
      const body = response.body as Uint8Array;
      wire.respond(500, { ...response.headers, 'content-length': String(body.byteLength) }, true);
      wire.sink.end(body);
    } catch (error) {
      runtime.log.debug('a failure could not be reported', { error: errorText(error) });
      wire.reset();
    }
  }

  function readSource(wire: Wire, exchange: Exchange): Promise<Uint8Array> {
    const source = wire.source as Readable;
    const { signal } = exchange.controller;
    const tooLarge = (): StatusError =>
      failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bodyBytes}`);
    if (Number(wire.headers['content-length'] ?? 0) > bodyBytes) {
      source.resume();
      return Promise.reject(tooLarge());
    }
    return new Promise((resolve, reject) => {
      const gathered = gatherBytes();
      const timer = runtime.clock.after(bodyTimeoutMs, () =>
        settle(() => reject(failure(408, 'Timeout', 'Timeout: the request body did not arrive in time'))),
      );
      const onData = (chunk: Buffer): void => {
        exchange.bodyBytes += chunk.byteLength;
        held += chunk.byteLength;
        if (exchange.bodyBytes > bodyBytes) settle(() => reject(tooLarge()));
        else if (held > budget) settle(() => reject(tooMany()));
        else gathered.add(chunk);
      };
      const onEnd = (): void => settle(() => resolve(gathered.whole()));
      const onGone = (): void => settle(() => reject(new ClientGone()));
      const settle = (act: () => void): void => {
        timer.cancel();
        source.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
        // What still comes is read and dropped: the answer must reach a client that has not finished sending.
        source.on('error', () => {}).resume();
        signal.removeEventListener('abort', onGone);
        act();
      };
      source.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
      signal.addEventListener('abort', onGone, { once: true });
    });
  }

  async function sendStream(wire: Wire, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const { sink } = wire;
    try {
      for await (const chunk of body) {
        if (sink.destroyed) return;
        // One chunk at most waits here: the producer is not asked for another until the client has taken this one.
        if (!sink.write(chunk)) await drained(wire);
        if (sink.destroyed) return;
      }
    } catch (error) {
      if (!(signal.reason instanceof Shutdown)) throw error;
      // Producers may answer an abort by throwing; the client still gets a clean end.
    }
    sink.end();
  }

  /** Resolves when the stream is over. What does not fit waits with the producer. */
  function sendFlow(wire: Wire, body: FlowingBody): Promise<void> {
    const { sink } = wire;
    return new Promise((resolve) => {
      const take = (chunk: Uint8Array): boolean => {
        if (sink.destroyed) return false;
        if (sink.write(chunk)) return true;
        void drained(wire).then(() => flow.resume());
        return false;
      };
      const end = (): void => {
        sink.off('close', stop);
        if (!sink.destroyed) sink.end();
        resolve();
      };
      const stop = (): void => flow.stop();
      sink.once('close', stop);
      const flow = body.flow(take, end);
    });
  }

  /** Resolves when the sink takes more or is gone; resets an exchange whose client has stopped reading. */
  function drained(wire: Wire): Promise<void> {
    const { sink } = wire;
    return new Promise((resolve) => {
      const timer = runtime.clock.after(stallTimeoutMs, () => {
        runtime.log.warn('a client does not read its stream', {
          path: pathOnly(wire.path),
          waitedMs: stallTimeoutMs,
        });
        wire.reset();
        settle();
      });
      const settle = (): void => {
        timer.cancel();
        sink.off('drain', settle).off('close', settle);
        resolve();
      };
      sink.on('drain', settle).on('close', settle);
      if (sink.destroyed) settle();
    });
  }

  return {
    serve,
    get active(): number {
      return exchanges.size;
    },
    drain(): void {
      draining = true;
      for (const exchange of exchanges) if (exchange.streaming) exchange.controller.abort(new Shutdown());
    },
  };
}

/** Nobody answers an upgrade where the connection cannot be given away. */
function withoutUpgrade(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (headers.upgrade === undefined) return headers;
  const { upgrade: _upgrade, ...others } = headers;
  return others;
}

function tooMany(): StatusError {
  return failure(429, 'TooManyRequests', 'Too many requests, please try again later.', {
    retryAfterSeconds: 1,
  });
}

async function* slices(body: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  for (let start = 0; start < body.byteLength; start += SLICE_BYTES)
    yield body.subarray(start, start + SLICE_BYTES);
}

/** Lets the producer of a stream that nobody will read release what it holds. */
async function abandon(response: Response): Promise<void> {
  if (response.body instanceof Uint8Array) return;
  await response.body[Symbol.asyncIterator]().return?.();
}

function isToBeCompressed(wire: Wire, { headers }: Response, body: Uint8Array): boolean {
  return (
    body.byteLength > GZIP_FROM &&
    headers['content-encoding'] === undefined &&
    wire.method !== 'HEAD' &&
    acceptsGzip(wire.headers['accept-encoding'])
  );
}

async function compressed(
  { headers }: Response,
  body: Uint8Array,
): Promise<{ headers: Readonly<Record<string, string>>; body: Uint8Array }> {
  const small = await new Promise<Uint8Array>((resolve, reject) => {
    gzip(body, { level: constants.Z_BEST_SPEED }, (error, result) =>
      error ? reject(error) : resolve(result),
    );
  });
  return { headers: { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' }, body: small };
}

function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.split(',').some((item) => {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Queries may hold tokens and names; logs get the path. */
function pathOnly(path: string): string {
  const mark = path.indexOf('?');
  return mark < 0 ? path : path.slice(0, mark);
}
