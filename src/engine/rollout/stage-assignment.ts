import { scaledValue } from '../../schema/int-or-percent.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type { RolloutCluster, RolloutStage } from './strategy.ts';

/** The stage of clusters that no other stage means. */
export const REST_STAGE = 'rest';

/** The stages of a strategy with the one for clusters that are left over. */
export function allStages(stages: readonly RolloutStage[]): readonly RolloutStage[] {
  if (stages.some(isForAll)) return stages;
  const named = stages.some(({ name }) => name === REST_STAGE);
  return [...stages, { name: named ? `${REST_STAGE}-of-all` : REST_STAGE }];
}

/**
 * The stage of each cluster, by index: the first that means it and is not full. Clusters that have one already keep it, so that
 * who joins or leaves moves nobody else.
 */
export function assignStages(
  stages: readonly RolloutStage[],
  clusters: readonly RolloutCluster[],
  assigned: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const result = new Map<string, number>();
  const sizes = stages.map(() => 0);
  const put = (name: string, stage: number): void => {
    result.set(name, stage);
    sizes[stage] = (sizes[stage] ?? 0) + 1;
  };
  for (const { name } of clusters) {
    const stage = assigned.get(name);
    if (stage !== undefined) put(name, stage);
  }
  const tests = stages.map(testOf);
  for (const cluster of [...clusters].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (result.has(cluster.name)) continue;
    const at = stages.findIndex((stage, index) => {
      const full =
        stage.size !== undefined &&
        (sizes[index] ?? 0) >= (scaledValue(stage.size, clusters.length, 'up') ?? 0);
      return !full && cluster.skipStages?.includes(stage.name) !== true && tests[index]?.(cluster) === true;
    });
    put(cluster.name, at >= 0 ? at : stages.length - 1);
  }
  return result;
}

/** The members of a stage in the order in which they start: as the stage names them, or by name. */
export function startOrder(stage: RolloutStage, names: readonly string[]): readonly string[] {
  const rank = new Map((stage.clusterNames ?? []).map((name, index) => [name, index]));
  const last = rank.size;
  return [...names].sort((a, b) => (rank.get(a) ?? last) - (rank.get(b) ?? last) || (a < b ? -1 : 1));
}

function isForAll({ clusterNames, clusterSelector, size }: RolloutStage): boolean {
  return clusterNames === undefined && clusterSelector === undefined && size === undefined;
}

function testOf({ clusterNames, clusterSelector }: RolloutStage): (cluster: RolloutCluster) => boolean {
  const names = clusterNames && new Set(clusterNames);
  const selector = clusterSelector && selectorFromObject(clusterSelector).selector;
  return ({ name, labels }) =>
    (names === undefined || names.has(name)) && (selector === undefined || matchesSelector(selector, labels));
}

/** The stages through which a new content would go, with their clusters in the order in which they start; those without any left out. */
export function stagesAhead(
  stages: readonly RolloutStage[],
  clusters: readonly RolloutCluster[],
): readonly { readonly name: string; readonly clusters: readonly string[] }[] {
  const all = allStages(stages);
  const assigned = [...assignStages(all, clusters, new Map())];
  return all
    .map((stage, index) => ({
      name: stage.name,
      clusters: startOrder(
        stage,
        assigned.flatMap(([name, at]) => (at === index ? [name] : [])),
      ),
    }))
    .filter((stage) => stage.clusters.length > 0);
}
