import type { CustomKind } from '../../kube/custom-resource.ts';
import { flag, integer, mapOf, record, text } from '../../schema/schema-of.ts';

/** Divides the replicas of the federated object of the same name. */
export const REPLICA_SCHEDULING_PREFERENCE: CustomKind = {
  group: 'scheduling.kubefed.io',
  version: 'v1alpha1',
  kind: 'ReplicaSchedulingPreference',
  plural: 'replicaschedulingpreferences',
  shortNames: ['rsp'],
  scope: 'Namespaced',
  required: ['spec'],
  description: 'How many replicas of the federated object with the same name each ready cluster gets.',
  spec: record(
    {
      targetKind: text('FederatedDeployment, FederatedReplicaSet, or another federated kind with replicas.'),
      totalReplicas: integer('How many there are in all.', { format: 'int32' }),
      rebalance: flag('Whether running replicas are moved to where the weights want them.'),
      intersectWithClusterSelector: flag(
        'Whether the placement of the target still holds; otherwise every ready cluster counts.',
      ),
      clusters: {
        ...mapOf(
          record({
            minReplicas: integer('0 by default.', { format: 'int64' }),
            maxReplicas: integer('No limit without it.', { format: 'int64' }),
            weight: integer('0 by default: nothing above the minimum.', { format: 'int64' }),
          }),
        ),
        description:
          'By cluster name; * means every cluster that is not named. Without any all weigh the same.',
      },
    },
    undefined,
    { required: ['targetKind', 'totalReplicas'] },
  ),
  status: record({}),
};
