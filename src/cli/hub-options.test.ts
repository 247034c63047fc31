import { Command } from 'commander';
import { expect, it } from 'vitest';
import { refuseOptionsBefore } from './hub-options.ts';

/** `atoll hub` and `atoll hub confirm`, which both know `--kubeconfig`; the one that `confirm` was given. */
function run(...args: string[]): string | undefined {
  let asked: string | undefined;
  const program = new Command('atoll').exitOverride().configureOutput({ writeErr: () => undefined });
  const hub = program
    .enablePositionalOptions()
    .command('hub')
    .option('--kubeconfig <file>')
    .option('--log-level <level>', '', 'info')
    .action(() => undefined);
  hub.enablePositionalOptions().hook('preSubcommand', refuseOptionsBefore);
  hub
    .command('confirm')
    .option('--kubeconfig <file>', '', 'own')
    .action(({ kubeconfig }: { kubeconfig: string }) => {
      asked = kubeconfig;
    });
  program.parse(args, { from: 'user' });
  return asked;
}

it('lets a command within another have its options behind its name, and nowhere else', () => {
  expect(run('hub', 'confirm')).toBe('own');
  expect(run('hub', 'confirm', '--kubeconfig', 'here')).toBe('here');
  expect(() => run('hub', '--kubeconfig', 'here', 'confirm')).toThrow(
    '--kubeconfig is before confirm, whose options come after it: hub confirm …',
  );
});
