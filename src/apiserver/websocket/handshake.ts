import { createHash } from 'node:crypto';
import type { Request } from '../../kube/exchange.ts';
import { badRequest, failure } from '../../kube/status-error.ts';

/** From RFC 6455: what a server adds to the client's key before it hashes it. */
const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Before a bearer token (base64url) that a browser, which cannot set headers, sends among its subprotocols. */
const TOKEN_PREFIX = 'base64url.bearer.authorization.k8s.io.';

/** What both ends agree on. */
export interface Handshake {
  /** '' when the client asked for none. */
  readonly protocol: string;
  /** Of the response with status 101. */
  readonly headers: Readonly<Record<string, string>>;
}

type Asked = Pick<Request, 'method' | 'headers'>;

/** Whether a request asks for a WebSocket. */
export function isWebSocketRequest({ headers }: Pick<Request, 'headers'>): boolean {
  return (
    (headers.upgrade ?? '').trim().toLowerCase() === 'websocket' &&
    listOf(headers.connection).some((option) => option.toLowerCase() === 'upgrade')
  );
}

/** What the client offers to speak, the best first. */
export function askedSubprotocols({ headers }: Pick<Request, 'headers'>): string[] {
  return listOf(headers['sec-websocket-protocol']);
}

/**
 * Agrees on the first of the client's subprotocols that is among `subprotocols`; '' among them also takes a client that
 * names none. Throws 400 for what is no good handshake.
 */
export function webSocketHandshake(request: Asked, subprotocols: readonly string[]): Handshake {
  const { headers } = request;
  if (request.method !== 'GET' || !isWebSocketRequest(request))
    throw badRequest('this is no WebSocket handshake');
  const version = headers['sec-websocket-version'] ?? '';
  if (version !== '13') throw badRequest(`WebSocket version ${JSON.stringify(version)} is not 13`);
  const key = (headers['sec-websocket-key'] ?? '').trim();
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) throw badRequest('sec-websocket-key is not 16 bytes in base64');
  const asked = askedSubprotocols(request);
  const protocol = asked.length === 0 ? '' : asked.find((one) => subprotocols.includes(one));
  if (protocol === undefined || !subprotocols.includes(protocol))
    throw badRequest(
      `no common WebSocket subprotocol: the client offers ${quoted(asked)}, the server ${quoted(subprotocols)}`,
    );
  return {
    protocol,
    headers: {
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-accept': createHash('sha1')
        .update(key + KEY_SUFFIX)
        .digest('base64'),
      ...(protocol === '' ? {} : { 'sec-websocket-protocol': protocol }),
    },
  };
}

/**
 * A request for a WebSocket as one that is no browser would send it: the token that came as a subprotocol is in its usual
 * place, and nothing later takes it for a subprotocol or repeats it. Other requests are given as they are.
 *
 * Throws 400 for a token that cannot be read, and 403 where a page of another origin has no token: what a browser adds by
 * itself, such as a client certificate, was not meant for that page.
 */
export function browserRequest(request: Request): Request {
  if (!isWebSocketRequest(request)) return request;
  const headers = withSubprotocolToken(request.headers);
  const { origin, host = '', authorization } = headers;
  if (origin !== undefined && authorization === undefined && originHost(origin) !== host.toLowerCase())
    throw failure(
      403,
      'Forbidden',
      `a page of ${JSON.stringify(origin.slice(0, 200))} needs a token to connect`,
    );
  return { ...request, headers };
}

function originHost(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
}

function withSubprotocolToken(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const asked = listOf(headers['sec-websocket-protocol']);
  const tokens = asked.filter((one) => one.startsWith(TOKEN_PREFIX));
  if (tokens.length === 0) return headers;
  const others = asked.filter((one) => !one.startsWith(TOKEN_PREFIX));
  const { 'sec-websocket-protocol': _tokens, ...rest } = headers;
  const token = Buffer.from((tokens[0] ?? '').slice(TOKEN_PREFIX.length), 'base64url').toString();
  if (tokens.length > 1 || !/^[\x21-\x7e]+$/.test(token))
    throw badRequest(`one token in base64url has to follow ${TOKEN_PREFIX} among the subprotocols`);
  return {
    ...rest,
    ...(others.length === 0 ? {} : { 'sec-websocket-protocol': others.join(', ') }),
    ...(headers.authorization === undefined ? { authorization: `Bearer ${token}` } : {}),
  };
}

function listOf(header: string | undefined): string[] {
  return (header ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function quoted(names: readonly string[]): string {
  return `[${names.map((name) => JSON.stringify(name.slice(0, 100))).join(', ')}]`;
}
