import type { Handler, Request, Response } from '../kube/exchange.ts';
import { failure, StatusError } from '../kube/status-error.ts';
import { errorText } from '../runtime/index.ts';
import type { RequestAttributes } from './auth/index.ts';

/**
 * A cluster that is served below `/clusters/<name>` by someone else: the hub's view of a spoke. It is read-only, and every
 * request is authenticated, authorized and audited here before it goes there.
 */
export interface Space {
  readonly handler: Handler;
  /** What a request below the space means for authorization on this server, in the cluster `root`. */
  attributes(request: Request): Omit<RequestAttributes, 'user' | 'cluster'>;
}

/** Headers that end at this server: credentials, and what describes this connection only. */
const STRIPPED: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-remote-user',
  'x-remote-group',
]);

/** Headers that may go on to a space. */
export function forwardedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (STRIPPED.has(lower) || named.has(lower)) continue;
    if (lower.startsWith('impersonate-') || lower.startsWith('x-remote-extra-') || lower.startsWith(':'))
      continue;
    out[lower] = value;
  }
  return out;
}

/** 405 for anything that could change a space. */
export function refuseWrites(cluster: string, request: Request): void {
  if (request.method === 'GET' || request.method === 'HEAD') return;
  throw failure(
    405,
    'MethodNotAllowed',
    `the cluster ${JSON.stringify(cluster)} is read-only here: ${request.method} is not allowed, only GET and HEAD`,
  );
}

/** Passes a read on, `path` being the path within the space. */
export async function forwardToSpace(
  cluster: string,
  space: Space,
  request: Request,
  path: string,
): Promise<Response> {
  refuseWrites(cluster, request);
  const { body: _body, ...rest } = request;
  const response = await reach(cluster, space, { ...rest, path, headers: forwardedHeaders(request.headers) });
  const {
    connection: _connection,
    'keep-alive': _keepAlive,
    'set-cookie': _cookies,
    ...headers
  } = response.headers;
  return { ...response, headers };
}

/** No answer could be had: that is for the client to hear, not an error of this server. */
async function reach(cluster: string, space: Space, request: Request): Promise<Response> {
  try {
    return await space.handler(request);
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const unreachable = failure(
      503,
      'ServiceUnavailable',
      `the cluster ${JSON.stringify(cluster)} cannot be reached now: ${errorText(error)}`,
    );
    throw new StatusError(unreachable.status, { cause: error });
  }
}
