import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CheckExpressionOptions, EvaluateExpressionOptions } from '../cel/index.ts';

const RELEASES = ['1.28', '1.29', '1.30', '1.31', '1.32', '1.33', '1.34', '1.35', '1.36'];

export function registerCel(program: Command): void {
  const cel = program.command('cel').description('try expressions (CEL) as Kubernetes reads them');
  const evaluate = cel
    .command('eval')
    .description('evaluate an expression and print its value as JSON')
    .option('--var <name=JSON>', 'variable of the expression; may be repeated', collect, []);
  withExpression(evaluate).action(async () => {
    const { evaluateExpression } = await import('../cel/index.ts');
    process.exitCode = evaluateExpression(evaluate.opts<EvaluateExpressionOptions>());
  });
  const check = cel
    .command('check')
    .description('check an expression against the types of its variables, and bound its cost')
    .addOption(
      new Option('--env <file>', 'file with variables: {name: type}; a type is a name or a schema').conflicts(
        ['schema', 'crd'],
      ),
    )
    .addOption(new Option('--schema <file>', 'OpenAPI schema of self').conflicts(['crd']))
    .option('--crd <file>', 'CustomResourceDefinition whose resource self is')
    .option('--crd-version <name>', 'version of the definition; by default the one that is stored')
    .option('--path <path>', 'part of the resource that self is: spec.template')
    .addHelpText('after', '\nEnds with 0 where the expression is right, 1 where it is not.');
  withExpression(check).action(async () => {
    const { checkExpression } = await import('../cel/index.ts');
    process.exitCode = checkExpression(check.opts<CheckExpressionOptions>());
  });
}

function withExpression(command: Command): Command {
  return command
    .requiredOption('-e, --expr <expression>', 'the expression')
    .addOption(
      new Option('--k8s <release>', 'release of Kubernetes whose functions there are').choices(RELEASES),
    )
    .addOption(new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']));
}

function collect(text: string, before: readonly string[]): readonly string[] {
  if (!/^[A-Za-z_][A-Za-z0-9_]*=/.test(text))
    throw new InvalidArgumentError('It must be of the form name=JSON.');
  return [...before, text];
}
