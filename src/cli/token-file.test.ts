import { describe, expect, it } from 'vitest';
import { parseTokenFile } from './token-file.ts';

describe('a token file', () => {
  it('holds a token, a user, a uid and groups a line', () => {
    const text = '# operators\r\nt1,ann,1\nt2, bob ,2,"dev, ops"\n\nt3,"c ""c""",,dev\n';
    expect(parseTokenFile('f', text)).toEqual([
      { token: 't1', user: { name: 'ann', uid: '1', groups: [] } },
      { token: 't2', user: { name: 'bob', uid: '2', groups: ['dev', 'ops'] } },
      { token: 't3', user: { name: 'c "c"', groups: ['dev'] } },
    ]);
  });

  it.each([
    ['t1,ann', 'f:1: a line needs token, user and uid'],
    ['t1,ann,1\nt1,bob,2', 'f:2: this token occurs before'],
    ['t1,"ann,1', 'f:1: a quotation mark is not closed'],
    [',ann,1', 'f:1: token and user must not be empty'],
  ])('names the line that is wrong and not the token: %j', (text, message) => {
    expect(() => parseTokenFile('f', text)).toThrow(message);
  });
});
