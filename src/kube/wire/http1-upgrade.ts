import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorText, type Runtime } from '../../runtime/index.ts';
import {
  isUpgraded,
  type Response,
  readBody,
  type Upgraded,
  type Upgrader,
  upgradeProtocol,
} from '../exchange.ts';
import { internalError, StatusError } from '../status-error.ts';
import { text, validateHeaderName, validateHeaderValue } from './header-texts.ts';
import { ExchangeError } from './http2-client.ts';
import { joinStreams, switchingProtocols } from './raw-stream.ts';

/** Headers of the caller's own connection; this one gets its own. */
const OMITTED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'content-length',
  'http2-settings',
  'te',
]);
const ANSWER_LIMIT = 1024 * 1024;

/**
 * An {@link Upgrader} over HTTP/1.1, the only version in which Kubernetes servers switch protocols. `open` makes a connection
 * for each request, which becomes the stream. `peer` names the other end in errors.
 */
export function http1Upgrader(
  peer: string,
  open: (signal: AbortSignal | undefined) => Promise<Duplex>,
): Upgrader {
  return async (request) => {
    const { signal } = request;
    const { request: httpRequest } = await import('node:http');
    let socket: Duplex;
    try {
      socket = await open(signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ExchangeError(`cannot reach ${peer}`, error);
    }
    const protocol = upgradeProtocol(request);
    const headers: Record<string, string | string[]> =
      protocol === undefined ? { connection: 'close' } : { connection: 'Upgrade', upgrade: protocol };
    for (const name in request.headers) {
      if (!OMITTED.has(name) && name !== 'upgrade') headers[name] = lined(name, request.headers[name] ?? '');
    }
    // Without it, a request of a method that may have a body would be followed by the end of one.
    if (request.body === undefined && request.method !== 'GET') headers['content-length'] = '0';
    return new Promise<Upgraded | Response>((resolve, reject) => {
      const asking = httpRequest({
        method: request.method,
        path: request.path,
        headers,
        createConnection: () => socket,
      });
      const abort = (): void => void asking.destroy(signal?.reason as Error);
      const settle = (act: () => void): void => {
        signal?.removeEventListener('abort', abort);
        act();
      };
      signal?.addEventListener('abort', abort, { once: true });
      asking.on('error', (error) =>
        settle(() => {
          socket.destroy();
          reject(
            signal?.aborted ? signal.reason : new ExchangeError(`${peer} did not answer an upgrade`, error),
          );
        }),
      );
      asking.once('upgrade', (answer: IncomingMessage, upgraded: Duplex, head: Buffer) =>
        settle(() => {
          // Whoever reads it sees it close; nobody's listening must not end the process.
          upgraded.on('error', () => {});
          if (head.byteLength > 0) upgraded.unshift(head);
          resolve({ status: 101, headers: headersOf(answer), socket: upgraded });
        }),
      );
      asking.once('response', (answer) =>
        settle(() => resolve({ status: answer.statusCode ?? 0, headers: headersOf(answer), body: answer })),
      );
      if (signal?.aborted) abort();
      else asking.end(request.body);
    });
  };
}

/**
 * Answers an upgrade that a server of `node:http` was asked for (its event `upgrade`) with `upgrader`, and joins the client
 * with what comes of it. Never rejects; resolves when it is over.
 */
export async function serveHttp1Upgrade(
  runtime: Runtime,
  asked: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
  upgrader: Upgrader,
): Promise<void> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new Error('the client has gone'));
  socket.on('error', (error) =>
    runtime.log.debug('an upgraded connection failed', { error: errorText(error) }),
  );
  socket.once('close', onClose);
  try {
    let answer: Upgraded | Response;
    try {
      answer = await upgrader({
        method: asked.method ?? 'GET',
        path: asked.url ?? '/',
        headers: headersOf(asked),
        signal: gone.signal,
      });
    } catch (error) {
      const failed = error instanceof StatusError ? error : internalError(errorText(error), error);
      answer = {
        status: failed.code,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(failed.status)),
      };
    }
    socket.off('close', onClose);
    if (isUpgraded(answer)) {
      if (head.byteLength > 0) socket.unshift(head);
      if (!socket.destroyed) socket.write(switchingProtocols(answer.headers));
      await joinStreams(socket, answer.socket);
      return;
    }
    const body = await readBody(answer, ANSWER_LIMIT);
    socket.end(Buffer.concat([Buffer.from(responseHead(answer, body.byteLength)), body]));
    socket.resume();
  } catch (error) {
    runtime.log.error('an upgrade could not be answered', { error: errorText(error) });
    socket.destroy();
  }
}

function responseHead(response: Response, length: number): string {
  const headers: Record<string, string> = {
    ...response.headers,
    connection: 'close',
    'content-length': String(length),
  };
  delete headers['transfer-encoding'];
  const lines = Object.entries(headers).map(([name, value]) => {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return `${name}: ${value}\r\n`;
  });
  return `HTTP/1.1 ${response.status} \r\n${lines.join('')}\r\n`;
}

function headersOf(message: IncomingMessage): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in message.headers) out[name] = text(message.headers[name]);
  return out;
}

/** Groups come joined, and Kubernetes wants a header for each. */
function lined(name: string, value: string): string | string[] {
  return name === 'impersonate-group' ? value.split(', ') : value;
}
