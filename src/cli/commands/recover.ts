import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface RecoverCommandOptions extends HubOptions {
  readonly fromSpokes: string[] | true;
  readonly yes?: boolean;
}

export function registerRecover(hub: Command): void {
  const command = hub
    .command('recover')
    .description('rebuild the objects of a lost hub from what its spokes keep')
    .requiredOption('--from-spokes [names...]', 'from which; all of the inventory where none is named')
    .option('-y, --yes', 'write; without it only the plan is shown');
  withHubOptions(command).action(async () => {
    const { recover } = await import('../recover/index.ts');
    await recover(hubOptionsOf<RecoverCommandOptions>(command));
  });
}
