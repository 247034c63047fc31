import { describe, expect, it } from 'vitest';
import {
  decodeContinue,
  decodeVersions,
  encodeContinue,
  encodeVersions,
  isComposite,
} from './composite-version.ts';
import { fleetTable } from './fleet-table.ts';

describe('one table of many clusters', () => {
  it('puts cells under the columns of their names, whatever a release prints', () => {
    const table = fleetTable();
    const old = table.learn([{ name: 'Name' }, { name: 'Age' }]);
    const recent = table.learn([{ name: 'Name' }, { name: 'Ready' }, { name: 'Age' }]);
    expect(table.definitions.map(({ name }) => name)).toEqual(['Name', 'Cluster', 'Age', 'Ready']);
    const object = { metadata: { name: 'x' } };
    expect(table.rows('a', old, [{ cells: ['x', '1d'], object }])).toEqual([
      {
        cells: ['x', 'a', '1d', '<none>'],
        object: { metadata: { name: 'x', annotations: { 'atoll.dev/cluster': 'a' } } },
      },
    ]);
    expect(table.rows('b', recent, [{ cells: ['x', true, '2d'] }])[0]?.cells).toEqual(['x', 'b', '2d', true]);
  });
});

describe('versions of many clusters', () => {
  it('are one short text, which alone is read back', () => {
    const versions = new Map(Array.from({ length: 1000 }, (_, i) => [`cluster-${i}`, String(1000 + i)]));
    const text = encodeVersions(versions);
    expect(text.length).toBeLessThan(10_000);
    expect(isComposite(text)).toBe(true);
    expect(decodeVersions(text)).toEqual(versions);
    expect(encodeVersions(new Map())).toBe('');
    const token = { versions, continues: new Map([['a', 'more']]) };
    expect(decodeContinue(encodeContinue(token))).toEqual(token);
    for (const bad of ['1', 'f1', 'f1AAAA', `${text.slice(0, -20)}`, 'f1!', encodeContinue(token)])
      expect(() => decodeVersions(bad)).toThrow();
    for (const bad of ['', 'c1', text]) expect(() => decodeContinue(bad)).toThrow();
  });
});
