import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { createReach } from './reach.ts';
import { type ResourceSelector, selects } from './select.ts';

const word = fc.constantFrom('a', 'b', 'c');
const labels = fc.dictionary(fc.constantFrom('team', 'app', 'toString'), word, { maxKeys: 3 });
const labelSelector = fc.record(
  {
    matchLabels: labels,
    matchExpressions: fc.array(
      fc.record({
        key: fc.constantFrom('team', 'app'),
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.array(word, { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
);
const selector: fc.Arbitrary<ResourceSelector> = fc
  .record(
    {
      apiVersion: fc.constantFrom('v1', 'apps/v1', 'apps/v1beta1'),
      kind: fc.constantFrom('Deployment', 'ConfigMap'),
      namespace: word,
      name: word,
      labelSelector,
    },
    { requiredKeys: ['apiVersion', 'kind'] },
  )
  .map((given) => given as ResourceSelector);
const object: fc.Arbitrary<KubeObject> = fc
  .tuple(fc.constantFrom('v1', 'apps/v1'), fc.constantFrom('Deployment', 'ConfigMap'), word, word, labels)
  .map(([apiVersion, kind, namespace, name, given]) => ({
    apiVersion,
    kind,
    metadata: { namespace, name, labels: given },
  }));

describe('reach', () => {
  it('finds every source that selects an object, after changes too', () => {
    const sources = fc.array(fc.tuple(word, fc.array(selector, { maxLength: 3 })), { maxLength: 8 });
    fc.assert(
      fc.property(sources, fc.option(word), object, (changes, gone, sought) => {
        const reach = createReach();
        const now = new Map<string, readonly ResourceSelector[]>();
        for (const [key, selectors] of changes) {
          reach.set(key, selectors);
          now.set(key, selectors);
        }
        if (gone !== null) {
          reach.delete(gone);
          now.delete(gone);
        }
        const found = reach.of(sought);
        for (const key of found) expect(now.has(key)).toBe(true);
        for (const [key, selectors] of now)
          if (selectors.some((one) => selects(one, sought))) expect(found).toContain(key);
      }),
    );
  });

  it('leaves out those that ask for another label, name or namespace', () => {
    const reach = createReach();
    const of = (more: Partial<ResourceSelector>): readonly ResourceSelector[] => [
      { apiVersion: 'v1', kind: 'ConfigMap', ...more },
    ];
    reach.set('label', of({ labelSelector: { matchLabels: { team: 'a' } } }));
    reach.set('both', of({ labelSelector: { matchLabels: { team: 'a', app: 'x' } } }));
    reach.set(
      'among',
      of({ labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['x', 'y'] }] } }),
    );
    reach.set('name', of({ name: 'settings' }));
    reach.set('namespace', of({ namespace: 'shop' }));
    const found = (namespace: string, name: string, given: Record<string, string>): string[] =>
      [
        ...reach.of({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name, labels: given } }),
      ].sort();
    expect(found('shop', 'settings', {})).toEqual(['name', 'namespace']);
    // The label that fewer ask for finds it.
    expect(found('other', 'one', { team: 'a' })).toEqual(['label']);
    expect(found('other', 'one', { app: 'y' })).toEqual(['among']);
    expect(found('other', 'one', { app: 'x', team: 'a' })).toEqual(['among', 'both', 'label']);
  });
});
