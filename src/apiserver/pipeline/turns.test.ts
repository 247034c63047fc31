import { expect, it } from 'vitest';
import { parseRequestInfo } from '../request/index.ts';
import { needsTurn } from './turns.ts';

it('[V68] lets masters pass, but for those whom somebody in a logical cluster has made up', () => {
  const info = parseRequestInfo('GET', '/clusters/a/api/v1/pods');
  const master = { name: 'x', groups: ['system:masters'] };
  expect(needsTurn(info, master)).toBe(false);
  expect(needsTurn(info, { ...master, within: 'a' })).toBe(true);
  expect(needsTurn(info, { name: 'x', groups: [] })).toBe(true);
});
