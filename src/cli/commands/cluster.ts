import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

export function registerCluster(program: Command): void {
  const cluster = program.command('cluster').description('look at the clusters of the fleet');
  const list = cluster.command('list').description('list the clusters');
  withHubOptions(list).action(async () => {
    const { listClusters } = await import('../cluster/index.ts');
    await listClusters(hubOptionsOf<HubOptions>(list));
  });
  const show = cluster
    .command('show <name>')
    .description('show one cluster as the hub knows it')
    .option('--live', 'ask the spoke itself now, through the hub', false);
  withHubOptions(show).action(async (name: string) => {
    const { showCluster } = await import('../cluster/index.ts');
    await showCluster(name, hubOptionsOf<HubOptions & { live: boolean }>(show));
  });
}
