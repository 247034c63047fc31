import type { ClusterFacts } from '../../engine/intent.ts';
import { stagesAhead } from '../../engine/rollout/index.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Pair } from '../diff/report.ts';
import { nameOf } from '../fleet-reading.ts';

/**
 * When clusters that a plan touches would get what it says: the hub rolls new content out in stages. `tell` is called for the
 * clusters of each stage, in the order of stages. Content that is rolled out already is nobody's plan.
 */
export function tellStages(
  pairs: readonly Pair[],
  facts: readonly ClusterFacts[],
  touched: ReadonlySet<string>,
  tell: (cluster: string, message: string) => void,
): void {
  for (const { before, after } of pairs) {
    const rollout = after?.compiled.intent.rollout;
    if (!after || !rollout || after.compiled.intent.suspend) continue;
    const chosen = after.plan.decision.chosen;
    if (
      before &&
      before.plan.revision === after.plan.revision &&
      deepEqual(patchesOf(before), patchesOf(after))
    )
      continue;
    const clusters = facts
      .filter(({ name }) => chosen.includes(name))
      .map(({ name, labels }) => ({ name, labels }));
    const stages = stagesAhead(rollout.stages ?? [], clusters);
    for (const [index, stage] of stages.entries())
      for (const cluster of stage.clusters) {
        if (!touched.has(cluster)) continue;
        const turn = index === 0 ? 'first' : `after ${stages[index - 1]?.name ?? ''}`;
        tell(
          cluster,
          `the rollout of ${nameOf(after.propagation)} comes there in stage ${stage.name}, ${turn} (${index + 1} of ${stages.length})`,
        );
      }
  }
}

function patchesOf({ plan }: NonNullable<Pair['after']>): unknown {
  return [...plan.patches];
}
