import type { Condition, KubeObject, ObjectRef } from '../../kube/object.ts';

export interface ClusterInfo {
  kubernetesVersion?: string;
  platform?: string;
  region?: string;
  nodeCount?: number;
  totalCPU?: string;
  totalMemory?: string;
  apiServerEndpoint?: string;
  latencyMillis?: number;
  lastSyncedTime?: string;
}

export interface SpokeClusterSpec {
  readonly mode?: 'connect' | 'adopt' | 'provision';
  readonly credential: {
    readonly type: 'kubeconfig' | 'aws' | 'azure' | 'gcp' | 'tunnel';
    readonly kubeconfig?: {
      readonly secretRef: { readonly name: string; readonly namespace?: string; readonly key?: string };
    };
  };
  readonly probeIntervalSeconds?: number;
  readonly probeTimeoutSeconds?: number;
  readonly deletionPolicy?: 'detach' | 'orphan';
  readonly blueprintRef?: { readonly name: string; readonly revision?: string };
}

export interface SpokeClusterStatus {
  observedGeneration?: number;
  connection?: 'Connected' | 'Disconnected' | 'Unknown';
  conditions?: Condition[];
  clusterInfo?: ClusterInfo;
  lastProbeTime?: string;
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
    /** Objects that are kept though the order for them was deleted on the spoke. Absent while the order is there. */
    kept?: ObjectRef[];
  }[];
  health?: { status: string; objectsHealthy: number; objectsTotal: number };
  drift?: { corrections: number; last?: Record<string, string> };
  conditions?: Condition[];
}

/** A spoke's own picture of itself. */
export interface Cluster extends KubeObject {
  readonly status?: ClusterStatus;
}
