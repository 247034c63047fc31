import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface WhyOptions extends HubOptions {
  readonly namespace?: string;
  readonly cluster?: string;
}

export function registerWhy(program: Command): void {
  const command = program
    .command('why <object...>')
    .description('explain what became of an object of the hub on the clusters, and why (deploy/cart -n shop)')
    .option('-n, --namespace <name>', 'namespace of the object')
    .option('-c, --cluster <name>', 'explain one cluster in full');
  withHubOptions(command).action(async (words: string[]) => {
    const { explain } = await import('../why/index.ts');
    await explain(words, hubOptionsOf<WhyOptions>(command));
  });
}
