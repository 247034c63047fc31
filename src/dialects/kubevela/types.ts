import type { Condition, KubeObject, ObjectRef } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';

export interface ClusterInfo {
  kubernetesVersion?: string;
  platform?: string;
  region?: string;
  zones?: string[];
  nodeCount?: number;
  totalCPU?: string;
  totalMemory?: string;
  /** What nodes have, by resource, and what of it pods may use. */
  capacity?: Record<string, string>;
  allocatable?: Record<string, string>;
  /** The same for the same cluster, whatever it is called. */
  id?: string;
  apiServerEndpoint?: string;
  latencyMillis?: number;
  lastSyncedTime?: string;
}

/** Kinds that a cluster serves, of one group and version. */
export interface ApiEnablement {
  readonly groupVersion: string;
  readonly kinds: readonly string[];
}

/** Keeps placements away that do not tolerate it. Effects are those of Open Cluster Management. */
export interface ClusterTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSelect' | 'NoSelectIfNew' | 'PreferNoSelect';
  readonly timeAdded?: string;
}

/** A taint that a ClusterTaintPolicy put there. */
export interface PolicyTaint extends ClusterTaint {
  readonly policy: string;
}

export interface AwsCredential {
  readonly authMode?: 'podIdentity' | 'irsa';
  readonly clusterName?: string;
  readonly region?: string;
  readonly roleArn?: string;
  readonly externalId?: string;
}

export interface AzureCredential {
  readonly authMode?: 'workloadIdentity' | 'managedIdentity';
  readonly subscriptionID?: string;
  readonly resourceGroup?: string;
  readonly clusterName?: string;
  readonly tenantID?: string;
  readonly clientID?: string;
}

export interface GcpCredential {
  readonly authMode?: 'workloadIdentityFederation' | 'serviceAccount';
  readonly projectID?: string;
  readonly location?: string;
  readonly clusterName?: string;
  readonly serviceAccountEmail?: string;
}

export interface SpokeClusterSpec {
  readonly mode?: 'connect' | 'adopt' | 'provision';
  readonly credential: {
    readonly type: 'kubeconfig' | 'aws' | 'azure' | 'gcp' | 'tunnel' | 'gateway';
    readonly kubeconfig?: {
      readonly secretRef: { readonly name: string; readonly namespace?: string; readonly key?: string };
      /** What is left out of the check of the server's certificate. `*` is all of it, and needs the hub's operator. */
      readonly disabledTLSValidations?: readonly ('*' | 'SubjectName' | 'ValidityPeriod')[];
    };
    readonly aws?: AwsCredential;
    readonly azure?: AzureCredential;
    readonly gcp?: GcpCredential;
  };
  /** A Secret of the cluster gateway of KubeVela that is there already, for type `gateway`. It is read, and never written. */
  readonly clusterGatewayRef?: { readonly name: string; readonly namespace?: string };
  readonly probeIntervalSeconds?: number;
  readonly probeTimeoutSeconds?: number;
  /** How many probes in a row have to say otherwise until the connection is said to be lost, or back; 1 by default. */
  readonly probeFailureThreshold?: number;
  readonly probeSuccessThreshold?: number;
  readonly deletionPolicy?: 'detach' | 'orphan' | 'cleanup';
  /** Whether the hub lets a spoke in that dials; it does where nothing is said. */
  readonly hubAcceptsClient?: boolean;
  /** How much content it is sent in an hour, such as `50Mi`. */
  readonly bytesPerHour?: string;
  readonly taints?: readonly ClusterTaint[];
  /** Cordoned. */
  readonly unschedulable?: boolean;
  /** When rollouts may change the cluster. */
  readonly maintenance?: {
    readonly windows?: readonly {
      readonly name?: string;
      readonly start: string;
      readonly end: string;
      readonly timezone?: string;
      readonly days?: readonly string[];
      readonly dstPolicy?: 'extend' | 'shrink' | 'skip';
    }[];
    readonly enforceWindow?: boolean;
    readonly allowEmergencyUpdates?: boolean;
  };
  /** Merged into what goes to this cluster, after everything else. */
  readonly patches?: readonly {
    /** An intent, such as a Propagation: `name` in this namespace, or `namespace/name`, each with its kind before it or without. */
    readonly plane: string;
    /** An object of it: `name`, `Kind/name` or `Kind/namespace/name`. */
    readonly component: string;
    readonly properties: JsonObject;
  }[];
  readonly blueprintRef?: { readonly name: string; readonly revision?: string };
}

export interface SpokeClusterStatus {
  observedGeneration?: number;
  connection?: 'Connected' | 'Disconnected' | 'Unknown';
  conditions?: Condition[];
  clusterInfo?: ClusterInfo;
  /** What the cluster serves. */
  apiEnablements?: ApiEnablement[];
  /** What the cluster says of itself. */
  properties?: Record<string, string>;
  lastProbeTime?: string;
  /** Set by the hub itself. */
  taints?: ClusterTaint[];
  /** Set by policies, by what conditions say. */
  policyTaints?: PolicyTaint[];
  /** Those of the spec, each with the time since which it is there. */
  observedTaints?: ClusterTaint[];
  engine?: string;
  dispatchedRevision?: string;
  appliedRevision?: string;
  health?: { status?: string; objectsHealthy?: number; objectsTotal?: number; lastPulledAt?: string };
}

export interface SpokeCluster extends KubeObject {
  readonly spec: SpokeClusterSpec;
  readonly status?: SpokeClusterStatus;
}

export interface ClusterStatus {
  engine?: string;
  clusterInfo?: ClusterInfo;
  properties?: Record<string, string>;
  dispatchedRevision?: string;
  appliedRevision?: string;
  dispatches?: {
    name: string;
    source: string;
    revision: string;
    generation: number;
    appliedGeneration?: number;
    appliedAt?: string;
    health: string;
    /** Objects that are kept though no order there asks for them or orders them away: all, where somebody deleted the order. */
    kept?: ObjectRef[];
    /** How many more there are that are not named: they are once those are gone. */
    keptMore?: number;
  }[];
  health?: { status: string; objectsHealthy: number; objectsTotal: number };
  drift?: { corrections: number; last?: Record<string, string> };
  /** One word for the SpokeContracts here; absent where there is none. */
  contract?: string;
  conditions?: Condition[];
}

/** A spoke's own picture of itself. */
export interface Cluster extends KubeObject {
  readonly status?: ClusterStatus;
}
