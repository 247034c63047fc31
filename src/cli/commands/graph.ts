import { type Command, Option } from 'commander';
import type {
  DiagramOptions,
  DiffOptions,
  RenderOptions,
  ShowDefinitionOptions,
  ValidateOptions,
} from '../graph/index.ts';
import { failureText } from '../output.ts';

export function registerGraph(program: Command): void {
  const graph = program
    .command('graph')
    .description('check, render, draw and compare ResourceGraphDefinitions, without a cluster');
  const validate = graph
    .command('validate')
    .description('say what is wrong with definitions')
    .addOption(output());
  withFiles(validate)
    .addHelpText('after', '\nEnds with 0 where all are right, 1 where one is not, 2 for an error.')
    .action(() => run(async () => (await load()).validateGraphs(validate.opts<ValidateOptions>())));
  const render = graph
    .command('render')
    .description('print the objects that an instance comes to')
    .requiredOption('--instance <file>', 'file with the instance')
    .option(
      '--observed <file>',
      'file or directory with objects as they are in the cluster; may be repeated',
      collect,
    )
    .option('-n, --namespace <name>', 'namespace of an instance that names none', 'default')
    .option('--explain', 'say of each node how it is and why it waits')
    .option('--marks', "keep the engine's labels and annotations")
    .addOption(output());
  withFiles(render)
    .addHelpText(
      'after',
      '\nEnds with 0, or 1 where the instance is not valid or a node fails, or 2 for an error.',
    )
    .action(() => run(async () => (await load()).renderGraph(render.opts<RenderOptions>())));
  const crd = graph
    .command('crd')
    .description('print the CustomResourceDefinitions of the instances')
    .addOption(output());
  withFiles(crd).action(() =>
    run(async () => (await load()).showDefinitions(crd.opts<ShowDefinitionOptions>())),
  );
  const diagram = graph
    .command('diagram')
    .description('draw the nodes and what they depend on')
    .addOption(new Option('--format <format>', 'how to draw').choices(['mermaid', 'svg']).default('mermaid'));
  withFiles(diagram).action(() => run(async () => (await load()).drawGraphs(diagram.opts<DiagramOptions>())));
  const diff = graph
    .command('diff')
    .description('say what changes from one state of definitions to another, and what of it breaks instances')
    .requiredOption(
      '--from <file>',
      'file or directory with the definitions as they were; may be repeated',
      collect,
    )
    .addOption(output());
  withFiles(diff)
    .addHelpText('after', '\nEnds with 0 where nothing changes, 1 where something does, 2 for an error.')
    .action(() => run(async () => (await load()).diffGraphs(diff.opts<DiffOptions>())));
}

async function load(): Promise<typeof import('../graph/index.ts')> {
  return import('../graph/index.ts');
}

async function run(act: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await act();
  } catch (error) {
    process.stderr.write(failureText(error));
    process.exitCode = 2;
  }
}

function withFiles(command: Command): Command {
  return command
    .requiredOption(
      '-f, --filename <file>',
      'file, directory or - for standard input; may be repeated',
      collect,
    )
    .option(
      '--schemas <file>',
      'file or directory with CustomResourceDefinitions of the kinds in use; may be repeated',
      collect,
    )
    .option('--allow-unknown-kinds', 'take kinds whose schema is not known as they come', false)
    .option('--feature-gates <gate>', 'CELOmitFunction=true switches omit() on; may be repeated', collect)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

function output(): Option {
  return new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
