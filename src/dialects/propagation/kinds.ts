import { applyStrategySchema } from '../../engine/dispatch/strategy-schema.ts';
import type { CustomKind, PrinterColumn } from '../../kube/custom-resource.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import {
  anything,
  conditionsSchema,
  flag,
  integer,
  intOrString,
  labelSelectorSchema,
  list,
  mapOf,
  oneOf,
  record,
  text,
} from '../../schema/schema-of.ts';
import { clusterNames, clusterSelector, dependenciesSchema, placementSchema } from './placement-schema.ts';
import { revisionsSchema, rolloutSchema, rolloutStatusSchema } from './rollout-schema.ts';
import { steeringSchema } from './steering.ts';

const selectorFields = {
  apiVersion: text('For example apps/v1.', { minLength: 1 }),
  kind: text('For example Deployment.', { minLength: 1 }),
  name: text('One object. All of the kind where neither name nor labelSelector is given.'),
  labelSelector: { ...labelSelectorSchema, description: 'Objects by their labels.' },
  expression: text('CEL over `object`, which must be true.', { minLength: 1, maxLength: 4096 }),
};

const replicas = record(
  {
    strategy: oneOf(
      ['Duplicated', 'Balanced', 'StaticWeight', 'DynamicWeight', 'Aggregated', 'Planner', 'Whole'],
      'Balanced: the minimum of each cluster, then by weight, up to its maximum; scaling up never takes a replica away. DynamicWeight: by the room that each has. Aggregated: into as few clusters as have the room.',
      { default: 'Balanced' },
    ),
    preferences: list(
      record({
        clusterNames,
        clusterSelector,
        weight: integer('1 by default; with 0 a cluster gets its minimum only.', { minimum: 0 }),
        minReplicas: integer(undefined, { minimum: 0 }),
        maxReplicas: integer(undefined, { minimum: 0 }),
        tier: integer('Clusters of a tier are filled before those of the next.', { minimum: 0 }),
      }),
      'The first that means a cluster holds for it. A cluster that none means gets no replicas.',
      { maxItems: 256 },
    ),
    rebalance: flag('Planner only: move what runs already.'),
    replicasPath: text('Where replicas are in kinds that are not known: spec.size.'),
    components: list(
      record(
        {
          replicasPath: text('Such as spec.taskManager.replicas.', { minLength: 1, maxLength: 512 }),
          templatePath: text('Of its pods: spec.taskManager.podTemplate.', { minLength: 1, maxLength: 512 }),
        },
        undefined,
        { required: ['replicasPath', 'templatePath'] },
      ),
      'Whole only: kinds whose pods come from several templates. All parts of all workloads fit in one cluster together, or go nowhere.',
      { maxItems: 16 },
    ),
  },
  'How replicas are divided among the chosen clusters. Without it every cluster gets all of them.',
);

const expression: OpenApiSchema = text(
  'CEL over `cluster` (name, labels, fields, properties, resources) that gives the value, instead of value. The cluster evaluates it anew when it changes.',
  { minLength: 1, maxLength: 4096 },
);

function words(description: string): OpenApiSchema {
  const fields = {
    container: text('Its name; every container where it is left out.'),
    remove: list(text(), 'Every word that is one of these goes.', { maxItems: 256 }),
    add: list(text(), 'Comes at the end.', { maxItems: 256 }),
  };
  return list(record(fields), description, { maxItems: 64 });
}

function entries(description: string): OpenApiSchema {
  const fields = {
    remove: list(text(), undefined, { maxItems: 256 }),
    replace: mapOf(text(), 'Only where the key is there.'),
    add: mapOf(text()),
  };
  return record(fields, description);
}

const override = record(
  {
    clusterNames,
    clusterSelector,
    target: record(
      { apiVersion: text(), kind: text(), name: text(), labelSelector: labelSelectorSchema },
      'Which of the selected objects; all where nothing is given.',
    ),
    name: text('For people: dispatches and plans say it beside what it changes.', { maxLength: 63 }),
    images: list(
      record(
        {
          name: text('Image repository to look for, without tag; * is every image.'),
          newName: text('Repository to use instead.'),
          newRegistry: text('Registry to use instead, or to put before; "" takes it off.'),
          newTag: text('Tag to use instead; "" takes it off.'),
          digest: text('Digest to use instead of a tag.'),
        },
        undefined,
        { required: ['name'] },
      ),
      'Images to replace in every container.',
      { maxItems: 64 },
    ),
    command: words('Changes of the command of containers.'),
    args: words('Changes of the arguments of containers.'),
    labels: entries('Changes of the labels of the objects.'),
    annotations: entries('Changes of the annotations of the objects.'),
    patch: list(
      record(
        {
          op: oneOf(
            ['add', 'remove', 'replace', 'move', 'copy', 'test', 'edit'],
            'edit changes the document that the string at path holds.',
          ),
          path: text(),
          from: text(),
          value: anything(),
          expression,
          format: oneOf(['json', 'yaml'], 'Of edit: how the string is to be read; yaml by default.'),
          operations: list(
            record(
              {
                op: oneOf(['add', 'remove', 'replace', 'test']),
                path: text('In the document inside.'),
                value: anything(),
                expression,
              },
              undefined,
              { required: ['op', 'path'] },
            ),
            'Of edit: what to change in the document.',
            { maxItems: 256 },
          ),
        },
        undefined,
        { required: ['op', 'path'] },
      ),
      'JSON patch (RFC 6902), applied after the rest of the override.',
    ),
  },
  'A change of selected objects on some clusters; on all where no cluster is named.',
);

function spec(selector: OpenApiSchema): OpenApiSchema {
  return record(
    {
      author: record(
        {
          username: text(undefined, { maxLength: 1024 }),
          groups: list(text(undefined, { maxLength: 1024 }), undefined, { maxItems: 4096 }),
        },
        'Who wrote this last: with their rights it is carried out. The API server writes it; nobody can write somebody else.',
      ),
      resourceSelectors: list(
        selector,
        'What to propagate. Live: objects that begin to match are propagated at once.',
        { minItems: 1, maxItems: 256 },
      ),
      placement: placementSchema,
      dependencies: dependenciesSchema,
      replicas,
      overrides: list(override, 'Differences between clusters, applied in order.', { maxItems: 256 }),
      apply: applyStrategySchema,
      rollout: rolloutSchema,
      revisionHistoryLimit: integer(
        'How many contents are kept to go back to: 10 by default where there is a rollout, none otherwise.',
        { minimum: 1, maximum: 100 },
      ),
      ...steeringSchema,
      returnStatus: oneOf(
        ['None', 'Aggregate', 'Raw'],
        'What comes back of the status of the objects. Aggregate (the default): what makes one status of it at the objects here. Raw: the status of every object as it is, in the dispatch on each cluster. None: nothing.',
      ),
      suspend: flag('Hold all changes back. What is on the spokes stays and is kept as it is.'),
      deletionBudget: intOrString(
        'How many objects one change may take away from a cluster by no longer selecting them: a number or a percentage. 50% by default. Deleting an object is an order of its own and not counted.',
      ),
      clusterBudget: intOrString(
        'How many of its clusters may be left at once by no longer being chosen: a number or a percentage. Where more would be, what is there stays on all of them until this allows it. Without it there is no bound. Deleting the intent, or a cluster that is detached, is an order of its own and not counted.',
      ),
    },
    'What goes where.',
    { required: ['resourceSelectors', 'placement'] },
  );
}

const status = record({
  observedGeneration: integer(undefined, { format: 'int64' }),
  clusters: integer('Clusters chosen.'),
  ready: integer('Clusters on which the newest revision is applied and healthy, as seen now.'),
  stale: integer('Clusters whose state is not known now.'),
  freshness: record(
    {
      ready: integer(),
      notReady: integer('Seen now, and not ready.'),
      unknown: integer('Not seen now, whatever they were before.'),
      oldestObservedAt: text('Until when the one was seen that has been out of sight for longest.', {
        format: 'date-time',
      }),
      source: text('Where the facts come from.'),
    },
    'How much of this status is known now.',
  ),
  objects: integer('Objects selected.'),
  revision: text('Digest of the selected content.'),
  replicas: anything('How many replicas each cluster has of each object, where they are divided.'),
  decision: {
    ...anything('Where it is placed and why not elsewhere: what the next decision starts from.'),
    type: 'object',
  },
  dispatchGeneration: integer('Raised with every change of content or placement.', { format: 'int64' }),
  dispatchDigest: text('Digest of what that generation stands for.'),
  dispatchHistory: list(text(), 'generation:digest of the generations before, newest first.'),
  dispatchedTo: list(text(), 'Clusters that were told of it and were not told to forget it.'),
  failover: {
    ...anything('What of it moves, or has moved, to other clusters by itself, and what happened last.'),
    type: 'object',
  },
  lost: list(record({ object: text(), winner: text() }), 'Selected objects that another Propagation has.'),
  activation: { ...anything('Lazy activation: what is in force, and what waits.'), type: 'object' },
  scheduled: record(
    {
      schedulerName: text(undefined, { maxLength: 253 }),
      clusterNames: list(text(undefined, { maxLength: 253 }), undefined, { maxItems: 10_000 }),
    },
    'Where the scheduler wants it that spec.placement.schedulerName names. Written by that scheduler.',
    { required: ['schedulerName', 'clusterNames'] },
  ),
  rollout: rolloutStatusSchema,
  revisions: revisionsSchema,
  notReady: list(
    record({ cluster: text(), state: text(), reason: text(), message: text() }),
    'Clusters that are not ready, 50 at most.',
  ),
  conditions: conditionsSchema,
});

const columns: readonly PrinterColumn[] = [
  { name: 'Clusters', type: 'integer', jsonPath: '.status.clusters' },
  { name: 'Ready', type: 'integer', jsonPath: '.status.ready' },
  { name: 'Stale', type: 'integer', jsonPath: '.status.stale' },
  { name: 'Objects', type: 'integer', jsonPath: '.status.objects', priority: 1 },
  { name: 'Revision', type: 'string', jsonPath: '.status.revision', priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

/** Objects of its own namespace, on chosen clusters. */
export const PROPAGATION: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'Propagation',
  plural: 'propagations',
  shortNames: ['prop'],
  categories: ['atoll'],
  scope: 'Namespaced',
  description: 'Puts objects of its namespace on clusters and keeps them there.',
  spec: spec(record(selectorFields, undefined, { required: ['apiVersion', 'kind'] })),
  status,
  columns,
};

/** Cluster-scoped objects, and objects of any namespace, on chosen clusters. */
export const CLUSTER_PROPAGATION: CustomKind = {
  ...PROPAGATION,
  kind: 'ClusterPropagation',
  plural: 'clusterpropagations',
  shortNames: ['cprop'],
  scope: 'Cluster',
  description: 'Puts cluster-scoped objects, or objects of any namespace, on clusters and keeps them there.',
  spec: spec(
    record(
      {
        ...selectorFields,
        namespace: text('Only objects of this namespace.'),
        namespaceSelector: {
          ...labelSelectorSchema,
          description:
            'Only objects of namespaces with these labels. {} means any, and objects without a namespace.',
        },
      },
      undefined,
      { required: ['apiVersion', 'kind'] },
    ),
  ),
};
