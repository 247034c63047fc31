import type { Socket } from 'node:net';
import type { Agent, buildConnector, Dispatcher } from 'undici';
import { systemClock } from '../runtime/index.ts';
import type { ClusterEndpoint } from './cluster-endpoint.ts';
import type { Handler, Response, Upgrader } from './exchange.ts';
import { type DialLimits, dial, dialTls } from './wire/dial.ts';
import { http1Upgrader } from './wire/http1-upgrade.ts';
import { parseProxy } from './wire/proxy.ts';
import { relaxedTls } from './wire/relaxed-tls.ts';

/** A handler that talks to a server, and holds connections to it. */
export type HttpHandler = Handler & {
  /** Requests that switch protocols, each on a connection of its own. */
  readonly upgrade: Upgrader;
  /** Ends all exchanges, streams included, and closes the connections. */
  close(): Promise<void>;
};

/** Groups come joined, and Kubernetes wants a header for each. */
const GROUPS = 'impersonate-group';

interface Agents {
  readonly calls: Agent;
  readonly watches: Agent;
  /** Over HTTP/1.1, for headers that are repeated: over HTTP/2 this client joins them. */
  readonly repeating: Agent;
}

const CONNECT_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 60_000;
const BODY_TIMEOUT_MS = 60_000;
/** Finds a peer that is gone without a word under a stream that is silent by nature. */
const PING_INTERVAL_MS = 15_000;

/**
 * A handler over HTTP/2 (HTTP/1.1 where the server knows no other), with one set of connections for calls and another
 * for watches, so that neither waits for the other. Redirects are never followed: credentials go to one server only.
 * Throws for a `proxyUrl` that cannot be used.
 */
export function httpHandler(config: ClusterEndpoint): HttpHandler {
  const base = new URL(config.url);
  const prefix = base.pathname.replace(/\/+$/, '');
  const tls = {
    // Whatever the kubeconfig names is trusted, be it an intermediate or the server's own certificate, as kubectl does.
    ...(config.ca === undefined ? {} : { ca: config.ca, allowPartialTrustChain: true }),
    ...(config.clientCertificate === undefined ? {} : { cert: config.clientCertificate }),
    ...(config.clientKey === undefined ? {} : { key: config.clientKey }),
    ...(config.serverName === undefined ? {} : { servername: config.serverName }),
    ...(config.insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
  };
  const relaxed = relaxedTls(config);
  const proxy = config.proxyUrl === undefined ? undefined : parseProxy(config.proxyUrl);
  const limits = { clock: systemClock(), timeoutMs: CONNECT_TIMEOUT_MS };
  const authorization = config.token === undefined ? {} : { authorization: `Bearer ${config.token}` };
  let agents: Promise<Agents> | undefined;
  const upgradedSockets = new Set<Socket>();
  let closed = false;

  /** A connection of one kind of HTTP. Its other end is always `base`: undici names it again, in another form. */
  async function open(protocols: string[], more: Partial<DialLimits> = {}): Promise<Socket> {
    const secure = base.protocol === 'https:';
    const destination = {
      host: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port === '' ? (secure ? 443 : 80) : Number(base.port),
      ...(proxy === undefined ? {} : { proxy }),
    };
    if (!secure) return dial(destination, { ...limits, ...more });
    const options = { ...tls, ...relaxed?.options, ALPNProtocols: protocols };
    const socket = await dialTls(destination, options, { ...limits, ...more });
    const problem = relaxed?.problemOf(socket, config.serverName ?? destination.host);
    if (problem === undefined) return socket;
    socket.destroy();
    throw new Error(problem);
  }

  const byHand =
    (protocols: string[]): buildConnector.connector =>
    (_options, callback) => {
      open(protocols).then(
        (socket) => callback(null, socket),
        (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
      );
    };

  // Loaded when first used: most processes of a fleet on one machine call in-process only.
  async function load(): Promise<Agents> {
    const { Agent } = await import('undici');
    const isPlain = proxy === undefined && relaxed === undefined;
    const directly = {
      ...tls,
      timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelay: PING_INTERVAL_MS,
    };
    const options = {
      allowH2: true,
      connect: isPlain ? directly : byHand(['h2', 'http/1.1']),
      headersTimeout: HEADERS_TIMEOUT_MS,
      h2Options: { pingInterval: PING_INTERVAL_MS },
    };
    return {
      calls: new Agent({ ...options, bodyTimeout: BODY_TIMEOUT_MS }),
      watches: new Agent({ ...options, bodyTimeout: 0 }),
      repeating: new Agent({
        connect: isPlain ? directly : byHand(['http/1.1']),
        allowH2: false,
        headersTimeout: HEADERS_TIMEOUT_MS,
        bodyTimeout: 0,
      }),
    };
  }

  const handler: Handler = async (request) => {
    if (closed) throw new Error(`the connection to ${base.host} is closed`);
    agents ??= load();
    const { calls, watches, repeating } = await agents;
    const headers = withGroups({ ...request.headers, ...authorization });
    const agent = Array.isArray(headers[GROUPS]) ? repeating : isStream(request.path) ? watches : calls;
    let answer: Dispatcher.ResponseData;
    try {
      answer = await agent.request({
        origin: base.origin,
        path: prefix + request.path,
        method: request.method as Dispatcher.HttpMethod,
        headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
    } catch (error) {
      if (request.signal?.aborted === true) throw error;
      throw new Error(`cannot reach ${base.host}`, { cause: error });
    }
    return { status: answer.statusCode, headers: flat(answer.headers), body: answer.body } satisfies Response;
  };

  const askUpgrade = http1Upgrader(base.host, async (signal) => {
    const socket = await open(['http/1.1'], {
      allowHalfOpen: true,
      ...(signal === undefined ? {} : { signal }),
    });
    upgradedSockets.add(socket);
    socket.once('close', () => upgradedSockets.delete(socket));
    if (closed) socket.destroy();
    return socket;
  });
  const upgrade: Upgrader = (request) => {
    if (closed) return Promise.reject(new Error(`the connection to ${base.host} is closed`));
    return askUpgrade({
      ...request,
      path: prefix + request.path,
      headers: { ...request.headers, ...authorization, host: base.host },
    });
  };

  return Object.assign(handler, {
    upgrade,
    async close(): Promise<void> {
      closed = true;
      for (const socket of [...upgradedSockets]) socket.destroy(new Error('the client was closed'));
      if (agents === undefined) return;
      const { calls, watches, repeating } = await agents;
      await Promise.all([calls.destroy(), watches.destroy(), repeating.destroy()]);
    },
  });
}

/** Whether the answer is a stream without an end of its own. */
function isStream(path: string): boolean {
  const query = path.indexOf('?');
  return query >= 0 && /[?&](watch|follow)=(1|true)(&|$)/i.test(path.slice(query));
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (name.startsWith(':') || value === undefined) continue;
    out[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return out;
}

/** Headers with one for each group, where there are several. */
function withGroups(headers: Readonly<Record<string, string>>): Record<string, string | string[]> {
  const groups = headers[GROUPS]?.split(', ') ?? [];
  return groups.length < 2 ? { ...headers } : { ...headers, [GROUPS]: groups };
}
