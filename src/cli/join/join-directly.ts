import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { JOINED_LABEL, spokeClusterNamed } from '../../hub/join/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import { apiVersionOf, resourceIdOf } from '../../kube/custom-resource.ts';
import { httpHandler } from '../../kube/http-handler.ts';
import { emptyKubeconfig, formatKubeconfig } from '../../kube/kubeconfig.ts';
import { endpointFromKubeconfig } from '../../kube/kubeconfig-endpoint.ts';
import { createClient } from '../../kube/rest-client.ts';
import { ignoring, StatusError } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { hubAccountToken } from './hub-account.ts';

export interface DirectJoin {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The kubeconfig of the spoke. */
  readonly file: string;
  readonly context?: string;
  /** Keep the credential as it is. Otherwise an account with a hub's rights is made on the spoke, and its token kept. */
  readonly asIs: boolean;
  readonly force: boolean;
}

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);

/**
 * Has the hub reach a cluster by a credential. Doing it again renews the credential; what is there of somebody else is left
 * alone. Nothing is left behind when the hub refuses the SpokeCluster. Resolves with what to tell.
 */
export async function joinDirectly(runtime: Runtime, hub: Client, wish: DirectJoin): Promise<string> {
  const { name, namespace, force } = wish;
  const present = await spokeClusterNamed(hub, name);
  const secretName = `${name}-kubeconfig`;
  checkPresent(present, wish, secretName);
  const credential = await credentialOf(runtime, wish);
  const made = await writeSecret(hub, wish, secretName, formatKubeconfig(kubeconfigOf(name, credential)));
  try {
    await writeCluster(hub, present, wish, secretName);
  } catch (error) {
    // Refused for certain: of an answer that was lost nobody knows what it was.
    if (made && error instanceof StatusError && error.code >= 400 && error.code < 500)
      await hub.delete(secrets, namespace, secretName);
    throw error;
  }
  const done =
    present === undefined ? 'joined' : force ? 'joined anew' : 'is joined; its credential was renewed';
  return `${name} ${done}. The hub reaches it at ${credential.url}; see: atoll cluster show ${name}\n`;
}

function checkPresent(present: SpokeCluster | undefined, wish: DirectJoin, secretName: string): void {
  if (present === undefined) return;
  const { namespace = '', deletionTimestamp } = present.metadata;
  const at = `SpokeCluster ${namespace}/${wish.name}`;
  if (deletionTimestamp !== undefined)
    throw new Error(`${at} is being deleted; wait for its end, or see: atoll detach ${wish.name} --force`);
  if (namespace !== wish.namespace)
    throw new Error(`${at} has that name; choose another, or use -n ${namespace}`);
  const { type, kubeconfig } = present.spec.credential;
  if (type === 'kubeconfig' && kubeconfig?.secretRef.name === secretName) return;
  if (!wish.force)
    throw new Error(
      `${at} has a credential of its own (type ${type}); to put this one in its place: --force`,
    );
}

async function credentialOf(runtime: Runtime, wish: DirectJoin): Promise<ClusterEndpoint> {
  const { file, context } = wish;
  if (!existsSync(file)) throw new Error(`there is no kubeconfig at ${file}`);
  const endpoint = endpointFromKubeconfig(readFileSync(file, 'utf8'), {
    stored: false,
    readFile: (path) => readFileSync(resolve(dirname(file), path), 'utf8'),
    ...(context === undefined ? {} : { context }),
  });
  if (endpoint.ca === undefined || endpoint.insecureSkipTlsVerify === true)
    throw new Error(
      `${file} does not say by which authority the cluster is known (certificate-authority-data)`,
    );
  if (wish.asIs) return endpoint;
  const handler = httpHandler(endpoint);
  try {
    const client = createClient(handler, { userAgent: 'atoll-cli', clock: runtime.clock });
    const { url, ca, serverName } = endpoint;
    const token = await hubAccountToken(runtime, client);
    return { url, ca, token, ...(serverName === undefined ? {} : { serverName }) };
  } finally {
    await handler.close();
  }
}

function kubeconfigOf(name: string, endpoint: ClusterEndpoint): ReturnType<typeof emptyKubeconfig> {
  const inline = (text: string): string => Buffer.from(text).toString('base64');
  const { url, ca, serverName, token, clientCertificate, clientKey } = endpoint;
  return {
    ...emptyKubeconfig(),
    clusters: [
      {
        name,
        cluster: {
          server: url,
          ...(ca === undefined ? {} : { 'certificate-authority-data': inline(ca) }),
          ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
        },
      },
    ],
    users: [
      {
        name,
        user: {
          ...(token === undefined ? {} : { token }),
          ...(clientCertificate === undefined
            ? {}
            : { 'client-certificate-data': inline(clientCertificate) }),
          ...(clientKey === undefined ? {} : { 'client-key-data': inline(clientKey) }),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
}

/** Resolves with true where there was none before. */
async function writeSecret(
  hub: Client,
  wish: DirectJoin,
  name: string,
  kubeconfig: string,
): Promise<boolean> {
  const { namespace } = wish;
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { [JOINED_LABEL]: wish.name } },
    stringData: { kubeconfig },
  };
  if (await ignoring(409, hub.create(secrets, secret))) return true;
  const present = await hub.get(secrets, namespace, name);
  if (present.metadata.labels?.[JOINED_LABEL] !== wish.name)
    throw new Error(
      `secret ${namespace}/${name} is there and was not made by atoll join; rename or delete it`,
    );
  await hub.patch(secrets, namespace, name, 'merge', { stringData: { kubeconfig } });
  return false;
}

async function writeCluster(
  hub: Client,
  present: SpokeCluster | undefined,
  { name, namespace, labels }: DirectJoin,
  secretName: string,
): Promise<SpokeCluster> {
  const credential = { type: 'kubeconfig', kubeconfig: { secretRef: { name: secretName } } } as const;
  if (present) {
    const others = { tunnel: null, aws: null, azure: null, gcp: null };
    return hub.patch<SpokeCluster>(SPOKE_CLUSTERS, namespace, name, 'merge', {
      metadata: { labels },
      spec: { credential: { ...others, ...credential } },
    });
  }
  return hub.create<SpokeCluster>(SPOKE_CLUSTERS, {
    apiVersion: apiVersionOf(SPOKE_CLUSTER),
    kind: SPOKE_CLUSTER.kind,
    metadata: { name, namespace, labels: { 'atoll.dev/cluster': name, ...labels } },
    spec: { mode: 'connect', credential },
  });
}
