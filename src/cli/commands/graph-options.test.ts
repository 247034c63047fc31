import { Command } from 'commander';
import { expect, it } from 'vitest';
import { PROCESS_FLAGS, processFlags } from '../../spoke/graphs/process-flags.ts';
import { GRAPH_SETTINGS, graphSettings, graphTexts } from '../../spoke/graphs/settings.ts';
import { graphOptionsOf, withGraphOptions } from './graph-options.ts';

function given(...words: string[]): readonly string[] {
  const command = withGraphOptions(new Command('spoke').exitOverride());
  return graphOptionsOf(command.parse(words, { from: 'user' }).opts());
}

it.each([
  ...GRAPH_SETTINGS.map(({ name, byDefault }) => ({ name, value: byDefault })),
  ...PROCESS_FLAGS.map(({ name, kroDefault }) => ({ name, value: kroDefault })),
])('[R100] --$name is taken by the command, in both forms', ({ name, value }) => {
  expect(given(`--${name}=${value}`)).toEqual([`${name}=${value}`]);
  if (value !== '') expect(given(`--${name}`, value)).toEqual([`${name}=${value}`]);
});

it('what stands without a value is true, and an option of its own wins over --graphs and the environment', () => {
  expect(given('--allow-crd-deletion', '--leader-elect')).toEqual([
    'allow-crd-deletion=true',
    'leader-elect=true',
  ]);
  const words = given('--graphs', 'client-qps=1', 'rgd-max-graph-revisions=2', '--client-qps', '3');
  const texts = graphTexts({ ATOLL_GRAPHS: 'client-qps=7 client-burst=9 leader-elect=true' }, words);
  expect(graphSettings(texts)).toEqual({ requestsPerSecond: 3, requestBurst: 9, keptRevisions: 2 });
  expect(processFlags(texts).turns).toEqual({ turns: true });
});
