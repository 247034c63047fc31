import type { DispatchStatus } from '../../engine/dispatch/index.ts';
import { stands } from '../../engine/plan/standing.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import type { Fleet } from '../fleet.ts';
import { isChosen, type Tracked } from './tracked.ts';

/** What the hub sees of one cluster for one intent, beside the order of a generation. */
export function observeCluster(
  fleet: Fleet,
  item: Tracked,
  cluster: string,
  wanted: { readonly generation: number; readonly epoch: number },
): ClusterObservation {
  const session = fleet.session(cluster);
  const noted = item.problems.get(cluster);
  // It has its order: what it makes up beside is told at its SpokeCluster, and is no failure of what was sent.
  const problem = noted?.unproven === true ? undefined : noted;
  const status =
    session?.dispatch(item.dispatch)?.status ??
    (wanted.generation > 0 && isToHaveNothing(item, cluster) ? doneAt(wanted) : undefined);
  return {
    cluster,
    live: session?.live ?? false,
    staleReason: session?.staleReason ?? 'the spoke has not connected since this hub started',
    ...(session?.unread === undefined ? {} : { unread: true }),
    ...(session?.seenUntil === undefined ? {} : { observedAt: session.seenUntil }),
    wantedGeneration: wanted.generation,
    wantedEpoch: wanted.epoch,
    ...(status === undefined ? {} : { status }),
    ...(problem === undefined ? {} : { dispatchProblem: problem.message }),
    ...(problem?.late === true ? { dispatchTimedOut: true } : {}),
  };
}

/** The generation by which a cluster is told all that an intent says now: an earlier one where nothing changed for it since. */
export function standingOn(fleet: Fleet, item: Tracked, cluster: string, epoch: number): number {
  const { plan, generation, dispatch, retracting, orders } = item;
  const spec = fleet.session(cluster)?.dispatch(dispatch)?.spec;
  if (!spec || !plan || retracting || orders || spec.position.epoch !== epoch) return generation;
  if (!isChosen(item, cluster)) return generation;
  return stands(spec, cluster, plan, generation) ? spec.position.generation : generation;
}

/** There is no first order of nothing: who is to have nothing, and was told nothing, has it. */
function isToHaveNothing({ retracting, orders, plan }: Tracked, cluster: string): boolean {
  const order = orders?.get(cluster);
  const wanted = order === undefined ? plan : 'plan' in order ? order.plan : undefined;
  return !retracting && wanted?.objects.length === 0;
}

function doneAt({ generation, epoch }: { generation: number; epoch: number }): DispatchStatus {
  return { position: { lineage: '', epoch, generation }, appliedGeneration: generation };
}
