import { expect, it } from 'vitest';
import { withWarningLines } from './warning-lines.ts';

it('[V32] writes each warning on a line of its own', () => {
  expect(withWarningLines({ warning: '299 - "a", 299 - "b \\"c\\", d"', vary: 'x' })).toEqual({
    warning: ['299 - "a"', '299 - "b \\"c\\", d"'],
    vary: 'x',
  });
  expect(withWarningLines({ warning: '299 - "a"' })).toEqual({ warning: '299 - "a"' });
  expect(withWarningLines({ vary: 'x' })).toEqual({ vary: 'x' });
});
