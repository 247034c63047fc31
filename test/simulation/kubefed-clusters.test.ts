import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_NAMESPACE, KUBEFED_CLUSTER } from '../../src/dialects/kubefed/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { secrets } from '../../src/kube/well-known.ts';
import { listAt, stringAt } from '../../src/schema/json.ts';
import {
  applyAll,
  enable,
  established,
  federated,
  federatedAt,
  makeNamespace,
  openFederatedShop,
  propagation,
} from './federation.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, stored, storedBelow } from './fleet.ts';

const KUBEFED_CLUSTERS = resourceIdOf(KUBEFED_CLUSTER);
const CA = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64');

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

function member(name: string): KubeObject | undefined {
  return stored(fleet.hub, `core.kubefed.io/kubefedclusters/${DEFAULT_NAMESPACE}/${name}`);
}

function conditions(name: string): Record<string, string> {
  return Object.fromEntries(
    listAt(member(name), 'status', 'conditions').map((item) => [
      stringAt(item, 'type') ?? '',
      `${stringAt(item, 'status')}/${stringAt(item, 'reason')}`,
    ]),
  );
}

function eventsOf(name: string): string[] {
  return storedBelow(fleet.hub, `core/events/${DEFAULT_NAMESPACE}`)
    .filter((event) => stringAt(event, 'involvedObject', 'name') === name)
    .map((event) => stringAt(event, 'reason') ?? '');
}

async function served(): Promise<void> {
  await makeNamespace(fleet, DEFAULT_NAMESPACE);
  const { installKind } = await import('../../src/hub/kubefed/index.ts');
  await fleet.run(installKind(fleet.hub.client, KUBEFED_CLUSTER));
  await fleet.until(() => established(fleet.hub, 'kubefedclusters.core.kubefed.io'), 'KubeFedClusters');
}

function far(spec: object = {}): KubeObject {
  return {
    apiVersion: 'core.kubefed.io/v1beta1',
    kind: 'KubeFedCluster',
    metadata: { name: 'far', namespace: DEFAULT_NAMESPACE, labels: { region: 'eu' } },
    spec: { apiEndpoint: 'https://far.test', caBundle: CA, secretRef: { name: 'far-token' }, ...spec },
  };
}

async function token(value = 'sesame'): Promise<void> {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'far-token', namespace: DEFAULT_NAMESPACE },
    stringData: { token: value },
  };
  await fleet.run(fleet.hub.client.apply(secrets, secret, { fieldManager: 'kubectl', force: true }));
}

const ok: Handler = async () => ({ status: 200, headers: {}, body: Buffer.from('ok') });

describe('a KubeFedCluster that somebody registers', () => {
  it('[F1] becomes a SpokeCluster with its token, and Ready', async () => {
    const asked: string[] = [];
    let answer: Handler = ok;
    fleet = await simulateFleet(4, [], {
      direct: {
        far: async (request) => {
          asked.push(request.path);
          return answer(request);
        },
      },
    });
    await served();
    await fleet.rest(3_000);
    for (const bad of [
      { apiEndpoint: 'ftp://far.test' },
      { secretRef: { name: '' } },
      { disabledTLSValidations: ['*', 'SubjectName'] },
    ])
      await expect(applyAll(fleet, fleet.hub, [far(bad)])).rejects.toThrow('denied request');
    await applyAll(fleet, fleet.hub, [far()]);
    await fleet.until(
      () => conditions('far')['ConfigMalformed'] === 'True/ClusterConfigMalformed',
      'malformed',
    );
    expect(stored(fleet.hub, `core.oam.dev/spokeclusters/${DEFAULT_NAMESPACE}/far`)).toBeUndefined();
    await fleet.until(() => eventsOf('far').includes('MalformedClusterConfig'), 'the event');
    await token();
    await fleet.until(() => conditions('far')['Ready'] === 'True/ClusterReady', 'Ready', 120_000);
    expect(stored(fleet.hub, `core.oam.dev/spokeclusters/${DEFAULT_NAMESPACE}/far`)).toMatchObject({
      metadata: { labels: { region: 'eu' } },
      spec: { credential: { type: 'kubeconfig' } },
    });
    expect(asked).toContain('/livez');
    answer = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:443'));
    await fleet.until(() => conditions('far')['Offline'] === 'True/ClusterNotReachable', 'Offline', 120_000);
    expect(conditions('far')['Ready']).toBeUndefined();
    await fleet.until(() => eventsOf('far').includes('RetrievingClusterHealthFailed'), 'the event');
    await fleet.run(fleet.hub.client.delete(KUBEFED_CLUSTERS, DEFAULT_NAMESPACE, 'far'));
    await fleet.until(
      () => stored(fleet.hub, `core.oam.dev/spokeclusters/${DEFAULT_NAMESPACE}/far`) === undefined,
      'the SpokeCluster is gone too',
    );
    expect(stored(fleet.hub, `core/secrets/${DEFAULT_NAMESPACE}/far-kubeconfig`)).toBeUndefined();
    expect(stored(fleet.hub, `core/secrets/${DEFAULT_NAMESPACE}/far-token`)).toBeDefined();
  });

  it('[F4] is probed as the settings of the federation say, and one bad probe of a long good run changes nothing', async () => {
    let answer: Handler = ok;
    fleet = await simulateFleet(4, [], { direct: { far: (request) => answer(request) } });
    await served();
    await token();
    await applyAll(fleet, fleet.hub, [far()]);
    const comesTo = (wanted: Record<string, string>, limitMs: number): Promise<void> =>
      fleet.until(
        () => JSON.stringify(conditions('far')) === JSON.stringify(wanted),
        JSON.stringify(wanted),
        limitMs,
      );
    const ready = { Ready: 'True/ClusterReady' };
    const offline = { Offline: 'True/ClusterNotReachable' };
    const notReady = { Ready: 'False/ClusterNotReady', Offline: 'False/ClusterReachable' };
    const probes = (): object => {
      const spec = stored(fleet.hub, `core.oam.dev/spokeclusters/${DEFAULT_NAMESPACE}/far`)?.['spec'] ?? {};
      const of = spec as Record<string, unknown>;
      return [
        of['probeIntervalSeconds'],
        of['probeTimeoutSeconds'],
        of['probeFailureThreshold'],
        of['probeSuccessThreshold'],
      ];
    };
    await comesTo(ready, 60_000);
    expect(probes()).toEqual([10, 3, 3, 1]);
    await fleet.rest(600_000);
    // Two bad probes after a long good run, then a good one.
    answer = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:443'));
    await fleet.rest(19_000);
    expect(conditions('far')).toEqual(ready);
    answer = ok;
    await fleet.rest(60_000);
    expect(conditions('far')).toEqual(ready);
    // Three in a row.
    answer = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:443'));
    await fleet.rest(19_000);
    expect(conditions('far')).toEqual(ready);
    await comesTo(offline, 20_000);
    answer = ok;
    await comesTo(ready, 15_000);
    // It answers, and says that it is not well.
    answer = async () => ({ status: 500, headers: {}, body: Buffer.from('[-]etcd failed') });
    await fleet.rest(19_000);
    expect(conditions('far')).toEqual(ready);
    await comesTo(notReady, 20_000);
    answer = ok;
    await comesTo(ready, 15_000);
    // It hangs: as bad as none, after its time.
    answer = ({ signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
      return promise;
    };
    await comesTo(offline, 60_000);
    answer = ok;
    await comesTo(ready, 15_000);
    // Settings that change are those of all.
    await applyAll(fleet, fleet.hub, [
      {
        apiVersion: 'core.kubefed.io/v1beta1',
        kind: 'KubeFedConfig',
        metadata: { name: 'kubefed', namespace: DEFAULT_NAMESPACE },
        spec: {
          scope: 'Cluster',
          clusterHealthCheck: { period: '20s', timeout: '5s', failureThreshold: 5, successThreshold: 2 },
        },
      },
    ]);
    await fleet.until(() => JSON.stringify(probes()) === '[20,5,5,2]', 'the new settings', 30_000);
    await fleet.rest(60_000);
    await fleet.run(fleet.hub.client.delete(secrets, DEFAULT_NAMESPACE, 'far-token'));
    await comesTo({ ConfigMalformed: 'True/ClusterConfigMalformed' }, 90_000);
  });

  it('never takes the Secret of somebody else', async () => {
    fleet = await simulateFleet(4, [], { direct: { far: ok } });
    await served();
    await token();
    const own = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'far-kubeconfig', namespace: DEFAULT_NAMESPACE },
      stringData: { mine: 'yes' },
    };
    await fleet.run(fleet.hub.client.create(secrets, own));
    await applyAll(fleet, fleet.hub, [far()]);
    await fleet.until(() => conditions('far')['ConfigMalformed'] !== undefined, 'a word about it');
    const kept = stored(fleet.hub, `core/secrets/${DEFAULT_NAMESPACE}/far-kubeconfig`);
    expect(Object.keys(kept?.['data'] ?? {})).toEqual(['mine']);
  });
});

describe('a SpokeCluster', () => {
  it('shows up as KubeFedCluster, and either changes the labels of both', async () => {
    fleet = await simulateFleet(4, ['a', 'b']);
    await enable(fleet, ['Namespace', 'ConfigMap']);
    await fleet.until(() => conditions('a')['Ready'] === 'True/ClusterReady', 'a is Ready');
    expect(member('a')?.metadata.labels).toEqual({ site: 'a' });
    await openFederatedShop(fleet, ['a', 'b']);
    await applyAll(fleet, fleet.hub, [
      federated('ConfigMap', 'c', {
        template: { data: { x: '1' } },
        placement: { clusterSelector: { matchLabels: { region: 'eu' } } },
      }),
    ]);
    await fleet.until(
      () => propagation(federatedAt(fleet, 'ConfigMap', 'c')).is === 'True',
      'placed nowhere',
    );
    const merge = (resource: typeof SPOKE_CLUSTERS, namespace: string, name: string, labels: object) =>
      fleet.run(fleet.hub.client.patch(resource, namespace, name, 'merge', { metadata: { labels } }));
    await merge(KUBEFED_CLUSTERS, DEFAULT_NAMESPACE, 'b', { region: 'eu' });
    await fleet.until(() => stored(fleet.spoke('b'), 'core/configmaps/shop/c') !== undefined, 'on b');
    expect(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/b')?.metadata.labels).toEqual({
      region: 'eu',
      site: 'b',
    });
    await merge(SPOKE_CLUSTERS, 'default', 'b', { region: null });
    await merge(SPOKE_CLUSTERS, 'default', 'a', { region: 'eu' });
    await fleet.until(() => stored(fleet.spoke('a'), 'core/configmaps/shop/c') !== undefined, 'on a');
    await fleet.until(() => stored(fleet.spoke('b'), 'core/configmaps/shop/c') === undefined, 'not on b');
    expect(member('a')?.metadata.labels).toEqual({ region: 'eu', site: 'a' });
    expect(member('b')?.metadata.labels).toEqual({ site: 'b' });
    fleet.cut('b');
    await fleet.until(
      () => conditions('b')['Offline'] === 'True/ClusterNotReachable',
      'b is Offline',
      180_000,
    );
    await fleet.run(fleet.hub.client.delete(SPOKE_CLUSTERS, 'default', 'b'));
    await fleet.until(() => member('b') === undefined, 'the view goes too', 120_000);
  });
});
