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
});
