import { type Command, Option } from 'commander';
import type {
  AccessOptions,
  DiagramOptions,
  DiffOptions,
  FormatOptions,
  LintOptions,
  PreviewOptions,
  PullOptions,
  PushOptions,
  RenderOptions,
  SampleOptions,
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
    .description('say what is wrong with definitions and Graphs')
    .addOption(output());
  withFiles(validate)
    .addHelpText('after', '\nEnds with 0 where all are right, 1 where one is not, 2 for an error.')
    .action(() => run(async () => (await load()).validateGraphs(validate.opts<ValidateOptions>())));
  const render = graph
    .command('render')
    .description('print the objects that an instance, or a Graph, comes to')
    .option('--instance <file>', 'file with the instance of a definition; a Graph is its own')
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
  const instance = graph
    .command('instance')
    .description('print an instance of each definition to begin with')
    .addOption(output());
  withFiles(instance).action(() =>
    run(async () => (await load()).sampleInstances(instance.opts<SampleOptions>())),
  );
  const lint = graph
    .command('lint')
    .description('say what of definitions and Graphs that are right is probably not meant')
    .addOption(output());
  withFiles(lint)
    .addHelpText('after', '\nEnds with 0 where there is nothing, 1 where there is something, 2 for an error.')
    .action(() => run(async () => (await load()).lintGraphs(lint.opts<LintOptions>())));
  const format = graph
    .command('fmt')
    .description('write definitions as they are usually written; comments stay')
    .requiredOption('-f, --filename <file>', 'file with definitions; may be repeated', collect)
    .option('--check', 'name the files that would change, and change none')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  format.action(() => run(async () => (await load()).formatGraphs(format.opts<FormatOptions>())));
  const preview = graph
    .command('preview')
    .description('say what of instances would change from one state of definitions to another')
    .requiredOption(
      '--from <file>',
      'file or directory with the definitions as they were; may be repeated',
      collect,
    )
    .requiredOption('--instance <file>', 'file or directory with instances; may be repeated', collect)
    .option('-n, --namespace <name>', 'namespace of instances that name none', 'default')
    .addOption(output());
  withFiles(preview)
    .addHelpText('after', '\nEnds with 0 where nothing changes, 1 where something does, 2 for an error.')
    .action(() => run(async () => (await load()).previewGraphs(preview.opts<PreviewOptions>())));
  const push = graph
    .command('push <reference>')
    .description(
      'put definitions that are right in a registry of container images: oci://host/repository:tag',
    )
    .option('--plain-http', 'without TLS, for a registry on this machine', false);
  withFiles(push).action((reference: string) =>
    run(async () => (await load()).pushGraphs(reference, push.opts<PushOptions>())),
  );
  const pull = graph
    .command('pull <reference>')
    .description('get definitions from a registry of container images: oci://host/repository:tag')
    .option('-o, --output <file>', 'where to write them; standard output by default')
    .option('--force', 'write over a file that is there', false)
    .option('--plain-http', 'without TLS, for a registry on this machine', false)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  pull.action((reference: string) =>
    run(async () => (await load()).pullGraphs(reference, pull.opts<PullOptions>())),
  );
  const access = graph
    .command('access')
    .description('print the roles that the engine of graphs needs on an API server of someone else')
    .addOption(
      new Option('--mode <mode>', 'all rights, or those of its own work and of roles that say so')
        .choices(['unrestricted', 'aggregation'])
        .default('aggregation'),
    )
    .option('--user <name>', 'whose rights they are')
    .option('--service-account <namespace/name>', 'whose rights they are')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  access.action(() => run(async () => (await load()).showAccess(access.opts<AccessOptions>())));
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
    .option(
      '--feature-gates <gate>',
      'CELOmitFunction=true switches omit() on, DynamicTemplateKeys=true keys; may be repeated',
      collect,
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

function output(): Option {
  return new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
