import { parseDuration } from '../../cel/values/time.ts';
import type { KubeObject } from '../../kube/object.ts';
import { formatTime, parseTime } from '../../runtime/clock.ts';
import type { FieldIssue } from '../../schema/field-issue.ts';
import { validateDns1123Subdomain } from '../../schema/names.ts';
import { type FullKubeFedConfig, withConfigDefaults } from './config.ts';
import { CORE_GROUP, CORE_VERSION } from './core-kinds.ts';
import type {
  ClusterCondition,
  InventoryCluster,
  KubeFedCluster,
  KubeFedClusterSpec,
  KubeFedClusterStatus,
} from './types.ts';

/** What can be left out of the check of a certificate. */
const TLS_RELAXATIONS = ['*', 'SubjectName', 'ValidityPeriod'];
const MAX_URL = 2048;

/** What is wrong with the spec of a KubeFedCluster. */
export function validateCluster(spec: KubeFedClusterSpec): FieldIssue[] {
  const issues: FieldIssue[] = [];
  const invalid = (path: string, value: unknown, detail: string): void =>
    void issues.push({ type: 'Invalid', path, value, detail });
  const { apiEndpoint = '', secretRef, disabledTLSValidations = [], proxyURL } = spec;
  if (apiEndpoint === '') issues.push({ type: 'Required', path: 'spec.apiEndpoint', detail: '' });
  else {
    const problem =
      !apiEndpoint.includes('://') && apiEndpoint.includes('/')
        ? 'should be a URL, or a host with or without a port'
        : urlProblem(serverUrl(apiEndpoint), ['http:', 'https:']);
    if (problem !== undefined) invalid('spec.apiEndpoint', apiEndpoint, problem);
  }
  const name = secretRef?.name ?? '';
  if (name === '') issues.push({ type: 'Required', path: 'spec.secretRef.name', detail: '' });
  else for (const detail of validateDns1123Subdomain(name)) invalid('spec.secretRef.name', name, detail);
  for (const [index, value] of disabledTLSValidations.entries())
    if (!TLS_RELAXATIONS.includes(value))
      issues.push({
        type: 'NotSupported',
        path: `spec.disabledTLSValidations[${index}]`,
        value,
        detail: '',
        supported: TLS_RELAXATIONS,
      });
  if (disabledTLSValidations.includes('*') && disabledTLSValidations.length > 1)
    invalid('spec.disabledTLSValidations', disabledTLSValidations, '* means all checks and must stand alone');
  if (proxyURL !== undefined && proxyURL !== '') {
    const problem = urlProblem(proxyURL, ['http:', 'https:', 'socks5:']);
    if (problem !== undefined) invalid('spec.proxyURL', proxyURL, problem);
  }
  return issues;
}

/** `host` and `host:port` are short for https. */
function serverUrl(text: string): string {
  return text.includes('://') ? text : `https://${text}`;
}

function urlProblem(text: string, schemes: readonly string[]): string | undefined {
  if (text.length > MAX_URL) return `should have at most ${MAX_URL} characters`;
  if (!URL.canParse(text)) return 'should be a URL with a host and, where it has one, a port from 1 to 65535';
  const url = new URL(text);
  if (!schemes.includes(url.protocol))
    return `scheme should be ${schemes.map((scheme) => scheme.slice(0, -1)).join(', ')}`;
  if (url.hostname === '' || url.port === '0') return 'should have a host and a port that is not 0';
  return undefined;
}

/** The key of the Secret that {@link kubeconfigSecretOf} makes. */
const KUBECONFIG_KEY = 'kubeconfig';

/** How the inventory probes, as the settings of a federation say. */
type ProbeSettings = Required<
  Pick<
    InventoryCluster['spec'],
    'probeIntervalSeconds' | 'probeTimeoutSeconds' | 'probeFailureThreshold' | 'probeSuccessThreshold'
  >
>;

/** Settings that are no durations or numbers are those of KubeFed; others are kept within what the inventory takes. */
function probeSettings(check: FullKubeFedConfig['clusterHealthCheck']): ProbeSettings {
  const usual = withConfigDefaults().clusterHealthCheck;
  return {
    probeIntervalSeconds: secondsOf(check.period, usual.period, 10, 600),
    probeTimeoutSeconds: secondsOf(check.timeout, usual.timeout, 1, 120),
    probeFailureThreshold: thresholdOf(check.failureThreshold, usual.failureThreshold),
    probeSuccessThreshold: thresholdOf(check.successThreshold, usual.successThreshold),
  };
}

function secondsOf(text: string, usual: string, least: number, most: number): number {
  const parsed = parseDuration(text);
  if (!('nanos' in parsed) || parsed.nanos <= 0n) return secondsOf(usual, usual, least, most);
  return Math.min(most, Math.max(least, Math.ceil(Number(parsed.nanos) / 1e9)));
}

function thresholdOf(count: number, usual: number): number {
  return Number.isInteger(count) && count > 0 ? Math.min(100, count) : usual;
}

/** The entry of the inventory that stands for a KubeFedCluster. It has the same name and labels. */
export function spokeClusterOf(
  cluster: KubeFedCluster,
  check: FullKubeFedConfig['clusterHealthCheck'] = withConfigDefaults().clusterHealthCheck,
): InventoryCluster {
  const { name = '', namespace, labels } = cluster.metadata;
  const { disabledTLSValidations = [] } = cluster.spec;
  return {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels: { ...labels } }),
    },
    spec: {
      mode: 'connect',
      credential: {
        type: 'kubeconfig',
        kubeconfig: {
          secretRef: { name: kubeconfigSecretName(name), key: KUBECONFIG_KEY },
          ...(disabledTLSValidations.length === 0 ? {} : { disabledTLSValidations }),
        },
      },
      ...probeSettings(check),
    },
  };
}

export function kubeconfigSecretName(cluster: string): string {
  return `${cluster}-kubeconfig`;
}

/** The Secret that the inventory reads, made of a KubeFedCluster and the token of its own Secret. */
export function kubeconfigSecretOf(
  cluster: KubeFedCluster,
  token: string,
): { readonly secret: KubeObject } | { readonly problem: string } {
  const { name = '', namespace } = cluster.metadata;
  const { apiEndpoint, caBundle, proxyURL } = cluster.spec;
  if (token === '') return { problem: `the Secret of KubeFedCluster ${name} has no token` };
  const server = serverUrl(apiEndpoint);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server,
          ...(caBundle === undefined ? {} : { 'certificate-authority-data': caBundle }),
          ...(proxyURL ? { 'proxy-url': proxyURL } : {}),
        },
      },
    ],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: kubeconfigSecretName(name), ...(namespace === undefined ? {} : { namespace }) },
    type: 'Opaque',
    data: { [KUBECONFIG_KEY]: Buffer.from(JSON.stringify(config)).toString('base64') },
  };
  return { secret };
}

export interface ClusterViewOptions {
  readonly namespace: string;
  /** Where the hub serves the cluster: for clusters that dial, whose own endpoint nobody knows. */
  readonly endpoint: string;
}

/** How a cluster of the inventory looks as a KubeFedCluster. It is a view: no credential is in it or behind it. */
export function kubeFedClusterOf(spoke: InventoryCluster, options: ClusterViewOptions): KubeFedCluster {
  const { name = '', labels, creationTimestamp } = spoke.metadata;
  const { credential } = spoke.spec;
  const own = credential.kubeconfig?.secretRef.name;
  return {
    apiVersion: `${CORE_GROUP}/${CORE_VERSION}`,
    kind: 'KubeFedCluster',
    metadata: {
      name,
      namespace: options.namespace,
      ...(labels === undefined ? {} : { labels: { ...labels } }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: {
      apiEndpoint: spoke.status?.clusterInfo?.apiServerEndpoint ?? options.endpoint,
      secretRef: { name: own ?? name },
    },
    status: reportCluster(spoke),
  };
}

/**
 * The status of a KubeFedCluster by what the inventory knows. One that cannot be reached is Offline, and whether it is ready is
 * nobody's to say; one whose credential is of no use is ConfigMalformed.
 */
export function reportCluster(spoke: InventoryCluster): KubeFedClusterStatus {
  const { connection, clusterInfo, conditions = [], lastProbeTime } = spoke.status ?? {};
  const find = (type: string) => conditions.find((condition) => condition.type === type);
  const credential = find('CredentialValid');
  const connected = find('Connected');
  const probed = lastProbeTime ?? credential?.lastTransitionTime ?? formatTime(0);
  const condition = (
    type: ClusterCondition['type'],
    status: ClusterCondition['status'],
    reason: string,
    message: string,
    since: string | undefined,
  ): ClusterCondition => ({
    type,
    status,
    lastProbeTime: probed,
    ...(parseTime(since) === undefined || since === undefined ? {} : { lastTransitionTime: since }),
    reason,
    message,
  });
  const out: ClusterCondition[] = [];
  const since = connected?.lastTransitionTime;
  const message = connected?.message ?? '';
  if (credential?.status === 'False')
    out.push(
      condition(
        'ConfigMalformed',
        'True',
        'ClusterConfigMalformed',
        credential.message,
        credential.lastTransitionTime,
      ),
    );
  else if (connection === 'Connected') out.push(condition('Ready', 'True', 'ClusterReady', message, since));
  else if (connection === 'Disconnected')
    out.push(condition('Offline', 'True', 'ClusterNotReachable', message, since));
  else if (connected)
    // It answered, and let nobody in.
    out.push(
      condition('Ready', 'False', 'ClusterNotReady', message, since),
      condition('Offline', 'False', 'ClusterReachable', message, since),
    );
  const { region, zones = [] } = clusterInfo ?? {};
  return {
    conditions: out,
    ...(clusterInfo?.kubernetesVersion === undefined
      ? {}
      : { kubernetesVersion: clusterInfo.kubernetesVersion }),
    ...(zones.length === 0 ? {} : { zones: [...zones] }),
    ...(region === undefined || region === 'N/A' ? {} : { region }),
  };
}

/** Whether a cluster is ready, as preferences and users of KubeFed mean it. */
export function isReady(spoke: InventoryCluster): boolean {
  return reportCluster(spoke).conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}
