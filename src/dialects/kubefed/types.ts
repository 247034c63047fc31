import type { Condition, KubeObject } from '../../kube/object.ts';
import type { JsonObject, JsonValue } from '../../schema/json.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';

/** A resource as a FederatedTypeConfig names it. */
export interface ApiResource {
  readonly group?: string;
  readonly version: string;
  readonly kind: string;
  readonly pluralName: string;
  readonly scope: 'Cluster' | 'Namespaced';
}

/** The same before defaults are filled in. */
export type PartialApiResource = Omit<ApiResource, 'pluralName'> & { readonly pluralName?: string };

export interface FederatedTypeConfigSpec {
  readonly targetType: PartialApiResource;
  readonly propagation: 'Enabled' | 'Disabled';
  readonly federatedType: PartialApiResource;
  readonly statusType?: Partial<ApiResource>;
  readonly statusCollection?: 'Enabled' | 'Disabled';
}

export interface FederatedTypeConfigStatus {
  observedGeneration: number;
  propagationController: 'Running' | 'NotRunning';
  statusController?: 'Running' | 'NotRunning';
  /** What the control plane may not do for it, where it acts with few rights. */
  conditions?: readonly Condition[];
}

export interface FederatedTypeConfig extends KubeObject {
  readonly spec: FederatedTypeConfigSpec;
  readonly status?: FederatedTypeConfigStatus;
}

/** A FederatedTypeConfig that says everything. */
export interface FederatedType {
  readonly target: ApiResource;
  readonly federated: ApiResource;
  readonly propagates: boolean;
  readonly collectsStatus: boolean;
}

export type ClusterConditionType = 'Ready' | 'Offline' | 'ConfigMalformed';

export interface ClusterCondition {
  readonly type: ClusterConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastProbeTime: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface KubeFedClusterSpec {
  readonly apiEndpoint: string;
  /** Base64. */
  readonly caBundle?: string;
  readonly secretRef: { readonly name: string };
  readonly disabledTLSValidations?: readonly string[];
  readonly proxyURL?: string;
}

export interface KubeFedClusterStatus {
  conditions: ClusterCondition[];
  kubernetesVersion?: string;
  zones?: string[];
  region?: string;
}

export interface KubeFedCluster extends KubeObject {
  readonly spec: KubeFedClusterSpec;
  readonly status?: KubeFedClusterStatus;
}

/** What of a cluster of the inventory is seen through a KubeFedCluster. A SpokeCluster is one. */
export interface InventoryCluster extends KubeObject {
  readonly spec: {
    readonly mode?: string;
    readonly credential: {
      readonly type: string;
      readonly kubeconfig?: {
        readonly secretRef: { readonly name: string; readonly key?: string };
        readonly disabledTLSValidations?: readonly string[];
      };
    };
    readonly probeIntervalSeconds?: number;
    readonly probeTimeoutSeconds?: number;
    readonly probeFailureThreshold?: number;
    readonly probeSuccessThreshold?: number;
  };
  readonly status?: {
    readonly connection?: 'Connected' | 'Disconnected' | 'Unknown';
    readonly conditions?: readonly Condition[];
    readonly clusterInfo?: {
      readonly kubernetesVersion?: string;
      readonly region?: string;
      readonly zones?: readonly string[];
      readonly apiServerEndpoint?: string;
    };
    readonly lastProbeTime?: string;
  };
}

export interface KubeFedConfigSpec {
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly controllerDuration?: {
    readonly availableDelay?: string;
    readonly unavailableDelay?: string;
    readonly cacheSyncTimeout?: string;
  };
  readonly leaderElect?: {
    readonly leaseDuration?: string;
    readonly renewDeadline?: string;
    readonly retryPeriod?: string;
    readonly resourceLock?: string;
  };
  readonly featureGates?: readonly { readonly name: string; readonly configuration: string }[];
  readonly clusterHealthCheck?: {
    readonly period?: string;
    readonly failureThreshold?: number;
    readonly successThreshold?: number;
    readonly timeout?: string;
  };
  readonly syncController?: { readonly maxConcurrentReconciles?: number; readonly adoptResources?: string };
  readonly statusController?: { readonly maxConcurrentReconciles?: number };
}

export interface KubeFedConfig extends KubeObject {
  readonly spec: KubeFedConfigSpec;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Where a federated object shall be. Clusters that are named win over a selector, an empty list too. */
export interface FederatedPlacement {
  readonly clusters?: readonly { readonly name: string }[];
  readonly clusterSelector?: LabelSelector;
}

export interface ClusterOverride {
  readonly op?: string;
  readonly path: string;
  readonly value?: JsonValue;
}

export interface FederatedOverride {
  readonly clusterName: string;
  readonly clusterOverrides?: readonly ClusterOverride[];
}

export interface FederatedSpec {
  readonly template?: JsonObject;
  readonly placement?: FederatedPlacement;
  readonly overrides?: readonly FederatedOverride[];
  readonly retainReplicas?: boolean;
}

export interface PropagationCondition {
  readonly type: 'Propagation';
  readonly status: 'True' | 'False';
  readonly reason?: string;
  readonly lastUpdateTime: string;
  readonly lastTransitionTime: string;
}

export interface FederatedStatus {
  observedGeneration?: number;
  conditions?: PropagationCondition[];
  clusters?: { name: string; status?: string; remoteStatus?: JsonValue }[];
}

/** An object of a generated kind, `Federated<Kind>`. */
export interface FederatedObject extends KubeObject {
  readonly spec: FederatedSpec;
  readonly status?: FederatedStatus;
}

export interface ClusterPreferences {
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  readonly weight?: number;
}

export interface ReplicaSchedulingPreference extends KubeObject {
  readonly spec: {
    readonly targetKind: string;
    readonly totalReplicas: number;
    readonly rebalance?: boolean;
    readonly intersectWithClusterSelector?: boolean;
    readonly clusters?: Readonly<Record<string, ClusterPreferences>>;
  };
}

/** What a load balancer of a cluster says of itself, as in the status of Services and Ingresses. */
export interface LoadBalancer {
  readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
}

export interface ClusterDns {
  readonly cluster?: string;
  readonly loadBalancer?: LoadBalancer;
  readonly zones?: readonly string[];
  readonly region?: string;
}

export interface Domain extends KubeObject {
  readonly domain: string;
  readonly nameServer?: string;
}

export interface ServiceDNSRecord extends KubeObject {
  readonly spec: {
    readonly domainRef: string;
    readonly recordTTL?: number;
    readonly dnsPrefix?: string;
    readonly externalName?: string;
    readonly allowServiceWithoutEndpoints?: boolean;
  };
  readonly status?: { readonly domain?: string; readonly dns?: readonly ClusterDns[] };
}

export interface IngressDNSRecord extends KubeObject {
  readonly spec: { readonly hosts: readonly string[]; readonly recordTTL?: number };
  readonly status?: { readonly dns?: readonly ClusterDns[] };
}

export interface DnsEndpointEntry {
  readonly dnsName: string;
  readonly targets: readonly string[];
  readonly recordType: 'A' | 'CNAME';
  readonly recordTTL: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface DNSEndpoint extends KubeObject {
  readonly spec: { readonly endpoints: readonly DnsEndpointEntry[] };
}
