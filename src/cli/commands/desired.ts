import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface Options extends HubOptions {
  readonly namespace?: string;
  readonly kind?: string;
}

export function registerDesired(program: Command): void {
  const command = program
    .command('desired <cluster>')
    .description('show the objects that a cluster is to have, after overrides, as they are ordered there')
    .option('-n, --namespace <name>', 'of this namespace only')
    .option('--kind <kind>', 'of this kind only, such as Deployment');
  withHubOptions(command)
    .addHelpText(
      'after',
      '\nWith -o yaml or json it prints a List of the objects themselves. Values of Secrets are digests.',
    )
    .action(async (cluster: string) => {
      const { showDesired } = await import('../desired/index.ts');
      await showDesired(cluster, hubOptionsOf<Options>(command));
    });
}
