import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface ConfirmOptions extends HubOptions {
  readonly yes?: boolean;
}

export function registerConfirm(hub: Command): void {
  const command = hub
    .command('confirm')
    .description('let a hub act again that only observes because it was restored from an old state')
    .option('-y, --yes', 'do not only show what would happen');
  withHubOptions(command).action(async () => {
    const { confirm } = await import('../confirm/index.ts');
    await confirm(hubOptionsOf<ConfirmOptions>(command));
  });
}
