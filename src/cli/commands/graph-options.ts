import { type Command, Option } from 'commander';
import { PROCESS_FLAGS } from '../../spoke/graphs/process-flags.ts';
import { GRAPH_SETTINGS } from '../../spoke/graphs/settings.ts';

/** Flags that may stand without a value, which is `true` then. */
const SWITCHES: readonly string[] = ['allow-crd-deletion', 'leader-elect', 'enable-controller-warmup'];

/** The settings of resource graphs: all in one option, and each as the option that kro has. */
export function withGraphOptions(command: Command): Command {
  command.option(
    '--graphs <settings...>',
    'settings of resource graphs, such as allow-crd-deletion=true; each is an option, too (docs/graphs.md)',
  );
  for (const name of flagNames()) {
    const value = SWITCHES.includes(name) ? '[value]' : '<value>';
    command.addOption(new Option(`--${name} ${value}`).hideHelp());
  }
  return command;
}

function flagNames(): string[] {
  return [...GRAPH_SETTINGS, ...PROCESS_FLAGS].map(({ name }) => name);
}

/** What was given by these options, as `name=value`. */
export function graphOptionsOf(options: object): readonly string[] {
  const given = new Map<string, unknown>(Object.entries(options));
  const all = given.get('graphs');
  const texts = Array.isArray(all) ? all.map(String) : [];
  for (const name of flagNames()) {
    const value = given.get(name.replace(/-(.)/g, (_match, letter: string) => letter.toUpperCase()));
    if (value !== undefined) texts.push(`${name}=${String(value)}`);
  }
  return texts;
}
