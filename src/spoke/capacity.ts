import { type CapacityReport, capacityOf, tallyPods } from '../engine/divide/index.ts';
import type { Reader } from '../kube/client.ts';
import type { Handler } from '../kube/exchange.ts';
import { pagesOf } from '../kube/pages.ts';
import { createClient } from '../kube/rest-client.ts';
import { nodes, pods } from '../kube/well-known.ts';

/** Where a hub asks through its link how much room there is. It is counted when somebody asks, and at no other time. */
export const CAPACITY_PATH = '/atoll/capacity';

/** Pods of a page: what is held in memory at a time does not grow with the cluster. */
const PAGE = 500;

/** Counts what is free on a cluster. Needs to list nodes and pods there; nothing of a pod but its needs is told. */
export async function countCapacity(reader: Reader, signal?: AbortSignal): Promise<CapacityReport> {
  const options = signal === undefined ? {} : { signal };
  const tally = tallyPods();
  for await (const items of pagesOf(reader, pods, '', { ...options, limit: PAGE })) tally.add(items);
  const { items } = await reader.list(nodes, '', options);
  const { pending } = tally;
  return { ...capacityOf(items, tally.used), ...(pending.length === 0 ? {} : { pending }) };
}

/** Answers {@link CAPACITY_PATH} with the rights of whom `handler` acts for. */
export function capacityAnswer(handler: Handler): Handler {
  const client = createClient(handler, { userAgent: 'atoll-capacity' });
  return async (request) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(await countCapacity(client, request.signal))),
  });
}
