import type { Request, Response } from '../../kube/exchange.ts';
import { failure } from '../../kube/status-error.ts';
import { isMaster, type UserInfo } from '../auth/index.ts';
import type { FairQueue } from '../fairness/index.ts';
import { type RequestInfo, textResponse } from '../request/index.ts';

const READING_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/**
 * Whether a request takes a seat. Requests that may stay open for long take none from others, and masters never wait, but for those
 * whom somebody in a logical cluster has made up.
 */
export function needsTurn({ verb, subresource }: RequestInfo, user: UserInfo): boolean {
  const isExempt = isMaster(user) && user.within === undefined;
  return !isExempt && verb !== 'watch' && verb !== 'proxy' && !LONG_SUBRESOURCES.has(subresource);
}

/** Serves a request when it is its turn among those of its logical cluster and of the others, or answers 429. */
export async function inTurn(
  queue: FairQueue,
  cluster: string,
  info: RequestInfo,
  request: Request,
  serve: () => Promise<Response>,
): Promise<Response> {
  const seat = queue.enter(cluster, READING_VERBS.has(info.verb) ? 'reading' : 'writing', request.signal);
  if (seat === undefined) return tooManyRequests();
  const leave = typeof seat === 'function' ? seat : await seat;
  try {
    if (request.signal?.aborted)
      throw failure(503, 'ServiceUnavailable', 'the client did not wait for its turn');
    return await serve();
  } finally {
    leave();
  }
}

function tooManyRequests(): Response {
  return textResponse(429, 'Too many requests, please try again later.\n', { 'retry-after': '1' });
}
