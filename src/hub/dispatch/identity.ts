import { type HubTrust, SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { secretValue } from '../../kube/secret-value.ts';
import { ignoring } from '../../kube/status-error.ts';
import { namespaces, secrets } from '../../kube/well-known.ts';
import { uuid } from '../../runtime/random.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { createSigningKey } from './signing-key.ts';

/** Who a hub is to its spokes: one history of decisions (lineage), and the key that signs them. */
export interface HubIdentity extends HubTrust {
  /** Raised when a person confirms that a restored hub shall have its way (`atoll hub confirm`). */
  readonly epoch: number;
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}

const NAME = 'hub-identity';

/** Reads the hub's identity from its own API server, or makes one at the very first start. */
export async function hubIdentity(runtime: Runtime, client: Client): Promise<HubIdentity> {
  const present = await readIdentity(client);
  if (present) return present;
  const key = createSigningKey();
  const stringData = {
    lineage: uuid(runtime.random),
    epoch: '1',
    privateKey: key.privateKey,
    publicKey: key.publicKey,
  };
  await ensureSystemNamespace(client);
  // Two replicas at the first start: the one that came first made the identity.
  await ignoring(
    409,
    client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: NAME, namespace: SYSTEM_NAMESPACE },
      stringData,
    }),
  );
  const made = await readIdentity(client);
  if (!made)
    throw new Error(
      `secret ${SYSTEM_NAMESPACE}/${NAME} was made and cannot be read: check the rights of the hub on its own API server`,
    );
  return made;
}

/** The epoch as it is recorded now. */
export async function currentEpoch(client: Client): Promise<number> {
  return (await readIdentity(client))?.epoch ?? 1;
}

/** Raises the epoch: from now on the hub's word counts more than anything that it said before. Returns the new one. */
export async function raiseEpoch(client: Client): Promise<number> {
  const secret = await client.get(secrets, SYSTEM_NAMESPACE, NAME);
  const epoch = epochIn(secret) + 1;
  const { resourceVersion } = secret.metadata;
  // Only over what was read: of two who confirm at once, one raises.
  await client.patch(secrets, SYSTEM_NAMESPACE, NAME, 'merge', {
    metadata: { resourceVersion },
    stringData: { epoch: String(epoch) },
  });
  return epoch;
}

export async function ensureSystemNamespace(client: Client): Promise<void> {
  await ignoring(
    409,
    client.create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: SYSTEM_NAMESPACE },
    }),
  );
}

async function readIdentity(client: Client): Promise<HubIdentity | undefined> {
  const secret = await ignoring(404, client.get(secrets, SYSTEM_NAMESPACE, NAME));
  return (
    secret && {
      lineage: secretValue(secret, 'lineage'),
      epoch: epochIn(secret),
      privateKey: secretValue(secret, 'privateKey'),
      publicKey: secretValue(secret, 'publicKey'),
    }
  );
}

function epochIn(secret: KubeObject): number {
  return Number(secretValue(secret, 'epoch')) || 1;
}
