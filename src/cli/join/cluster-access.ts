import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Client } from '../../kube/client.ts';
import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import type { Handler, Request, Upgrader } from '../../kube/exchange.ts';
import { type HttpHandler, httpHandler } from '../../kube/http-handler.ts';
import { endpointFromKubeconfig } from '../../kube/kubeconfig-endpoint.ts';
import { createClient } from '../../kube/rest-client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { kubeconfigWith, listedKubeconfigs } from '../chosen-kubeconfig.ts';

export interface ClusterAccessOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** A way into one cluster, with the rights of whoever runs this. */
export interface ClusterAccess {
  readonly url: string;
  readonly handler: Handler;
  /** Requests that ask for another protocol. */
  readonly upgrade: Upgrader;
  readonly client: Client;
  /** A way in without any rights, for requests that bring a credential of their own. */
  readonly asNobody: { readonly handler: Handler; readonly upgrade: Upgrader };
  close(): Promise<void>;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Tokens of pods are replaced long before they end; how long one that was read is used. */
const TOKEN_KEPT_MS = 60_000;

/** By `--kubeconfig`, then $KUBECONFIG, then the service account of the pod, then `~/.kube/config`. */
export function openCluster(clock: Clock, userAgent: string, options: ClusterAccessOptions): ClusterAccess {
  const listed = listedKubeconfigs(process.env['KUBECONFIG']);
  const path =
    options.kubeconfig ??
    kubeconfigWith(options.context, listed) ??
    listed[0] ??
    (existsSync(`${SERVICE_ACCOUNT}/token`) ? undefined : join(homedir(), '.kube', 'config'));
  if (path === undefined) return inPod(clock, userAgent);
  if (!existsSync(path)) throw new Error(`there is no kubeconfig at ${path}; name one with --kubeconfig`);
  const endpoint = endpointFromKubeconfig(readFileSync(path, 'utf8'), {
    stored: false,
    readFile: (file) => readFileSync(resolve(dirname(path), file), 'utf8'),
    ...(options.context === undefined ? {} : { context: options.context }),
  });
  const handler = httpHandler(endpoint);
  const { token: _token, clientCertificate: _certificate, clientKey: _key, ...server } = endpoint;
  const nobody = asNobody(server);
  return {
    url: endpoint.url,
    asNobody: nobody,
    handler,
    upgrade: handler.upgrade,
    client: createClient(handler, { userAgent, clock }),
    close: async () => void (await Promise.all([handler.close(), nobody.close()])),
  };
}

/** Connected when the first request comes: most have none. */
function asNobody(server: ClusterEndpoint): { handler: Handler; upgrade: Upgrader; close(): Promise<void> } {
  let opened: HttpHandler | undefined;
  const http = (): HttpHandler => {
    opened ??= httpHandler(server);
    return opened;
  };
  return {
    handler: (request) => http()(unnamed(request)),
    upgrade: (request) => http().upgrade(unnamed(request)),
    close: async () => opened?.close(),
  };
}

/** The name by which the link was asked is not this server's. */
function unnamed(request: Request): Request {
  const { host: _host, ...headers } = request.headers;
  return { ...request, headers };
}

function inPod(clock: Clock, userAgent: string): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host = 'kubernetes.default', KUBERNETES_SERVICE_PORT: port = '443' } =
    process.env;
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const http = httpHandler({ url, ca: readFileSync(`${SERVICE_ACCOUNT}/ca.crt`, 'utf8') });
  let token = '';
  let readAt = Number.NEGATIVE_INFINITY;
  const bearer = (): string => {
    if (clock.monotonic() - readAt > TOKEN_KEPT_MS) {
      token = readFileSync(`${SERVICE_ACCOUNT}/token`, 'utf8').trim();
      readAt = clock.monotonic();
    }
    return `Bearer ${token}`;
  };
  const handler: Handler = (request) =>
    http({ ...request, headers: { ...request.headers, authorization: bearer() } });
  return {
    url,
    handler,
    asNobody: {
      handler: (request) => http(unnamed(request)),
      upgrade: (request) => http.upgrade(unnamed(request)),
    },
    upgrade: (request) =>
      http.upgrade({ ...request, headers: { ...request.headers, authorization: bearer() } }),
    client: createClient(handler, { userAgent, clock }),
    close: () => http.close(),
  };
}
