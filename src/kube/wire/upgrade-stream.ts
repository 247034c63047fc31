import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { errorText, type Runtime } from '../../runtime/index.ts';
import {
  isUpgraded,
  type Request,
  type Response,
  readBody,
  type Upgraded,
  type Upgrader,
} from '../exchange.ts';
import { failure, internalError, StatusError } from '../status-error.ts';
import { CONNECTION_HEADERS, plainHeaders, validateHeaderValue } from './header-texts.ts';
import { http2RawStream, joinStreams } from './raw-stream.ts';

/** Extended CONNECT has a method of its own; the one that was asked with (SPDY comes by POST) goes beside it. */
export const UPGRADE_METHOD_HEADER = 'atoll-upgrade-method';

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST']);
const ANSWER_LIMIT = 1024 * 1024;

/**
 * Answers one extended CONNECT with `upgrade` and joins the stream with what comes of it. `upgrade` is absent when there are
 * too many already. Never rejects.
 */
export async function serveUpgradeStream(
  runtime: Runtime,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders & Record<string, string | string[] | undefined>,
  upgrade: Upgrader | undefined,
): Promise<void> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new Error('the client has gone'));
  stream.on('error', (error) => runtime.log.debug('an upgraded stream failed', { error: errorText(error) }));
  stream.once('close', onClose);
  try {
    let answer: Upgraded | Response;
    try {
      if (upgrade === undefined) {
        throw failure(429, 'TooManyRequests', 'too many upgraded streams on this connection', {
          retryAfterSeconds: 1,
        });
      }
      answer = await upgrade(upgradeRequest(headers, gone.signal));
    } catch (error) {
      if (gone.signal.aborted) return;
      answer = statusResponse(error instanceof StatusError ? error : internalError(errorText(error), error));
    }
    if (isUpgraded(answer)) {
      if (stream.destroyed) {
        answer.socket.destroy();
        return;
      }
      stream.off('close', onClose);
      try {
        stream.respond({ ':status': 200, ...sendable(answer.headers) });
      } catch (error) {
        answer.socket.destroy();
        throw error;
      }
      await joinStreams(
        http2RawStream(stream, () => new Error('the client broke the stream off')),
        answer.socket,
      );
      return;
    }
    // A success means to a client of extended CONNECT that its stream is open, so one without a switch cannot be told.
    if (answer.status >= 200 && answer.status < 300) {
      if (!(answer.body instanceof Uint8Array)) await answer.body[Symbol.asyncIterator]().return?.();
      answer = statusResponse(failure(502, 'BadGateway', 'the server answered without switching protocols'));
    }
    const body = await readBody(answer, ANSWER_LIMIT);
    if (stream.destroyed) return;
    stream.respond(
      { ':status': answer.status, ...sendable(answer.headers), 'content-length': body.byteLength },
      { endStream: body.byteLength === 0 },
    );
    if (body.byteLength > 0) stream.end(body);
    stream.resume();
  } catch (error) {
    runtime.log.error('an upgrade could not be answered', { error: errorText(error) });
    stream.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

function upgradeRequest(
  headers: IncomingHttpHeaders & Record<string, string | string[] | undefined>,
  signal: AbortSignal,
): Request {
  const { [UPGRADE_METHOD_HEADER]: asked, ...others } = plainHeaders(headers);
  const method = asked ?? 'GET';
  if (!METHODS.has(method)) throw failure(405, 'MethodNotAllowed', `${method} cannot switch protocols`);
  return {
    method,
    path: headers[':path'] ?? '/',
    headers: { ...others, connection: 'Upgrade', upgrade: String(headers[':protocol']) },
    signal,
  };
}

function sendable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in headers) {
    if (CONNECTION_HEADERS.has(name) || name === 'content-length') continue;
    const value = headers[name] ?? '';
    validateHeaderValue(name, value);
    out[name] = value;
  }
  return out;
}

function statusResponse(error: StatusError): Response {
  return {
    status: error.code,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(error.status)),
  };
}
