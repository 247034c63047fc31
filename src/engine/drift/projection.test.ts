import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../schema/json.ts';
import { projectOn } from './projection.ts';

const WANTED = { data: { a: '1' }, spec: { containers: [{ name: 'web', image: 'web:1' }], args: ['x'] } };

function live(more: { data?: object; containers?: object[]; args?: string[] } = {}): JsonValue {
  return {
    data: { a: '1', ...more.data },
    spec: {
      containers: [{ name: 'web', image: 'web:1', pullPolicy: 'Always' }, ...(more.containers ?? [])],
      args: more.args ?? ['x'],
      added: true,
    },
    status: {},
  } as JsonValue;
}

describe('a projection on what is wanted', () => {
  it('is blind to what others add', () => {
    expect(projectOn(WANTED, live({ data: { b: '2' } }))).toEqual(projectOn(WANTED, live()));
  });

  it.each([
    ['a changed value', { data: { a: '2' } }],
    ['an item too many', { containers: [{ name: 'side' }] }],
    ['another list of values', { args: ['x', 'y'] }],
  ])('sees %s', (_text, more) => {
    expect(projectOn(WANTED, live(more))).not.toEqual(projectOn(WANTED, live()));
  });

  it('follows items when their order changes', () => {
    const two = {
      list: [
        { name: 'a', v: 1 },
        { name: 'b', v: 2 },
      ],
    };
    expect(
      projectOn(two, {
        list: [
          { name: 'b', v: 2, x: 1 },
          { name: 'a', v: 1 },
        ],
      }),
    ).toEqual(projectOn(two, two));
  });

  it('says what is there instead of what is wanted', () => {
    expect(projectOn({ a: { b: 1 } }, { a: 'text' })).toEqual({ a: 'text' });
    expect(projectOn({ a: 1 }, {})).toEqual({});
  });
});
