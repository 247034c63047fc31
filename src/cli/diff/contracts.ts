import {
  type Contract,
  compileContract,
  SPOKE_CONTRACT,
  type SpokeContract,
} from '../../engine/contract/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { forEachOf, nameOf } from '../fleet-reading.ts';

const CONTRACTS = resourceIdOf(SPOKE_CONTRACT);
const AT_ONCE = 32;

/**
 * The contracts of the owners of clusters, by cluster. One that is away, serves none, or lets the user see none is left out: it
 * will tell by itself what it refuses.
 */
export async function readContracts(
  clusters: readonly string[],
  spokeClient: (name: string) => Client,
): Promise<ReadonlyMap<string, readonly Contract[]>> {
  const out = new Map<string, readonly Contract[]>();
  await forEachOf(clusters, AT_ONCE, async (cluster) => {
    try {
      const { items } = await spokeClient(cluster).list<SpokeContract>(CONTRACTS, '');
      if (items.length > 0)
        out.set(
          cluster,
          items.map((item) => compileContract(nameOf(item), item.spec)),
        );
    } catch (error) {
      if (!(error instanceof Error) || error.name === 'HubUnreachable') throw error;
      // Not known, then: no note of a diff depends on it.
    }
  });
  return out;
}
