import { describe, expect, it } from 'vitest';
import { HubUnreachable } from './hub-access.ts';
import { agoText, cell, failureText, harmless, paintFor, plainPaint, printed, table } from './output.ts';

describe('table', () => {
  it('aligns columns by the text that is seen, and ends no line with spaces', () => {
    const text = table(
      ['NAME', 'STATE'],
      [
        ['a', cell('Ready', 'good')],
        ['longer', ''],
      ],
      plainPaint,
    );
    expect(text).toBe('NAME     STATE\na        Ready\nlonger\n');
  });
  it('has the same columns in colour', () => {
    const colour = paintFor({ isTTY: true }, {});
    const text = table(['NAME', 'STATE'], [[cell('a', 'bad'), 'b']], colour);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are taken away
    expect(text.replace(/\u001b\[\d+m/g, '')).toBe('NAME   STATE\na      b\n');
    expect(text).toContain('\u001b[31ma\u001b[39m');
  });
});

describe('colours', () => {
  it('are used on terminals only, and never with NO_COLOR', () => {
    expect(paintFor({ isTTY: true }, {})('good', 'x')).not.toBe('x');
    expect(paintFor({}, {})('good', 'x')).toBe('x');
    expect(paintFor({ isTTY: true }, { NO_COLOR: '1' })('good', 'x')).toBe('x');
    expect(paintFor({ isTTY: true }, { NO_COLOR: '' })('good', 'x')).not.toBe('x');
    expect(paintFor({ isTTY: true }, { TERM: 'dumb' })('good', 'x')).toBe('x');
  });
});

describe('texts of foreign origin', () => {
  it('cannot drive the terminal', () => {
    const report = { message: 'a\u001b]0;title\u0007b\nc' };
    expect(printed(report, undefined, (safe) => safe.message)).toBe('a�]0;title�b\nc');
    expect(harmless(['\u009b2J'])).toEqual(['�2J']);
  });
  it('are whole in data', () => {
    expect(JSON.parse(printed({ a: '\u001b' }, 'json', () => ''))).toEqual({ a: '\u001b' });
    expect(printed({ a: [1, 2] }, 'yaml', () => '')).toBe('a:\n  - 1\n  - 2\n');
  });
});

describe('failures', () => {
  it('say what to do where a hub cannot be reached, also below another error', () => {
    const error = new HubUnreachable('the hub is away', 'npx atoll start hub');
    const text = 'atoll: the hub is away\nNext: npx atoll start hub\n';
    expect(failureText(error)).toBe(text);
    expect(failureText(new Error('reading failed', { cause: error }))).toBe(text);
  });
  it('hold their causes', () => {
    expect(failureText(new Error('a', { cause: new Error('b') }))).toBe('atoll: a: b\n');
  });
});

it('ages are short, and none is negative', () => {
  expect(agoText(1_000, 6_000)).toBe('5s ago');
  expect(agoText(9_000, 6_000)).toBe('0s ago');
  expect(agoText(undefined, 6_000)).toBe('never');
});
