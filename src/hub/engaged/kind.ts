import type { GraphOnEngaged } from '../../dialects/kro/index.ts';
import { digestOf, shortDigest } from '../../engine/digest.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import type { CustomKind } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { integer, list, oneOf, record, text } from '../../schema/schema-of.ts';

export const ENGAGED_STATES = [
  /** Its worker is about to begin. */
  'Engaging',
  'Ready',
  /** It does not answer; it is asked again. */
  'Unreachable',
  /** Its credential is none, or may not be used. */
  'Refused',
  /** An engine of its own runs there. */
  'EnginePresent',
  /** The same cluster is engaged under another name. Nothing is touched by this one. */
  'AlreadyEngaged',
  /** No provider tells of it any longer. What is there was left as it is. */
  'Disengaged',
] as const;

export type EngagedState = (typeof ENGAGED_STATES)[number];

export interface EngagedGraph {
  readonly name: string;
  readonly state: GraphOnEngaged['state'] | 'Engaging';
  readonly revision?: number;
  readonly instances?: number;
  readonly active?: number;
  readonly message?: string;
}

export interface EngagedStatus {
  readonly state: EngagedState;
  readonly message?: string;
  /** RFC 3339: since when it is in this state. */
  readonly since: string;
  /** Who works on it. */
  readonly worker?: string;
  /** The same for the same cluster, whatever it is called: the UID of its namespace kube-system. Of one name at a time. */
  readonly id?: string;
  readonly graphs?: readonly EngagedGraph[];
}

/** A cluster without an engine whose graphs the hub runs, as the hub sees it. */
export interface EngagedCluster extends KubeObject {
  readonly spec: { readonly cluster: string; readonly provider: string };
  readonly status?: EngagedStatus;
}

/** Written by the hub only. */
export const ENGAGED_CLUSTER: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'EngagedCluster',
  plural: 'engagedclusters',
  categories: ['atoll'],
  scope: 'Cluster',
  description:
    'A cluster without an engine whose graphs the hub runs. Written by the hub; nothing is asked of it.',
  spec: record(
    {
      cluster: text('Its name, as its provider tells it.'),
      provider: text('Where its credential comes from.'),
    },
    undefined,
    { required: ['cluster', 'provider'] },
  ),
  status: record({
    state: oneOf([...ENGAGED_STATES]),
    message: text(),
    since: text('When that began.', { format: 'date-time' }),
    worker: text('The process that works on it.'),
    id: text('The same for the same cluster, whatever it is called: the uid of its namespace kube-system.'),
    graphs: list(
      record(
        {
          name: text(),
          state: text(),
          revision: integer(undefined, { format: 'int64' }),
          instances: integer(),
          active: integer('Instances that are ACTIVE.'),
          message: text(),
        },
        undefined,
        { required: ['name', 'state'] },
      ),
      'Definitions that the cluster has something of. They are not gone before it let go of them.',
    ),
  }),
  columns: [
    { name: 'Cluster', type: 'string', jsonPath: '.spec.cluster' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Worker', type: 'string', jsonPath: '.status.worker', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.status.message' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_OBJECT_NAME = 253;

/** What objects of the hub that stand for a cluster are called: as the cluster, where that can be the name of an object. */
export function objectNameOf(cluster: ClusterName): string {
  if (cluster.length <= MAX_OBJECT_NAME && OBJECT_NAME.test(cluster)) return cluster;
  const readable = cluster
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 200)
    .replace(/-+$/, '');
  return `${readable === '' ? 'cluster' : readable}-${shortDigest(digestOf(cluster))}`;
}
