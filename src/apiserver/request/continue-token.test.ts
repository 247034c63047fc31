import { describe, expect, it } from 'vitest';
import { decodeContinue, encodeContinue } from './continue-token.ts';

const PREFIX = 'invalid continue token: continue key is not valid: ';

function refusal(text: string): string {
  try {
    decodeContinue(text);
  } catch (error) {
    return (error as Error).message.replace(PREFIX, '');
  }
  return 'none';
}

const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('continue tokens', () => {
  it('are read back as they were written', () => {
    const written = { revision: 7, after: 'default/a', cluster: 'root' };
    expect(decodeContinue(encodeContinue(written))).toEqual(written);
  });

  it.each([
    ['!!!!', 'illegal base64 data at input byte 0'],
    ['YWJj==', 'illegal base64 data at input byte 4'],
    [token({}), 'server does not recognize this encoded version '],
    [
      token({ v: 'meta.k8s.io/v2', rv: 1, start: 'a' }),
      'server does not recognize this encoded version meta.k8s.io/v2',
    ],
    [
      token({ v: 'meta.k8s.io/v1', start: 'a' }),
      'incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    ],
    [token({ v: 'meta.k8s.io/v1', rv: 1 }), 'encoded start key empty (version meta.k8s.io/v1)'],
    [token({ v: 'meta.k8s.io/v1', rv: 1, start: '../x' }), '../x'],
    [
      token({ v: 'meta.k8s.io/v1', rv: '1', start: 'a' }),
      'json: cannot unmarshal string into Go struct field continueToken.rv of type int64',
    ],
  ])('%s is refused', (text, message) => {
    expect(refusal(text)).toBe(message);
  });
});
