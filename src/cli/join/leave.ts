import { CLUSTER, SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import {
  BUNDLE,
  DISPATCH,
  OWNERSHIP_RECORD,
  type OwnershipRecord,
  SYSTEM_NAMESPACE,
} from '../../engine/dispatch/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { within } from '../../kube/deadline.ts';
import { type KubeObject, refText } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { deployments, secrets } from '../../kube/well-known.ts';
import type { Clock } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { hubAccess, hubUserBindings, hubUserRoles } from '../../spoke/hub-access.ts';
import { release } from '../../spoke/marks.ts';
import { dropTrust, HUB_TRUST_NAME, readTrust } from '../../spoke/trust.ts';
import { LINK_SECRET_TYPE } from '../key-store.ts';
import { failureText } from '../output.ts';
import { type ClusterAccessOptions, openCluster } from './cluster-access.ts';
import { removeHubAccount } from './hub-account.ts';
import { JOIN_SECRET_TYPE } from './join-secrets.ts';
import { ENGINE_NAMESPACE, engineObjects } from './spoke-manifests.ts';

export interface LeaveOptions extends ClusterAccessOptions {
  readonly force: boolean;
}

export interface Left {
  readonly removed: readonly string[];
  /** Objects that were let go, and stay. */
  readonly released: readonly string[];
  readonly problems: readonly string[];
}

const RELEASE_MS = 30_000;
const DISPATCHES = resourceIdOf(DISPATCH);
const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
const RECORDS = resourceIdOf(OWNERSHIP_RECORD);

/** `atoll leave`, on a spoke. Ends with 1 where something is left over. */
export async function leave(options: LeaveOptions): Promise<void> {
  const { clock } = systemRuntime();
  try {
    const cluster = openCluster(clock, 'atoll-cli', options);
    try {
      process.stderr.write(`On the cluster at ${cluster.url}:\n`);
      const left = await leaveHub(clock, cluster.client, options.force);
      const lines = [
        ...left.released.map((item) => `stays, free of marks: ${item}`),
        ...left.removed.map((item) => `removed: ${item}`),
        ...left.problems.map((item) => `left over: ${item}`),
      ];
      process.stdout.write(lines.length === 0 ? 'Nothing of Atoll is here.\n' : `${lines.join('\n')}\n`);
      if (left.problems.length > 0) process.exitCode = 1;
    } finally {
      await cluster.close();
    }
  } catch (error) {
    process.stderr.write(failureText(error));
    process.exitCode = 1;
  }
}

/**
 * Takes away all that Atoll keeps on a spoke but its definitions and its namespace, which may hold what is somebody else's. The
 * engine goes first: it would keep up what is taken away. Throws while orders of a hub are there, unless forced.
 */
export async function leaveHub(clock: Clock, client: Client, force: boolean): Promise<Left> {
  const [orders, records] = await Promise.all([
    listed(client, DISPATCHES),
    listed<OwnershipRecord>(client, RECORDS),
  ]);
  if (!force && (orders.length > 0 || records.length > 0))
    throw new Error(
      `${Math.max(orders.length, records.length)} orders of a hub are here. At the hub: atoll detach <name>; or, to leave with what they made: atoll leave --force`,
    );
  if (orders.length === 0 && records.length === 0) await refuseHub(client);
  const removed: string[] = [];
  const released: string[] = [];
  const problems: string[] = [];
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      if (!hasCode(error, 404)) problems.push(`${what}: ${errorText(error)}`);
    }
  };
  const remove = (resource: ResourceId, { metadata: { namespace = '', name = '' } }: KubeObject) =>
    attempt(`${resource.kind} ${name}`, async () => {
      await client.delete(resource, namespace, name);
      removed.push(`${resource.kind} ${namespace === '' ? name : `${namespace}/${name}`}`);
    });

  for (const namespace of [SYSTEM_NAMESPACE, ENGINE_NAMESPACE])
    await remove(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'atoll-spoke', namespace },
    });
  for (const record of records)
    for (const { ref, uid } of record.spec.owned)
      await attempt(refText(ref), async () => {
        if (uid === '') return;
        const resource = await client.resourceFor(ref.apiVersion, ref.kind);
        const live = await client.get(resource, ref.namespace, ref.name);
        if (live.metadata.uid !== uid) return;
        await within(clock, RELEASE_MS, (signal) => release(client, resource, live, signal));
        released.push(refText(ref));
      });
  for (const kind of [DISPATCH, OWNERSHIP_RECORD, BUNDLE, CLUSTER])
    for (const object of await listed(client, resourceIdOf(kind))) await remove(resourceIdOf(kind), object);
  await attempt(`ConfigMap ${HUB_TRUST_NAME}`, async () => {
    if (await dropTrust(client)) removed.push(`ConfigMap ${SYSTEM_NAMESPACE}/${HUB_TRUST_NAME}`);
  });
  const kept = (await client.list(secrets, SYSTEM_NAMESPACE)).items;
  for (const secret of kept)
    if ([JOIN_SECRET_TYPE, LINK_SECRET_TYPE].includes(String(secret['type']))) await remove(secrets, secret);
  await attempt('the account of the hub', async () => void removed.push(...(await removeHubAccount(client))));
  // Bindings before roles, and the engine's own rights last: this may run with them.
  for (const object of [
    ...hubUserBindings(),
    ...hubUserRoles(),
    ...hubAccess().reverse(),
    ...engineObjects(),
  ])
    await attempt(`${object.kind} ${object.metadata.name ?? ''}`, async () =>
      remove(await client.resourceFor(object.apiVersion, object.kind), object),
    );
  return { removed, released, problems };
}

/** A kubeconfig of a fleet names the hub first: whoever forgets to name the spoke means no harm to the hub. */
async function refuseHub(client: Client): Promise<void> {
  const [members, secretsHere, trust] = await Promise.all([
    listed(client, SPOKE_CLUSTERS, ''),
    listed(client, secrets),
    readTrust(client),
  ]);
  if (members.length === 0 || trust !== undefined) return;
  if (secretsHere.some((secret) => secret['type'] === JOIN_SECRET_TYPE)) return;
  throw new Error(
    `this cluster is a hub, of ${members.length} ${members.length === 1 ? 'cluster' : 'clusters'}, and no spoke: name the spoke by --kubeconfig and --context`,
  );
}

/** Nothing where the kind is not served. */
async function listed<T extends KubeObject>(
  client: Client,
  resource: ResourceId,
  namespace: string = SYSTEM_NAMESPACE,
): Promise<readonly T[]> {
  try {
    return (await client.list<T>(resource, namespace)).items;
  } catch (error) {
    if (hasCode(error, 404)) return [];
    throw error;
  }
}
