import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { SpokeCluster } from '../dialects/kubevela/types.ts';
import { SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import { admits, admitsSpoke } from '../hub/join/index.ts';
import type { Client } from '../kube/client.ts';
import { type LeadershipOptions, type LedWork, startLeadership } from '../kube/leadership.ts';
import type { PeerOptions, SpokeDecision, TunnelListener } from '../link/index.ts';
import { sleep } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { ensureSpokeNamespace } from '../spoke/trust.ts';

/** Replicas of a hub: all listen for spokes and pass requests on, one of them at a time is the hub. */
export interface HubReplica {
  /** Whether this one is. */
  readonly leading: boolean;
  stop(): Promise<void>;
}

/** Of the Lease; those of `kube/leadership.ts` where nothing is said. */
export type LeaseTiming = Pick<LeadershipOptions, 'leaseMs' | 'renewDeadlineMs' | 'retryMs'>;

export interface HubReplicaOptions {
  readonly client: Client;
  /** Of this process among the replicas. */
  readonly identity: string;
  readonly timing?: LeaseTiming;
  /** By which Lease; that of hubs where nothing is said. */
  readonly lease?: string;
}

const LEASE = 'atoll-hub';
const RETRY_MS = 5_000;

/**
 * Runs what `start` begins on the replica that holds the Lease, and ends it where that is lost. What cannot start is tried again, when
 * what it had begun, which it adds to `begun`, was stopped.
 */
export async function leadHub(
  runtime: Runtime,
  { client, identity, timing = {}, lease = LEASE }: HubReplicaOptions,
  start: (begun: LedWork[]) => Promise<LedWork>,
): Promise<HubReplica> {
  await ensureSpokeNamespace(client);
  const { leaseMs, renewDeadlineMs, retryMs } = timing;
  const of = {
    ...{ client, identity, namespace: SYSTEM_NAMESPACE, name: lease },
    ...(leaseMs !== undefined && { leaseMs }),
    ...(renewDeadlineMs !== undefined && { renewDeadlineMs }),
    ...(retryMs !== undefined && { retryMs }),
  };
  return startLeadership(runtime, of, () => {
    const ending = new AbortController();
    const work = begin(ending.signal);
    return {
      async stop(): Promise<void> {
        ending.abort(new Error('another replica leads'));
        await (await work)?.stop();
      },
    };
  });

  async function begin(signal: AbortSignal): Promise<LedWork | undefined> {
    while (!signal.aborted) {
      const begun: LedWork[] = [];
      try {
        return await start(begun);
      } catch (error) {
        await Promise.all(begun.map((part) => part.stop()));
        runtime.log.error('the engine could not start on this replica', { why: errorText(error) });
        await sleep(runtime.clock, RETRY_MS, signal).catch(() => undefined);
      }
    }
    return undefined;
  }
}

/**
 * Cuts who is no longer welcome at this replica, by what it sees itself of the SpokeClusters: the replica that leads tells the others
 * as well, but may not reach them, and for a while none may lead. What it sees is late: who is connected may have been let in as what
 * has the name by now, so each is asked about anew before it is cut.
 */
export function keepOut(
  runtime: Pick<Runtime, 'log'>,
  client: Client,
  listener: Pick<TunnelListener, 'links' | 'disconnect' | 'review'>,
): (name: string, cluster: SpokeCluster | undefined) => void {
  const uids = new Map<string, string>();

  async function lookAgain(name: string): Promise<SpokeDecision> {
    if (await listener.review(name)) return { allowed: true };
    return admitsSpoke(client, name);
  }

  return (name, cluster) => {
    const decision = admits(cluster, name);
    const uid = cluster?.metadata.uid ?? '';
    const before = uids.get(name) ?? uid;
    if (cluster === undefined) uids.delete(name);
    else uids.set(name, uid);
    // Another cluster of the same name: who was let in as the one before is looked at again.
    if (decision.allowed && before === uid) return;
    // A cluster that the hub reaches by itself is reached through the replica that leads: that link is no spoke's to lose.
    const mayDial = cluster === undefined || cluster.spec.credential.type === 'tunnel';
    if (!mayDial && listener.links.get(name)?.state.reason !== 'Connected') return;
    lookAgain(name).then(
      (now) => {
        if (!now.allowed) listener.disconnect(name, now.message);
      },
      (error: unknown) => {
        runtime.log.warn('a spoke may not be welcome any more, which cannot be looked up: it is cut', {
          spoke: name,
          why: errorText(error),
        });
        listener.disconnect(name, decision.allowed ? `SpokeCluster ${name} was made anew` : decision.message);
      },
    );
  };
}

/** The link listeners of all replicas. A name that stands for several addresses (a headless Service) means all of them. */
export function peersAt(addresses: readonly string[]): PeerOptions {
  return {
    async addresses(): Promise<string[]> {
      const found = await Promise.all(addresses.map(resolved));
      return [...new Set(found.flat())].sort();
    },
  };
}

async function resolved(address: string): Promise<string[]> {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || port === undefined)
    throw new Error(`${JSON.stringify(address)} is not an address of the form host:port`);
  if (isIP(host) !== 0) return [address];
  const all = await lookup(host, { all: true });
  return all.map((entry) => (entry.family === 6 ? `[${entry.address}]:${port}` : `${entry.address}:${port}`));
}
