import { type Handler, type Response, readBody } from '../kube/exchange.ts';
import { isObject, type JsonObject } from '../schema/json.ts';

/**
 * What hub and spoke say to each other about the link itself. The spoke dials TLS; on that connection it is the HTTP/2
 * server, so every request is the hub's. Paths below `/link/` belong to the link, all others to the spoke's API.
 *
 * - `GET /link/enrolment` → `{spoke, joinToken, request}`, answered only by a spoke that dialled without a certificate
 * - `GET /link/renewal` → `{request}`, answered only on an accepted connection, or with a certificate that has ended
 * - `POST /link/certificate` `{certificate}` → 204 once the spoke has saved it
 * - `POST /link/accepted` → 204: the link is up
 * - `POST /link/refused` `{code, message}` → 204, then the hub closes the connection
 */
export const TUNNEL_PROTOCOL: string = 'atoll-link/1';

export const LINK_PATHS = {
  prefix: '/link/',
  enrolment: '/link/enrolment',
  renewal: '/link/renewal',
  certificate: '/link/certificate',
  accepted: '/link/accepted',
  refused: '/link/refused',
} as const;

/** All messages of the link are small. */
const MESSAGE_LIMIT = 64 * 1024;

export function messageResponse(status: number, value?: unknown): Response {
  return value === undefined
    ? { status, headers: {}, body: new Uint8Array() }
    : { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}

/** Parses a message; `undefined` when it is not a JSON object. */
export function parseMessage(body: Uint8Array | undefined): JsonObject | undefined {
  if (body === undefined || body.byteLength > MESSAGE_LIMIT) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    // Not JSON: the caller answers that.
    return undefined;
  }
}

/** Asks the other end for a message, or tells it one. Throws when the answer is not a success within the signal's time. */
export async function exchangeMessage(
  handler: Handler,
  method: 'GET' | 'POST',
  path: string,
  signal: AbortSignal,
  value?: unknown,
): Promise<JsonObject> {
  const response = await handler({
    method,
    path,
    headers: value === undefined ? {} : { 'content-type': 'application/json' },
    signal,
    ...(value === undefined ? {} : { body: Buffer.from(JSON.stringify(value)) }),
  });
  const body = await readBody(response, MESSAGE_LIMIT);
  const message = parseMessage(body);
  if (response.status >= 300) {
    const why = typeof message?.message === 'string' ? `: ${message.message}` : '';
    throw new Error(`${method} ${path} was answered with ${response.status}${why}`);
  }
  return message ?? {};
}
