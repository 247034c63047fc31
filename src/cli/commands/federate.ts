import type { Command } from 'commander';
import type { DisableOptions, EnableOptions, FederateCommand } from '../federate/index.ts';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';

export function registerFederate(program: Command): void {
  const enable = withTypeOptions(
    program
      .command('enable [types...]')
      .description('federate types of the API, as KubeFed does; the usual ten where none is named')
      .option('-f, --filename <file>', 'EnableTypeDirective to read instead, - for standard input')
      .option('--target-version <version>', 'version of the type (the preferred one)'),
  );
  enable.action(async (types: string[]) => {
    const { enable: act } = await import('../federate/index.ts');
    await act(types, hubOptionsOf<HubOptions & EnableOptions>(enable));
  });

  const disable = withTypeOptions(
    program
      .command('disable <type>')
      .description('federate a type no longer; what it brought to clusters stays there')
      .option('--delete-crd', 'delete its federated kind too, if there is no object of it', false),
  );
  disable.action(async (type: string) => {
    const { disable: act } = await import('../federate/index.ts');
    await act(type, hubOptionsOf<HubOptions & DisableOptions>(disable));
  });

  const federate = withTypeOptions(
    program
      .command('federate [type] [name]')
      .description('make a federated object of one that is at the hub, or print those of files')
      .option('-f, --filename <file>', 'file, directory or - for standard input; may be repeated', collect)
      .option('-n, --namespace <name>', 'namespace of the object (that of the context)')
      .option('-c, --contents', 'of a namespace: what is in it, too', false)
      .option('-t, --enable-type', 'enable types that are not', false)
      .option(
        '-s, --skip-api-resources <types>',
        'with --contents: types that stay out, by comma',
        names,
        [],
      ),
  );
  federate.action(async (type: string | undefined, name: string | undefined) => {
    const { federate: act } = await import('../federate/index.ts');
    await act(type, name, hubOptionsOf<HubOptions & FederateCommand>(federate));
  });
}

function withTypeOptions(command: Command): Command {
  return withHubOptions(command)
    .option('--dry-run', 'change nothing', false)
    .option('--kubefed-namespace <name>', 'namespace of the control plane', 'kube-federation-system')
    .option('--federated-group <group>', 'group of federated kinds', 'types.kubefed.io')
    .option('--federated-version <version>', 'version of federated kinds', 'v1beta1');
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function names(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
