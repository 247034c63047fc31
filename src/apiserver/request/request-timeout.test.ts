import { describe, expect, it } from 'vitest';
import { parseRequestInfo } from './request-info.ts';
import { checkTimeout } from './request-timeout.ts';

const check = (path: string) => () => checkTimeout(parseRequestInfo('GET', path));

describe('the parameter timeout', () => {
  it('is a duration as Go writes them', () => {
    for (const good of ['1h', '1.5s', '0', '0s', '-1s', '1m30s', '.5s', '']) {
      expect(check(`/version?timeout=${good}`), good).not.toThrow();
    }
    for (const [bad, why] of [
      ['abc', 'invalid duration "abc"'],
      ['5', 'missing unit in duration "5"'],
      ['1m1', 'missing unit in duration "1m1"'],
      ['1d', 'unknown unit "d" in duration "1d"'],
      ['.s', 'invalid duration ".s"'],
    ] as const)
      expect(check(`/api/v1/pods?timeout=${bad}`), bad).toThrow(
        `invalid timeout specified in the request URL - time: ${why}`,
      );
  });

  it('is no matter of streams', () => {
    expect(check('/api/v1/pods?watch=1&timeout=abc')).not.toThrow();
    expect(check('/api/v1/namespaces/n/pods/p/log?timeout=abc')).not.toThrow();
  });
});
