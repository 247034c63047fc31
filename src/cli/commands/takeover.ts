import type { Command } from 'commander';

interface SpokeCommandOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Commands for the owner of a spoke: they ask the spoke, never the hub. */
export function registerTakeover(program: Command): void {
  program
    .command('takeover')
    .description("on a spoke: make it another hub's, with all that is on it")
    .option('--kubeconfig <file>', "the spoke's: $KUBECONFIG, the pod's service account, or ~/.kube/config")
    .option('--context <name>', 'context of the spoke in it')
    .option('--join <data>', 'the hub to belong to: what `atoll join` printed there, or a file of it')
    .option('--hub <name>', 'the hub to belong to, of those that the spoke knows')
    .action(async (options: SpokeCommandOptions & { join?: string; hub?: string }) => {
      const { takeover } = await import('../join/takeover.ts');
      await takeover(options);
    });
  program
    .command('leave')
    .description('on a spoke: take away the rights of its hub, and all that Atoll keeps there')
    .option('--kubeconfig <file>', "the spoke's: $KUBECONFIG, the pod's service account, or ~/.kube/config")
    .option('--context <name>', 'context of the spoke in it')
    .option('--force', 'also while orders of the hub are there: their objects stay, without marks', false)
    .action(async (options: SpokeCommandOptions & { force: boolean }) => {
      const { leave } = await import('../join/leave.ts');
      await leave(options);
    });
}
