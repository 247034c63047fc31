import { NOT_READY_TAINT, UNREACHABLE_TAINT } from '../../engine/failover/index.ts';
import type { ClusterMatch, Placement } from '../../engine/intent.ts';
import type { FederatedPlacement } from './types.ts';

const NOWHERE: ClusterMatch = { clusterNames: [] };

/** Namespaces that belong to each cluster: nothing in them is federated. */
const SYSTEM_NAMESPACES = new Set(['kube-system', 'kube-public', 'default']);

/** Clusters that a federated placement means: names win over a selector, nothing given means nowhere. */
export function clusterMatchOf(placement: FederatedPlacement | undefined): ClusterMatch {
  if (placement?.clusters) return { clusterNames: [...new Set(placement.clusters.map(({ name }) => name))] };
  if (placement?.clusterSelector) return { clusterSelector: placement.clusterSelector };
  return NOWHERE;
}

/**
 * The placement of a federated object, within that of its namespace where one counts. A cluster that is away stays placed, as
 * users of KubeFed know it.
 */
export function placementOf(own: ClusterMatch, namespace?: ClusterMatch): Placement {
  return {
    ...own,
    ...(namespace === undefined ? {} : { anyOf: [namespace] }),
    tolerations: [UNREACHABLE_TAINT, NOT_READY_TAINT].map((key) => ({ key, operator: 'Exists' })),
  };
}

/** Why nothing of a namespace is federated; `undefined` where it may be. */
export function namespaceProblem(namespace: string, controlPlane: string): string | undefined {
  if (SYSTEM_NAMESPACES.has(namespace)) return `namespace ${namespace} belongs to each cluster`;
  return namespace === controlPlane ? `namespace ${namespace} is that of the control plane` : undefined;
}
