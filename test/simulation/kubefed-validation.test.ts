import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_NAMESPACE,
  federatedTypeFor,
  KUBEFED_CLUSTER,
  KUBEFED_CONFIG,
  typeConfigOf,
} from '../../src/dialects/kubefed/index.ts';
import type { ResourceId } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { StatusError } from '../../src/kube/status-error.ts';
import { enable, TARGETS, TYPE_CONFIGS } from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

const CLUSTERS = resourceIdOf(KUBEFED_CLUSTER);
const CONFIGS = resourceIdOf(KUBEFED_CONFIG);

let fleet: SimulatedFleet;
beforeAll(async () => {
  fleet = await simulateFleet(2, []);
  await enable(fleet, ['Namespace']);
  const policy = 'admissionregistration.k8s.io/validatingadmissionpolicybindings/-/atoll.dev-kubefed-objects';
  await fleet.until(() => stored(fleet.hub, policy) !== undefined, 'the policies');
  await fleet.rest(2_000);
});
afterAll(async () => fleet.stop());

/** `created`, or why not. */
async function attempt(resource: ResourceId, object: KubeObject, dryRun = true): Promise<string> {
  try {
    await fleet.run(fleet.hub.client.create(resource, object, { dryRun }));
    return 'created';
  } catch (error) {
    if (error instanceof StatusError && error.code < 500) return error.message;
    throw error;
  }
}

const config = typeConfigOf(
  federatedTypeFor(TARGETS['Deployment'] ?? expect.unreachable()),
  DEFAULT_NAMESPACE,
);
const { targetType, federatedType } = config.spec;
const statusType = {
  group: 'types.example.com',
  version: 'v1',
  kind: 'FederatedDeploymentStatus',
  pluralName: 'p',
  scope: 'Namespaced',
};

const cluster = (spec: object): KubeObject => ({
  apiVersion: 'core.kubefed.io/v1beta1',
  kind: 'KubeFedCluster',
  metadata: { name: 'c', namespace: DEFAULT_NAMESPACE },
  spec: { apiEndpoint: 'https://10.0.0.1:6443', secretRef: { name: 'c' }, ...spec },
});

const settings = (spec: object, name = 'kubefed'): KubeObject => ({
  apiVersion: 'core.kubefed.io/v1beta1',
  kind: 'KubeFedConfig',
  metadata: { name, namespace: DEFAULT_NAMESPACE },
  spec: { scope: 'Cluster', ...spec },
});

const gate = (name: string, configuration = 'Enabled') => ({ name, configuration });

describe('[F51] the hub', () => {
  it.each([
    ['a type', TYPE_CONFIGS, config],
    [
      'a type with little said',
      TYPE_CONFIGS,
      {
        ...config,
        spec: { ...config.spec, targetType: { version: 'v1', kind: 'Deployment', scope: 'Namespaced' } },
      },
    ],
    [
      'a type with a kind for its status',
      TYPE_CONFIGS,
      { ...config, spec: { ...config.spec, statusType, statusCollection: 'Enabled' } },
    ],
    ['a cluster', CLUSTERS, cluster({})],
    ['a cluster by host and port', CLUSTERS, cluster({ apiEndpoint: '10.0.0.1:6443' })],
    ['a cluster by host', CLUSTERS, cluster({ apiEndpoint: 'api.example.com' })],
    ['a cluster behind a proxy', CLUSTERS, cluster({ proxyURL: 'socks5://proxy.example.com:1080' })],
    [
      'a cluster with relaxed checks',
      CLUSTERS,
      cluster({ disabledTLSValidations: ['SubjectName', 'ValidityPeriod'] }),
    ],
    ['a cluster that is not checked', CLUSTERS, cluster({ disabledTLSValidations: ['*'] })],
    [
      'settings',
      CONFIGS,
      settings({ leaderElect: { leaseDuration: '1h30m', renewDeadline: '1h', retryPeriod: '10s' } }),
    ],
    [
      'settings with gates',
      CONFIGS,
      settings({ featureGates: [gate('PushReconciler'), gate('SchedulerPreferences', 'Disabled')] }),
    ],
  ])('takes %s', async (_what, resource, object) => {
    expect(await attempt(resource, object as KubeObject)).toBe('created');
  });

  const bad: readonly (readonly [string, ResourceId, KubeObject])[] = [
    ...(
      [
        ['target without version', { targetType: { ...targetType, version: '' } }],
        ['target without kind', { targetType: { ...targetType, kind: '' } }],
        ['target of an unknown scope', { targetType: { ...targetType, scope: 'Everywhere' } }],
        ['target with another plural name', { targetType: { ...targetType, pluralName: 'others' } }],
        ['target of another group', { targetType: { ...targetType, group: 'batch' } }],
        ['no target', { targetType: undefined }],
        ['no federated type', { federatedType: undefined }],
        ['federated type without group', { federatedType: { ...federatedType, group: '' } }],
        ['federated type of a group without a dot', { federatedType: { ...federatedType, group: 'apps' } }],
        ['federated type without version', { federatedType: { ...federatedType, version: '' } }],
        ['federated type without kind', { federatedType: { ...federatedType, kind: '' } }],
        ['federated type of an unknown scope', { federatedType: { ...federatedType, scope: 'x' } }],
        ['status type of a group without a dot', { statusType: { ...statusType, group: 'apps' } }],
        ['status type without kind', { statusType: { ...statusType, kind: '' } }],
        ['status type of an unknown scope', { statusType: { ...statusType, scope: 'x' } }],
        ['unknown propagation', { propagation: 'Sometimes' }],
        ['empty propagation', { propagation: '' }],
        ['no propagation', { propagation: undefined }],
        ['unknown collection of status', { statusCollection: 'Sometimes' }],
        ['empty collection of status', { statusCollection: '' }],
      ] as const
    ).map(([what, spec]) => [what, TYPE_CONFIGS, { ...config, spec: { ...config.spec, ...spec } }] as const),
    ['another name', TYPE_CONFIGS, { ...config, metadata: { ...config.metadata, name: 'deployments' } }],
    [
      'a name without its group',
      TYPE_CONFIGS,
      { ...config, metadata: { ...config.metadata, name: 'deployments.batch' } },
    ],
    ...(
      [
        ['no endpoint', { apiEndpoint: undefined }],
        ['an empty endpoint', { apiEndpoint: '' }],
        ['an endpoint of another scheme', { apiEndpoint: 'ftp://10.0.0.1' }],
        ['an endpoint with a port too high', { apiEndpoint: 'https://10.0.0.1:99999' }],
        ['an endpoint with port 0', { apiEndpoint: 'https://10.0.0.1:0' }],
        ['an endpoint without host', { apiEndpoint: 'https://:6443' }],
        ['an endpoint that is no URL', { apiEndpoint: 'https://a b' }],
        ['an endpoint that is very long', { apiEndpoint: `https://${'a'.repeat(2100)}` }],
        ['no Secret', { secretRef: undefined }],
        ['an empty Secret', { secretRef: { name: '' } }],
        ['a Secret with capitals', { secretRef: { name: 'Token' } }],
        ['a Secret with a space', { secretRef: { name: 'a b' } }],
        ['a Secret with a long name', { secretRef: { name: 'a'.repeat(254) } }],
        ['an unknown check', { disabledTLSValidations: ['Everything'] }],
        ['all checks and one more', { disabledTLSValidations: ['*', 'SubjectName'] }],
        ['all checks twice', { disabledTLSValidations: ['*', '*'] }],
        ['an empty check', { disabledTLSValidations: [''] }],
        ['a proxy of another scheme', { proxyURL: 'ftp://proxy' }],
        ['a proxy that is no URL', { proxyURL: 'proxy' }],
        ['a proxy without host', { proxyURL: 'http://:3128' }],
        ['a proxy with a port too high', { proxyURL: 'http://proxy:70000' }],
      ] as const
    ).map(([what, spec]) => [what, CLUSTERS, cluster(spec)] as const),
    ...(
      [
        ['no scope', { scope: undefined }],
        ['an unknown scope', { scope: 'Everything' }],
        ['an empty scope', { scope: '' }],
        ['a delay of nothing', { controllerDuration: { availableDelay: '0s' } }],
        ['a negative delay', { controllerDuration: { unavailableDelay: '-5s' } }],
        ['a delay that is none', { controllerDuration: { cacheSyncTimeout: 'soon' } }],
        ['a lease of nothing', { leaderElect: { leaseDuration: '0s' } }],
        ['a lease as long as its renewal', { leaderElect: { leaseDuration: '10s', renewDeadline: '10s' } }],
        ['a lease shorter than its renewal', { leaderElect: { leaseDuration: '9s', renewDeadline: '10s' } }],
        ['a renewal of nothing', { leaderElect: { renewDeadline: '0s' } }],
        ['a renewal hardly longer than a retry', { leaderElect: { renewDeadline: '6s', retryPeriod: '5s' } }],
        ['a retry of nothing', { leaderElect: { retryPeriod: '0s' } }],
        ['an unknown lock', { leaderElect: { resourceLock: 'leases' } }],
        ['an unknown gate', { featureGates: [gate('Everything')] }],
        ['a gate that is half open', { featureGates: [gate('PushReconciler', 'Sometimes')] }],
        ['a gate twice', { featureGates: [gate('PushReconciler'), gate('PushReconciler', 'Disabled')] }],
        ['a check every 0 seconds', { clusterHealthCheck: { period: '0s' } }],
        ['a check without time', { clusterHealthCheck: { timeout: '0s' } }],
        ['no failure', { clusterHealthCheck: { failureThreshold: 0 } }],
        ['fewer than no failure', { clusterHealthCheck: { failureThreshold: -1 } }],
        ['no success', { clusterHealthCheck: { successThreshold: 0 } }],
        ['no worker', { syncController: { maxConcurrentReconciles: 0 } }],
        ['fewer than no worker', { statusController: { maxConcurrentReconciles: -2 } }],
        ['unknown adoption', { syncController: { adoptResources: 'Sometimes' } }],
      ] as const
    ).map(([what, spec]) => [what, CONFIGS, settings(spec)] as const),
  ];

  it('refuses what is not valid, sixty times over', () => {
    expect(bad.length).toBeGreaterThan(60);
  });

  it.each(bad)('refuses %s', async (_what, resource, object) => {
    expect(await attempt(resource, object)).not.toBe('created');
  });

  it('[F47] lets nobody change the scope of a federation', async () => {
    expect(await attempt(CONFIGS, settings({}), false)).toBe('created');
    const change = fleet.run(
      fleet.hub.client.patch(CONFIGS, DEFAULT_NAMESPACE, 'kubefed', 'merge', {
        spec: { scope: 'Namespaced' },
      }),
    );
    await expect(change).rejects.toThrow('scope cannot be changed');
  });
});
