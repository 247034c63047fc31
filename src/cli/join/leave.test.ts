import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import { secrets } from '../../kube/well-known.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { grantHubAccess } from '../../spoke/hub-access.ts';
import { ensureSpokeNamespace, takeOver } from '../../spoke/trust.ts';
import { put, spokeCluster, startApi } from '../fleet.fixture.ts';
import { detachText } from './detach.ts';
import { JOIN_SECRET_TYPE } from './join-secrets.ts';
import { leaveHub } from './leave.ts';

const runtime = systemRuntime();
let client: Client;
let close: () => Promise<void>;
beforeEach(async () => {
  ({ client, close } = await startApi());
  await grantHubAccess(client);
});
afterEach(() => close());

it('leaves a hub alone that is no spoke: a kubeconfig of a fleet names the hub first', async () => {
  await put(client, spokeCluster('edge-1'));
  await expect(leaveHub(runtime.clock, client, true)).rejects.toThrow(
    'this cluster is a hub, of 1 cluster, and no spoke: name the spoke by --kubeconfig and --context',
  );
  const { items } = await client.list(
    await client.resourceFor('rbac.authorization.k8s.io/v1', 'ClusterRole'),
    '',
  );
  expect(items.map(({ metadata }) => metadata.name)).toContain('atoll:hub');
});

it('goes on where the hub is a spoke, too, and where there is no hub', async () => {
  expect((await leaveHub(runtime.clock, client, false)).removed).toContain('ClusterRole atoll:hub');
  await put(client, spokeCluster('edge-1'));
  await ensureSpokeNamespace(client);
  await client.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: JOIN_SECRET_TYPE,
    metadata: { name: 'hub-x', namespace: 'atoll-system' },
  });
  expect((await leaveHub(runtime.clock, client, false)).removed).toEqual(['Secret atoll-system/hub-x']);
  await takeOver(runtime, client, { lineage: 'a', publicKey: 'b' }, 'owner');
  expect((await leaveHub(runtime.clock, client, false)).removed).toEqual([
    'ConfigMap atoll-system/hub-trust',
  ]);
});

it('says what a cluster keeps that could not be told of its end', () => {
  const report = { cluster: 'edge-1', policy: 'detach', outcome: 'gone', residues: [] } as const;
  expect(detachText({ ...report, told: true })).toContain('its objects stay. On the cluster');
  const untold = detachText({ ...report, told: false });
  expect(untold).toContain('orders that it has stay in force there');
  expect(untold).toContain('atoll leave --force');
});
