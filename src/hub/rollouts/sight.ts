import {
  type Observation,
  type RolloutState,
  type Stamps,
  UNKNOWN_REVISION,
} from '../../engine/rollout/index.ts';
import { type ClusterObservation, summariseCluster } from '../../engine/summarise/summarise.ts';

/** What is seen of a cluster, compared with the order of a generation. */
export type SightOf = (cluster: string, generation: number) => ClusterObservation;

/**
 * What is seen now of one cluster, in the words of a rollout: which revision its spoke has taken, and how it is with it. A spoke that
 * has not taken what it was told is told of with what it took before.
 */
export function sightOf(
  cluster: string,
  { stamps, given, generation: highest }: Stamps,
  see: SightOf,
): Observation {
  const told = given[cluster];
  const seen = see(cluster, told ?? 0);
  const { generation: taken = 0, epoch = 0 } = seen.status?.position ?? {};
  const revision = stamps.find(({ generation }) => generation === taken)?.revision;
  const { word, message } =
    told === undefined && seen.live
      ? { word: 'Waiting' as const, message: 'it was told nothing yet' }
      : summariseCluster(seen);
  // Nothing comes of what nobody signed, but that it is said is why nothing of the order is seen.
  const isClaim = taken > highest && epoch >= (seen.wantedEpoch ?? 0);
  return {
    cluster,
    live: seen.live,
    word,
    ...(isClaim && {
      claim: `it says that it took generation ${taken}, which this hub never ordered: see the condition HistoryAgrees of its SpokeCluster`,
    }),
    ...(message === '' ? {} : { message }),
    ...(revision === undefined || revision === '' || revision === UNKNOWN_REVISION ? {} : { revision }),
  };
}

/** Whether a rollout would learn anything of a cluster by looking again. */
export function isNews(
  { clusters }: RolloutState,
  { cluster, live, word, revision, claim }: Observation,
): boolean {
  const known = clusters[cluster];
  if (!known) return false;
  const { seen } = known;
  return seen?.live !== live || seen.word !== word || seen.revision !== revision || seen.claim !== claim;
}

/** Whether it still matters what is seen: something is on its way, or goes back. */
export function isUnderWay({ phase, clusters }: RolloutState): boolean {
  if (phase === 'Progressing' || phase === 'RollingBack') return true;
  return Object.values(clusters).some((cluster) => cluster.phase === 'RollingBack');
}
