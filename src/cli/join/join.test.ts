import { Command } from 'commander';
import { expect, it } from 'vitest';
import { type JoinCommandOptions, registerJoin } from '../commands/join.ts';
import { reachNote, refuseUnused } from './join.ts';

/** The options of a command line of `atoll join`, as commander reads them. */
function optionsOf(...args: string[]): JoinCommandOptions {
  const program = new Command('atoll');
  registerJoin(program);
  const [command] = program.commands;
  command?.action(() => undefined);
  program.parse(['join', 'edge', ...args], { from: 'user' });
  return command?.opts() as JoinCommandOptions;
}

it.each([
  [['--names', 'a'], '--names says nothing without --bootstrap'],
  [['--approve'], '--approve says nothing without --bootstrap'],
  [['--image', 'x'], '--image says nothing without -o yaml'],
  [['-o', 'file', '--hub-upgrades'], '--hub-upgrades says nothing without -o yaml'],
  [['--no-usual-kinds'], '--no-usual-kinds says nothing without -o yaml'],
  [['--bypass-proxy', 'x'], '--bypass-proxy says nothing without --proxy'],
  [['--as-is'], '--as-is says nothing without --spoke-kubeconfig'],
  [['-o', 'yaml', '--spoke-kubeconfig', 'x', '--image', 'y'], '--image says nothing without -o yaml'],
])('passes over no option that means something else: %j', (args, message) => {
  expect(() => refuseUnused(optionsOf(...args))).toThrow(message);
});

it('takes options where they count', () => {
  for (const args of [
    [],
    ['-o', 'yaml', '--image', 'x', '--hub-users', 'ann', '--no-usual-kinds', '--hub-upgrades'],
    ['--bootstrap', '--names', 'a', '--approve'],
    ['--proxy', 'http://x', '--bypass-proxy', 'y'],
    ['--spoke-kubeconfig', 'x', '--spoke-context', 'y', '--as-is'],
  ])
    expect(() => refuseUnused(optionsOf(...args))).not.toThrow();
});

it('says so where only this machine finds the hub', () => {
  expect(reachNote(['127.0.0.1:7443', '[::1]:7443'])).toContain('which only this machine reaches');
  expect(reachNote(['127.0.0.1:7443', 'hub.example.com:7443'])).toBe('');
});
