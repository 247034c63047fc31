import { proxiedPath } from '../../apiserver/proxy/index.ts';
import { forwardedHeaders } from '../../apiserver/space.ts';
import { type Request, type Response, upgradeProtocol } from '../../kube/exchange.ts';
import { failure } from '../../kube/status-error.ts';
import { SPOKE_HEADER } from '../../link/peer-server.ts';

const STRIPPED_FROM_ANSWERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'set-cookie',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const PROTOCOLS: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/** Headers of a client that may go on to a spoke. Whom it impersonates there, only the hub says. */
export function spokeHeaders(request: Request): Record<string, string> {
  const out = forwardedHeaders(request.headers);
  // Replicas of the hub name the spoke of a request by it; nobody else does.
  delete out[SPOKE_HEADER];
  const protocol = upgradeProtocol(request);
  if (protocol === undefined) return out;
  if (!PROTOCOLS.has(protocol.toLowerCase()))
    throw failure(
      400,
      'BadRequest',
      `a connection can become a WebSocket or SPDY/3.1, not ${JSON.stringify(protocol)}`,
    );
  return { ...out, connection: 'Upgrade', upgrade: protocol };
}

/**
 * The answer of a spoke as the client may see it. Redirects are not passed on: a client would follow them with credentials
 * that are the hub's to see; nor is a 401, which is about the hub and not about the client.
 */
export async function forwardedAnswer(
  cluster: string,
  response: Response,
  { path, isOwnToken = false }: { path: string; isOwnToken?: boolean },
): Promise<Response> {
  const { status } = response;
  const isRedirect = status >= 300 && status < 400 && status !== 304;
  const location = isRedirect ? behindProxy(path, response.headers['location']) : undefined;
  if ((isRedirect && location === undefined) || (status === 401 && !isOwnToken)) {
    if (!(response.body instanceof Uint8Array)) await response.body[Symbol.asyncIterator]().return?.();
    throw failure(
      502,
      'BadGateway',
      status === 401
        ? `the cluster ${JSON.stringify(cluster)} does not believe the credential of the hub: see atoll cluster show ${cluster}`
        : `the cluster ${JSON.stringify(cluster)} answered with a redirect, which is not followed`,
    );
  }
  const headers: Record<string, string> = {};
  for (const name in response.headers)
    if (!STRIPPED_FROM_ANSWERS.has(name)) headers[name] = response.headers[name] ?? '';
  return { ...response, headers: location === undefined ? headers : { ...headers, location } };
}

/**
 * A redirect that stays behind the proxy of the service that was asked, as a path relative to the one that was asked for: the hub
 * has paths of its own for a spoke. Undefined for every other redirect.
 */
function behindProxy(path: string, location: string | undefined): string | undefined {
  const prefix = proxiedPath(path)?.prefix;
  if (prefix === undefined || location === undefined) return undefined;
  const [target = ''] = location.split(/[?#]/);
  if (target !== prefix && !target.startsWith(`${prefix}/`)) return undefined;
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(target)) return undefined;
  const [asked = ''] = path.split('?');
  const base = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  const up = '../'.repeat(asked.slice(base.length).split('/').length - 1);
  return `${up}${location.slice(base.length)}`;
}
