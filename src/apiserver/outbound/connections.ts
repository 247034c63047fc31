import { isIP } from 'node:net';
import type { Agent } from 'undici';
import type { Response } from '../../kube/exchange.ts';
import type { KeyPair } from '../../kube/pki.ts';
import { checkAddress, guardedLookup } from './guarded-lookup.ts';

/** Somebody outside that an object of the API names. */
export interface OutboundTarget {
  /** `https://…` with path and query. */
  readonly url: string;
  /** Where to connect to when that is not the host of the URL: an address behind a Service. */
  readonly address?: { readonly host: string; readonly port: number };
  /** PEM. The system's authorities when absent. */
  readonly caBundle?: string;
  /** The name in its certificate where that is not the host of the URL. */
  readonly serverName?: string;
  /** Whether its certificate is not checked. */
  readonly insecure?: boolean;
  /** How this server proves who it is. */
  readonly certificate?: KeyPair;
}

export interface OutboundRequest {
  readonly method: string;
  /** Names and values in turn; a name may come several times. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal;
}

/** Connections to whoever objects of the API name. */
export interface Outbound {
  /** The head of the answer and its body as a stream. Rejects when there is no answer. */
  send(target: OutboundTarget, request: OutboundRequest): Promise<Response>;
  close(): Promise<void>;
}

/** Connections are kept for this many different targets. */
const MAX_AGENTS = 64;
const CONNECT_TIMEOUT_MS = 10_000;

export function outboundConnections(): Outbound {
  const agents = new Map<string, Agent>();
  let closed = false;

  async function agentOf(target: OutboundTarget, serverName: string): Promise<Agent> {
    const key = JSON.stringify([
      serverName,
      target.caBundle,
      target.insecure ?? false,
      target.certificate?.certificate,
    ]);
    const known = agents.get(key);
    if (known) {
      agents.delete(key);
      agents.set(key, known);
      return known;
    }
    // Loaded when first used: few servers have anybody to call.
    const { Agent } = await import('undici');
    const agent =
      agents.get(key) ??
      new Agent({
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: {
          timeout: CONNECT_TIMEOUT_MS,
          lookup: guardedLookup,
          ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
          // A bundle may hold the very certificate of the target: whatever is in it is trusted, as clients in Go do.
          ...(target.caBundle === undefined ? {} : { ca: target.caBundle, allowPartialTrustChain: true }),
          ...(target.insecure ? { rejectUnauthorized: false } : {}),
          ...(target.certificate === undefined
            ? {}
            : { cert: target.certificate.certificate, key: target.certificate.key }),
        },
      });
    agents.set(key, agent);
    const [oldest] = agents;
    if (agents.size > MAX_AGENTS && oldest) {
      agents.delete(oldest[0]);
      // Calls that are under way come to their end.
      void oldest[1].close().catch(() => oldest[1].destroy());
    }
    return agent;
  }

  return {
    async send(target, { method, headers, body, signal }) {
      if (closed) throw new Error('the server is closing');
      const url = new URL(target.url);
      if (url.protocol !== 'https:') throw new Error('others are called over https only');
      const urlHost = url.hostname.replace(/^\[|\]$/g, '');
      const host = target.address?.host ?? urlHost;
      checkAddress(host);
      const port = target.address?.port ?? (url.port === '' ? 443 : Number(url.port));
      const agent = await agentOf(target, target.serverName ?? urlHost);
      const answer = await agent.request({
        origin: `https://${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
        path: `${url.pathname}${url.search}`,
        method: method as 'GET',
        headers: ['host', url.host, ...headers],
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      const plain: Record<string, string> = {};
      for (const [name, value] of Object.entries(answer.headers))
        if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(', ') : value;
      return { status: answer.statusCode, headers: plain, body: answer.body };
    },
    async close() {
      closed = true;
      const open = [...agents.values()];
      agents.clear();
      await Promise.all(open.map((agent) => agent.destroy()));
    },
  };
}
