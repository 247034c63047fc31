import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface DiffOptions extends HubOptions {
  readonly filename: readonly string[];
  readonly recursive: boolean;
  readonly namespace?: string;
}

export function registerDiff(program: Command): void {
  const command = program
    .command('diff')
    .description('show what applying files at the hub would change on which cluster; nothing is applied')
    .requiredOption(
      '-f, --filename <file>',
      'file, directory or - for standard input; may be repeated',
      collect,
    )
    .option('-R, --recursive', 'read directories below directories, too', false)
    .option('-n, --namespace <name>', 'namespace of objects that name none');
  withHubOptions(command)
    .addHelpText('after', '\nEnds with 0 where no cluster would change, 1 where one would, 2 for an error.')
    // 1 means changes here; a wrong command line is an error.
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .action(async () => {
      const { showDiff } = await import('../diff/index.ts');
      await showDiff(hubOptionsOf<DiffOptions>(command));
    });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
