import { readBody } from '../../../kube/exchange.ts';
import type { Clock } from '../../../runtime/index.ts';
import { parseJsonBody } from '../../../schema/decode.ts';
import { isObject, type JsonObject } from '../../../schema/json.ts';
import { jsonText } from '../../../schema/json-text.ts';
import { type Outbound, outboundConnections } from '../../outbound/index.ts';
import type { WebhookCredentials } from './webhook-credentials.ts';

/** Where a webhook is, ready to be called. */
export interface WebhookTarget {
  /** `https://…` with path and query, as messages show it. */
  readonly url: string;
  /** Where to connect to when that is not the host of the URL: an address behind a Service. */
  readonly address?: { readonly host: string; readonly port: number };
  /** PEM. The system's authorities when absent. */
  readonly caBundle?: string;
  /** The logical cluster that names it. */
  readonly cluster?: string;
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
export interface WebhookConnections {
  readonly call: WebhookCaller;
  close(): Promise<void>;
}

/** Calls webhooks over connections that are kept. `credentials` tells how this server proves who it is to one of them. */
export function webhookConnections(
  outbound: Outbound = outboundConnections(),
  credentials: (target: WebhookTarget) => WebhookCredentials | undefined = () => undefined,
): WebhookConnections {
  return {
    async call(target, body, signal) {
      const { authorization, certificate } = credentials(target) ?? {};
      const answer = await outbound.send(
        { ...target, ...(certificate === undefined ? {} : { certificate }) },
        {
          method: 'POST',
          headers: [
            'content-type',
            'application/json',
            'accept',
            'application/json, */*',
            ...(authorization === undefined ? [] : ['authorization', authorization]),
          ],
          body,
          signal,
        },
      );
      return { status: answer.status, body: await readBody(answer, MAX_ANSWER_BYTES) };
    },
    close: outbound.close,
  };
}

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
  if (code === 'ECONNREFUSED') {
    const address = /ECONNREFUSED (\S+)$/.exec(error.message)?.[1];
    return `dial tcp${address === undefined ? '' : ` ${address}`}: connect: connection refused`;
  }
  return error.message;
}
