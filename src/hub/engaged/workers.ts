import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import { within } from '../../kube/deadline.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { leases } from '../../kube/well-known.ts';
import { formatMicroTime, type Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { stringAt } from '../../schema/json.ts';
import { workerOf } from './sharing.ts';

/** The processes that share the clusters of a hub. */
export interface Workers {
  /** Whether a cluster is this worker's, as far as it knows. */
  mine(cluster: ClusterName): boolean;
  /** Those that live, in order of name. */
  readonly live: readonly string[];
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void;
  /** Takes this worker's Lease away, so that others need not wait for its end. */
  stop(): Promise<void>;
}

export interface WorkersOptions {
  readonly client: Client;
  /** Of this process; different for each. */
  readonly identity: string;
  /** Of the Leases. */
  readonly namespace: string;
}

const WORKER_LABEL = 'atoll.dev/engaged-worker';
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** One that was not renewed for so long is of a process that is gone for good. */
const FORGOTTEN_MS = 600_000;

/** One process: all clusters are its own, and nothing is written. */
export const ALONE: Workers = {
  mine: () => true,
  live: [],
  onChange: () => () => undefined,
  stop: () => Promise.resolve(),
};

/** Each worker renews a Lease; who is alive is judged by one's own clock, from when a Lease was last seen to change. */
export function startWorkers(runtime: Runtime, options: WorkersOptions): Workers {
  const { clock, log } = runtime;
  const { client, identity, namespace } = options;
  const name = `engaged-worker-${identity}`
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, 250);
  const listeners = new Set<() => void>();
  const seen = new Map<string, { readonly at: number; readonly renewTime: string }>();
  const informer = startInformer(runtime, client, leases, {
    namespace,
    labelSelector: `${WORKER_LABEL}=true`,
  });
  let live: readonly string[] = [];
  let renewing: Timer | undefined;
  let expiry: Timer | undefined;
  let stopped = false;
  let turn: Promise<void> = Promise.resolve();

  function look(): void {
    if (stopped) return;
    const now = clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    const found: string[] = [];
    for (const lease of informer.list()) {
      const holder = stringAt(lease, 'spec', 'holderIdentity') ?? '';
      const renewTime = stringAt(lease, 'spec', 'renewTime') ?? '';
      const key = lease.metadata.name ?? '';
      const before = seen.get(key);
      const at = before?.renewTime === renewTime ? before.at : now;
      seen.set(key, { at, renewTime });
      const left = at + LEASE_MS - now;
      if (left > 0 && holder !== '') {
        found.push(holder);
        next = Math.min(next, left);
      } else if (left + FORGOTTEN_MS < 0) forget(lease);
    }
    expiry?.cancel();
    expiry = Number.isFinite(next) ? clock.after(next + 1, look) : undefined;
    found.sort();
    if (found.join('\n') === live.join('\n')) return;
    live = found;
    log.info('the clusters are shared anew', { workers: live.length });
    for (const listener of listeners) listener();
  }

  function forget({ metadata: { name: old = '', uid = '' } }: KubeObject): void {
    client.delete(leases, namespace, old, { preconditions: { uid } }).catch((error: unknown) => {
      log.debug('the Lease of a worker that is gone could not be deleted', { error: errorText(error) });
    });
  }

  async function renew(): Promise<void> {
    if (stopped) return;
    try {
      await within(clock, RENEW_MS, (signal) =>
        client.apply(
          leases,
          {
            apiVersion: 'coordination.k8s.io/v1',
            kind: 'Lease',
            metadata: { name, namespace, labels: { [WORKER_LABEL]: 'true' } },
            spec: {
              holderIdentity: identity,
              leaseDurationSeconds: LEASE_MS / 1_000,
              renewTime: formatMicroTime(clock.now()),
            },
          },
          { fieldManager: 'atoll', force: true, signal },
        ),
      );
    } catch (error) {
      log.warn('the Lease of this worker could not be renewed', { error: errorText(error) });
    }
    if (!stopped) renewing = clock.after(RENEW_MS, begin);
  }

  function begin(): void {
    turn = renew();
  }

  informer.onChange(({ type, object }) => {
    if (type === 'deleted') seen.delete(object.metadata.name ?? '');
    look();
  });
  begin();

  return {
    mine: (cluster) => workerOf(cluster, live) === identity,
    get live() {
      return live;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async stop() {
      stopped = true;
      renewing?.cancel();
      expiry?.cancel();
      informer.stop();
      await turn;
      try {
        await within(clock, 2_000, (signal) => client.delete(leases, namespace, name, { signal }));
      } catch (error) {
        if (!hasCode(error, 404))
          log.debug('the Lease of this worker could not be deleted; it ends by itself', {
            error: errorText(error),
          });
      }
    },
  };
}
