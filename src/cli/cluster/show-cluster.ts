import type { Client } from '../../kube/client.ts';
import { clusterNamed, readFleetAtHub, readSelf } from '../fleet-reading.ts';
import { type AskingOptions, ask } from '../output.ts';
import { clusterLine, clusterTable } from './facts.ts';
import { type ClusterReport, clusterReport } from './report.ts';
import { clusterText } from './text.ts';

/** `atoll cluster list`: the inventory. */
export function listClusters(options: AskingOptions): Promise<void> {
  return ask(options, async ({ hub, now, paint, print }) => {
    const { clusters } = await readFleetAtHub(hub.client);
    print(clusters.map(clusterLine), (lines) =>
      lines.length === 0 ? 'No clusters.\n' : clusterTable(lines, now, paint),
    );
    return 0;
  });
}

/** `atoll cluster show`: one cluster, as the hub knows it, or with `live` as it says of itself now. */
export function showCluster(
  name: string,
  options: AskingOptions & { readonly live?: boolean },
): Promise<void> {
  return ask(options, async ({ hub, now, paint, print }) => {
    const spoke = options.live === true ? hub.spokeClient(name) : undefined;
    print(await readCluster(hub.client, spoke, name, now), (report) => clusterText(report, now, paint));
    return 0;
  });
}

/** Gathers and reports. Without `spoke` the spoke is not asked. Throws an Error with similar names for an unknown cluster. */
export async function readCluster(
  hub: Client,
  spoke: Client | undefined,
  name: string,
  now: number,
): Promise<ClusterReport> {
  const { clusters } = await readFleetAtHub(hub);
  const found = clusterNamed(clusters, name);
  const reading = spoke === undefined ? undefined : await readSelf(spoke, name);
  return clusterReport({ spoke: found, now, ...(reading === undefined ? {} : { reading }) });
}
