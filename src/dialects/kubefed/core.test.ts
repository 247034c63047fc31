import { describe, expect, it } from 'vitest';
import { type AnyCustomKind, customResourceDefinition } from '../../kube/custom-resource.ts';
import { asJson } from '../../kube/object.ts';
import { at } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { validateStructural } from '../../schema/structural.ts';
import {
  DEFAULT_TYPES,
  DNS_ENDPOINT,
  DOMAIN,
  earlyKinds,
  enableProblem,
  FEDERATED_TYPE_CONFIG,
  FEDERATION_PLACEMENT,
  type FederatedTypeConfig,
  federatedKind,
  federatedTypeFor,
  federatedTypeOf,
  INGRESS_DNS_RECORD,
  KUBEFED_CLUSTER,
  KUBEFED_CONFIG,
  type KubeFedCluster,
  kubeconfigSecretOf,
  kubeFedClusterOf,
  pluralOf,
  REPLICA_SCHEDULING_PREFERENCE,
  reportCluster,
  reportTypeConfig,
  SERVICE_DNS_RECORD,
  scopeProblem,
  spokeClusterOf,
  typeConfigName,
  typeConfigOf,
  validateCluster,
  validateConfig,
  validateTypeConfig,
  withConfigDefaults,
  withTypeConfigDefaults,
} from './index.ts';
import type { InventoryCluster } from './types.ts';

const deployments = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  pluralName: 'deployments',
  scope: 'Namespaced',
} as const;
const replicas = (schema: OpenApiSchema): OpenApiSchema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { replicas: schema } } },
});
const resolve = (): undefined => undefined;

describe('kinds', () => {
  const kinds: AnyCustomKind[] = [
    KUBEFED_CLUSTER,
    FEDERATED_TYPE_CONFIG,
    KUBEFED_CONFIG,
    REPLICA_SCHEDULING_PREFERENCE,
    DOMAIN,
    SERVICE_DNS_RECORD,
    INGRESS_DNS_RECORD,
    DNS_ENDPOINT,
    FEDERATION_PLACEMENT,
    federatedKind(federatedTypeFor(deployments)),
    ...earlyKinds(deployments),
    ...earlyKinds({ version: 'v1', kind: 'Namespace', pluralName: 'namespaces', scope: 'Cluster' }),
  ];

  it.each(kinds.map((kind) => [kind.kind, kind] as const))('%s has a structural schema', (_name, kind) => {
    const schema = at(asJson(customResourceDefinition(kind)), 'spec', 'versions') as unknown as {
      schema: { openAPIV3Schema: OpenApiSchema };
    }[];
    expect(validateStructural(schema[0]?.schema.openAPIV3Schema ?? {})).toEqual([]);
  });

  it('of a target are named after it', () => {
    expect(federatedKind(federatedTypeFor(deployments), undefined, ['deploy'])).toMatchObject({
      group: 'types.kubefed.io',
      version: 'v1beta1',
      kind: 'FederatedDeployment',
      plural: 'federateddeployments',
      shortNames: ['fdeploy'],
      scope: 'Namespaced',
    });
    const namespaces = {
      version: 'v1',
      kind: 'Namespace',
      pluralName: 'namespaces',
      scope: 'Cluster',
    } as const;
    expect(federatedKind(federatedTypeFor(namespaces)).scope).toBe('Namespaced');
  });

  it('have retainReplicas where the target has a number of replicas', () => {
    const type = federatedTypeFor(deployments);
    const has = (schema: OpenApiSchema): boolean =>
      'retainReplicas' in (federatedKind(type, { schema: replicas(schema), resolve }).spec?.properties ?? {});
    expect(has({ type: 'integer', format: 'int32' })).toBe(true);
    expect(has({ type: 'integer', format: 'int64' })).toBe(false);
    expect(has({ type: 'string' })).toBe(false);
  });

  it('of the early form are three, and one for namespaces', () => {
    expect(earlyKinds(deployments).map(({ kind }) => kind)).toEqual([
      'FederatedDeployment',
      'FederatedDeploymentPlacement',
      'FederatedDeploymentOverride',
    ]);
    const namespaces = {
      version: 'v1',
      kind: 'Namespace',
      pluralName: 'namespaces',
      scope: 'Cluster',
    } as const;
    expect(earlyKinds(namespaces).map(({ kind }) => kind)).toEqual(['FederatedNamespacePlacement']);
  });
});

describe('type configs', () => {
  const config = (name: string, more: object = {}): FederatedTypeConfig => ({
    apiVersion: 'core.kubefed.io/v1beta1',
    kind: 'FederatedTypeConfig',
    metadata: { name },
    spec: {
      targetType: { version: 'v1', kind: 'Deployment', scope: 'Namespaced' },
      propagation: 'Enabled',
      federatedType: {
        group: 'types.kubefed.io',
        version: 'v1beta1',
        kind: 'FederatedDeployment',
        scope: 'Namespaced',
      },
      ...more,
    },
  });

  it('[F10] take what they leave open from their name and their other parts', () => {
    const statusType = { kind: 'FederatedServiceStatus', scope: 'Namespaced' };
    expect(withTypeConfigDefaults(config('deployments.apps', { statusType })).spec).toMatchObject({
      targetType: { group: 'apps', pluralName: 'deployments' },
      federatedType: { pluralName: 'federateddeployments' },
      statusType: { group: 'types.kubefed.io', version: 'v1beta1', pluralName: 'federatedservicestatuses' },
    });
    expect(withTypeConfigDefaults(config('services')).spec.targetType).toMatchObject({
      group: '',
      pluralName: 'services',
    });
  });

  it.each([
    ['Deployment', 'deployments'],
    ['Ingress', 'ingresses'],
    ['Box', 'boxes'],
    ['Quiz', 'quizes'],
    ['Batch', 'batches'],
    ['Mesh', 'meshes'],
    ['Echo', 'echoes'],
    ['NetworkPolicy', 'networkpolicies'],
  ])('[F10] the plural of %s is %s', (kind, plural) => {
    expect(pluralOf(kind)).toBe(plural);
  });

  it('[F10] must have the name of their target', () => {
    const named = (name: string): readonly string[] => {
      const full = withTypeConfigDefaults(config('deployments.apps'));
      return validateTypeConfig({ ...full, metadata: { name } }).map(({ path }) => path);
    };
    expect(named('deployments.apps')).toEqual([]);
    expect(named('deployments')).toEqual(['metadata.name']);
    expect(named('deployment.apps')).toEqual(['metadata.name']);
  });

  it.each([
    ['spec.targetType.kind', { targetType: { version: 'v1', kind: '', scope: 'Namespaced' } }],
    ['spec.targetType.scope', { targetType: { version: 'v1', kind: 'D', scope: 'World' } }],
    ['spec.federatedType.group', { federatedType: { version: 'v1', kind: 'F', scope: 'Cluster' } }],
    [
      'spec.federatedType.group',
      { federatedType: { group: 'types', version: 'v1', kind: 'F', scope: 'Cluster' } },
    ],
    [
      'spec.federatedType.version',
      { federatedType: { group: 'a.b', version: '', kind: 'F', scope: 'Cluster' } },
    ],
    ['spec.targetType.version', { targetType: { version: 'v1.1', kind: 'D', scope: 'Cluster' } }],
    ['spec.targetType.kind', { targetType: { version: 'v1', kind: 'a.b', scope: 'Cluster' } }],
    [
      'spec.federatedType.group',
      { federatedType: { group: 'a..b', version: 'v1', kind: 'F', scope: 'Cluster' } },
    ],
    ['spec.propagation', { propagation: 'On' }],
    ['spec.statusCollection', { statusCollection: 'On' }],
  ])('are refused for a bad %s', (path, more) => {
    const issues = validateTypeConfig(withTypeConfigDefaults(config('deployments.apps', more)));
    expect(issues.map((issue) => issue.path)).toEqual([path]);
  });

  it('are made of a type and read back, and never change what a type is federated as', () => {
    const type = federatedTypeFor(deployments);
    const made = typeConfigOf(type, 'kube-federation-system');
    expect(made.metadata.name).toBe('deployments.apps');
    expect(validateTypeConfig(made)).toEqual([]);
    expect(federatedTypeOf(made)).toEqual(type);
    expect(enableProblem(made, type)).toBeUndefined();
    expect(enableProblem(made, federatedTypeFor(deployments, 'other.example.com'))).toContain('disable it');
    expect(DEFAULT_TYPES).toContain(typeConfigName(deployments));
  });

  it('say what runs', () => {
    expect(reportTypeConfig({ generation: 3, propagating: true })).toEqual({
      observedGeneration: 3,
      propagationController: 'Running',
    });
    expect(reportTypeConfig({ generation: 3, propagating: false, collecting: false })).toMatchObject({
      propagationController: 'NotRunning',
      statusController: 'NotRunning',
    });
    const roles = federatedTypeFor({
      version: 'v1',
      kind: 'ClusterRole',
      pluralName: 'clusterroles',
      scope: 'Cluster',
    });
    expect(scopeProblem(roles, 'Namespaced')).toContain('cluster-scoped');
    expect(scopeProblem(roles, 'Cluster')).toBeUndefined();
  });
});

describe('settings', () => {
  it('[F47] have defaults', () => {
    expect(withConfigDefaults()).toEqual({
      scope: 'Cluster',
      controllerDuration: { availableDelay: '20s', unavailableDelay: '60s', cacheSyncTimeout: '5m' },
      leaderElect: {
        leaseDuration: '15s',
        renewDeadline: '10s',
        retryPeriod: '5s',
        resourceLock: 'configmaps',
      },
      featureGates: [
        { name: 'PushReconciler', configuration: 'Enabled' },
        { name: 'RawResourceStatusCollection', configuration: 'Disabled' },
        { name: 'SchedulerPreferences', configuration: 'Enabled' },
      ],
      clusterHealthCheck: { period: '10s', failureThreshold: 3, successThreshold: 1, timeout: '3s' },
      syncController: { maxConcurrentReconciles: 1, adoptResources: 'Enabled' },
      statusController: { maxConcurrentReconciles: 1 },
    });
    expect(validateConfig(withConfigDefaults())).toEqual([]);
  });

  const paths = (
    spec: Parameters<typeof withConfigDefaults>[0],
    previous?: { scope: 'Cluster' | 'Namespaced' },
  ): string[] => validateConfig(withConfigDefaults(spec), previous).map(({ path }) => path);

  it('[F47] cannot change their scope', () => {
    expect(paths({ scope: 'Namespaced' }, { scope: 'Cluster' })).toEqual(['spec.scope']);
    expect(paths({ scope: 'Cluster' }, { scope: 'Cluster' })).toEqual([]);
  });

  it.each([
    ['spec.controllerDuration.availableDelay', { controllerDuration: { availableDelay: '0s' } }],
    ['spec.controllerDuration.unavailableDelay', { controllerDuration: { unavailableDelay: '-1s' } }],
    ['spec.controllerDuration.cacheSyncTimeout', { controllerDuration: { cacheSyncTimeout: 'soon' } }],
    ['spec.leaderElect.leaseDuration', { leaderElect: { leaseDuration: '10s' } }],
    ['spec.leaderElect.renewDeadline', { leaderElect: { renewDeadline: '6s' } }],
    ['spec.leaderElect.resourceLock', { leaderElect: { resourceLock: 'leases' } }],
    ['spec.clusterHealthCheck.failureThreshold', { clusterHealthCheck: { failureThreshold: 0 } }],
    ['spec.syncController.adoptResources', { syncController: { adoptResources: 'Maybe' } }],
    ['spec.statusController.maxConcurrentReconciles', { statusController: { maxConcurrentReconciles: 0 } }],
  ])('are refused for a bad %s', (path, spec) => {
    expect(paths(spec)).toEqual([path]);
  });

  it('[F48] refuse gates that are unknown or there twice', () => {
    const gate = (name: string, configuration = 'Enabled') => ({ name, configuration });
    expect(paths({ featureGates: [gate('Teleport')] })).toContain('spec.featureGates[3].name');
    expect(paths({ featureGates: [gate('PushReconciler'), gate('PushReconciler')] })).toEqual([
      'spec.featureGates[1].name',
    ]);
    expect(paths({ featureGates: [gate('PushReconciler', 'On')] })).toEqual([
      'spec.featureGates[0].configuration',
    ]);
  });
});

describe('clusters', () => {
  const good = { apiEndpoint: 'https://10.0.0.1:6443', secretRef: { name: 'token' } };

  it.each([
    ['spec.apiEndpoint', { apiEndpoint: '' }],
    ['spec.apiEndpoint', { apiEndpoint: 'ftp://10.0.0.1' }],
    ['spec.apiEndpoint', { apiEndpoint: 'https://10.0.0.1:99999' }],
    ['spec.apiEndpoint', { apiEndpoint: 'api.example.com/path' }],
    ['spec.secretRef.name', { secretRef: { name: '' } }],
    ['spec.secretRef.name', { secretRef: { name: 'No Name' } }],
    ['spec.disabledTLSValidations', { disabledTLSValidations: ['*', 'SubjectName'] }],
    ['spec.disabledTLSValidations[0]', { disabledTLSValidations: ['Everything'] }],
    ['spec.proxyURL', { proxyURL: 'ftp://proxy' }],
  ])('are refused for a bad %s', (path, more) => {
    expect(validateCluster({ ...good, ...more }).map((issue) => issue.path)).toEqual([path]);
  });

  it.each([
    {},
    { apiEndpoint: '10.0.0.1:6443' },
    { apiEndpoint: 'api.example.com' },
    { disabledTLSValidations: ['SubjectName', 'ValidityPeriod'] },
    { disabledTLSValidations: ['*'] },
    { proxyURL: 'socks5://10.0.0.2:1080' },
  ])('are taken with %j', (more) => {
    expect(validateCluster({ ...good, ...more })).toEqual([]);
  });

  const cluster = (more: object = {}): KubeFedCluster => ({
    apiVersion: 'core.kubefed.io/v1beta1',
    kind: 'KubeFedCluster',
    metadata: { name: 'c1', namespace: 'fed', labels: { region: 'eu' } },
    spec: { ...good, caBundle: 'Q0E=', ...more },
  });

  it('become clusters of the inventory, with a kubeconfig made of their token', () => {
    const spoke = spokeClusterOf(cluster());
    expect(spoke.metadata).toEqual({ name: 'c1', namespace: 'fed', labels: { region: 'eu' } });
    const made = kubeconfigSecretOf(cluster({ proxyURL: 'http://p:1' }), 'secret-token');
    if ('problem' in made) throw new Error(made.problem);
    const { secret } = made;
    expect(secret.metadata.name).toBe(spoke.spec.credential.kubeconfig?.secretRef.name);
    const text = Buffer.from((secret['data'] as { kubeconfig: string }).kubeconfig, 'base64').toString();
    expect(JSON.parse(text)).toMatchObject({
      clusters: [
        {
          cluster: {
            server: 'https://10.0.0.1:6443',
            'certificate-authority-data': 'Q0E=',
            'proxy-url': 'http://p:1',
          },
        },
      ],
      users: [{ user: { token: 'secret-token' } }],
      'current-context': 'c1',
    });
    expect(kubeconfigSecretOf(cluster(), '')).toHaveProperty('problem');
    expect(spokeClusterOf(cluster({ disabledTLSValidations: ['SubjectName'] })).spec.credential).toEqual({
      type: 'kubeconfig',
      kubeconfig: {
        secretRef: { name: 'c1-kubeconfig', key: 'kubeconfig' },
        disabledTLSValidations: ['SubjectName'],
      },
    });
  });

  it.each([
    [{}, { interval: 10, timeout: 3, failure: 3, success: 1 }],
    [
      { period: '1m30s', timeout: '1500ms', failureThreshold: 5, successThreshold: 2 },
      { interval: 90, timeout: 2, failure: 5, success: 2 },
    ],
    [
      { period: '1s', timeout: '1h', failureThreshold: 1000 },
      { interval: 10, timeout: 120, failure: 100, success: 1 },
    ],
    [
      { period: 'often', failureThreshold: 0 },
      { interval: 10, timeout: 3, failure: 3, success: 1 },
    ],
  ])('is probed as the settings %j say, within what the inventory takes', (check, wanted) => {
    const { clusterHealthCheck } = withConfigDefaults({ clusterHealthCheck: check });
    expect(spokeClusterOf(cluster(), clusterHealthCheck).spec).toMatchObject({
      probeIntervalSeconds: wanted.interval,
      probeTimeoutSeconds: wanted.timeout,
      probeFailureThreshold: wanted.failure,
      probeSuccessThreshold: wanted.success,
    });
  });

  const spoke = (
    connection: 'Connected' | 'Disconnected' | 'Unknown',
    credential = 'True',
  ): InventoryCluster => ({
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: { name: 'c1', namespace: 'fed', labels: { region: 'eu' } },
    spec: { credential: { type: 'tunnel' } },
    status: {
      connection,
      lastProbeTime: '2026-01-01T00:00:10Z',
      clusterInfo: { kubernetesVersion: 'v1.34.0', region: 'eu-1', zones: ['a'] },
      conditions: ['CredentialValid', 'Connected'].map((type) => ({
        type,
        status: (type === 'CredentialValid'
          ? credential
          : connection === 'Connected'
            ? 'True'
            : 'False') as 'True',
        reason: 'r',
        message: 'm',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  });

  it.each([
    ['Ready=True', spoke('Connected')],
    ['Offline=True', spoke('Disconnected')],
    ['Ready=False Offline=False', spoke('Unknown')],
    ['ConfigMalformed=True', spoke('Unknown', 'False')],
  ])('of the inventory are seen as %s', (words, item) => {
    expect(
      reportCluster(item)
        .conditions.map(({ type, status }) => `${type}=${status}`)
        .join(' '),
    ).toBe(words);
  });

  it('of the inventory are valid KubeFedClusters, whoever dials whom', () => {
    const view = kubeFedClusterOf(spoke('Connected'), {
      namespace: 'fed',
      endpoint: 'https://hub/clusters/c1',
    });
    expect(validateCluster(view.spec)).toEqual([]);
    expect(view).toMatchObject({
      metadata: { name: 'c1', labels: { region: 'eu' } },
      spec: { apiEndpoint: 'https://hub/clusters/c1' },
      status: { kubernetesVersion: 'v1.34.0', region: 'eu-1', zones: ['a'] },
    });
  });
});
