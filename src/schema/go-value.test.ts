import { expect, it } from 'vitest';
import { goValue } from './go-value.ts';

it('prints values as Go does that knows nothing of their types', () => {
  expect(goValue({ b: ['x', 1, true], a: { c: null } })).toBe('map[a:map[c:<nil>] b:[x 1 true]]');
});
