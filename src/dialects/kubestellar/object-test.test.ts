import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';
import { compileObjectTest } from './object-test.ts';
import type { ObjectTest } from './types.ts';

type Labels = Record<string, string>;
interface Candidate {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
}

/** The rules in the order and words of their description, without any of the code that is tested. */
function referencePasses(
  test: ObjectTest,
  candidate: Candidate,
  namespaces: Record<string, Labels>,
): boolean {
  const isIn = (list: readonly string[] | undefined, value: string): boolean => {
    if (list === undefined || list.length === 0) return true;
    for (const item of list) if (item === '*' || item === value) return true;
    return false;
  };
  const holds = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean => {
    for (const [key, value] of Object.entries(matchLabels)) if (labels[key] !== value) return false;
    for (const { key, operator, values = [] } of matchExpressions) {
      const has = Object.keys(labels).includes(key);
      const among = has && values.includes(labels[key] ?? '');
      if (operator === 'In' && !among) return false;
      if (operator === 'NotIn' && among) return false;
      if (operator === 'Exists' && !has) return false;
      if (operator === 'DoesNotExist' && has) return false;
    }
    return true;
  };
  const saysNothing = (selector: LabelSelector): boolean =>
    Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;

  if (typeof test.apiGroup === 'string' && test.apiGroup !== candidate.group) return false;
  if (!isIn(test.resources, candidate.resource)) return false;
  const listsNamespaces = (test.namespaces ?? []).length > 0;
  if (candidate.namespace === '') {
    if (listsNamespaces && !test.namespaces?.includes('*')) return false;
    if ((test.namespaceSelectors ?? []).length > 0 && !test.namespaceSelectors?.some(saysNothing))
      return false;
  } else {
    if (!isIn(test.namespaces, candidate.namespace)) return false;
    const labels = namespaces[candidate.namespace];
    const selectors = test.namespaceSelectors ?? [];
    const some = selectors.some((one) => saysNothing(one) || (labels !== undefined && holds(one, labels)));
    if (selectors.length > 0 && !some) return false;
  }
  if (!isIn(test.objectNames, candidate.name)) return false;
  const selectors = test.objectSelectors ?? [];
  return selectors.length === 0 || selectors.some((selector) => holds(selector, candidate.labels));
}

function passes(test: ObjectTest, candidate: Candidate, namespaces: Record<string, Labels>): boolean {
  const { group, resource, namespace, name, labels } = candidate;
  const object: KubeObject = {
    apiVersion: group === '' ? 'v1' : `${group}/v1`,
    kind: 'Any',
    metadata: { name, labels, ...(namespace === '' ? {} : { namespace }) },
  };
  return compileObjectTest(test).passes({ group, resource }, object, (of) => namespaces[of]);
}

const few = (...values: string[]): fc.Arbitrary<string> => fc.constantFrom(...values);
const labels = fc.dictionary(few('app', 'tier'), few('x', 'y'), { maxKeys: 2 });
const selector: fc.Arbitrary<LabelSelector> = fc.record(
  {
    matchLabels: labels,
    matchExpressions: fc.array(
      fc.oneof(
        fc.record({
          key: few('app', 'tier'),
          operator: few('In', 'NotIn'),
          values: fc.array(few('x', 'y'), { minLength: 1, maxLength: 2 }),
        }),
        fc.record({ key: few('app', 'tier'), operator: few('Exists', 'DoesNotExist') }),
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
);
const names = (...values: string[]): fc.Arbitrary<string[]> =>
  fc.oneof(
    fc.constant<string[]>([]),
    fc.constant<string[]>(['*']),
    fc.uniqueArray(few(...values), { minLength: 1, maxLength: 2 }),
  );
const clause: fc.Arbitrary<ObjectTest> = fc.record(
  {
    apiGroup: few('', 'apps'),
    resources: names('configmaps', 'deployments'),
    namespaces: names('shop', 'bank'),
    namespaceSelectors: fc.array(selector, { maxLength: 2 }),
    objectNames: names('a', 'b'),
    objectSelectors: fc.array(selector, { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const candidate: fc.Arbitrary<Candidate> = fc.record({
  group: few('', 'apps'),
  resource: few('configmaps', 'deployments'),
  namespace: few('', 'shop', 'bank', 'not-known'),
  name: few('a', 'b', 'c'),
  labels,
});

describe('a clause', () => {
  it('[S26] passes what its description says, whatever is in it', () => {
    let passed = 0;
    fc.assert(
      fc.property(clause, candidate, labels, labels, (test, object, shop, bank) => {
        // One that tells nothing apart is refused, and passes nothing.
        fc.pre(compileObjectTest(test).issues.length === 0);
        const expected = referencePasses(test, object, { shop, bank });
        passed += Number(expected);
        expect(passes(test, object, { shop, bank })).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
    expect(passed).toBeGreaterThan(300);
  });

  const team = { matchLabels: { team: 'x' } };
  it.each<[string, ObjectTest, boolean]>([
    ['neither is said', {}, true],
    ['all namespaces are named', { namespaces: ['*'] }, true],
    ['some namespaces are named', { namespaces: ['shop'] }, false],
    ['namespaces with any labels', { namespaceSelectors: [{}] }, true],
    ['namespaces with some labels', { namespaceSelectors: [team] }, false],
    ['all namespaces, with any labels', { namespaces: ['*'], namespaceSelectors: [team, {}] }, true],
    ['all namespaces, with some labels', { namespaces: ['*'], namespaceSelectors: [team] }, false],
    ['some namespaces, with any labels', { namespaces: ['shop'], namespaceSelectors: [{}] }, false],
  ])('[S27] passes what is in no namespace: %s', (_what, test, expected) => {
    const role = { group: 'rbac', resource: 'clusterroles', namespace: '', name: 'r', labels: { team: 'x' } };
    expect(passes({ apiGroup: 'rbac', ...test }, role, { shop: { team: 'x' } })).toBe(expected);
  });

  it.each<[ObjectTest, string]>([
    [{}, 'it tells nothing apart'],
    [{ resources: ['*'], namespaces: [], objectSelectors: [{}] }, 'it tells nothing apart'],
    [{ apiGroup: null }, 'it tells nothing apart'],
    [{ objectSelectors: [{ matchLabels: { a: 'b' } }, {}] }, 'it tells nothing apart'],
    [{ apiGroup: '', resources: ['*', 'pods'] }, "resources: '*' must be the only element"],
    [
      { namespaceSelectors: [{ matchExpressions: [{ key: 'x', operator: 'Near' }] }] },
      'namespaceSelectors[0].matchExpressions[0].operator',
    ],
  ])('%j is refused', (test, why) => {
    const compiled = compileObjectTest(test);
    expect(compiled.issues.join()).toContain(why);
    expect(compiled.reaches({ group: '', resource: 'pods' })).toBe(false);
  });
});
