import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface SnapshotCommandOptions extends HubOptions {
  readonly file?: string;
  readonly clusters?: string[];
}

export function registerSnapshot(program: Command): void {
  const command = program
    .command('snapshot')
    .description('put control objects and logs into one archive, without the values of Secrets')
    .option('-f, --file <file>', 'the archive to write; named by the time by default')
    .option('--clusters <names...>', 'spokes to ask; those that are connected by default');
  withHubOptions(command).action(async () => {
    const { snapshot } = await import('../snapshot/index.ts');
    await snapshot(hubOptionsOf<SnapshotCommandOptions>(command));
  });
}
