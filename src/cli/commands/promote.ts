import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface PromoteOptions extends HubOptions {
  readonly namespace?: string;
  readonly cluster: string;
  readonly dependencies: boolean;
  readonly yes: boolean;
}

export function registerPromote(program: Command): void {
  const command = program
    .command('promote <object...>')
    .description(
      'bring an object that is on a cluster under the care of the hub, as it is (deploy/cart -n shop -C oslo)',
    )
    .requiredOption('-C, --cluster <name>', 'the cluster that it is on')
    .option('-n, --namespace <name>', 'namespace of the object')
    .option('-d, --dependencies', 'with the configuration and accounts that it names', false)
    .option('-y, --yes', 'do not only show what would be made', false);
  withHubOptions(command).action(async (words: string[]) => {
    const { promoteObject } = await import('../promote/index.ts');
    await promoteObject(words, hubOptionsOf<PromoteOptions>(command));
  });
}
