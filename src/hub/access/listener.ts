import { authenticate, forbidden } from '../../apiserver/auth/index.ts';
import {
  type AskedRight,
  clientCertificateAuthenticator,
  type HttpsServer,
  ROOT_CLUSTER,
  serveHttps,
  type UserInfo,
  unionAuthenticator,
} from '../../apiserver/index.ts';
import { errorResponse, textResponse } from '../../apiserver/request/index.ts';
import { browserRequest } from '../../apiserver/websocket/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Request, Response } from '../../kube/exchange.ts';
import { failure, ignoring } from '../../kube/status-error.ts';
import { configMaps } from '../../kube/well-known.ts';
import type { Connection } from '../../kube/wire/index.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { stringAt } from '../../schema/json.ts';
import type { Access } from './access.ts';
import { reviewingAuthenticator, reviewingAuthorizer } from './reviews.ts';

export interface AccessListenerOptions {
  /** The hub's API server: who somebody is and what they may is asked there. */
  readonly client: Client;
  readonly access: Access;
  readonly host?: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** PEM, both. */
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authorities whose client certificates are believed; only tokens are without. */
  readonly clientCa?: string;
}

/** What scraping needs. */
const METRICS: AskedRight = {
  isResource: false,
  verb: 'get',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  path: '/metrics',
};
const METRICS_HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

/**
 * The way to the spokes for a hub that is on an API server of someone else, which cannot lead there itself: the same paths on
 * a port of the hub's own. Tokens are believed that the API server believes, and so are certificates of its authority; it
 * decides what each user may, `get` on `/metrics` too. Every request is logged. Nothing else is served.
 */
export function startAccessListener(runtime: Runtime, options: AccessListenerOptions): Promise<HttpsServer> {
  const { client, access, clientCa, certificate } = options;
  const { clock, log } = runtime;
  const tokens = reviewingAuthenticator(clock, client);
  const identify =
    clientCa === undefined ? tokens : unionAuthenticator(clientCertificateAuthenticator(clock), tokens);
  const may = reviewingAuthorizer(clock, client);

  async function serve(request: Request, user: UserInfo): Promise<Response> {
    if (Object.keys(request.headers).some((name) => name.startsWith('impersonate-')))
      throw failure(403, 'Forbidden', 'forbidden: nobody acts as somebody else here');
    if (pathOf(request) === METRICS.path) {
      if (!(await may(user, METRICS))) throw forbidden({ ...METRICS, user, cluster: ROOT_CLUSTER });
      return textResponse(200, runtime.metrics.text(), METRICS_HEADERS);
    }
    const placed = access.spaces(request.path);
    if (!placed)
      throw failure(
        404,
        'NotFound',
        'there is no such cluster, or path: this port leads to /clusters/<name>, /by-token/<name>, /fleet and /metrics only',
      );
    const { space, path } = placed;
    const inner: Request = { ...request, path };
    const right: AskedRight | undefined = space.attributes?.(inner);
    if (right && !(await may(user, right))) throw forbidden({ ...right, user, cluster: ROOT_CLUSTER });
    return space.serve(inner, { user, may: (asked) => may(user, asked) });
  }

  async function handle(request: Request, connection: Connection): Promise<Response> {
    const path = pathOf(request);
    if (path === '/livez' || path === '/readyz') return textResponse(200, 'ok');
    let user: UserInfo | undefined;
    let response: Response;
    try {
      const asked = browserRequest(request);
      user = await authenticate(identify, asked, connection);
      response = await serve(asked, user);
    } catch (error) {
      response = errorResponse(error, (cause) =>
        log.error('a request failed', { method: request.method, path, why: errorText(cause) }),
      );
    }
    log.info('access', {
      user: user?.name ?? '',
      groups: user?.groups ?? [],
      from: connection.remoteAddress ?? '',
      method: request.method,
      path,
      code: response.status,
    });
    return request.method === 'HEAD' ? { ...response, body: new Uint8Array() } : response;
  }

  return serveHttps(runtime, {
    port: options.port,
    ...(options.host === undefined ? {} : { host: options.host }),
    certificate,
    key: options.key,
    // Certificates are asked for in any case; where none is believed, nobody has one from this authority.
    clientCa: clientCa ?? certificate,
    handle,
  });
}

function pathOf({ path }: Request): string {
  return path.split('?')[0] ?? '';
}

/** The authority of an API server's client certificates, where it publishes that. */
export async function publishedClientCa(client: Client): Promise<string | undefined> {
  const map = await ignoring(
    [404, 403],
    client.get(configMaps, 'kube-system', 'extension-apiserver-authentication'),
  );
  return stringAt(map, 'data', 'client-ca-file');
}
