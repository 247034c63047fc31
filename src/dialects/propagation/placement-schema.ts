import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { flag, integer, labelSelectorSchema, list, oneOf, record, text } from '../../schema/schema-of.ts';

export const clusterNames: OpenApiSchema = list(text(), 'Clusters by name.', { maxItems: 10_000 });
export const clusterSelector: OpenApiSchema = {
  ...labelSelectorSchema,
  description: 'Clusters by the labels of their SpokeCluster. {} selects all.',
};

/** Clusters that are meant: the fields that every way of naming clusters has. */
export const clusterMatch: Record<string, OpenApiSchema> = {
  clusterNames,
  clusterSelector,
  clusterFields: list(
    record(
      {
        key: text('provider, region, zone, version, platform.', { minLength: 1 }),
        operator: oneOf(
          ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'InRange', 'NotInRange'],
          'InRange reads its values as ranges of versions.',
        ),
        values: list(text(undefined, { maxLength: 256 }), 'For InRange such as ">=1.30 <1.33" or "~1.31".', {
          maxItems: 256,
        }),
      },
      undefined,
      { required: ['key', 'operator'] },
    ),
    'Clusters by what is known of them.',
    { maxItems: 32 },
  ),
  clusterExpressions: list(
    text(undefined, { minLength: 1, maxLength: 4096 }),
    'CEL over `cluster` (name, labels, fields, properties, taints, resources, scores). Each must be true.',
    { maxItems: 16 },
  ),
};

const affinity: Record<string, OpenApiSchema> = {
  ...clusterMatch,
  exclude: list(record(clusterMatch), 'Clusters that are out, whatever else holds.', { maxItems: 32 }),
};

/** Clusters that are meant, without those that are not. */
export const affinitySchema: OpenApiSchema = record(affinity, 'Which clusters. All that is given must hold.');

const overflow = list(
  record(affinity),
  'More clusters, tier by tier, for what those above cannot take. Left again when those above suffice.',
  { maxItems: 8 },
);

const tolerations = list(
  record({
    key: text('Every key where it is left out; the operator is Exists then.'),
    operator: oneOf(['Equal', 'Exists'], 'Equal by default.'),
    value: text(),
    effect: oneOf(
      ['NoSelect', 'NoSelectIfNew', 'PreferNoSelect', 'NoExecute', 'NoSchedule', 'PreferNoSchedule'],
      'Every effect where it is left out.',
    ),
    tolerationSeconds: integer(
      'How long after the taint was added what is placed stays. Nothing new is placed meanwhile.',
      { format: 'int64' },
    ),
  }),
  'Taints of clusters that do not matter.',
  { maxItems: 64 },
);

const spread = list(
  record({
    field: text('cluster, region, zone, provider or another field.'),
    label: text('A label of the SpokeCluster, instead of a field.'),
    minGroups: integer('Fewer groups than this place nothing new. 1 by default.', { minimum: 0 }),
    maxGroups: integer('At most so many groups are used. No limit where it is 0 or left out.', {
      minimum: 0,
    }),
    maxSkew: integer('By how many clusters groups may differ. No limit where it is 0 or left out.', {
      minimum: 0,
    }),
    whenUnsatisfiable: oneOf(
      ['DoNotSchedule', 'ScheduleAnyway'],
      'Whether it is a rule (the default) or a wish.',
    ),
  }),
  'How the clusters are spread over groups of them.',
  { maxItems: 8 },
);

const scores = list(
  record(
    {
      type: oneOf(
        ['Affinity', 'Balance', 'Steady', 'Property', 'Resource', 'Expression'],
        'Affinity: the clusters that are named here. Balance: with fewer intents. Steady: where it is placed. Property, Resource: by amount. Expression: CEL that gives a number.',
      ),
      weight: integer('1 by default; negative to avoid.', { minimum: -100, maximum: 100 }),
      ...clusterMatch,
      name: text('The property or the resource.'),
      order: oneOf(['Ascending', 'Descending'], 'Which end is better; Descending, the larger, by default.'),
      expression: text('CEL over `cluster` that gives a number from -100 to 100.', { maxLength: 4096 }),
    },
    undefined,
    { required: ['type'] },
  ),
  'Which clusters are better, where not all are taken. Balance by default. With Steady among them what is placed may move to a better cluster; otherwise it stays while it fits.',
  { maxItems: 16 },
);

export const placementSchema: OpenApiSchema = record(
  {
    ...affinity,
    anyOf: list(record(clusterMatch), 'One of these must hold, beside what else is given.', { maxItems: 32 }),
    groups: list(
      record({ name: text(undefined, { minLength: 1, maxLength: 63 }), ...affinity, overflow }, undefined, {
        required: ['name'],
      }),
      'Groups of clusters in order. The first that gives all that is asked for is used.',
      { maxItems: 32 },
    ),
    failBack: oneOf(
      ['Automatic', 'Never'],
      'Whether a better group is gone back to when it can be used again. Automatic by default.',
    ),
    failBackAfterSeconds: integer('How long it must have been usable before. 600 by default.', {
      minimum: 0,
    }),
    overflow,
    tolerations,
    spread,
    numberOfClusters: integer('How many of the clusters that fit; all where it is left out.', { minimum: 1 }),
    scores,
    affinityByLabel: text(
      'Goes to clusters where other workloads are whose objects have the same value of this label.',
      { minLength: 1, maxLength: 317 },
    ),
    antiAffinityByLabel: text(
      'Keeps away from clusters where other workloads are whose objects have the same value of this label.',
      { minLength: 1, maxLength: 317 },
    ),
    retireAfterSeconds: integer(
      'Copies on clusters that are no longer chosen stay until all chosen ones have been Ready with the newest content for so long, without a break. They go at once where it is left out.',
      { minimum: 0 },
    ),
    schedulerName: text(
      'Who decides where; atoll where it is left out. Another scheduler writes its choice to status.scheduled, and until then it stays where it is. Policies of the hub hold for both.',
      { minLength: 1, maxLength: 253 },
    ),
    requireApis: flag(
      'Only clusters that serve all kinds of what is placed. Otherwise one that lacks a kind gets the rest, and tells what it could not take. What is placed stays.',
    ),
  },
  'Where to. All that is given must hold; nothing given selects nothing.',
);

export const dependenciesSchema: OpenApiSchema = record(
  {
    references: flag('ConfigMaps, Secrets, ServiceAccounts and volume claims that workloads name.'),
    backends: flag('Services that Ingresses and routes lead to.'),
    definitions: flag('Definitions of custom kinds. A ClusterPropagation only.'),
    namespaces: flag('Namespaces, with their labels and annotations. A ClusterPropagation only.'),
  },
  'What comes along with the selected objects. A Propagation brings along objects of its own namespace only.',
);
