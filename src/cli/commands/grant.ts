import type { Command } from 'commander';
import type { NewGrantOptions } from '../grant/index.ts';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

export function registerGrant(program: Command): void {
  const group = program
    .command('grant')
    .description('let people exec, port-forward or write on spokes by way of the hub, for a while');

  const create = group
    .command('create <what...>')
    .description('ask for a grant of exec, port-forward, write or several of them')
    .option('--user <name>', 'for whom, as the hub knows them (yourself)')
    .option('--group <name>', 'for a group, instead')
    .requiredOption('--clusters <which>', 'names (a,b) or labels of SpokeClusters (env=prod)')
    .option('-n, --namespace <names>', "namespaces, by comma; '*' for all (that of the context)")
    .requiredOption('--reason <text>', 'why')
    .option('--for <time>', 'how long: 30m, 2h; 8h at the most', '1h')
    .option('--approve', 'approve it at once, where you may', false)
    .option('--name <name>', 'name of the grant');
  withHubOptions(create).action(async (what: string[]) => {
    const { createGrant } = await import('../grant/index.ts');
    await createGrant(what, hubOptionsOf<HubOptions & NewGrantOptions>(create));
  });

  const approve = group.command('approve <name>').description('make a grant count');
  withHubOptions(approve).action(async (name: string) => {
    const { approveGrant } = await import('../grant/index.ts');
    await approveGrant(name, hubOptionsOf<HubOptions>(approve));
  });

  const revoke = group
    .command('revoke <name>')
    .description('end a grant and cut the streams that it allowed');
  withHubOptions(revoke).action(async (name: string) => {
    const { revokeGrant } = await import('../grant/index.ts');
    await revokeGrant(name, hubOptionsOf<HubOptions>(revoke));
  });

  const list = group.command('list').description('show grants with what is left of them');
  withHubOptions(list).action(async () => {
    const { listGrants } = await import('../grant/index.ts');
    await listGrants(hubOptionsOf<HubOptions>(list));
  });
}
