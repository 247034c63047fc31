import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  requiredFieldValue,
} from './field-selector.ts';

describe('parseFieldSelector', () => {
  it('[V24] reads terms with =, == and !=', () => {
    expect(parseFieldSelector('metadata.name=a,status.phase!=Running,spec.x==1')).toEqual([
      { field: 'metadata.name', operator: '=', value: 'a' },
      { field: 'status.phase', operator: '!=', value: 'Running' },
      { field: 'spec.x', operator: '=', value: '1' },
    ]);
    expect(parseFieldSelector('')).toEqual([]);
    expect(parseFieldSelector('a=')).toEqual([{ field: 'a', operator: '=', value: '' }]);
  });

  it('[V24] reads escapes, and writes them', () => {
    const text = 'a=x\\,y\\=z\\\\,b!=c';
    const found = parseFieldSelector(text);
    expect(found).toEqual([
      { field: 'a', operator: '=', value: 'x,y=z\\' },
      { field: 'b', operator: '!=', value: 'c' },
    ]);
    expect('error' in found ? found.error : formatFieldSelector(found)).toBe(text);
  });

  it.each(['a', 'a=b=c', 'a=\\x', 'a=b\\', '!a'])('[V24] %j is an error', (text) => {
    expect(parseFieldSelector(text)).toHaveProperty('error');
  });

  it('[V24] matches; a missing field is the empty text', () => {
    const requirements = parseFieldSelector('metadata.name=a,spec.nodeName=');
    if ('error' in requirements) throw new Error(requirements.error);
    const fields: Record<string, string> = { 'metadata.name': 'a' };
    expect(matchesFields(requirements, (field) => fields[field])).toBe(true);
    fields['spec.nodeName'] = 'n';
    expect(matchesFields(requirements, (field) => fields[field])).toBe(false);
    expect(requiredFieldValue(requirements, 'metadata.name')).toBe('a');
    expect(requiredFieldValue(requirements, 'other')).toBeUndefined();
  });

  it('[V24] any terms say the same after being written and read again, and match as one by one', () => {
    const field = fc.constantFrom('metadata.name', 'status.phase', 'spec.x');
    const value = fc.oneof(
      fc.constantFrom('', 'a', 'b'),
      fc.string({ unit: fc.constantFrom(',', '=', '!', '\\', 'a'), maxLength: 4 }),
    );
    const operator = fc.constantFrom('=' as const, '!=' as const);
    fc.assert(
      fc.property(
        fc.array(fc.record({ field, operator, value }), { maxLength: 4 }),
        fc.dictionary(field, value),
        (terms, fields) => {
          const text = formatFieldSelector(terms);
          expect(parseFieldSelector(text)).toEqual(terms);
          const expected = terms.every(
            (term) => ((fields[term.field] ?? '') === term.value) === (term.operator === '='),
          );
          expect(matchesFields(terms, (name) => fields[name])).toBe(expected);
        },
      ),
    );
  });
});
