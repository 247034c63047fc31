import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { GRAPH_SETTINGS, graphSettings } from './settings.ts';

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
