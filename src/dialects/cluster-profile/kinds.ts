import type { CustomKind } from '../../kube/custom-resource.ts';
import { conditionsSchema, list, record, text } from '../../schema/schema-of.ts';

/** Whoever made a profile; each maker touches its own only. */
export const MANAGER_LABEL = 'x-k8s.io/cluster-manager';
export const PROFILE_MANAGER = 'atoll';

/** Served by whoever wants it: a hub mirrors its inventory where it finds this kind. */
export const CLUSTER_PROFILE: CustomKind = {
  group: 'multicluster.x-k8s.io',
  version: 'v1alpha1',
  kind: 'ClusterProfile',
  plural: 'clusterprofiles',
  scope: 'Namespaced',
  annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements/pull/4322' },
  description: 'A cluster of an inventory, for tools that work with more than one.',
  spec: record(
    {
      displayName: text('For people.'),
      clusterManager: record({ name: text('Who keeps this object.') }, undefined, { required: ['name'] }),
    },
    undefined,
    { required: ['clusterManager'] },
  ),
  status: record({
    conditions: conditionsSchema,
    version: record({ kubernetes: text() }),
    properties: list(
      record({ name: text(), value: text() }, undefined, { required: ['name', 'value'] }),
      'What the cluster says of itself.',
    ),
  }),
  columns: [
    { name: 'Version', type: 'string', jsonPath: '.status.version.kubernetes' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
