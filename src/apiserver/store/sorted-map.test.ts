import fc from 'fast-check';
import { expect, it } from 'vitest';
import { seededRandom } from '../../runtime/index.ts';
import { type SortedMap, sortedMap } from './sorted-map.ts';

function entries<V>(map: SortedMap<V>, start: string): [string, V][] {
  const out: [string, V][] = [];
  map.scan(start, (key, value) => {
    out.push([key, value]);
    return true;
  });
  return out;
}

function expectSame(map: SortedMap<number>, model: Map<string, number>, probes: readonly string[]): void {
  const sorted = [...model].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  expect(map.size).toBe(model.size);
  expect(entries(map, '')).toEqual(sorted);
  for (const probe of probes) {
    expect(map.get(probe)).toBe(model.get(probe));
    const from = sorted.findIndex(([key]) => key >= probe);
    expect(entries(map, probe)).toEqual(from < 0 ? [] : sorted.slice(from));
    for (const end of probes)
      expect(map.countBetween(probe, end)).toBe(sorted.filter(([key]) => key >= probe && key < end).length);
  }
}

it('behaves as a sorted model', () => {
  const key = fc.string({ minLength: 1, maxLength: 3 });
  const step = fc.record({ key, value: fc.option(fc.nat(), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step), fc.array(key, { maxLength: 4 }), (steps, probes) => {
      const map = sortedMap<number>();
      const model = new Map<string, number>();
      for (const { key, value } of steps) {
        if (value === undefined) {
          expect(map.delete(key)).toBe(model.get(key));
          model.delete(key);
        } else {
          expect(map.set(key, value)).toBe(model.get(key));
          model.set(key, value);
        }
      }
      expectSame(map, model, probes);
    }),
  );
});

it('keeps order over many splits and joins of chunks', () => {
  const random = seededRandom(5);
  const map = sortedMap<number>();
  const model = new Map<string, number>();
  const probes = ['k1', 'k5', 'k500', 'k9999', 'z'];
  for (let i = 0; i < 3000; i++) {
    map.set(`a${String(i).padStart(5, '0')}`, i);
    model.set(`a${String(i).padStart(5, '0')}`, i);
  }
  for (const share of [0.9, 0.1, 0.6]) {
    for (let i = 0; i < 6000; i++) {
      const key = `k${Math.floor(random.next() * 4000)}`;
      if (random.next() < share) {
        map.set(key, i);
        model.set(key, i);
      } else {
        map.delete(key);
        model.delete(key);
      }
    }
    expectSame(map, model, probes);
  }
  for (const key of [...model.keys()]) map.delete(key);
  expectSame(map, new Map(), probes);
  map.set('x', 1);
  expect(entries(map, '')).toEqual([['x', 1]]);
});

it('stops a scan when told', () => {
  const map = sortedMap<number>();
  for (const key of ['a', 'b', 'c', 'd']) map.set(key, 1);
  const seen: string[] = [];
  map.scan('b', (key) => {
    seen.push(key);
    return seen.length < 2;
  });
  expect(seen).toEqual(['b', 'c']);
});
