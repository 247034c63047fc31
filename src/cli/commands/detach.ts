import { type Command, InvalidArgumentError } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface DetachCommandOptions extends HubOptions {
  readonly cleanup?: boolean;
  readonly orphan?: boolean;
  readonly force: boolean;
  readonly timeout?: number;
}

export function registerDetach(program: Command): void {
  const command = program
    .command('detach <name>')
    .description('let a cluster go; its objects stay, unless they shall be taken away')
    .option('--cleanup', 'take away what was dispatched to it')
    .option('--orphan', 'leave even the orders there, so that it keeps itself up')
    .option('--force', 'forget it also where it cannot be reached, and say what is left over', false)
    .option('--timeout <seconds>', 'how long to wait (300; 30 with --force)', seconds);
  withHubOptions(command).action(async (name: string) => {
    const { detach } = await import('../join/detach.ts');
    await detach(name, hubOptionsOf<DetachCommandOptions>(command));
  });
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && value <= 86_400)) throw new InvalidArgumentError('It must be from 0 to 86400.');
  return value;
}
