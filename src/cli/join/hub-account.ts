import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import { sleep } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { stringAt } from '../../schema/json.ts';
import { grantHubAccess, HUB_USER } from '../../spoke/hub-access.ts';

/** The account of a hub that reaches a spoke by kubeconfig: what a hub may do on a spoke, and no more. */
export const HUB_ACCOUNT = 'atoll-hub';

const RBAC = 'rbac.authorization.k8s.io';
const BINDING = 'atoll:hub-account';
const TOKEN_TIMEOUT_MS = 20_000;

/** Makes the account on a spoke, where it is not there yet, and resolves with its token. `client` has its owner's rights. */
export async function hubAccountToken(runtime: Runtime, client: Client): Promise<string> {
  await grantHubAccess(client);
  for (const object of accountObjects())
    await client.apply(await client.resourceFor(object.apiVersion, object.kind), object, {
      fieldManager: 'atoll',
      force: true,
    });
  const deadline = runtime.clock.monotonic() + TOKEN_TIMEOUT_MS;
  for (;;) {
    const secret = await client.get(secrets, SYSTEM_NAMESPACE, HUB_ACCOUNT);
    const token = stringAt(secret, 'data', 'token');
    if (token !== undefined) return Buffer.from(token, 'base64').toString('utf8');
    if (runtime.clock.monotonic() > deadline)
      throw new Error(
        `the cluster wrote no token into secret ${SYSTEM_NAMESPACE}/${HUB_ACCOUNT}: does its controller for tokens run? --as-is keeps the kubeconfig as it is`,
      );
    await sleep(runtime.clock, 100);
  }
}

/** Takes the account away. Resolves with what was there. */
export async function removeHubAccount(client: Client): Promise<string[]> {
  const removed: string[] = [];
  for (const object of accountObjects().reverse()) {
    const { namespace = '', name = '' } = object.metadata;
    try {
      await client.delete(await client.resourceFor(object.apiVersion, object.kind), namespace, name);
      removed.push(`${object.kind} ${namespace === '' ? name : `${namespace}/${name}`}`);
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
  }
  return removed;
}

function accountObjects(): KubeObject[] {
  const own = { name: HUB_ACCOUNT, namespace: SYSTEM_NAMESPACE };
  const subjects = [{ kind: 'ServiceAccount', ...own }];
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: own },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/service-account-token',
      metadata: { ...own, annotations: { 'kubernetes.io/service-account.name': HUB_ACCOUNT } },
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: { name: BINDING, namespace: SYSTEM_NAMESPACE },
      roleRef: { apiGroup: RBAC, kind: 'Role', name: HUB_USER },
      subjects,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: BINDING },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: HUB_USER },
      subjects,
    },
  ];
}
