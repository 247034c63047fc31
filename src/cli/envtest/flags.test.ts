import { describe, expect, it } from 'vitest';
import { parseGoFlags } from './flags.ts';

describe('flags of a program written in Go', () => {
  const parse = (...args: string[]) => parseGoFlags(args, new Set(['anonymous-auth', 'help']));

  it('come with an equals sign, with the next argument, or alone', () => {
    const flags = parse('--secure-port=6443', '--bind-address', '127.0.0.1', '--anonymous-auth', '-v', '2');
    expect(flags.text('secure-port')).toBe('6443');
    expect(flags.text('bind-address')).toBe('127.0.0.1');
    expect(flags.boolean('anonymous-auth')).toBe(true);
    expect(flags.boolean('help')).toBeUndefined();
    expect(flags.names).toEqual(['secure-port', 'bind-address', 'anonymous-auth', 'v']);
  });

  it('have their last value, or all of them', () => {
    const flags = parse('--plugin=A,B', '--plugin', 'C', '--empty=', '--token_file=x=y');
    expect(flags.list('plugin')).toEqual(['A', 'B', 'C']);
    expect(flags.text('plugin')).toBe('C');
    expect(flags.list('empty')).toEqual([]);
    expect(flags.text('token-file')).toBe('x=y');
  });

  it('are refused when they make no sense', () => {
    expect(() => parse('start')).toThrow('unknown argument "start"');
    expect(() => parse('--anonymous-auth=perhaps').boolean('anonymous-auth')).toThrow('it is true or false');
  });
});
