import { CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { Cluster, SpokeCluster } from '../../dialects/kubevela/types.ts';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { hasCode } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { idOf, isOlder, type KnownClusters } from './known-clusters.ts';
import type { Connection, Sighting } from './sighting.ts';

/** The property by which a cluster says who it is (ClusterProperty of about.k8s.io). */
export const ID_PROPERTY = 'id.k8s.io';

const CLUSTERS = resourceIdOf(CLUSTER);

/** Finds the SpokeCluster that stands for the same cluster as another one. */
export interface Twins {
  /**
   * One that did so before, and what was found with the id that counts: a cluster whose uid is known already is asked who it is,
   * since copies of one machine have one uid.
   */
  find(
    spoke: SpokeCluster,
    sighting: Sighting,
    found: Connection,
    client: () => Client,
  ): Promise<{ readonly twin: SpokeCluster | undefined; readonly found: Connection }>;
}

export function createTwins(runtime: Runtime, known: KnownClusters): Twins {
  function twinOf(spoke: SpokeCluster, id: string | undefined): SpokeCluster | undefined {
    if (id === undefined) return undefined;
    const isOurs = idOf(spoke) === id;
    return known.withId(id, spoke.metadata.name ?? '').find((other) => !isOurs || isOlder(other, spoke));
  }

  /** What a cluster says that it is, asked of its engine. */
  async function claimedId(name: string, client: Client): Promise<string | undefined> {
    try {
      const cluster = await client.get<Cluster>(CLUSTERS, SYSTEM_NAMESPACE, name);
      return cluster.status?.properties?.[ID_PROPERTY];
    } catch (error) {
      if (!hasCode(error, 404))
        runtime.log.debug('a spoke could not be asked who it is', { spoke: name, why: errorText(error) });
      return undefined;
    }
  }

  return {
    async find(spoke, sighting, found, client) {
      if (found.info?.id !== undefined) sighting.id = found.info.id;
      const twin = twinOf(spoke, sighting.id);
      if (!twin || !found.info) return { twin, found };
      const claimed = await claimedId(spoke.metadata.name ?? '', client());
      if (claimed === undefined || claimed === sighting.id) return { twin, found };
      sighting.id = claimed;
      const corrected = { ...found, info: { ...found.info, id: claimed } };
      if (sighting.probed) sighting.probed = { ...sighting.probed, found: corrected };
      return { twin: twinOf(spoke, claimed), found: corrected };
    },
  };
}
