import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface RecoverCommandOptions extends HubOptions {
  readonly fromSpokes?: string[] | true;
  readonly yes?: boolean;
}

export function registerRecover(program: Command): void {
  const command = program
    .command('recover')
    .description('rebuild the objects of a lost hub from what its spokes keep')
    .option('--from-spokes [names...]', 'spokes to ask; all of the inventory by default')
    .option('-y, --yes', 'write; without it only the plan is shown');
  withHubOptions(command).action(async () => {
    const { recover } = await import('../recover/index.ts');
    await recover(hubOptionsOf<RecoverCommandOptions>(command));
  });
}
