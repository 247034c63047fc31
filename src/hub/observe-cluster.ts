import type { ClusterObservation } from '../engine/summarise/summarise.ts';
import type { Fleet } from './fleet.ts';
import type { Tracked } from './tracked.ts';

/** What the hub sees of one cluster for one intent, beside the order of a generation. */
export function observeCluster(
  fleet: Fleet,
  { dispatch, problems }: Pick<Tracked, 'dispatch' | 'problems'>,
  cluster: string,
  wanted: { readonly generation: number; readonly epoch: number },
): ClusterObservation {
  const session = fleet.session(cluster);
  const seen = session?.dispatch(dispatch);
  const problem = problems.get(cluster);
  return {
    cluster,
    live: session?.live ?? false,
    staleReason: session?.staleReason ?? 'the spoke has not connected since this hub started',
    ...(session?.seenUntil === undefined ? {} : { observedAt: session.seenUntil }),
    wantedGeneration: wanted.generation,
    wantedEpoch: wanted.epoch,
    ...(seen?.status === undefined ? {} : { status: seen.status }),
    ...(problem === undefined ? {} : { dispatchProblem: problem.message }),
    ...(problem?.late === true ? { dispatchTimedOut: true } : {}),
  };
}
