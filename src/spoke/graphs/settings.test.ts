import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { GRAPH_SETTINGS, graphSettings, graphSettingsOf } from './settings.ts';

it('settings have the defaults of the documentation, which says all of them', () => {
  const docs = readFileSync(new URL('../../../docs/graphs.md', import.meta.url), 'utf8');
  for (const { name, byDefault, read } of GRAPH_SETTINGS) {
    expect(read(byDefault), name).toBeDefined();
    expect(docs).toContain(`| \`${name}\` | ${byDefault === '' ? '' : `\`${byDefault}\` `}|`);
  }
});

it('settings are read from name=value', () => {
  expect(
    graphSettings([
      'allow-crd-deletion=true',
      'cel-cost-limit=0',
      'rgd-max-graph-revisions=3',
      'feature-gates=InstanceConditionEvents=true,CELOmitFunction',
      'label-prefixes=both',
    ]),
  ).toEqual({
    allowKindDeletion: true,
    keptRevisions: 3,
    conditionEvents: true,
    omit: true,
    bothPrefixes: true,
  });
  expect(() => graphSettings(['a=b'])).toThrow(
    'there is no setting "a" of graphs; there are allow-crd-deletion,',
  );
  expect(() => graphSettings(['allow-crd-deletion'])).toThrow('such as allow-crd-deletion=false');
  expect(() => graphSettings(['feature-gates=Other'])).toThrow('of InstanceConditionEvents, ');
  expect(() => graphSettings(['rgd-max-graph-revisions=0'])).toThrow(
    'revisions of a definition that are kept',
  );
});

it('settings of the environment hold where no option says otherwise, also for members of a fleet', () => {
  const environment = { ATOLL_GRAPHS: ' rgd-max-graph-revisions=3  allow-crd-deletion=true ' };
  expect(graphSettingsOf(environment)).toEqual({ keptRevisions: 3, allowKindDeletion: true });
  expect(graphSettingsOf(environment, ['rgd-max-graph-revisions=7'])).toEqual({
    keptRevisions: 7,
    allowKindDeletion: true,
  });
  expect(graphSettingsOf({})).toEqual({});
  expect(() => graphSettingsOf({ ATOLL_GRAPHS: 'a=b' })).toThrow('there is no setting "a" of graphs');
});

it('defaults are those of kro, but for how many instances are looked after at the same time', () => {
  const byDefault = Object.fromEntries(GRAPH_SETTINGS.map((setting) => [setting.name, setting.byDefault]));
  expect(byDefault).toMatchObject({
    'allow-crd-deletion': 'false',
    'resource-graph-definition-concurrent-reconciles': '1',
    'dynamic-controller-concurrent-reconciles': '8',
    'apply-concurrency': '20',
    'cel-cost-limit': '0',
    'rgd-max-collection-size': '1000',
    'rgd-max-collection-dimension-size': '10',
    'rgd-max-graph-revisions': '5',
    'feature-gates': '',
  });
});
