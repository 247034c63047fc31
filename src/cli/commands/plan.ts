import type { Command } from 'commander';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

interface PlanOptions extends HubOptions {
  readonly filename?: readonly string[];
  readonly recursive: boolean;
  readonly namespace?: string;
}

interface ApplyOptions extends HubOptions {
  readonly plan: string;
}

export function registerPlan(program: Command): void {
  const plan = program
    .command('plan [propagation]')
    .description(
      'show what files, or a suspended propagation, would do on every cluster, tried on the clusters themselves; saved under a hash',
    )
    .option('-f, --filename <file>', 'file, directory or - for standard input; may be repeated', collect)
    .option('-R, --recursive', 'read directories below directories, too', false)
    .option('-n, --namespace <name>', 'namespace of objects that name none');
  withHubOptions(plan)
    .addHelpText('after', '\nEnds with 0 where no cluster would change, 1 where one would, 2 for an error.')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .action(async (name: string | undefined) => {
      const { showPlan } = await import('../plan/index.ts');
      const options = hubOptionsOf<PlanOptions>(plan);
      await showPlan({ ...options, ...(name === undefined ? {} : { name }) });
    });
  const apply = program
    .command('apply')
    .description('carry out at the hub what a plan said, if it would still do the same')
    .requiredOption('--plan <hash>', 'the plan, as `atoll plan` named it');
  withHubOptions(apply).action(async () => {
    const { applyPlan } = await import('../plan/index.ts');
    await applyPlan(hubOptionsOf<ApplyOptions>(apply));
  });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
