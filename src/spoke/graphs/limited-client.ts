import type { Client } from '../../kube/client.ts';
import type { Handler } from '../../kube/exchange.ts';
import { createClient } from '../../kube/rest-client.ts';
import { type Clock, sleep } from '../../runtime/clock.ts';

export interface RequestLimit {
  /** Requests in a second, over time. */
  readonly perSecond: number;
  /** Requests at once after a rest. */
  readonly burst: number;
}

/** A client that asks no more often than it may; what is too much waits for its turn, in the order in which it was asked. */
export function limitedClient(client: Client, clock: Clock, { perSecond, burst }: RequestLimit): Client {
  const eachMs = 1_000 / perSecond;
  /** When the next request would be due if all of the burst were used up. */
  let due = -Infinity;
  const limited: Handler = async (request) => {
    const now = clock.monotonic();
    due = Math.max(due, now - burst * eachMs) + eachMs;
    if (due > now) await sleep(clock, Math.ceil(due - now));
    return client.handler(request);
  };
  // Which kinds there are is known already.
  return { ...createClient(limited, { userAgent: 'atoll-engine', clock }), resourceFor: client.resourceFor };
}
