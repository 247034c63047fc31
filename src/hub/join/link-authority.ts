import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import type { KeyPair } from '../../kube/pki.ts';
import { secretValue } from '../../kube/secret-value.ts';
import { ignoring } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import { ensureSystemNamespace } from '../dispatch/identity.ts';

const NAME = 'link-authority';

/**
 * The authority of a hub's link certificates, kept in its own API server so that all replicas of the hub have the same one and
 * need no directory. Where there is none yet, `make` gives it.
 */
export async function linkAuthority(client: Client, make: () => Promise<KeyPair>): Promise<KeyPair> {
  const present = await read(client);
  if (present) return present;
  const made = await make();
  await ensureSystemNamespace(client);
  const stored = await ignoring(
    409,
    client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name: NAME, namespace: SYSTEM_NAMESPACE },
      stringData: { 'tls.crt': made.certificate, 'tls.key': made.key },
    }),
  );
  if (stored) return made;
  // Two replicas at the first start: the one that came first made the authority.
  const theirs = await read(client);
  if (!theirs)
    throw new Error(
      `secret ${SYSTEM_NAMESPACE}/${NAME} was made and cannot be read: check the rights of the hub`,
    );
  return theirs;
}

async function read(client: Client): Promise<KeyPair | undefined> {
  const secret = await ignoring(404, client.get(secrets, SYSTEM_NAMESPACE, NAME));
  return secret && { certificate: secretValue(secret, 'tls.crt'), key: secretValue(secret, 'tls.key') };
}
