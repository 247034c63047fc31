import { isIPv4, isIPv6 } from 'node:net';
import type { JsonObject } from '../schema/json.ts';
import { FRONT_PROXY_NAME } from './aggregation/index.ts';
import type { StandingObject } from './controllers/index.ts';
import { FLOW_CONTROL_GROUP, flowControlObjects } from './flow-objects.ts';

export interface ClusterFacts {
  /** `host:port` where clients reach the server, if that is known. */
  readonly address?: string;
  /** PEM of the authority whose client certificates the server believes. */
  readonly clientCa?: string;
  /** PEM of the authority of the certificate by which the server tells extension API servers who asks. */
  readonly frontProxyCa?: string;
}

/** Where clients inside a cluster find its API server: the first address of the service network. */
const SERVICE_ADDRESS = '10.96.0.1';

/** The objects that every logical cluster has besides namespaces and RBAC. */
export function clusterObjects(facts: ClusterFacts): StandingObject[] {
  return [
    priorityClass(
      'system-cluster-critical',
      2_000_000_000,
      'For pods that the cluster cannot do without, wherever they run.',
    ),
    priorityClass(
      'system-node-critical',
      2_000_001_000,
      'For pods that a node cannot do without: they stay where they are.',
    ),
    ...serverService(facts.address),
    ...(facts.clientCa === undefined ? [] : [authenticationConfig(facts.clientCa, facts.frontProxyCa)]),
  ];
}

function priorityClass(name: string, value: number, description: string): StandingObject {
  return {
    group: 'scheduling.k8s.io',
    resource: 'priorityclasses',
    object: {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name, generation: 1 },
      value,
      description,
      preemptionPolicy: 'PreemptLowerPriority',
    },
    owned: ['value'],
  };
}

/** What extension servers read to believe the same clients. */
function authenticationConfig(clientCa: string, frontProxyCa: string | undefined): StandingObject {
  return {
    group: '',
    resource: 'configmaps',
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
      data: {
        'client-ca-file': clientCa,
        ...(frontProxyCa === undefined
          ? {}
          : {
              'requestheader-allowed-names': JSON.stringify([FRONT_PROXY_NAME]),
              'requestheader-client-ca-file': frontProxyCa,
              'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
              'requestheader-group-headers': '["X-Remote-Group"]',
              'requestheader-uid-headers': '["X-Remote-Uid"]',
              'requestheader-username-headers': '["X-Remote-User"]',
            }),
      },
    },
    owned: ['data'],
  };
}

/** Service `default/kubernetes`, and where it leads to when that is an address. */
function serverService(address: string | undefined): StandingObject[] {
  const colon = address?.lastIndexOf(':') ?? -1;
  const host = address?.slice(0, colon).replace(/^\[(.*)\]$/, '$1') ?? '';
  const port = Number(address?.slice(colon + 1));
  const ipv6 = isIPv6(host);
  const known = (isIPv4(host) || ipv6) && Number.isInteger(port) && port > 0;
  const ports = (target: number): JsonObject[] => [{ name: 'https', port: target, protocol: 'TCP' }];
  const metadata = (
    labels: Record<string, string>,
  ): { name: string; namespace: string; labels: typeof labels } => ({
    name: 'kubernetes',
    namespace: 'default',
    labels,
  });
  const service: StandingObject = {
    group: '',
    resource: 'services',
    object: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata({ component: 'apiserver', provider: 'kubernetes' }),
      spec: {
        clusterIP: SERVICE_ADDRESS,
        clusterIPs: [SERVICE_ADDRESS],
        internalTrafficPolicy: 'Cluster',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: known ? port : 6443 }],
        sessionAffinity: 'None',
        type: 'ClusterIP',
      },
      status: { loadBalancer: {} },
    },
    owned: ['spec'],
  };
  if (!known) return [service];
  return [
    service,
    {
      group: '',
      resource: 'endpoints',
      object: {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: metadata({ 'endpointslice.kubernetes.io/skip-mirror': 'true' }),
        subsets: [{ addresses: [{ ip: host }], ports: ports(port) }],
      },
      owned: ['subsets'],
    },
    {
      group: 'discovery.k8s.io',
      resource: 'endpointslices',
      object: {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: metadata({ 'kubernetes.io/service-name': 'kubernetes' }),
        addressType: ipv6 ? 'IPv6' : 'IPv4',
        endpoints: [{ addresses: [host], conditions: { ready: true } }],
        ports: ports(port),
      },
      owned: ['endpoints', 'ports'],
    },
  ];
}

/**
 * Priority levels and flow schemas, which come back when somebody deletes them. Whoever changes one that is not mandatory has it his
 * way.
 */
export function standingFlowObjects(): StandingObject[] {
  return flowControlObjects().map((object) => ({
    group: FLOW_CONTROL_GROUP,
    resource: object.kind === 'FlowSchema' ? 'flowschemas' : 'prioritylevelconfigurations',
    object,
    owned: [],
  }));
}
