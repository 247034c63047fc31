import type { ClusterMatch } from '../../engine/intent.ts';
import type { RolloutStrategy } from '../../engine/rollout/index.ts';
import type { ClusterWord } from '../../engine/summarise/summarise.ts';
import { type CustomKind, customResourceDefinition } from '../../kube/custom-resource.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import {
  conditionsSchema,
  flag,
  integer,
  intOrString,
  labelSelectorSchema,
  list,
  oneOf,
  record,
  text,
} from '../../schema/schema-of.ts';

/** Which clusters: both must hold where both are given, and neither means all. */
export type RolloutClusters = Pick<ClusterMatch, 'clusterNames' | 'clusterSelector'>;

/** Clusters that stay at a revision of their own. */
export interface RevisionPin extends RolloutClusters {
  readonly revision: number;
}

/** `atoll.dev/v1alpha1`: where and when the revisions of one graph arrive. Without one they arrive everywhere at once. */
export interface GraphRollout extends KubeObject {
  readonly spec: {
    /** Name of the ResourceGraphDefinition. */
    readonly graph: string;
    readonly clusters?: RolloutClusters;
    /** The newest where nothing is said. */
    readonly revision?: number;
    readonly pins?: readonly RevisionPin[];
    readonly strategy?: RolloutStrategy;
  };
  readonly status?: GraphRolloutStatus;
}

/** What is known of a graph on one cluster. */
export interface GraphOnCluster {
  cluster: string;
  /** The one that it is to have. */
  wanted: number;
  /** The one that serves instances there, as the cluster says. */
  revision?: number;
  /** `Incompatible`: the cluster lacks what the graph is made of. */
  state: ClusterWord | 'Incompatible';
  instances?: number;
  active?: number;
  message?: string;
}

export interface GraphRolloutStatus {
  observedGeneration?: number;
  clusters?: GraphOnCluster[];
  conditions?: Condition[];
}

const name = text(undefined, { minLength: 1, maxLength: 253 });
const whichClusters: Readonly<Record<string, OpenApiSchema>> = {
  clusterNames: list(name, 'Clusters by name.', { maxItems: 10_000 }),
  clusterSelector: { ...labelSelectorSchema, description: 'Clusters by their labels.' },
};
const seconds = (description: string): OpenApiSchema => integer(description, { minimum: 0 });
const limits: Readonly<Record<string, OpenApiSchema>> = {
  maxConcurrency: intOrString('Clusters that are changed at a time: a number, or a percentage of all.'),
  maxUnavailable: intOrString('Clusters that may be not known to be ready at a time.'),
  maxFailures: intOrString('Clusters that may fail before it stops. 0 by default.'),
};

const strategy = record(
  {
    ...limits,
    stages: list(
      record(
        {
          ...whichClusters,
          ...limits,
          name,
          size: intOrString('At most so many.'),
          batch: record({ size: integer(undefined, { minimum: 1 }), intervalSeconds: seconds('') }),
          soakSeconds: seconds('All of its clusters are ready for so long before the next one begins.'),
          gates: list(
            record({ expression: text(), message: text() }, undefined, { required: ['expression'] }),
            'CEL over fleet, stage, stages and clusters; all are true before it begins.',
            { maxItems: 32 },
          ),
          approval: record(
            {
              users: list(text()),
              groups: list(text()),
              timeoutSeconds: seconds('Without an answer after so long it has failed.'),
              autoApproveAfterSeconds: seconds('Without an answer after so long it begins.'),
            },
            'Somebody agrees before it begins.',
          ),
        },
        undefined,
        { required: ['name'] },
      ),
      'In order. Clusters that none means come last.',
      { maxItems: 64 },
    ),
    paused: flag('Begin nothing new.'),
    readySeconds: seconds('A cluster is done after being ready for so long.'),
    timeoutSeconds: integer('A cluster that is not ready after so long has failed.', { minimum: 1 }),
    degradedSeconds: seconds('A cluster that is degraded for so long has failed. 60 by default.'),
    unreachable: oneOf(['Wait', 'Skip'], 'What to do about clusters that nothing is known of.'),
    rollback: record(
      { automatic: flag('When a cluster fails.'), scope: oneOf(['Cluster', 'Stage', 'Fleet']) },
      'Going back by itself.',
    ),
  },
  'When each cluster gets a new revision; all at once where nothing is said.',
);

export const GRAPH_ROLLOUT: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'RGDRollout',
  plural: 'rgdrollouts',
  categories: ['atoll'],
  scope: 'Cluster',
  description:
    'Says where, when and in which revision a ResourceGraphDefinition of the hub is on its clusters.',
  spec: record(
    {
      graph: text('Name of the ResourceGraphDefinition.', { minLength: 1, maxLength: 253 }),
      clusters: record(whichClusters, 'Where at all; all clusters where nothing is said.'),
      revision: integer('Number of the revision; the newest where nothing is said.', { minimum: 1 }),
      pins: list(
        record(
          { ...whichClusters, revision: integer('Number of the revision.', { minimum: 1 }) },
          undefined,
          {
            required: ['revision'],
          },
        ),
        'Clusters that stay at another revision. The first that means a cluster holds for it.',
        { maxItems: 256 },
      ),
      strategy,
    },
    undefined,
    { required: ['graph'] },
  ),
  status: record({
    observedGeneration: integer(undefined, { format: 'int64' }),
    clusters: list(
      record({
        cluster: text(),
        wanted: integer('The revision that it is to have.', { format: 'int64' }),
        revision: integer('The one that serves instances, as the cluster says.', { format: 'int64' }),
        state: text('Ready, Progressing, Degraded, Incompatible, Waiting or Stale.'),
        instances: integer(),
        active: integer(),
        message: text(),
      }),
      'What is known of it on each cluster.',
    ),
    conditions: conditionsSchema,
  }),
  columns: [
    { name: 'Graph', type: 'string', jsonPath: '.spec.graph' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.status!="True")].message',
      priority: 1,
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export function graphRolloutDefinition(): KubeObject {
  return customResourceDefinition(GRAPH_ROLLOUT);
}

/** The one that counts where several name the same graph: the oldest. */
export function rolloutOf(graph: string, rollouts: readonly GraphRollout[]): GraphRollout | undefined {
  return rollouts
    .filter(({ spec, metadata }) => spec.graph === graph && metadata.deletionTimestamp === undefined)
    .toSorted((a, b) => orderOf(a).localeCompare(orderOf(b), 'en'))[0];
}

function orderOf({ metadata: { creationTimestamp = '', name: called = '' } }: KubeObject): string {
  return `${creationTimestamp} ${called}`;
}

/** Revisions that clusters are held at, which so are still needed. */
export function revisionsInUse(graph: string, rollouts: readonly GraphRollout[]): readonly number[] {
  return rollouts
    .filter(({ spec }) => spec.graph === graph)
    .flatMap(({ spec }) => [
      ...(spec.revision === undefined ? [] : [spec.revision]),
      ...(spec.pins ?? []).map(({ revision }) => revision),
    ]);
}
