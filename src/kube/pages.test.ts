import { expect, it } from 'vitest';
import type { Client } from './client.ts';
import type { KubeObject } from './object.ts';
import { pagesOf } from './pages.ts';
import { configMaps } from './well-known.ts';

const named = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

it('asks for page after page with the same question, to the end and no further', async () => {
  const asked: unknown[] = [];
  const answers = [
    { items: [named('a'), named('b')], metadata: { continue: 'more' } },
    { items: [], metadata: { continue: 'last' } },
    // Go writes an empty text where there is no more.
    { items: [named('c')], metadata: { continue: '' } },
  ];
  const client = {
    list: async (_resource: unknown, namespace: string, options: object) => {
      asked.push({ namespace, ...options });
      return answers[asked.length - 1];
    },
  } as unknown as Client;
  const found: string[] = [];
  for await (const items of pagesOf(client, configMaps, 'n', { limit: 2, labelSelector: 'a=b' }))
    found.push(...items.map(({ metadata }) => metadata.name ?? ''));
  expect(found).toEqual(['a', 'b', 'c']);
  const question = { namespace: 'n', limit: 2, labelSelector: 'a=b' };
  expect(asked).toEqual([question, { ...question, continue: 'more' }, { ...question, continue: 'last' }]);
});
