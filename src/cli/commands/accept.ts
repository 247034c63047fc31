import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface AcceptCommandOptions extends HubOptions {
  readonly deny?: boolean;
  readonly request?: string;
}

export function registerAccept(program: Command): void {
  const command = program
    .command('accept [name]')
    .description('let a spoke in that asks to join, or show who asks')
    .option('--deny', 'keep it out, and cut it off where it is connected')
    .option(
      '--request <name>',
      'which request of that name, where others were there before (kubectl get csr)',
    );
  withHubOptions(command).action(async (name: string | undefined) => {
    const { accept } = await import('../join/accept.ts');
    await accept(name, hubOptionsOf<AcceptCommandOptions>(command));
  });
}
