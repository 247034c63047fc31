import { setCondition } from '../../kube/conditions.ts';
import { apiVersionOf } from '../../kube/custom-resource.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import { CLUSTER_PROFILE, MANAGER_LABEL, PROFILE_MANAGER } from './kinds.ts';

export interface ClusterProfileStatus {
  readonly conditions?: Condition[];
  readonly version?: { readonly kubernetes?: string };
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

export interface ClusterProfile extends KubeObject {
  readonly spec: { readonly displayName?: string; readonly clusterManager: { readonly name: string } };
  readonly status?: ClusterProfileStatus;
}

/** What of a cluster of the inventory is seen through a ClusterProfile. A SpokeCluster is one. */
export interface ProfiledCluster extends KubeObject {
  readonly status?: {
    readonly connection?: 'Connected' | 'Disconnected' | 'Unknown';
    readonly clusterInfo?: { readonly kubernetesVersion?: string };
    readonly properties?: Readonly<Record<string, string>>;
  };
}

const HEALTH = {
  Connected: { status: 'True', reason: 'Connected', message: 'the API server of the cluster answers' },
  Disconnected: { status: 'False', reason: 'Disconnected', message: 'the cluster cannot be reached' },
  Unknown: { status: 'Unknown', reason: 'Unknown', message: 'nothing is known of the cluster now' },
} as const;

/** How a cluster of the inventory looks as a ClusterProfile: same name, namespace and labels. `now` in milliseconds. */
export function clusterProfileOf(
  spoke: ProfiledCluster,
  previous: ClusterProfileStatus | undefined,
  now: number,
): ClusterProfile {
  const { name = '', namespace = '', labels, uid = '' } = spoke.metadata;
  const { connection = 'Unknown', clusterInfo, properties = {} } = spoke.status ?? {};
  const version = clusterInfo?.kubernetesVersion;
  const condition = { type: 'ControlPlaneHealthy', ...HEALTH[connection] };
  const { conditions } = setCondition(previous?.conditions ?? [], condition, now);
  return {
    apiVersion: apiVersionOf(CLUSTER_PROFILE),
    kind: CLUSTER_PROFILE.kind,
    metadata: {
      name,
      namespace,
      labels: { ...labels, [MANAGER_LABEL]: PROFILE_MANAGER },
      ownerReferences: [{ apiVersion: spoke.apiVersion, kind: spoke.kind, name, uid }],
    },
    spec: { displayName: name, clusterManager: { name: PROFILE_MANAGER } },
    status: {
      conditions: [...conditions],
      ...(version === undefined ? {} : { version: { kubernetes: version } }),
      properties: Object.entries(properties).map(([key, value]) => ({ name: key, value })),
    },
  };
}
