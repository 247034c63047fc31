import { type Response, readBody } from '../../../kube/exchange.ts';
import { isStatus, type Status, StatusError } from '../../../kube/status-error.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { isObject, type JsonObject } from '../../../schema/json.ts';
import { parseJson } from '../../../schema/json-text.ts';

/** A cluster whose part of an answer is missing. */
export interface MissingCluster {
  readonly cluster: string;
  readonly reason: string;
  readonly message: string;
  /** Until when it was seen; absent where that is not known. */
  readonly seenUntil?: string;
}

export type ClusterAnswer =
  | { readonly cluster: string; readonly body: JsonObject }
  | { readonly cluster: string; readonly status: Status };

/** A cluster that takes longer is one that is missing, so that it keeps the others waiting no more than this. */
const ANSWER_TIMEOUT_MS = 5_000;
const ANSWER_LIMIT = 64 * 1024 * 1024;
const AT_ONCE = 64;

/** Asks clusters for JSON, many at a time. In the order of `clusters`; never rejects for one of them. */
export async function askClusters(
  runtime: Runtime,
  clusters: readonly string[],
  signal: AbortSignal | undefined,
  ask: (cluster: string, signal: AbortSignal) => Promise<Response>,
): Promise<ClusterAnswer[]> {
  const answers: ClusterAnswer[] = new Array(clusters.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < clusters.length; index = next++) {
      const cluster = clusters[index] ?? '';
      answers[index] = await askOne(runtime, cluster, signal, ask);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, clusters.length) }, worker));
  signal?.throwIfAborted();
  return answers;
}

async function askOne(
  runtime: Runtime,
  cluster: string,
  signal: AbortSignal | undefined,
  ask: (cluster: string, signal: AbortSignal) => Promise<Response>,
): Promise<ClusterAnswer> {
  const late = new AbortController();
  const timer = runtime.clock.after(ANSWER_TIMEOUT_MS, () =>
    late.abort(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`)),
  );
  try {
    const both = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    const response = await ask(cluster, both);
    const body = parseJson(Buffer.from(await readBody(response, ANSWER_LIMIT)).toString('utf8'));
    if (response.status >= 400)
      return {
        cluster,
        status: isStatus(body) ? body : failed(response.status, `it answered ${response.status}`),
      };
    if (!isObject(body)) return { cluster, status: failed(502, 'it answered with no object') };
    return { cluster, body };
  } catch (error) {
    if (late.signal.aborted) return { cluster, status: failed(504, errorText(late.signal.reason)) };
    return { cluster, status: error instanceof StatusError ? error.status : failed(502, errorText(error)) };
  } finally {
    timer.cancel();
  }
}

function failed(code: number, message: string): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: code === 504 ? 'Timeout' : 'BadGateway',
    code,
  };
}
