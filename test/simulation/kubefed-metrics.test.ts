import { afterEach, expect, it } from 'vitest';
import { DEFAULT_NAMESPACE, KUBEFED_CLUSTER } from '../../src/dialects/kubefed/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { readBody } from '../../src/kube/exchange.ts';
import { secrets } from '../../src/kube/well-known.ts';
import { listAt, stringAt } from '../../src/schema/json.ts';
import { applyAll, enable, federated, federatedAt, openFederatedShop, propagation } from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

const CA = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64');

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

async function scrape(): Promise<string> {
  const response = await fleet.run(
    fleet.hub.server.as({ name: 'admin', groups: ['system:masters'] })({
      method: 'GET',
      path: '/metrics',
      headers: {},
    }),
  );
  expect(response.status).toBe(200);
  return Buffer.from(await fleet.run(readBody(response))).toString('utf8');
}

it('[F52] the numbers of KubeFed are at /metrics, under its names', async () => {
  fleet = await simulateFleet(41, ['a'], {
    direct: { far: async () => ({ status: 200, headers: {}, body: Buffer.from('ok') }) },
  });
  await enable(fleet, ['Namespace', 'ConfigMap']);
  await openFederatedShop(fleet, ['a']);
  await fleet.run(
    fleet.hub.client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'far-token', namespace: DEFAULT_NAMESPACE },
      stringData: { token: 'sesame' },
    }),
  );
  await applyAll(fleet, fleet.hub, [
    {
      apiVersion: 'core.kubefed.io/v1beta1',
      kind: 'KubeFedCluster',
      metadata: { name: 'far', namespace: DEFAULT_NAMESPACE },
      spec: { apiEndpoint: 'https://far.test', caBundle: CA, secretRef: { name: 'far-token' } },
    },
  ]);
  const ready = (name: string): boolean =>
    listAt(
      stored(fleet.hub, `core.kubefed.io/kubefedclusters/${DEFAULT_NAMESPACE}/${name}`),
      'status',
      'conditions',
    ).some((item) => stringAt(item, 'type') === 'Ready' && stringAt(item, 'status') === 'True');
  await fleet.until(() => ready('a') && ready('far'), 'both are Ready');
  const placed = { placement: { clusters: [{ name: 'a' }] } };
  for (const colour of ['red', 'green']) {
    await applyAll(fleet, fleet.hub, [
      federated('ConfigMap', 'c', { template: { data: { colour } }, ...placed }),
    ]);
    await fleet.until(
      () =>
        JSON.stringify(stored(fleet.spoke('a'), 'core/configmaps/shop/c')?.['data'])?.includes(colour) ===
        true,
      colour,
    );
    await fleet.until(() => propagation(federatedAt(fleet, 'ConfigMap', 'c')).is === 'True', 'True');
    await fleet.rest(5_000);
  }
  const during = (await scrape()).split('\n');
  expect(during).toContain('kubefedcluster_total{state="ready",cluster="a"} 1');
  expect(during).toContain('kubefedcluster_total{state="ready",cluster="far"} 1');
  expect(during).toContain('joined_cluster_total 2');
  expect(during).toContain('controller_runtime_active_workers{controller="kubefed-clusters"} 0');
  expect(during).toContain('controller_runtime_max_concurrent_reconciles{controller="kubefed-clusters"} 4');
  await fleet.run(fleet.hub.client.delete(resourceIdOf(KUBEFED_CLUSTER), DEFAULT_NAMESPACE, 'far'));
  const federatedMaps = await fleet.run(
    fleet.hub.client.resourceFor('types.kubefed.io/v1beta1', 'FederatedConfigMap'),
  );
  await fleet.run(fleet.hub.client.delete(federatedMaps, 'shop', 'c'));
  await fleet.until(() => federatedAt(fleet, 'ConfigMap', 'c') === undefined, 'gone');
  await fleet.until(
    () => stored(fleet.hub, `core.oam.dev/spokeclusters/${DEFAULT_NAMESPACE}/far`) === undefined,
    'unjoined',
  );
  await fleet.rest(5_000);
  const lines = (await scrape()).split('\n');
  const counted = (start: string): number =>
    lines
      .filter((line) => line.startsWith(start))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  for (const name of [
    'cluster_health_status_duration_seconds_count',
    'cluster_client_connection_duration_seconds_count',
    'reconcile_federated_resources_duration_seconds_count',
    'join_cluster_duration_seconds_count',
    'unjoin_cluster_duration_seconds_count',
    'dispatch_operation_duration_seconds_count{action="create"}',
    'dispatch_operation_duration_seconds_count{action="update"}',
    'dispatch_operation_duration_seconds_count{action="delete"}',
    'controller_runtime_reconcile_total{',
    'controller_runtime_reconcile_time_seconds_count{',
    'controller_runtime_max_concurrent_reconciles{',
  ])
    expect([name, counted(name) > 0]).toEqual([name, true]);
  for (const name of ['controller_runtime_reconcile_errors_total', 'controller_runtime_active_workers'])
    expect(lines.some((line) => line.startsWith(`${name}{controller="kubefed-clusters"}`))).toBe(true);
  expect(lines).toContain('joined_cluster_total 1');
});
