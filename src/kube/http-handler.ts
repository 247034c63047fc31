import type { Agent, Dispatcher } from 'undici';
import type { ClusterEndpoint } from './cluster-endpoint.ts';
import type { Handler, Response } from './exchange.ts';

/** A handler that talks to a server, and holds connections to it. */
export type HttpHandler = Handler & {
  /** Ends all exchanges, streams included, and closes the connections. */
  close(): Promise<void>;
};

const CONNECT_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 60_000;
const BODY_TIMEOUT_MS = 60_000;
/** Finds a peer that is gone without a word under a stream that is silent by nature. */
const PING_INTERVAL_MS = 15_000;

/**
 * A handler over HTTP/2 (HTTP/1.1 where the server knows no other), with one set of connections for calls and another
 * for watches, so that neither waits for the other. Redirects are never followed: credentials go to one server only.
 */
export function httpHandler(config: ClusterEndpoint): HttpHandler {
  const base = new URL(config.url);
  const prefix = base.pathname.replace(/\/+$/, '');
  const connect = {
    timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelay: PING_INTERVAL_MS,
    // Whatever the kubeconfig names is trusted, be it an intermediate or the server's own certificate, as kubectl does.
    ...(config.ca === undefined ? {} : { ca: config.ca, allowPartialTrustChain: true }),
    ...(config.clientCertificate === undefined ? {} : { cert: config.clientCertificate }),
    ...(config.clientKey === undefined ? {} : { key: config.clientKey }),
    ...(config.serverName === undefined ? {} : { servername: config.serverName }),
    ...(config.insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
  };
  const authorization = config.token === undefined ? {} : { authorization: `Bearer ${config.token}` };
  let agents: Promise<{ calls: Agent; watches: Agent }> | undefined;
  let closed = false;

  // Loaded when first used: most processes of a fleet on one machine call in-process only.
  async function load(): Promise<{ calls: Agent; watches: Agent }> {
    const { Agent } = await import('undici');
    const options = {
      allowH2: true,
      connect,
      headersTimeout: HEADERS_TIMEOUT_MS,
      h2Options: { pingInterval: PING_INTERVAL_MS },
    };
    return {
      calls: new Agent({ ...options, bodyTimeout: BODY_TIMEOUT_MS }),
      watches: new Agent({ ...options, bodyTimeout: 0 }),
    };
  }

  const handler: Handler = async (request) => {
    if (closed) throw new Error(`the connection to ${base.host} is closed`);
    agents ??= load();
    const { calls, watches } = await agents;
    const agent = isStream(request.path) ? watches : calls;
    let answer: Dispatcher.ResponseData;
    try {
      answer = await agent.request({
        origin: base.origin,
        path: prefix + request.path,
        method: request.method as Dispatcher.HttpMethod,
        headers: { ...request.headers, ...authorization },
        ...(request.body === undefined ? {} : { body: request.body }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
    } catch (error) {
      if (request.signal?.aborted === true) throw error;
      throw new Error(`cannot reach ${base.host}`, { cause: error });
    }
    return { status: answer.statusCode, headers: flat(answer.headers), body: answer.body } satisfies Response;
  };

  return Object.assign(handler, {
    async close(): Promise<void> {
      closed = true;
      if (agents === undefined) return;
      const { calls, watches } = await agents;
      await Promise.all([calls.destroy(), watches.destroy()]);
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
