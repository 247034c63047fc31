import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffValues } from './diff.ts';

describe('differences', () => {
  it('are written with the paths that people read', () => {
    const before = {
      spec: {
        replicas: 1,
        containers: [
          { name: 'web', image: 'web:1' },
          { name: 'log', image: 'log:1' },
        ],
      },
    };
    const after = {
      spec: {
        replicas: 2,
        containers: [
          { name: 'log', image: 'log:1' },
          { name: 'web', image: 'web:2' },
        ],
      },
    };
    expect(diffValues(before, after)).toEqual([
      { path: 'spec.replicas', from: 1, to: 2 },
      { path: 'spec.containers[web].image', from: 'web:1', to: 'web:2' },
    ]);
  });

  it('tell what is new and what goes away', () => {
    expect(diffValues({ a: 1 }, { b: 2 })).toEqual([
      { path: 'a', from: 1 },
      { path: 'b', to: 2 },
    ]);
    expect(diffValues([1, 2], [1, 3, 4])).toEqual([
      { path: '[1]', from: 2, to: 3 },
      { path: '[2]', to: 4 },
    ]);
    expect(diffValues({ 'a.b/c': 1 }, {})).toEqual([{ path: '[a.b/c]', from: 1 }]);
  });

  it('are none exactly between equal values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(diffValues(value, structuredClone(value))).toEqual([]);
      }),
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.integer()),
        fc.dictionary(fc.string(), fc.integer()),
        (a, b) => {
          expect(diffValues(a, b).length === 0).toBe(
            JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort()),
          );
        },
      ),
    );
  });
});
