import { lookup } from 'node:dns/promises';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import type { Handler } from '../../kube/exchange.ts';
import { httpHandler } from '../../kube/http-handler.ts';
import { endpointFromKubeconfig } from '../../kube/kubeconfig-endpoint.ts';
import { createClient } from '../../kube/rest-client.ts';
import { PROCESS_TITLE } from '../../runtime/pid-file.ts';
import { type LogLevel, pinoLogger } from '../../runtime/pino-logger.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { untilStopped } from '../../runtime/shutdown.ts';
import { HUB_USER } from '../../spoke/hub-access.ts';
import { startEngine } from '../engine.ts';
import { dialHub, listenForSpokes } from '../link-ends.ts';
import { createLinks } from '../links.ts';
import { atollVersion } from '../version.ts';

export interface EngineCommandOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name?: string;
  /** Where keys are kept. */
  readonly data: string;
  readonly join?: string;
  readonly linkHost?: string;
  readonly linkPort?: number;
  readonly allowLoopback: boolean;
  readonly logLevel: LogLevel;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Runs the engine against an API server that is there already (`--kubeconfig`, or in-cluster) until it is told to stop. */
export async function runEngine(role: 'hub' | 'spoke', options: EngineCommandOptions): Promise<void> {
  const name = options.name ?? (role === 'hub' ? 'hub' : undefined);
  if (name === undefined)
    throw new Error(
      '--name is required: the name of the SpokeCluster that stands for this cluster at its hub',
    );
  process.title = `${PROCESS_TITLE} ${role} ${name}`;
  const log = pinoLogger(options.logLevel, { [role]: name });
  const runtime = systemRuntime(log);
  mkdirSync(options.data, { recursive: true, mode: 0o700 });
  const handler = httpHandler(endpointOf(options));
  const client = createClient(handler, { userAgent: 'atoll-engine', clock: runtime.clock });
  await client.getJson('/version');
  const links = createLinks(runtime);
  const engine = await startEngine(runtime, {
    name,
    client,
    version: atollVersion(),
    links,
    credentials: {
      resolve: async (host) => (await lookup(host, { all: true })).map((entry) => entry.address),
      rules: { allowLoopback: options.allowLoopback },
    },
    roles: role === 'hub' ? { hub: true } : { spoke: true },
  });
  const listener =
    options.linkPort === undefined
      ? undefined
      : await listenForSpokes(runtime, client, links, {
          name,
          port: options.linkPort,
          directory: options.data,
          ...(options.linkHost === undefined ? {} : { host: options.linkHost }),
        });
  const dialer =
    options.join === undefined
      ? undefined
      : dialHub(runtime, name, options.join, options.data, asHub(handler));
  log.info('ready', {
    server: endpointOf(options).url,
    ...(listener === undefined ? {} : { linkPort: listener.port }),
  });
  await untilStopped(log, async () => {
    await Promise.all([engine.stop(), dialer?.close(), listener?.close()]);
    await handler.close();
  });
}

/** The hub's requests reach this cluster as the hub's user, which the cluster itself authorizes: never with the engine's rights. */
function asHub(handler: Handler): Handler {
  return (request) => {
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(request.headers)) {
      if (!name.startsWith('impersonate-') && name !== 'authorization') headers[name] = value;
    }
    return handler({ ...request, headers: { ...headers, 'impersonate-user': HUB_USER } });
  };
}

/** `--kubeconfig`, then $KUBECONFIG, then the service account of the pod, then `~/.kube/config`. */
function endpointOf(options: EngineCommandOptions): ClusterEndpoint {
  const path =
    options.kubeconfig ??
    process.env['KUBECONFIG'] ??
    (existsSync(`${SERVICE_ACCOUNT}/token`) ? undefined : join(homedir(), '.kube', 'config'));
  if (path === undefined) {
    const { KUBERNETES_SERVICE_HOST: host = 'kubernetes.default', KUBERNETES_SERVICE_PORT: port = '443' } =
      process.env;
    return {
      url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      ca: readFileSync(`${SERVICE_ACCOUNT}/ca.crt`, 'utf8'),
      token: readFileSync(`${SERVICE_ACCOUNT}/token`, 'utf8').trim(),
    };
  }
  if (!existsSync(path)) throw new Error(`there is no kubeconfig at ${path}; name one with --kubeconfig`);
  return endpointFromKubeconfig(readFileSync(path, 'utf8'), {
    stored: false,
    readFile: (file) => readFileSync(file, 'utf8'),
    ...(options.context === undefined ? {} : { context: options.context }),
  });
}
