import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { deniedAddress } from '../../../kube/cluster-endpoint.ts';
import { readBody } from '../../../kube/exchange.ts';
import type { Clock } from '../../../runtime/index.ts';
import { parseJsonBody } from '../../../schema/decode.ts';
import { isObject, type JsonObject } from '../../../schema/json.ts';
import { jsonText } from '../../../schema/json-text.ts';

/** Where a webhook is, ready to be called. */
export interface WebhookTarget {
  /** `https://…` with path and query, as messages show it. */
  readonly url: string;
  /** Where to connect to when that is not the host of the URL: an address behind a Service. */
  readonly address?: { readonly host: string; readonly port: number };
  /** PEM. The system's authorities when absent. */
  readonly caBundle?: string;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Posts JSON to a webhook. Rejects when there is no answer; the signal ends the call. */
export type WebhookCaller = (
  target: WebhookTarget,
  body: Uint8Array,
  signal: AbortSignal,
) => Promise<WebhookAnswer>;

/** A call that brought no usable answer: the text is the end of what the client is told. */
export class WebhookFailure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'WebhookFailure';
  }
}

/** Answers hold at most a patch of, or new forms of, what was sent. */
export const MAX_ANSWER_BYTES: number = 8 * 1024 * 1024;
/** Connections are kept for this many different webhooks. */
const MAX_AGENTS = 64;
const CONNECT_TIMEOUT_MS = 10_000;

export interface WebhookConnections {
  readonly call: WebhookCaller;
  close(): Promise<void>;
}

/**
 * Calls over TLS, with connections that are kept. Redirects are not followed, and addresses that lead to the machine's
 * network rather than to a webhook (link-local, metadata of clouds, multicast) are refused, whatever name led there.
 */
export function webhookConnections(): WebhookConnections {
  const agents = new Map<string, Agent>();
  let closed = false;

  async function agentOf(target: WebhookTarget, serverName: string): Promise<Agent> {
    const key = `${serverName}\n${target.caBundle ?? ''}`;
    const known = agents.get(key);
    if (known) {
      agents.delete(key);
      agents.set(key, known);
      return known;
    }
    // Loaded when first used: few servers have webhooks.
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
          // A bundle may hold the very certificate of the webhook: whatever is in it is trusted, as clients in Go do.
          ...(target.caBundle === undefined ? {} : { ca: target.caBundle, allowPartialTrustChain: true }),
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
    async call(target, body, signal) {
      if (closed) throw new Error('the server is closing');
      const url = new URL(target.url);
      if (url.protocol !== 'https:') throw new Error('a webhook is called over https only');
      const serverName = url.hostname.replace(/^\[|\]$/g, '');
      const host = target.address?.host ?? serverName;
      const why = isIP(host) === 0 ? undefined : deniedAddress(host, { allowLoopback: true });
      if (why !== undefined) throw new Error(`a webhook may not be there: ${why}`);
      const port = target.address?.port ?? (url.port === '' ? 443 : Number(url.port));
      const agent = await agentOf(target, serverName);
      const answer = await agent.request({
        origin: `https://${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        headers: { host: url.host, 'content-type': 'application/json', accept: 'application/json, */*' },
        body,
        signal,
      });
      return {
        status: answer.statusCode,
        body: await readBody({ status: answer.statusCode, headers: {}, body: answer.body }, MAX_ANSWER_BYTES),
      };
    },
    async close() {
      closed = true;
      const open = [...agents.values()];
      agents.clear();
      await Promise.all(open.map((agent) => agent.destroy()));
    },
  };
}

/** Looks a name up and refuses it when any of its addresses is one that webhooks may not have. */
const guardedLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) {
      callback(error, '', 0);
      return;
    }
    const addresses = found as LookupAddress[];
    for (const { address } of addresses) {
      const why = deniedAddress(address, { allowLoopback: true });
      if (why === undefined) continue;
      callback(new Error(`a webhook may not be at ${hostname}: ${why}`), '', 0);
      return;
    }
    const [first] = addresses;
    if (options.all) callback(null, addresses);
    else if (first) callback(null, first.address, first.family);
    else callback(new Error(`the name ${hostname} has no address`), '', 0);
  });
};

/** Calls a webhook and reads its answer as JSON, within `timeoutMs`. Rejects with {@link WebhookFailure}. */
export async function postReview(
  clock: Clock,
  call: WebhookCaller,
  target: WebhookTarget,
  review: unknown,
  timeoutMs: number,
): Promise<JsonObject> {
  const abort = new AbortController();
  let expire: (error: Error) => void = () => {};
  const expired = new Promise<never>((_resolve, reject) => {
    expire = reject;
  });
  expired.catch(() => {}); // heard of by the race below
  const timer = clock.after(timeoutMs, () => {
    abort.abort();
    expire(new WebhookFailure('context deadline exceeded'));
  });
  const begin = `Post ${JSON.stringify(target.url)}`;
  let answer: WebhookAnswer;
  try {
    answer = await Promise.race([call(target, Buffer.from(jsonText(review)), abort.signal), expired]);
  } catch (error) {
    const text = error instanceof WebhookFailure ? error.message : connectionProblem(error, target);
    throw new WebhookFailure(`failed to call webhook: ${begin}: ${text}`, error);
  } finally {
    timer.cancel();
  }
  if (answer.status < 200 || answer.status > 299)
    throw new WebhookFailure(`failed to call webhook: ${refusalText(answer)}`);
  const decoded = parseJsonBody(answer.body, { maxBytes: MAX_ANSWER_BYTES });
  if (!decoded.ok) throw new WebhookFailure(`failed to call webhook: ${decoded.message}`);
  if (!isObject(decoded.value)) throw new WebhookFailure('failed to call webhook: the answer is no object');
  return decoded.value;
}

const MAX_QUOTED = 1024;

function refusalText({ status, body }: WebhookAnswer): string {
  if (status === 404) return 'the server could not find the requested resource';
  const text = Buffer.from(body.subarray(0, MAX_QUOTED)).toString().trim();
  return status >= 500
    ? `an error on the server (${JSON.stringify(text || 'unknown')}) has prevented the request from succeeding`
    : `the server responded with the status code ${status} but did not return more information`;
}

/** Codes by which Node tells that it cannot build a chain to an authority that it knows. */
const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** What operators of webhooks know from other servers, where it is the same thing. */
function connectionProblem(error: unknown, target: WebhookTarget): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  const verify = 'tls: failed to verify certificate: x509:';
  if (UNKNOWN_AUTHORITY.has(code)) return `${verify} certificate signed by unknown authority`;
  if (code === 'CERT_HAS_EXPIRED') return `${verify} certificate has expired or is not yet valid`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${verify} certificate is not valid for ${new URL(target.url).hostname}: ${error.message}`;
  if (code === 'ECONNREFUSED') return `dial tcp: connect: connection refused (${error.message})`;
  return error.message;
}
