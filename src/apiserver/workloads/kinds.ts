import type { ResourceId } from '../../kube/client.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';

/** Typed views of the built-in kinds: the fields that the simulator reads or writes, no more. */

export type IntOrString = number | string;

export interface ContainerPort {
  name?: string;
  containerPort: number;
  protocol?: string;
}

export interface Container {
  name: string;
  image?: string;
  ports?: ContainerPort[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  restartPolicy?: string;
  [field: string]: unknown;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface NodeSelectorRequirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  ephemeralContainers?: Container[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: {
    nodeAffinity?: {
      requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] };
      [field: string]: unknown;
    };
    [field: string]: unknown;
  };
  tolerations?: Toleration[];
  restartPolicy?: string;
  schedulerName?: string;
  schedulingGates?: { name: string }[];
  hostNetwork?: boolean;
  hostname?: string;
  subdomain?: string;
  activeDeadlineSeconds?: number;
  volumes?: { name: string; [field: string]: unknown }[];
  [field: string]: unknown;
}

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: PodSpec;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: {
    exitCode: number;
    reason?: string;
    message?: string;
    startedAt?: string;
    finishedAt?: string;
  };
}

export interface ContainerStatus {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  state: ContainerState;
  lastState?: ContainerState;
}

/** Conditions of pods, nodes and workloads may lack the fields that `metav1.Condition` requires. */
export interface LooseCondition {
  type: string;
  status: Condition['status'];
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
  lastUpdateTime?: string;
  lastProbeTime?: string | null;
  lastHeartbeatTime?: string;
  [field: string]: unknown;
}

export interface PodStatus {
  phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  conditions?: LooseCondition[];
  hostIP?: string;
  hostIPs?: { ip: string }[];
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  reason?: string;
  message?: string;
  qosClass?: string;
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
  ephemeralContainerStatuses?: ContainerStatus[];
  [field: string]: unknown;
}

export interface Pod extends KubeObject {
  spec: PodSpec;
  status?: PodStatus;
}

export interface Node extends KubeObject {
  spec?: {
    unschedulable?: boolean;
    taints?: { key: string; value?: string; effect: string }[];
    [field: string]: unknown;
  };
  status?: {
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
    conditions?: LooseCondition[];
    addresses?: { type: string; address: string }[];
    [field: string]: unknown;
  };
}

export interface ReplicaSet extends KubeObject {
  spec: { replicas?: number; minReadySeconds?: number; selector: LabelSelector; template: PodTemplate };
  status?: {
    replicas?: number;
    fullyLabeledReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    observedGeneration?: number;
    conditions?: LooseCondition[];
  };
}

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  collisionCount?: number;
  conditions?: LooseCondition[];
}

export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    selector: LabelSelector;
    template: PodTemplate;
    paused?: boolean;
    progressDeadlineSeconds?: number;
    revisionHistoryLimit?: number;
    strategy?: {
      type?: 'RollingUpdate' | 'Recreate';
      rollingUpdate?: { maxSurge?: IntOrString; maxUnavailable?: IntOrString };
    };
  };
  status?: DeploymentStatus;
}

export interface VolumeClaim extends KubeObject {
  spec: {
    volumeName?: string;
    accessModes?: string[];
    resources?: { requests?: Record<string, string> };
    storageClassName?: string;
    volumeMode?: string;
    [field: string]: unknown;
  };
  status?: { phase?: string; [field: string]: unknown };
}

export interface Volume extends KubeObject {
  spec: {
    claimRef?: { apiVersion?: string; kind?: string; namespace?: string; name?: string; uid?: string };
    [field: string]: unknown;
  };
  status?: { phase?: string; [field: string]: unknown };
}

export interface StatefulSet extends KubeObject {
  spec: {
    replicas?: number;
    serviceName?: string;
    selector: LabelSelector;
    template: PodTemplate;
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    podManagementPolicy?: 'OrderedReady' | 'Parallel';
    ordinals?: { start?: number };
    updateStrategy?: { type?: 'RollingUpdate' | 'OnDelete'; rollingUpdate?: { partition?: number } };
    volumeClaimTemplates?: { metadata: KubeObject['metadata']; spec: VolumeClaim['spec'] }[];
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    currentReplicas?: number;
    updatedReplicas?: number;
    currentRevision?: string;
    updateRevision?: string;
    collisionCount?: number;
    [field: string]: unknown;
  };
}

export interface DaemonSet extends KubeObject {
  spec: {
    selector: LabelSelector;
    template: PodTemplate;
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    updateStrategy?: {
      type?: 'RollingUpdate' | 'OnDelete';
      rollingUpdate?: { maxUnavailable?: IntOrString; maxSurge?: IntOrString };
    };
  };
  status?: { [field: string]: unknown };
}

export interface ControllerRevision extends KubeObject {
  revision: number;
  data?: { spec?: { template?: unknown } };
}

export interface JobSpec {
  parallelism?: number;
  completions?: number;
  backoffLimit?: number;
  activeDeadlineSeconds?: number;
  ttlSecondsAfterFinished?: number;
  suspend?: boolean;
  completionMode?: 'NonIndexed' | 'Indexed';
  selector?: LabelSelector;
  template: PodTemplate;
  [field: string]: unknown;
}

export interface JobStatus {
  active?: number;
  ready?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  completedIndexes?: string;
  startTime?: string;
  completionTime?: string;
  conditions?: LooseCondition[];
  [field: string]: unknown;
}

export interface Job extends KubeObject {
  spec: JobSpec;
  status?: JobStatus;
}

export interface CronJob extends KubeObject {
  spec: {
    schedule: string;
    timeZone?: string;
    suspend?: boolean;
    startingDeadlineSeconds?: number;
    concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
      spec: JobSpec;
    };
  };
  status?: {
    active?: unknown[];
    lastScheduleTime?: string;
    lastSuccessfulTime?: string;
  };
}

export interface ServicePort {
  name?: string;
  port: number;
  protocol?: string;
  appProtocol?: string;
  targetPort?: IntOrString;
}

export interface Service extends KubeObject {
  spec: {
    type?: string;
    selector?: Record<string, string>;
    ports?: ServicePort[];
    clusterIP?: string;
    publishNotReadyAddresses?: boolean;
    [field: string]: unknown;
  };
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string; ipMode?: string }[] } };
}

export interface DisruptionBudget extends KubeObject {
  spec: { selector?: LabelSelector; minAvailable?: IntOrString; maxUnavailable?: IntOrString };
  status?: {
    disruptedPods?: Record<string, string>;
    conditions?: LooseCondition[];
    [field: string]: unknown;
  };
}

/** A resource with the view of its objects. */
export type Typed<T extends KubeObject> = ResourceId & { readonly view?: T };
