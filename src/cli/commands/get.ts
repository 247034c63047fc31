import { type Command, InvalidArgumentError, Option } from 'commander';
import type { GetOptions } from '../get/index.ts';
import { DEFAULT_DIRECTORY, type HubOptions, hubOptionsOf } from '../hub-options.ts';

type Options = Omit<HubOptions, 'output'> & GetOptions;

export function registerGet(program: Command): void {
  const command = program
    .command('get <kind> [name]')
    .description('show objects of all spokes, as the spokes have them now')
    .option('-n, --namespace <name>', 'namespace (that of the context)')
    .option('-A, --all-namespaces', 'all namespaces', false)
    .option('-l, --selector <labels>', 'only objects with these labels')
    .option('--field-selector <fields>', 'only objects with these fields')
    .option('--clusters <which>', 'names (a,b) or labels of SpokeClusters (env=prod)')
    .option('-w, --watch', 'go on with what changes', false)
    .option('--chunk-size <number>', 'objects that are asked for at a time; 0 for all', count, 500)
    .addOption(
      new Option('--operation-scope <scope>', 'where to look: the hub itself, its members, or all')
        .choices(['hub', 'members', 'all'])
        .default('members'),
    )
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['wide', 'json', 'yaml', 'name']))
    .option('--dir <directory>', 'directory of the fleet on this machine', DEFAULT_DIRECTORY)
    .option('--kubeconfig <file>', 'kubeconfig of the hub ($KUBECONFIG, then the one in --dir, by default)')
    .option('--context <name>', 'context of the hub in the kubeconfig', 'hub')
    .addHelpText(
      'after',
      '\nEnds with 0 where every cluster answered, 2 where some are missing (told on stderr).',
    );
  command.action(async (kind: string, name: string | undefined) => {
    const { showFleet } = await import('../get/index.ts');
    await showFleet(kind, name, hubOptionsOf<Options & HubOptions>(command) as GetOptions);
  });
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('It must be a whole number.');
  return value;
}
