import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';
import { listTexts } from './list-text.ts';
import type { View } from './view.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const resource = { group: '', version: 'v1', kind: 'ConfigMap', listKind: 'ConfigMapList' } as Parameters<
  ReturnType<typeof listTexts>['of']
>[1];

function viewOf(name: string, size: number): View {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { x: 'x'.repeat(size) } };
  return { object, bytes: Buffer.from(JSON.stringify(object)) };
}

function listing(
  revision: number,
  views: readonly View[],
): Parameters<ReturnType<typeof listTexts>['of']>[2] {
  return { metadata: { resourceVersion: String(revision) }, views, records: [] };
}

const parsed = (text: Uint8Array): unknown => JSON.parse(Buffer.from(text).toString());

describe('texts of lists', () => {
  it('are kept while nothing of them changes, whatever the revision, and made anew when something does', () => {
    const texts = listTexts();
    const views = [viewOf('a', 20_000), viewOf('b', 20_000)];
    const first = texts.of('k', resource, listing(7, views));
    expect(parsed(first)).toMatchObject({
      kind: 'ConfigMapList',
      metadata: { resourceVersion: '7' },
      items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }],
    });
    expect((parsed(first) as { items: object[] }).items[0]).not.toHaveProperty('kind');
    expect(texts.of('k', resource, listing(7, [...views]))).toBe(first);
    const later = texts.of('k', resource, listing(1_000, [...views]));
    expect(parsed(later)).toEqual({ ...(parsed(first) as object), metadata: { resourceVersion: '1000' } });
    const changed = texts.of('k', resource, listing(1_001, [viewOf('a', 3), ...views.slice(1)]));
    expect(parsed(changed)).toMatchObject({ items: [{ data: { x: 'xxx' } }, { metadata: { name: 'b' } }] });
    expect(parsed(texts.of('k', resource, listing(1_002, [])))).toMatchObject({ items: [] });
  });

  it('are forgotten when they are more than may be kept, the one that nobody asked for first', () => {
    const texts = listTexts(400_000);
    const views = (key: string): View[] => [viewOf(key, 90_000)];
    const all = new Map(['a', 'b', 'c', 'd'].map((key) => [key, views(key)]));
    const ask = (key: string): Uint8Array => texts.of(key, resource, listing(1, all.get(key) ?? []));
    const [a, b] = [ask('a'), ask('b')];
    ask('c');
    expect(ask('a')).toBe(a);
    ask('d');
    all.set('e', views('e'));
    ask('e');
    expect(ask('a')).toBe(a);
    expect(ask('b')).not.toBe(b);
  });

  it('say what is there after each write', async () => {
    const { get, post, merge, delete: remove } = await startServer({ controllers: false });
    const names = async (): Promise<unknown> =>
      (await get(`${MAPS}?labelSelector=a`)).body.items.map(
        ({ metadata, data }: { metadata: { name: string }; data: { x: string } }) =>
          `${metadata.name} ${data.x.length}`,
      );
    for (const name of ['a', 'b'])
      await post(MAPS, { metadata: { name, labels: { a: '' } }, data: { x: 'x'.repeat(20_000) } });
    expect(await names()).toEqual(['a 20000', 'b 20000']);
    expect(await names()).toEqual(['a 20000', 'b 20000']);
    await merge(`${MAPS}/a`, { data: { x: 'y' } });
    expect(await names()).toEqual(['a 1', 'b 20000']);
    await remove(`${MAPS}/b`);
    expect(await names()).toEqual(['a 1']);
  });
});
