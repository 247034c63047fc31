import { describe, expect, it } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import type { ListOptions, Reader, WatchEvent, WatchOptions } from './client.ts';
import { startInformer } from './informer-cache.ts';
import type { KubeObject } from './object.ts';
import { failure } from './status-error.ts';
import { configMaps } from './well-known.ts';

interface FakeWatch {
  readonly options: WatchOptions;
  send(event: WatchEvent): void;
  end(error?: unknown): void;
}

/** A server of which the test says what it lists and what its watches send. */
function fakeReader() {
  const state = {
    items: [] as KubeObject[],
    version: '1',
    listError: undefined as unknown,
    watchError: undefined as unknown,
    lists: [] as ListOptions[],
    watches: [] as FakeWatch[],
  };
  const reader: Reader = {
    get: () => Promise.reject(new Error('not used')),
    async list(_resource, _namespace, options = {}) {
      state.lists.push(options);
      if (state.listError) throw state.listError;
      return {
        apiVersion: 'v1',
        kind: 'List',
        metadata: { resourceVersion: state.version },
        items: structuredClone(state.items),
      } as never;
    },
    async *watch(_resource, _namespace, options = {}) {
      const queue: (WatchEvent | { error: unknown } | 'end')[] = [];
      let wake = (): void => {};
      const push = (item: (typeof queue)[number]): void => {
        queue.push(item);
        wake();
      };
      state.watches.push({
        options,
        send: push,
        end: (error) => push(error === undefined ? 'end' : { error }),
      });
      options.signal?.addEventListener('abort', () => push('end'));
      if (state.watchError) throw state.watchError;
      options.onOpen?.();
      while (true) {
        const item = queue.shift();
        if (item === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if (item === 'end') return;
        else if ('error' in item) throw item.error;
        else yield item as never;
      }
    },
  };
  return { state, reader };
}

const map = (name: string, version: string, uid = `uid-${name}`): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'n', uid, resourceVersion: version, managedFields: [{ manager: 'x' }] },
});

function start(initial: Partial<ReturnType<typeof fakeReader>['state']> = {}) {
  const runtime = virtualRuntime(1);
  const { state, reader } = fakeReader();
  Object.assign(state, initial);
  const informer = startInformer(runtime, reader, configMaps);
  const heard: string[] = [];
  informer.onChange((change) => heard.push(`${change.type} ${change.object.metadata.name}`));
  const liveness: string[] = [];
  informer.onLive((live, error) =>
    liveness.push(error ? `${live} ${(error as Error).message}` : String(live)),
  );
  return { runtime, state, informer, heard, liveness };
}

describe('startInformer', () => {
  it('lists, then follows, without managed fields, in key order', async () => {
    const { runtime, state, informer, heard, liveness } = start({
      items: [map('b', '2'), map('a', '1')],
      version: '5',
    });
    expect(informer.synced).toBe(false);
    await runtime.clock.settle();
    await informer.whenSynced();
    expect([informer.synced, informer.live]).toEqual([true, true]);
    expect(state.watches[0]?.options.resourceVersion).toBe('5');
    state.watches[0]?.send({ type: 'MODIFIED', object: map('a', '6') });
    state.watches[0]?.send({ type: 'ADDED', object: map('c', '7') });
    state.watches[0]?.send({ type: 'DELETED', object: map('b', '8') });
    await runtime.clock.settle();
    expect(heard).toEqual(['added b', 'added a', 'updated a', 'added c', 'deleted b']);
    expect(informer.list().map((each) => each.metadata.name)).toEqual(['a', 'c']);
    expect(informer.list('other')).toEqual([]);
    expect(informer.get('n', 'a')?.metadata.managedFields).toBeUndefined();
    expect(liveness).toEqual(['true']);
    informer.stop();
    await runtime.clock.settle();
    expect(informer.live).toBe(false);
    expect(runtime.clock.pending()).toBe(0);
  });

  it('keeps of objects what it is told to', async () => {
    const runtime = virtualRuntime(1);
    const { state, reader } = fakeReader();
    const full = (name: string, version: string): KubeObject =>
      ({ ...map(name, version), data: { large: 'x' } }) as KubeObject;
    state.items = [full('a', '1')];
    const informer = startInformer<KubeObject & { data?: unknown }>(runtime, reader, configMaps, {
      keep: ({ data: _data, ...rest }) => rest,
    });
    const heard: unknown[] = [];
    informer.onChange(({ type, object, previous }) => heard.push([type, object.data, previous?.data]));
    await runtime.clock.settle();
    state.watches[0]?.send({ type: 'MODIFIED', object: full('a', '2') });
    state.watches[0]?.send({ type: 'DELETED', object: full('a', '3') });
    await runtime.clock.settle();
    expect(heard).toEqual([
      ['added', undefined, undefined],
      ['updated', undefined, undefined],
      ['deleted', undefined, undefined],
    ]);
    informer.stop();
  });

  it('resumes a broken stream from the last revision, bookmarks included, and tells of the break at once', async () => {
    const { runtime, state, informer, heard, liveness } = start();
    await runtime.clock.settle();
    state.watches[0]?.send({
      type: 'BOOKMARK',
      object: { ...map('', '40'), metadata: { resourceVersion: '40' } },
    });
    await runtime.clock.settle();
    state.watches[0]?.end(new Error('reset'));
    await runtime.clock.settle();
    expect(informer.live).toBe(false);
    expect(liveness).toEqual(['true', 'false reset']);
    await runtime.clock.advance(300);
    expect(informer.live).toBe(true);
    expect(state.lists).toHaveLength(1);
    expect(state.watches[1]?.options.resourceVersion).toBe('40');
    expect(heard).toEqual([]);
    informer.stop();
  });

  it('lists again when the revision is forgotten and tells the difference', async () => {
    const { runtime, state, informer, heard } = start({
      items: [map('same', '1'), map('changed', '1'), map('gone', '1'), map('anew', '1', 'old')],
    });
    await runtime.clock.settle();
    heard.length = 0;
    state.items = [map('same', '1'), map('changed', '9'), map('new', '9'), map('anew', '9', 'new')];
    state.version = '9';
    state.watches[0]?.send({ type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'too old' } });
    await runtime.clock.settle();
    expect(heard.sort()).toEqual([
      'added anew',
      'added new',
      'deleted anew',
      'deleted gone',
      'updated changed',
    ]);
    expect(informer.live).toBe(true);
    expect(state.watches.at(-1)?.options.resourceVersion).toBe('9');
    informer.stop();
  });

  it('lists again when the server is behind the last revision', async () => {
    const { runtime, state, informer, heard } = start({ items: [map('a', '50')], version: '50' });
    await runtime.clock.settle();
    state.items = [map('a', '20')];
    state.version = '20';
    state.watches[0]?.end(
      failure(504, 'Timeout', 'Too large resource version', {
        causes: [{ reason: 'ResourceVersionTooLarge' }],
      }),
    );
    await runtime.clock.settle();
    expect(heard).toEqual(['added a', 'updated a']);
    informer.stop();
  });

  it('never gives up, with growing delays up to 5 s', async () => {
    const { runtime, state, informer } = start({ listError: failure(503, 'ServiceUnavailable', 'down') });
    await runtime.clock.advance(60_000);
    const tries = state.lists.length;
    expect(tries).toBeGreaterThan(12);
    expect(tries).toBeLessThan(40);
    expect(informer.synced).toBe(false);
    state.listError = undefined;
    await runtime.clock.advance(5_000);
    expect([informer.synced, informer.live]).toEqual([true, true]);
    informer.stop();
  });

  it('does not spin when the server ends each stream at once', async () => {
    const { runtime, state, informer } = start();
    await runtime.clock.settle();
    for (let i = 0; i < 200; i++) {
      state.watches.at(-1)?.end();
      await runtime.clock.advance(100);
    }
    expect(state.watches.length).toBeLessThan(20);
    expect(state.lists).toHaveLength(1);
    informer.stop();
  });

  it('survives listeners that throw, and rejects those who wait when stopped', async () => {
    const { runtime, informer, heard } = start({ items: [map('a', '1'), map('b', '1')] });
    informer.onChange(() => {
      throw new Error('mine');
    });
    await runtime.clock.settle();
    expect(heard).toEqual(['added a', 'added b']);
    informer.stop();
    const other = start();
    other.informer.stop();
    await expect(other.informer.whenSynced()).rejects.toThrow(/stopped/);
  });
});
