import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import type { IntentSource, Intents } from '../intents/index.ts';
import { createConcerned } from './concerned.ts';

const object = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'shop', name, labels },
});

it('asks those whose selectors reach an object, as it is or was, and those that do not say what they select', () => {
  const wishes = new Map<string, string | undefined>([
    ['red', 'red'],
    ['blue', 'blue'],
    ['any', undefined],
  ]);
  const asked: string[] = [];
  const source = {
    reach({ metadata }: KubeObject) {
      const colour = wishes.get(metadata.name ?? '');
      if (colour === undefined) return undefined;
      return [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { colour } } }];
    },
    concernedBy({ metadata }: KubeObject): boolean {
      asked.push(metadata.name ?? '');
      return metadata.name !== 'any';
    },
  } as unknown as IntentSource;
  const intents = {
    get: (key: string) => (wishes.has(key) ? { source, object: object(key) } : undefined),
  } as unknown as Intents;
  const concerned = createConcerned(
    () => intents,
    () => undefined,
  );
  for (const key of wishes.keys()) concerned.touch(key);
  const by = (after: KubeObject, previous?: KubeObject): string[] => {
    asked.length = 0;
    const change = { type: 'updated', object: after, ...(previous ? { previous } : {}) } as const;
    return [...concerned.by(change, new Set([...wishes.keys(), 'gone']))].sort();
  };
  const red = object('a', { colour: 'red' });
  const blue = object('a', { colour: 'blue' });
  expect(by(red)).toEqual(['red']);
  expect(new Set(asked)).toEqual(new Set(['red', 'any']));
  expect(by(blue, red)).toEqual(['blue', 'red']);
  expect(by(object('a'))).toEqual([]);
  expect([...concerned.by({ type: 'added', object: red }, new Set(['blue']))]).toEqual([]);

  wishes.set('red', 'green');
  concerned.touch('red');
  expect(by(red)).toEqual([]);
  wishes.delete('blue');
  concerned.touch('blue');
  expect(by(blue)).toEqual([]);
  expect(new Set(asked)).toEqual(new Set(['any']));
});
