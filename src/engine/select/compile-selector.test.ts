import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { compiledSelector } from './compile-selector.ts';
import { type ResourceSelector, selects } from './select.ts';

const widget = (namespace: string | undefined, size = 1): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', ...(namespace === undefined ? {} : { namespace }) },
  spec: { size },
});
const namespaces = (name: string): Record<string, string> | undefined =>
  ({ shop: { team: 'a' }, other: {} })[name];
const selector = (more: Partial<ResourceSelector>): ResourceSelector => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  ...more,
});

describe('selecting by what is not of the object alone', () => {
  const teamA = selector({ namespaceSelector: { matchLabels: { team: 'a' } } });

  it('by the labels of its namespace', () => {
    expect(selects(teamA, widget('shop'), namespaces)).toBe(true);
    expect(selects(teamA, widget('other'), namespaces)).toBe(false);
    expect(selects(teamA, widget('not-known-yet'), namespaces)).toBe(false);
    expect(selects(teamA, widget('shop'))).toBe(false);
  });

  it.each([
    ['absent', undefined, true],
    ['empty', {}, true],
    ['anything else', { matchLabels: { team: 'a' } }, false],
  ])('objects without a namespace where the selector of namespaces is %s', (_what, given, expected) => {
    const one = given === undefined ? selector({}) : selector({ namespaceSelector: given });
    expect(selects(one, widget(undefined), namespaces)).toBe(expected);
  });

  it('a Namespace by its own labels', () => {
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { team: 'a' } } };
    const one = { apiVersion: 'v1', kind: 'Namespace', namespaceSelector: { matchLabels: { team: 'a' } } };
    expect(selects(one, object)).toBe(true);
    expect(selects(one, { ...object, metadata: { name: 'shop' } })).toBe(false);
  });

  it('by an expression over it; one that fails selects nothing', () => {
    const large = selector({ expression: 'object.spec.size > 2' });
    expect(selects(large, widget('shop', 3))).toBe(true);
    expect(selects(large, widget('shop', 2))).toBe(false);
    expect(selects(large, { ...widget('shop'), spec: {} })).toBe(false);
  });

  it.each<[Partial<ResourceSelector>, string]>([
    [{ expression: 'object.' }, 'expression: '],
    [{ expression: '1 + 1' }, 'expression: it does not give true or false'],
    [
      { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] } },
      'namespaceSelector: ',
    ],
    [{ labelSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } }, 'labelSelector: '],
  ])('says what is wrong with %j and selects nothing', (more, problem) => {
    const one = selector(more);
    expect(compiledSelector(one).issues[0]).toContain(problem);
    expect(selects(one, widget('shop'))).toBe(false);
  });
});
