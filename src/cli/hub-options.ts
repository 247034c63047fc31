import { type Command, Option } from 'commander';

/** What the commands that ask a hub have in common, as commander hands it over. */
export interface HubOptions {
  readonly dir: string;
  readonly kubeconfig?: string;
  readonly context: string;
  readonly output?: 'json' | 'yaml';
}

export const DEFAULT_DIRECTORY = '.atoll';

/** Adds the options of {@link HubOptions} to a command. */
export function withHubOptions(command: Command): Command {
  return command
    .option('--dir <directory>', 'directory of the fleet on this machine', DEFAULT_DIRECTORY)
    .option('--kubeconfig <file>', 'kubeconfig of the hub ($KUBECONFIG, then the one in --dir, by default)')
    .option('--context <name>', 'context of the hub in the kubeconfig', 'hub')
    .addOption(new Option('-o, --output <format>', 'print the report as data').choices(['json', 'yaml']));
}

/** The options of a command, with `dirGiven` where the user named a directory: then it comes before $KUBECONFIG. */
export function hubOptionsOf<T extends HubOptions>(command: Command): T & { readonly dirGiven: boolean } {
  return { ...command.opts<T>(), dirGiven: command.getOptionValueSource('dir') === 'cli' };
}

/** Refuses options between the name of a command with options of its own and that of one within: nobody would look at them. */
export function refuseOptionsBefore(command: Command, inner: Command): void {
  const given = command.options.find(
    (option) => command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (given)
    command.error(
      `error: ${given.long} is before ${inner.name()}, whose options come after it: ${command.name()} ${inner.name()} …`,
    );
}
