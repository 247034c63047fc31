import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatSelector,
  matchesSelector,
  parseLabelSelector,
  type Selector,
  selectorFromObject,
} from './label-selector.ts';

function parsed(text: string): Selector {
  const selector = parseLabelSelector(text);
  if ('error' in selector) throw new Error(selector.error);
  return selector;
}

describe('parseLabelSelector', () => {
  const labels = { app: 'web', tier: 'front', 'x.io/n': '5', empty: '' };

  it.each<[string, boolean]>([
    ['', true],
    ['app=web', true],
    ['app==web,tier=front', true],
    ['app = web , tier != back', true],
    ['app=db', false],
    ['app!=db', true],
    ['gone!=db', true],
    ['app in (db, web)', true],
    ['app in (db)', false],
    ['gone in (db)', false],
    ['app notin (db)', true],
    ['gone notin (db)', true],
    ['tier notin (front,back)', false],
    ['app', true],
    ['gone', false],
    ['!gone', true],
    ['! app', false],
    ['x.io/n>4', true],
    ['x.io/n<5', false],
    ['app>1', false],
    ['empty=', true],
    ['empty in (,a)', true],
    ['empty in ()', true],
    ['app=', false],
    ['constructor', false],
  ])('[V24] %j matches: %s', (text, expected) => {
    expect(matchesSelector(parsed(text), labels)).toBe(expected);
  });

  it('[V24] values may be words that are operators elsewhere', () => {
    expect(matchesSelector(parsed('in in (in,notin)'), { in: 'notin' })).toBe(true);
    expect(matchesSelector(parsed('a=in'), { a: 'in' })).toBe(true);
  });

  it.each([
    ',',
    'a,',
    ',a',
    'a,,b',
    'a=b=c',
    'a in b',
    'a in (',
    'a in (b c)',
    '!a=b',
    'a b',
    '-a=b',
    'a=-b',
    'a>x',
    '(a)',
    'a/b/c',
    '!',
  ])('[V24] %j is an error that says why', (text) => {
    const result = parseLabelSelector(text);
    expect('error' in result && result.error.length > 10).toBe(true);
  });

  it('[V24] refuses what is too long', () => {
    expect(parseLabelSelector('a,'.repeat(40_000))).toMatchObject({
      error: expect.stringContaining('at most'),
    });
    expect(parseLabelSelector(Array.from({ length: 2000 }, (_, i) => `a${i}`).join(','))).toHaveProperty(
      'error',
    );
  });

  it('[V24] has a canonical text', () => {
    expect(formatSelector(parsed('z, b in (y,x),!c , a==1,n>4,m<3, d notin (q),e!=r'))).toBe(
      '!c,a=1,b in (x,y),d notin (q),e!=r,m<3,n>4,z',
    );
    const name = fc.constantFrom('a', 'b', 'x.io/c');
    const value = fc.constantFrom('1', 'v', '');
    const term = fc.oneof(
      fc.tuple(name, fc.constantFrom('=', '!=', '=='), value).map((parts) => parts.join('')),
      fc
        .tuple(name, fc.constantFrom(' in ', ' notin '), fc.array(value, { minLength: 1 }))
        .map(([n, o, v]) => `${n}${o}(${v.join(',')})`),
      name,
      name.map((text) => `!${text}`),
    );
    fc.assert(
      fc.property(fc.array(term), fc.dictionary(name, value), (terms, labels) => {
        const selector = parsed(terms.join(','));
        const text = formatSelector(selector);
        expect(formatSelector(parsed(text))).toBe(text);
        expect(matchesSelector(parsed(text), labels)).toBe(matchesSelector(selector, labels));
      }),
    );
  });
});

describe('selectorFromObject', () => {
  const matches = (
    object: Parameters<typeof selectorFromObject>[0],
    labels: Record<string, string>,
  ): boolean => {
    const { selector, issues } = selectorFromObject(object);
    expect(issues).toEqual([]);
    return matchesSelector(selector, labels);
  };

  it('[V24] absent selects nothing, empty everything', () => {
    expect(matches(undefined, { a: '1' })).toBe(false);
    expect(matches({}, { a: '1' })).toBe(true);
    expect(matches({ matchLabels: {}, matchExpressions: [] }, {})).toBe(true);
  });

  it('[V24] all labels and expressions must hold', () => {
    const object = {
      matchLabels: { a: '1' },
      matchExpressions: [
        { key: 'b', operator: 'In', values: ['x', 'y'] },
        { key: 'c', operator: 'NotIn', values: ['x'] },
        { key: 'd', operator: 'Exists' },
        { key: 'e', operator: 'DoesNotExist' },
      ],
    };
    expect(matches(object, { a: '1', b: 'y', d: '' })).toBe(true);
    expect(matches(object, { a: '1', b: 'y', d: '', c: 'x' })).toBe(false);
    expect(matches(object, { a: '1', b: 'y', d: '', e: '' })).toBe(false);
    expect(matches(object, { a: '1', d: '' })).toBe(false);
    expect(formatSelector(selectorFromObject(object).selector)).toBe('!e,a=1,b in (x,y),c notin (x),d');
  });

  it('[V24] lists what is wrong, and then matches nothing', () => {
    const object = {
      matchLabels: { '-': 'x', ok: 'no good' },
      matchExpressions: [
        { key: 'a', operator: 'In' },
        { key: 'a', operator: 'Exists', values: ['x'] },
        { key: 'a', operator: 'Like', values: ['x'] },
        { key: 'a', operator: 'In', values: ['!'] },
      ],
    };
    const { selector, issues } = selectorFromObject(object, 'spec.selector');
    expect(issues.map(({ type, path }) => [type, path])).toEqual([
      ['Invalid', 'spec.selector.matchLabels'],
      ['Invalid', 'spec.selector.matchLabels'],
      ['Required', 'spec.selector.matchExpressions[0].values'],
      ['Forbidden', 'spec.selector.matchExpressions[1].values'],
      ['Invalid', 'spec.selector.matchExpressions[2].operator'],
      ['Invalid', 'spec.selector.matchExpressions[3].values[0]'],
    ]);
    expect(matchesSelector(selector, {})).toBe(false);
    expect(selectorFromObject('x').issues).toHaveLength(1);
    expect(
      selectorFromObject({ matchLabels: { a: 1 }, matchExpressions: [1, {}] } as never).issues,
    ).toHaveLength(3);
  });
});
