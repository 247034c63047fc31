import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import {
  decideRequest,
  pendingRequests,
  requestsOf,
  revokeJoinToken,
  setAccepted,
  spokeClusterNamed,
} from '../../hub/join/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { type Asking, type AskingOptions, agoText, ask, table } from '../output.ts';

export interface AcceptOptions extends AskingOptions {
  readonly deny?: boolean;
  readonly request?: string;
}

interface Waiting {
  readonly cluster: string;
  readonly namespace: string;
  /** Requests for certificates that nobody has decided on. */
  readonly requests: readonly string[];
  readonly since: string;
}

interface AcceptReport {
  readonly cluster: string;
  readonly accepted: boolean;
  readonly decided: readonly string[];
}

/** Ends with 1 where nothing could be decided. */
export function accept(name: string | undefined, options: AcceptOptions): Promise<void> {
  return ask(options, async (asking) => {
    const { client } = asking.hub;
    if (name === undefined) {
      asking.print(await waitingSpokes(client), (waiting) => waitingText(waiting, asking));
      return 0;
    }
    const report = await decideOn(systemRuntime(), client, name, options);
    asking.print(report, ({ accepted }) =>
      accepted
        ? `${name} is accepted; it connects by itself.\n`
        : `${name} is not accepted: it is cut off, and kept out until \`atoll accept ${name}\`.\n`,
    );
    return 0;
  });
}

/** Accepts a spoke and the request that it waits with, or takes both back. */
export async function decideOn(
  runtime: Pick<Runtime, 'clock'>,
  client: Client,
  name: string,
  { deny = false, request }: Pick<AcceptOptions, 'deny' | 'request'> = {},
): Promise<AcceptReport> {
  const cluster = await spokeClusterNamed(client, name);
  if (!cluster) throw new Error(`the hub has no SpokeCluster ${name}; who asks to join: atoll accept`);
  const requests = await requestsOf(client, name);
  const pending = requests.pending.map(({ metadata }) => metadata.name ?? '');
  const chosen = request === undefined ? pending : pending.filter((item) => item === request);
  if (request !== undefined && chosen.length === 0)
    throw new Error(`${name} has no request ${request} that waits; it has: ${pending.join(', ') || 'none'}`);
  // Of several keys under one name one is the spoke's: only a person knows which.
  if (!deny && chosen.length > 1)
    throw new Error(
      `${chosen.length} requests wait under the name ${name}: ${chosen.join(', ')}. Choose the one that is the spoke's with --request, or deny all`,
    );
  // Whoever has a token for many may ask in the place of the spoke that had the name, or was denied it.
  const isKnown = wasThere(cluster) || requests.decided.length > 0;
  if (!deny && request === undefined && isKnown && chosen.length > 0)
    throw new Error(
      `the name ${name} was connected, accepted or denied before, and a request with another key waits under it: ${chosen.join(', ')}. A spoke that waits says in its log which request is its own; where it is this one: atoll accept ${name} --request ${chosen.join(', ')}`,
    );
  if (deny) await setAccepted(client, cluster, false);
  for (const item of chosen)
    await decideRequest(
      runtime,
      client,
      item,
      deny ? 'Denied' : 'Approved',
      deny ? `atoll accept ${name} --deny` : `atoll accept ${name}`,
    );
  if (deny) await revokeJoinToken(client, name);
  else await setAccepted(client, cluster, true);
  return { cluster: name, accepted: !deny, decided: chosen };
}

/** Whether a spoke has the name, or had it. */
function wasThere({ spec, status }: SpokeCluster): boolean {
  return spec.hubAcceptsClient !== false || status?.clusterInfo?.lastSyncedTime !== undefined;
}

async function waitingSpokes(client: Client): Promise<Waiting[]> {
  const clusters = await client.list<SpokeCluster>(resourceIdOf(SPOKE_CLUSTER), '');
  const held = clusters.items.filter(({ spec }) => spec.hubAcceptsClient === false);
  return Promise.all(
    held.map(async ({ metadata: { name = '', namespace = '', creationTimestamp } }) => ({
      cluster: name,
      namespace,
      requests: (await pendingRequests(client, name)).map(({ metadata }) => metadata.name ?? ''),
      since: creationTimestamp ?? '',
    })),
  );
}

function waitingText(waiting: readonly Waiting[], { now, paint }: Asking): string {
  if (waiting.length === 0) return 'Nobody waits to be accepted.\n';
  const rows = waiting.map(({ cluster, namespace, requests, since }) => [
    cluster,
    namespace,
    requests.join(', ') || 'none',
    agoText(Date.parse(since), now),
  ]);
  return `${table(['CLUSTER', 'NAMESPACE', 'REQUESTS', 'SINCE'], rows, paint)}\nTo let one in: atoll accept <name>\n`;
}
