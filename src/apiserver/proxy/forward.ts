import { posix } from 'node:path';
import type { Duplex } from 'node:stream';
import { isUpgraded, type Request, type Response } from '../../kube/exchange.ts';
import { failure, StatusError } from '../../kube/status-error.ts';
import { http1Upgrader, upgradedResponse } from '../../kube/wire/index.ts';
import { errorText } from '../../runtime/log.ts';

/** Credentials, and whom the client acts as: they are this server's to know. */
const STRIPPED = new Set(['authorization', 'proxy-authorization', 'content-length']);
const STRIPPED_PREFIXES = ['impersonate-', 'x-remote-', ':'];
/** About one connection. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** `/clusters/a/api/v1/namespaces/b/services/c/proxy`, then what the service is asked for. */
const PROXIED =
  /^((?:\/+clusters\/+[^/?]+)?\/+api\/+v1(?:\/+namespaces\/+[^/?]+)?\/+[^/?]+\/+[^/?]+\/+proxy)(\/[^?]*)?(\?.*)?$/;

/** A path that leads through the proxy, percent-encoded as it came. */
export interface ProxiedPath {
  /** Up to and with `proxy`. */
  readonly prefix: string;
  /** What is behind it: '' or begins with '/'. */
  readonly rest: string;
  /** '' or begins with '?'. */
  readonly query: string;
}

export function proxiedPath(path: string): ProxiedPath | undefined {
  const [, prefix, rest = '', query = ''] = PROXIED.exec(path) ?? [];
  return prefix === undefined ? undefined : { prefix, rest, query };
}

/** A server that is behind the proxy. */
export interface ProxiedServer {
  /** `host:port` by which it knows itself. */
  readonly host: string;
  /** Throws why it cannot be reached. */
  connect(): Promise<Duplex>;
}

/** Passes a request on. Throws the `StatusError` of a failure: 503 where the server is not there. */
export async function forwardTo(server: ProxiedServer, request: Request): Promise<Response> {
  const path = proxiedPath(request.path);
  if (path === undefined) throw failure(404, 'NotFound', 'the server could not find the requested resource');
  const { prefix, rest, query } = path;
  // Links of a page are relative to its path, which ends with a slash from then on.
  if (rest === '' && (request.method === 'GET' || request.method === 'HEAD'))
    return { status: 301, headers: { location: `${prefix}/${query}` }, body: new Uint8Array() };
  const inner = rest === '' ? '/' : posix.normalize(rest);
  const ask = http1Upgrader(server.host, server.connect);
  let answer: Awaited<ReturnType<typeof ask>>;
  try {
    answer = await ask({
      ...request,
      path: inner + query,
      headers: { ...forwarded(request), 'x-forwarded-uri': prefix + inner },
    });
  } catch (error) {
    if (error instanceof StatusError || request.signal?.aborted === true) throw error;
    const why = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw failure(503, 'ServiceUnavailable', `error trying to reach service: ${errorText(why)}`);
  }
  if (isUpgraded(answer)) return upgradedResponse(answer);
  const headers: Record<string, string> = {};
  for (const name in answer.headers) if (!HOP_BY_HOP.has(name)) headers[name] = answer.headers[name] ?? '';
  const { location } = headers;
  if (location !== undefined)
    headers['location'] = rewriteLocation(location, {
      prefix,
      serverHost: server.host,
      requestHost: request.headers['host'] ?? '',
    });
  return { ...answer, headers };
}

function forwarded({ headers }: Request): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in headers) {
    if (STRIPPED.has(name) || STRIPPED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    out[name] = headers[name] ?? '';
  }
  return out;
}

/**
 * Where a redirect of a proxied server leads for a client of the proxy: what is on that server stays behind the proxy, another
 * host and what is relative are left as they are.
 */
export function rewriteLocation(
  location: string,
  { prefix, serverHost, requestHost }: { prefix: string; serverHost: string; requestHost: string },
): string {
  const [, origin = '', host, path = '', rest = ''] =
    /^((?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:\/\/([^/?#]*))?)([^?#]*)(.*)$/s.exec(location) ?? [];
  if ((host === undefined && origin !== '') || !path.startsWith('/')) return location;
  if (host !== undefined && host !== '' && host !== serverHost && host !== requestHost) return location;
  const kept = host !== undefined && host !== '' && host === requestHost ? origin : '';
  // Whoever knows the way through the proxy already says it whole.
  const isWhole = path === prefix || path.startsWith(`${prefix}/`);
  return `${kept}${isWhole ? path : posix.join(prefix, path)}${rest}`;
}
