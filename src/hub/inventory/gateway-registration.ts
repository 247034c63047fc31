import {
  CREDENTIAL_TYPE_LABEL,
  gatewayOwner,
  gatewaySecretOf,
  OWNER_ANNOTATION,
  POLICY_ANNOTATION,
} from '../../dialects/kubevela/gateway-secret.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import type { Runtime, Timer } from '../../runtime/index.ts';
import { errorText } from '../../runtime/log.ts';
import { deepEqual } from '../../schema/json.ts';
import { SPOKE_CLUSTERS } from './known-clusters.ts';

export interface Registered {
  readonly ok: boolean;
  readonly message: string;
}

/** Keeps clusters registered with the cluster gateway of KubeVela, by Secrets in its namespace. Secrets of others are never touched. */
export interface GatewayRegistration {
  register(spoke: SpokeCluster, endpoint: ClusterEndpoint): Promise<Registered>;
  /** Takes the registration of a cluster away that leaves, or that is reached in another way now. */
  release(spoke: SpokeCluster): Promise<void>;
  stop(): void;
}

const SWEEP_MS = 30_000;

export function gatewayRegistration(
  runtime: Runtime,
  client: Client,
  namespace: string,
): GatewayRegistration {
  const stopping = new AbortController();
  let timer: Timer | undefined;

  async function read(name: string): Promise<KubeObject | undefined> {
    return ignoring(404, client.get(secrets, namespace, name));
  }

  async function remove(secret: KubeObject): Promise<void> {
    const { name = '', uid = '', resourceVersion = '' } = secret.metadata;
    // Another one by now, which is looked at anew.
    await ignoring(
      [404, 409],
      client.delete(secrets, namespace, name, { preconditions: { uid, resourceVersion } }),
    );
  }

  async function isGone(owner: string): Promise<boolean> {
    const slash = owner.indexOf('/');
    try {
      await client.get(SPOKE_CLUSTERS, owner.slice(0, slash), owner.slice(slash + 1));
      return false;
    } catch (error) {
      if (hasCode(error, 404)) return true;
      throw error;
    }
  }

  /** Secrets of SpokeClusters that were deleted past their finalizer: no owner reference leads into another namespace. */
  async function sweep(): Promise<void> {
    const { items } = await client.list(secrets, namespace, {
      labelSelector: CREDENTIAL_TYPE_LABEL,
      signal: stopping.signal,
    });
    for (const secret of items) {
      const { [OWNER_ANNOTATION]: owner, [POLICY_ANNOTATION]: policy } = secret.metadata.annotations ?? {};
      if (owner !== undefined && policy !== 'orphan' && (await isGone(owner))) await remove(secret);
    }
  }

  function sweepNext(): void {
    if (stopping.signal.aborted) return;
    timer = runtime.clock.after(SWEEP_MS, () => {
      sweep()
        .catch((error: unknown) => {
          if (!stopping.signal.aborted)
            runtime.log.warn('registrations at the cluster gateway could not be looked through', {
              namespace,
              why: errorText(error),
            });
        })
        .finally(sweepNext);
    });
  }
  sweepNext();

  return {
    async register(spoke, endpoint): Promise<Registered> {
      const wanted = gatewaySecretOf(spoke, endpoint, namespace);
      if ('problem' in wanted) return { ok: false, message: wanted.problem };
      const { name = '' } = wanted.secret.metadata;
      const done = { ok: true, message: `the cluster gateway knows it by the secret ${namespace}/${name}` };
      const present = await read(name);
      if (!present) {
        await client.create(secrets, wanted.secret);
        return done;
      }
      const owner = present.metadata.annotations?.[OWNER_ANNOTATION];
      if (owner !== gatewayOwner(spoke)) {
        const whose = owner === undefined ? 'was not made by this hub' : `is that of SpokeCluster ${owner}`;
        return {
          ok: false,
          message: `the secret ${namespace}/${name} ${whose}: it is left as it is. Choose another name, or refer to it by spec.clusterGatewayRef`,
        };
      }
      const next = renewed(present, wanted.secret);
      if (!deepEqual(present, next)) await client.update(secrets, next);
      return done;
    },
    async release(spoke): Promise<void> {
      if (spoke.spec.deletionPolicy === 'orphan') return;
      const present = await read(spoke.metadata.name ?? '');
      if (present?.metadata.annotations?.[OWNER_ANNOTATION] === gatewayOwner(spoke)) await remove(present);
    },
    stop(): void {
      stopping.abort();
      timer?.cancel();
    },
  };
}

/** The whole content is new: what another type of credential left behind would be believed. Marks of others stay. */
function renewed(present: KubeObject, wanted: KubeObject): KubeObject {
  const { labels, annotations, ownerReferences = [] } = wanted.metadata;
  const others = (present.metadata.ownerReferences ?? []).filter(({ kind }) => kind !== 'SpokeCluster');
  const owners = [...others, ...ownerReferences];
  const { ownerReferences: _before, ...metadata } = present.metadata;
  return {
    ...present,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...labels },
      annotations: { ...metadata.annotations, ...annotations },
      ...(owners.length === 0 ? {} : { ownerReferences: owners }),
    },
    data: wanted['data'],
  };
}
