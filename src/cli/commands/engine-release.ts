import type { Command } from 'commander';

interface EngineReleaseOptions {
  readonly image?: string;
  readonly labels?: readonly string[];
  readonly soak: string;
}

export function registerEngineRelease(program: Command): void {
  program
    .command('engine')
    .description(
      'print what upgrades the engine of spokes that joined with --hub-upgrades, for kubectl apply',
    )
    .option('--image <image>', 'container image of atoll')
    .option('-l, --labels <key=value...>', 'labels of the SpokeClusters; those that joined for it by default')
    .option('--soak <duration>', 'how long the first cluster has to be well before the others follow', '10m')
    .action(async (options: EngineReleaseOptions) => {
      const { printEngineRelease } = await import('../join/engine-release.ts');
      printEngineRelease(options);
    });
}
