import { createHash } from 'node:crypto';
import type { ClusterName } from '../../kube/cluster-name.ts';

/**
 * Which of several workers has a cluster: the one whose hash with it is the highest (rendezvous hashing). All who know the same workers
 * come to the same; where one comes or goes, only its own clusters move. `undefined` where there is no worker.
 */
export function workerOf(cluster: ClusterName, workers: Iterable<string>): string | undefined {
  let best: { readonly worker: string; readonly rank: string } | undefined;
  for (const worker of workers) {
    // A separator that no name holds: no two pairs are one text.
    const rank = createHash('sha256').update(`${worker}\0${cluster}`).digest('hex');
    if (!best || rank > best.rank || (rank === best.rank && worker < best.worker)) best = { worker, rank };
  }
  return best?.worker;
}
