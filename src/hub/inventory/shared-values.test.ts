import { expect, it } from 'vitest';
import { sharedValues } from './shared-values.ts';

it('gives the same object for the same content, and another for another', () => {
  const share = sharedValues<readonly string[]>();
  const first = share(['Pod', 'Service']);
  expect(share(['Pod', 'Service'])).toBe(first);
  expect(share(['Service', 'Pod'])).toEqual(['Service', 'Pod']);
  expect(share(['Pod,Service'])).toEqual(['Pod,Service']);
});

it('tells contents apart by what it is told to look at', () => {
  const share = sharedValues<ReadonlyMap<string, string>>((map) => JSON.stringify([...map]));
  const first = share(new Map([['/api', 'one']]));
  expect(share(new Map([['/api', 'one']]))).toBe(first);
  expect(share(new Map([['/api', 'two']])).get('/api')).toBe('two');
});

it('gives the right content however many there are', () => {
  const share = sharedValues<{ readonly value: number }>();
  for (let round = 0; round < 2; round++)
    for (let value = 0; value < 1_000; value++) expect(share({ value })).toEqual({ value });
});
