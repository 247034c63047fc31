import { describe, expect, it } from 'vitest';
import {
  isDns1123Label,
  isDns1123Subdomain,
  validateAnnotations,
  validateConfigMapKey,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabels,
  validateLabelValue,
  validatePathSegmentName,
  validateQualifiedName,
  validateWildcardDns1123Subdomain,
} from './names.ts';

describe('names', () => {
  it.each<[string, (value: string) => string[], string[], string[]]>([
    [
      'labels',
      validateDns1123Label,
      ['a', '0', 'a-b', 'a'.repeat(63)],
      ['', 'A', '-a', 'a-', 'a.b', 'a\n', 'a'.repeat(64)],
    ],
    [
      'subdomains',
      validateDns1123Subdomain,
      ['a', 'a.b-c.0', 'a'.repeat(253)],
      ['', '.a', 'a.', 'a..b', 'A.b', 'a'.repeat(254)],
    ],
    ['wildcards', validateWildcardDns1123Subdomain, ['*.a.b'], ['*', 'a.b', '*.', 'a.*.b']],
    ['1035 labels', validateDns1035Label, ['a', 'a1-b'], ['1a', 'a-', '']],
    [
      'qualified names',
      validateQualifiedName,
      ['a', 'A_b.c', 'x.io/A', `x.io/${'a'.repeat(63)}`],
      ['', '/a', 'a/', 'a/b/c', 'X.io/a', '_a', 'a'.repeat(64)],
    ],
    ['label values', validateLabelValue, ['', 'a', 'A.b_c-d'], ['-a', 'a b', 'a/b', 'a'.repeat(64)]],
    [
      'config keys',
      validateConfigMapKey,
      ['a', '.a', 'A_b-c.d'],
      ['', 'a/b', '.', '..', '..a', 'a'.repeat(254)],
    ],
    ['path segments', validatePathSegmentName, ['system:node', ''], ['.', '..', 'a/b', 'a%b']],
  ])('%s', (_title, validate, good, bad) => {
    for (const value of good) expect([value, validate(value)]).toEqual([value, []]);
    for (const value of bad) expect([value, validate(value).length > 0]).toEqual([value, true]);
  });

  it('gives the texts that users know', () => {
    expect(validateDns1123Label('A')).toEqual([
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ]);
    expect(validateDns1123Subdomain('a'.repeat(300))).toEqual(['must be no more than 253 characters']);
    expect(validateQualifiedName('/a')).toEqual(['prefix part must be non-empty']);
    expect([isDns1123Label('a'), isDns1123Label('a.b'), isDns1123Subdomain('a.b')]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('checks labels and annotations as a whole', () => {
    expect(validateLabels({ 'x/y': 'ok', '-': 'b' }, 'metadata.labels')).toMatchObject([
      { type: 'Invalid', path: 'metadata.labels', value: '-' },
    ]);
    expect(validateLabels({ a: ' ' }, 'metadata.labels')).toMatchObject([{ value: ' ' }]);
    expect(validateAnnotations({ 'Example.com/a': 'any text\n' }, 'metadata.annotations')).toEqual([]);
    expect(validateAnnotations({ a: 'x'.repeat(256 * 1024) }, 'metadata.annotations')).toMatchObject([
      { type: 'TooLong' },
    ]);
  });
});
