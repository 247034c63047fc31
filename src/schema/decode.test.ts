import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonBody } from './decode.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('parseJsonBody', () => {
  it('decodes bytes and texts', () => {
    expect(parseJsonBody(bytes('{"a":[1,"ü",null]}'))).toEqual({
      ok: true,
      value: { a: [1, 'ü', null] },
      duplicates: [],
      inexact: [],
    });
    expect(parseJsonBody('\n 5 ')).toMatchObject({ ok: true, value: 5 });
    expect(parseJsonBody(bytes('\uFEFF{}'))).toMatchObject({ ok: true, value: {} });
  });

  it.each<[string, number, number, RegExp]>([
    ['{"a": 1,\n "b": }', 2, 7, /found "}" where a value is expected/],
    ['{"a" 1}', 1, 6, /found "1" where ":" is expected/],
    ['{a: 1}', 1, 2, /quoted field name/],
    ['[1,]', 1, 4, /where a value is expected/],
    ['{"a":1} x', 1, 9, /where the end is expected/],
    ['{"a":1', 1, 7, /the text ends where "," or "}" is expected/],
    ['["a', 1, 2, /does not end/],
    ['["a\\x"]', 1, 4, /wrong escape/],
    ['["a\nb"]', 1, 4, /line break/],
    ['', 1, 1, /the text ends where a value is expected/],
    ['[01]', 1, 3, /where "," or "]" is expected/],
  ])('%j is an error at %i:%i', (text, line, column, message) => {
    const result = parseJsonBody(text);
    expect(result).toMatchObject({ ok: false, reason: 'Syntax', line, column });
    expect(result).toHaveProperty('message', expect.stringMatching(message));
  });

  it('does not quote the body in errors', () => {
    expect(JSON.stringify(parseJsonBody('{"password": "hunter2" oops}'))).not.toContain('hunter2');
  });

  it('finds duplicate fields at any depth, also behind escapes', () => {
    const result = parseJsonBody(
      '{"spec":{"replicas":1,"list":[{"x":1,"\\u0078":2}],"replicas":2,"replicas":3}}',
    );
    expect(result).toMatchObject({
      value: { spec: { replicas: 3, list: [{ x: 2 }] } },
      duplicates: ['spec.list[0].x', 'spec.replicas'],
    });
  });

  it('finds integers that lose digits', () => {
    expect(
      parseJsonBody(
        '{"a":9007199254740993,"b":9007199254740991,"c":[12345678901234567890],"d":0.12345678901234567}',
      ),
    ).toMatchObject({
      inexact: ['a', 'c[0]'],
    });
  });

  it('has limits', () => {
    expect(parseJsonBody('[1,2,3]', { maxBytes: 5 })).toEqual({
      ok: false,
      reason: 'TooLarge',
      message: 'Request entity too large: limit is 5',
    });
    expect(parseJsonBody('[[[1]]]', { maxDepth: 2 })).toMatchObject({ ok: false, reason: 'TooDeep' });
    expect(parseJsonBody('[[["["]]]', { maxDepth: 3 })).toMatchObject({ ok: true });
    expect(parseJsonBody('['.repeat(1_000_000))).toMatchObject({ ok: false });
    expect(parseJsonBody(`${'['.repeat(500_000)}${']'.repeat(500_000)}`)).toMatchObject({
      ok: false,
      reason: 'TooDeep',
    });
  });

  it('refuses bytes that are not UTF-8, and the key that would be a prototype', () => {
    expect(parseJsonBody(new Uint8Array([0x22, 0xff, 0x22]))).toMatchObject({
      ok: false,
      message: 'the body is not valid UTF-8',
    });
    for (const key of ['__proto__', '\\u005f_proto__']) {
      expect(parseJsonBody(`[{"${key}":{"admin":true}}]`)).toMatchObject({ ok: false, reason: 'Syntax' });
    }
    expect(parseJsonBody('"__proto__"')).toMatchObject({ ok: true });
  });

  it('agrees with JSON.parse on what is JSON', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', '"', '\\', '{', ']', ',', ':', '1', ' ', 'e', '-'),
        (json, at, junk) => {
          const place = at % (json.length + 1);
          const text = json.slice(0, place) + junk + json.slice(place + (at % 2));
          let expected = true;
          try {
            JSON.parse(text);
          } catch {
            expected = false;
          }
          const result = parseJsonBody(text);
          if (!text.includes('__proto__')) expect([text, result.ok]).toEqual([text, expected]);
          if (!result.ok && expected === false) expect(result.message).not.toContain('not JSON');
        },
      ),
    );
  });
});
