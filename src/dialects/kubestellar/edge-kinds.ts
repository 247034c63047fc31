import type { AnyCustomKind, CustomKind } from '../../kube/custom-resource.ts';
import { anything, flag, integer, list, mapOf, record, text } from '../../schema/schema-of.ts';
import { checkedSelector, objectTestFields, tellsApart } from './kinds.ts';

export const EDGE_GROUP = 'edge.kubestellar.io';
const version = 'v2alpha1';

export const EDGE_PLACEMENT: CustomKind = {
  group: EDGE_GROUP,
  version,
  kind: 'EdgePlacement',
  plural: 'edgeplacements',
  shortNames: ['epl'],
  scope: 'Cluster',
  description: 'Which objects of the hub go to which locations.',
  spec: record({
    locationSelectors: list(
      checkedSelector,
      'By labels of Locations; one that passes any of them is meant.',
      { maxItems: 100 },
    ),
    downsync: list(
      record(objectTestFields('labelSelectors'), undefined, tellsApart('labelSelectors')),
      'An object that passes any of them goes there.',
      { maxItems: 100 },
    ),
    wantSingletonReportedState: flag('Copy the status of the one copy of each object to it.'),
    upsync: list({ ...anything('Kept as it is; nothing is done about it.'), type: 'object' }),
  }),
  status: record({
    specGeneration: integer('Of the spec that the rest is about; 0 before the first look.', {
      format: 'int32',
    }),
    matchingLocationCount: integer(undefined, { format: 'int32' }),
  }),
  columns: [
    { name: 'Locations', type: 'integer', jsonPath: '.status.matchingLocationCount' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export const LOCATION: CustomKind = {
  group: EDGE_GROUP,
  version,
  kind: 'Location',
  plural: 'locations',
  scope: 'Cluster',
  description: 'SyncTargets that are meant together; its labels are what placements select by.',
  spec: record({
    resource: record({ group: text(), version: text(), resource: text() }),
    description: text(),
    availableSelectorLabels: list(record({ key: text(), values: list(text()), description: text() })),
    instanceSelector: { ...checkedSelector, description: 'By labels of SyncTargets.' },
  }),
  status: record({
    instances: integer('SyncTargets that it selects.', { format: 'int32' }),
    availableInstances: integer('Those of them that are clusters of the fleet.', { format: 'int32' }),
  }),
  columns: [
    { name: 'Instances', type: 'integer', jsonPath: '.status.instances' },
    { name: 'Available', type: 'integer', jsonPath: '.status.availableInstances' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export const SYNC_TARGET: CustomKind = {
  group: EDGE_GROUP,
  version,
  kind: 'SyncTarget',
  plural: 'synctargets',
  scope: 'Cluster',
  description: 'A cluster: the SpokeCluster of the same name.',
  spec: record({
    unschedulable: flag(),
    evictAfter: text(undefined, { format: 'date-time' }),
    supportedAPIExports: list({ ...anything(), type: 'object' }),
    cells: mapOf(text()),
  }),
  status: { ...anything(), type: 'object' },
  columns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
};

export const SINGLE_PLACEMENT_SLICE: AnyCustomKind = {
  group: EDGE_GROUP,
  version,
  kind: 'SinglePlacementSlice',
  plural: 'singleplacementslices',
  shortNames: ['sps'],
  scope: 'Cluster',
  description: 'The destinations of the EdgePlacement of the same name.',
  fields: {
    destinations: list(
      record({ cluster: text(), locationName: text(), syncTargetName: text(), syncTargetUID: text() }),
    ),
  },
  columns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
};

/** The kinds of the API before: placements by locations. */
export const EDGE_KINDS: readonly AnyCustomKind[] = [
  EDGE_PLACEMENT,
  LOCATION,
  SYNC_TARGET,
  SINGLE_PLACEMENT_SLICE,
];
