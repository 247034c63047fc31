import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clone, type JsonObject } from '../../schema/json.ts';
import { withoutRemoved } from './removed-fields.ts';

describe('withoutRemoved', () => {
  it('takes away what the last file had and this one has not, and nothing of others', () => {
    const result = {
      spec: { replicas: 3, paused: true, other: 1 },
      metadata: { labels: { a: '1', theirs: 'x' } },
    };
    const before = { spec: { replicas: 3, paused: true }, metadata: { labels: { a: '1' } } };
    const after = { spec: { paused: true }, metadata: {} };
    expect(withoutRemoved(result, before, after)).toEqual({ spec: { paused: true, other: 1 }, metadata: {} });
    expect(result.spec.replicas).toBe(3);
  });
  it('tells items of lists apart by their key, others by value', () => {
    const env = (...names: string[]) => ({ env: names.map((name) => ({ name })) });
    expect(withoutRemoved(env('A', 'B', 'theirs'), env('A', 'B'), env('B'))).toEqual(env('B', 'theirs'));
    expect(withoutRemoved({ f: ['x', 'y', 'z'] }, { f: ['x', 'y'] }, { f: ['x'] })).toEqual({
      f: ['x', 'z'],
    });
    const nested = (...keys: string[]) => ({
      c: [{ name: 'main', set: Object.fromEntries(keys.map((key) => [key, 1])) }],
    });
    expect(withoutRemoved(nested('a', 'b'), nested('a', 'b'), nested('a'))).toEqual(nested('a'));
  });
  it('finds nothing where nothing was taken out of the file', () => {
    expect(withoutRemoved({ a: 1, b: 2 }, { a: 1 }, { a: 5 })).toBeUndefined();
    expect(withoutRemoved({}, { a: 1 }, {})).toBeUndefined();
    expect(withoutRemoved({ a: 1 }, { a: null }, {})).toBeUndefined();
  });
  it('finds nothing when the file is as it was, whatever it holds', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(object, object, (file, live) => {
        const same = clone(file) as JsonObject;
        expect(withoutRemoved({ ...live, ...file } as JsonObject, file as JsonObject, same)).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });
});
