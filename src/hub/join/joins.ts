import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import { startController } from '../../kube/controller-loop.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { hasCode } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { admits, ageKey } from './acceptance.ts';
import { dropOldRecords } from './letting-go.ts';

/** On Secrets that `atoll join` made for a cluster of this name: others are never touched. */
export const JOINED_LABEL = 'atoll.dev/joined';

/** What the hub does about SpokeClusters beyond reaching them. */
export interface Joins {
  /** Calls back with spokes that the hub stops accepting while they may be connected. */
  onRefused(listener: (spoke: string, why: string) => void): void;
  stop(): Promise<void>;
}

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
const TIDY_MS = 3_600_000;

/** Follows the SpokeClusters: who is no longer accepted, and whose credential goes with them (K18). */
export function followJoins(runtime: Runtime, client: Client): Joins {
  const listeners: ((spoke: string, why: string) => void)[] = [];
  // The status is the most of it, and says nothing of who may come.
  const clusters = startInformer<SpokeCluster>(runtime, client, SPOKE_CLUSTERS, {
    keep: ({ status: _status, ...rest }) => rest,
  });
  const credentials = startController(runtime, {
    name: 'joined-credentials',
    async reconcile(key): Promise<void> {
      const slash = key.indexOf('/');
      const cluster = clusters.get(key.slice(0, slash), key.slice(slash + 1));
      if (cluster) await settleOwner(client, cluster);
    },
  });

  clusters.onChange(({ type, object, previous }) => {
    if (type === 'deleted') return;
    const { namespace = '', name = '' } = object.metadata;
    if (!previous || !deepEqual(previous.spec, object.spec)) {
      if (object.spec.credential.type === 'kubeconfig') credentials.enqueue(`${namespace}/${name}`);
    }
    const was = previous === undefined || admits(previous, name).allowed;
    const now = admits(object, name);
    if (!was || now.allowed) return;
    const others = clusters.list().filter((other) => other.metadata.name === name);
    // A second SpokeCluster of the name says nothing about the spoke.
    if (others.some((other) => ageKey(other) < ageKey(object))) return;
    for (const listener of listeners) {
      try {
        listener(name, now.message);
      } catch (error) {
        runtime.log.error('a listener for spokes failed', { spoke: name, why: errorText(error) });
      }
    }
  });

  let tidying: Timer;
  const tidyLater = (): void => {
    tidying = runtime.clock.after(TIDY_MS, () => {
      tidyLater();
      dropOldRecords(runtime, client).catch((error: unknown) =>
        runtime.log.warn('what is recorded of spokes that were let go long ago cannot be dropped', {
          why: errorText(error),
        }),
      );
    });
  };
  tidyLater();

  return {
    onRefused: (listener) => void listeners.push(listener),
    async stop(): Promise<void> {
      tidying.cancel();
      clusters.stop();
      await credentials.stop();
    },
  };
}

/**
 * A credential that `atoll join` made goes with its SpokeCluster however that is deleted, by its owner reference; with the
 * policy `orphan` it has none, and stays.
 */
async function settleOwner(client: Client, cluster: SpokeCluster): Promise<void> {
  const { namespace = '', name = '', uid = '' } = cluster.metadata;
  const secretName = cluster.spec.credential.kubeconfig?.secretRef.name ?? '';
  try {
    const { metadata } = await client.get(secrets, namespace, secretName);
    if (metadata.labels?.[JOINED_LABEL] !== name) return;
    const owner = { apiVersion: cluster.apiVersion, kind: cluster.kind, name, uid };
    const wanted = cluster.spec.deletionPolicy === 'orphan' ? [] : [owner];
    if (deepEqual(metadata.ownerReferences ?? [], wanted)) return;
    await client.patch(secrets, namespace, secretName, 'merge', {
      metadata: { ownerReferences: wanted, resourceVersion: metadata.resourceVersion },
    });
  } catch (error) {
    if (!hasCode(error, 404)) throw error;
  }
}
