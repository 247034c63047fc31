import { setCondition } from '../../kube/conditions.ts';
import type { Condition } from '../../kube/object.ts';
import { type DistributionFindings, distributionCondition, named } from './distribution-report.ts';
import type { GraphRollout, GraphRolloutStatus, RolloutClusters } from './rollout.ts';

/** What became of a rollout. */
export interface RolloutFindings {
  /** What became of its graph; `undefined` where the hub has none of that name. */
  readonly graph:
    | {
        readonly found: DistributionFindings;
        /** The rollout that counts, where that is another one. */
        readonly inForce?: string | undefined;
      }
    | undefined;
  /** Clusters that it names and nobody knows, with the fields that name them. */
  readonly unknown: readonly NamedCluster[];
}

export interface NamedCluster {
  readonly field: string;
  readonly name: string;
}

type Said = Pick<Condition, 'status' | 'reason' | 'message'>;

const READY = 'Ready';
const PLACED = 'Placed';

/** All clusters that a rollout names, each once. */
export function clustersNamedBy({ spec }: GraphRollout): readonly NamedCluster[] {
  const said: readonly [string, RolloutClusters | undefined][] = [
    ['spec.clusters', spec.clusters],
    ...(spec.pins ?? []).map((pin, index): [string, RolloutClusters] => [`spec.pins[${index}]`, pin]),
    ...(spec.strategy?.stages ?? []).map((stage): [string, RolloutClusters] => [
      `stage ${stage.name}`,
      stage,
    ]),
  ];
  const fields = new Map<string, string>();
  for (const [field, clusters] of said)
    for (const name of clusters?.clusterNames ?? []) if (!fields.has(name)) fields.set(name, field);
  return [...fields].map(([name, field]) => ({ field, name }));
}

/** `Ready`: whether the graph is as it says; `Placed`, where it names clusters: whether there are such. */
export function rolloutStatus(
  rollout: GraphRollout,
  { graph, unknown }: RolloutFindings,
  now: number,
): GraphRolloutStatus {
  const { generation: observedGeneration = 0 } = rollout.metadata;
  const placed = placedOf(rollout, unknown);
  const before = (rollout.status?.conditions ?? []).filter(({ type }) => placed || type !== PLACED);
  let { conditions } = setCondition(
    before,
    { ...readyOf(rollout, graph), type: READY, observedGeneration },
    now,
  );
  if (placed)
    conditions = setCondition(conditions, { type: PLACED, ...placed, observedGeneration }, now).conditions;
  const rows = graph?.inForce === undefined ? (graph?.found.rows ?? []) : [];
  return { observedGeneration, clusters: [...rows], conditions };
}

function readyOf({ metadata, spec }: GraphRollout, graph: RolloutFindings['graph']): Said {
  if (!graph)
    return {
      status: 'False',
      reason: 'GraphNotFound',
      message: `the hub has no ResourceGraphDefinition ${spec.graph}: apply it, or correct spec.graph; next: kubectl get rgd`,
    };
  if (graph.inForce !== undefined)
    return {
      status: 'False',
      reason: 'NotInForce',
      message: `the RGDRollout ${graph.inForce} is about the same graph and older; next: kubectl delete rgdrollout ${metadata.name ?? ''}`,
    };
  return (
    distributionCondition(graph.found) ?? {
      status: 'Unknown',
      reason: 'NoClusters',
      message: 'no cluster is to have it; next: kubectl get spokeclusters -A --show-labels',
    }
  );
}

function placedOf(rollout: GraphRollout, unknown: readonly NamedCluster[]): Said | undefined {
  if (clustersNamedBy(rollout).length === 0) return undefined;
  if (unknown.length === 0)
    return { status: 'True', reason: 'Placed', message: 'all clusters that it names are there' };
  const names = named(unknown.map(({ name, field }) => `${name} (${field})`));
  return {
    status: 'False',
    reason: 'UnknownCluster',
    message: `no cluster is named ${names}; next: kubectl get spokeclusters -A`,
  };
}
