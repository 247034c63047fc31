import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

export function registerStatus(program: Command): void {
  const command = program
    .command('status')
    .description('show the fleet at a glance: hub, clusters, propagations');
  withHubOptions(command).action(async () => {
    const { showStatus } = await import('../status/index.ts');
    await showStatus(hubOptionsOf<HubOptions>(command));
  });
}
