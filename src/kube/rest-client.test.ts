import { describe, expect, it } from 'vitest';
import { virtualClock } from '../runtime/index.ts';
import type { WatchEvent } from './client.ts';
import type { Handler, Request, Response } from './exchange.ts';
import { createClient } from './rest-client.ts';
import { StatusError } from './status-error.ts';
import { configMaps, deployments, namespaces, pods } from './well-known.ts';

const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Response => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(value)),
});

function scripted(answer: (request: Request) => Response): { handler: Handler; asked: Request[] } {
  const asked: Request[] = [];
  return {
    asked,
    handler: async (request) => {
      asked.push(request);
      return answer(request);
    },
  };
}

async function* chunks(...parts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part;
}

async function collect(stream: AsyncIterable<WatchEvent>): Promise<WatchEvent[]> {
  const out: WatchEvent[] = [];
  for await (const event of stream) out.push(event);
  return out;
}

const text = (request: Request | undefined): string => Buffer.from(request?.body ?? []).toString();

describe('createClient', () => {
  it('addresses core and grouped, namespaced and cluster-scoped resources', async () => {
    const { handler, asked } = scripted(() => json({ apiVersion: 'v1', kind: 'X', metadata: {} }));
    const client = createClient(handler, { userAgent: 'test/1' });
    await client.get(pods, 'shop', 'cart-1');
    await client.get(namespaces, '', 'shop');
    await client.get(deployments, 'shop', 'a b/c');
    expect(asked.map((each) => `${each.method} ${each.path}`)).toEqual([
      'GET /api/v1/namespaces/shop/pods/cart-1',
      'GET /api/v1/namespaces/shop',
      'GET /apis/apps/v1/namespaces/shop/deployments/a%20b%2Fc',
    ]);
    expect(asked[0]?.headers['user-agent']).toBe('test/1');
  });

  it('refuses an empty name and names that climb out of the path', async () => {
    const { handler, asked } = scripted(() => json({}));
    const client = createClient(handler);
    expect(() => client.delete(pods, 'shop', '')).toThrow(TypeError);
    expect(() => client.delete(pods, 'shop', '..')).toThrow(TypeError);
    expect(() => client.get(pods, '..', 'x')).toThrow(TypeError);
    expect(asked).toEqual([]);
  });

  it('sends writes with their content types, options and bodies', async () => {
    const { handler, asked } = scripted(() => json({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }));
    const client = createClient(handler);
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } };
    await client.create(configMaps, object, { dryRun: true, fieldValidation: 'Strict' });
    await client.update(configMaps, object, { subresource: 'status' });
    await client.patch(configMaps, 'n', 'a', 'json', [{ op: 'remove', path: '/data' }]);
    await client.apply(configMaps, object, { fieldManager: 'me', force: true });
    await client.delete(configMaps, 'n', 'a', { propagationPolicy: 'Orphan', preconditions: { uid: 'u' } });
    await client.delete(configMaps, 'n', 'a');
    expect(asked.map((each) => [each.method, each.path, each.headers['content-type'] ?? ''])).toEqual([
      ['POST', '/api/v1/namespaces/n/configmaps?dryRun=All&fieldValidation=Strict', 'application/json'],
      ['PUT', '/api/v1/namespaces/n/configmaps/a/status', 'application/json'],
      ['PATCH', '/api/v1/namespaces/n/configmaps/a', 'application/json-patch+json'],
      [
        'PATCH',
        '/api/v1/namespaces/n/configmaps/a?fieldManager=me&force=true',
        'application/apply-patch+yaml',
      ],
      ['DELETE', '/api/v1/namespaces/n/configmaps/a', 'application/json'],
      ['DELETE', '/api/v1/namespaces/n/configmaps/a', ''],
    ]);
    expect(JSON.parse(text(asked[4]))).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Orphan',
      preconditions: { uid: 'u' },
    });
  });

  it('lists with selectors and gives items their kind', async () => {
    const { handler, asked } = scripted((request) =>
      json({
        kind: 'PodList',
        apiVersion: 'v1',
        metadata: { resourceVersion: '7' },
        items: request.path.includes('empty') ? null : [{ metadata: { name: 'a' } }],
      }),
    );
    const client = createClient(handler);
    const list = await client.list(pods, '', { labelSelector: 'a=b,c in (d)', limit: 5 });
    expect(asked[0]?.path).toBe('/api/v1/pods?labelSelector=a%3Db%2Cc%20in%20(d)&limit=5');
    expect(list.items).toEqual([{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }]);
    expect((await client.list(pods, 'empty')).items).toEqual([]);
  });

  it('throws the Status of a failure, with its warnings', async () => {
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
      message: 'no',
    };
    const { handler } = scripted(() => json(status, 404, { warning: '299 - "old \\"api\\"", 299 - "two"' }));
    const error = await createClient(handler)
      .get(pods, 'n', 'a')
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StatusError);
    expect(error).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'no',
      warnings: ['old "api"', 'two'],
    });
  });

  it('makes a Status for failures that carry none, and for redirects', async () => {
    const bad = createClient(
      async () =>
        ({ status: 503, headers: { 'retry-after': '3' }, body: Buffer.from('<html>gone') }) as Response,
    );
    await expect(bad.get(pods, 'n', 'a')).rejects.toMatchObject({
      code: 503,
      reason: 'ServiceUnavailable',
      message: '/api/v1/namespaces/n/pods/a answered 503: <html>gone',
      status: { details: { retryAfterSeconds: 3 } },
    });
    const moved = createClient(
      async () =>
        ({
          status: 302,
          headers: { location: 'http://169.254.169.254/' },
          body: Buffer.alloc(0),
        }) as Response,
    );
    await expect(moved.get(pods, 'n', 'a')).rejects.toThrow(/redirects are not followed/);
  });
});

describe('watch', () => {
  const event = (type: string, name: string): string =>
    JSON.stringify({ type, object: { metadata: { name } } });

  it('decodes events wherever the chunks are cut, also inside a character', async () => {
    const whole = Buffer.from(
      `${event('ADDED', 'ä€')}\n${event('MODIFIED', 'b')}\n${event('DELETED', 'c')}\n`,
    );
    for (const size of [1, 2, 7, 50, 1000]) {
      const parts: Uint8Array[] = [];
      for (let i = 0; i < whole.length; i += size) parts.push(whole.subarray(i, i + size));
      const { handler, asked } = scripted(() => ({ status: 200, headers: {}, body: chunks(...parts) }));
      const got = await collect(createClient(handler).watch(pods, 'n', { resourceVersion: '5' }));
      expect(got.map((each) => each.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
      expect(got[0]?.object).toMatchObject({ metadata: { name: 'ä€' } });
      expect(asked[0]?.path).toBe(
        '/api/v1/namespaces/n/pods?watch=1&allowWatchBookmarks=true&resourceVersion=5',
      );
    }
  });

  it('says when the stream is open, yields ERROR events and throws failures of the request', async () => {
    const opened: string[] = [];
    const ok = scripted(() => ({
      status: 200,
      headers: {},
      body: chunks('{"type":"ERROR","object":{"code":410}}\n'),
    }));
    const got = await collect(
      createClient(ok.handler).watch(pods, '', { onOpen: () => opened.push('open') }),
    );
    expect(opened).toEqual(['open']);
    expect(got).toEqual([{ type: 'ERROR', object: { code: 410 } }]);
    const denied = scripted(() =>
      json({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' }, 403),
    );
    await expect(collect(createClient(denied.handler).watch(pods, ''))).rejects.toMatchObject({ code: 403 });
  });

  it('refuses a line without end', async () => {
    const big = Buffer.alloc(3 * 1024 * 1024, 0x20);
    const { handler } = scripted(() => ({ status: 200, headers: {}, body: chunks(big, big, big) }));
    await expect(collect(createClient(handler).watch(pods, ''))).rejects.toThrow(/exceeds 8388608 bytes/);
  });

  it('ends quietly when the caller aborts', async () => {
    const abort = new AbortController();
    const handler: Handler = async (request) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(`${event('ADDED', 'a')}\n`);
        await new Promise((_resolve, reject) =>
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
        );
      })(),
    });
    const got: string[] = [];
    for await (const each of createClient(handler).watch(pods, '', { signal: abort.signal })) {
      got.push(each.type);
      abort.abort();
    }
    expect(got).toEqual(['ADDED']);
  });

  it('leaves the stream of an answer that comes after its reader left', async () => {
    const answer = Promise.withResolvers<Response>();
    const told: string[] = [];
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new Error('nobody reads')),
        async return() {
          told.push('left');
          return { value: undefined, done: true };
        },
      }),
    };
    const events = createClient(() => answer.promise).watch(pods, '', { onOpen: () => told.push('open') });
    const first = events.next();
    await events.return();
    answer.resolve({ status: 200, headers: {}, body });
    expect(await first).toEqual({ value: undefined, done: true });
    expect(told).toEqual(['left']);
  });
});

describe('resourceFor', () => {
  it('asks for one group version once, shared by all who wait, and again for an unknown kind', async () => {
    let served = [{ name: 'deployments', kind: 'Deployment', namespaced: true }];
    const { handler, asked } = scripted(() =>
      json({ groupVersion: 'apps/v1', resources: [...served, { name: 'deployments/scale', kind: 'Scale' }] }),
    );
    const client = createClient(handler);
    const [one, two] = await Promise.all([
      client.resourceFor('apps/v1', 'Deployment'),
      client.resourceFor('apps/v1', 'Deployment'),
    ]);
    expect(one).toEqual(deployments);
    expect(two).toBe(one);
    expect(asked.map((each) => each.path)).toEqual(['/apis/apps/v1']);
    await expect(client.resourceFor('apps/v1', 'Scale')).rejects.toMatchObject({
      code: 404,
      reason: 'NoKindMatch',
    });
    served = [...served, { name: 'widgets', kind: 'Widget', namespaced: false }];
    expect((await client.resourceFor('apps/v1', 'Widget')).resource).toBe('widgets');
    expect(asked).toHaveLength(3);
  });

  it('bounds how often unknown kinds ask, given a clock', async () => {
    const clock = virtualClock();
    const { handler, asked } = scripted(() => json({ kind: 'Status', code: 404, message: 'nope' }, 404));
    const client = createClient(handler, { clock });
    for (let i = 0; i < 5; i++)
      await expect(client.resourceFor('x.io/v1', 'Thing')).rejects.toMatchObject({ reason: 'NoKindMatch' });
    expect(asked).toHaveLength(1);
    await clock.advance(600);
    await expect(client.resourceFor('x.io/v1', 'Thing')).rejects.toMatchObject({ reason: 'NoKindMatch' });
    expect(asked).toHaveLength(2);
  });

  it('looks anew for a kind that is not where it was, but not for one whose object is not there', async () => {
    const clock = virtualClock();
    let plural = 'things';
    const { handler, asked } = scripted(({ path }) => {
      if (path === '/apis/x.io/v1')
        return json({ resources: [{ name: plural, kind: 'Thing', namespaced: false }] });
      const details = path.includes(`/${plural}/`) ? { name: 'a' } : {};
      return json({ kind: 'Status', code: 404, reason: 'NotFound', message: 'nope', details }, 404);
    });
    const client = createClient(handler, { clock });
    const get = async (): Promise<void> => {
      const thing = await client.resourceFor('x.io/v1', 'Thing');
      // One that acts for somebody else goes by what the first has found.
      await expect(createClient(handler).get(thing, '', 'a')).rejects.toMatchObject({ code: 404 });
    };
    await clock.advance(600);
    for (let time = 0; time < 3; time += 1) await get();
    expect(asked.filter(({ path }) => path === '/apis/x.io/v1')).toHaveLength(1);
    await clock.advance(600);
    plural = 'stuff';
    await get();
    expect((await client.resourceFor('x.io/v1', 'Thing')).resource).toBe('stuff');
    expect(asked.filter(({ path }) => path === '/apis/x.io/v1')).toHaveLength(2);
  });

  it('looks anew for a kind as long as it is told where it is not any more, by whoever found it first too', async () => {
    const clock = virtualClock();
    let isTold = true;
    const { handler } = scripted(({ path }) =>
      path === '/apis/x.io/v1' && isTold
        ? json({ resources: [{ name: 'things', kind: 'Thing', namespaced: false }] })
        : json({ kind: 'Status', code: 404, reason: 'NotFound', message: 'nope', details: {} }, 404),
    );
    const client = createClient(handler, { clock });
    const found = await client.resourceFor('x.io/v1', 'Thing');
    for (isTold of [true, true, false]) {
      await clock.advance(600);
      await expect(client.list(found, '')).rejects.toMatchObject({ code: 404 });
      if (isTold) await client.resourceFor('x.io/v1', 'Thing');
    }
    await expect(client.resourceFor('x.io/v1', 'Thing')).rejects.toMatchObject({ reason: 'NoKindMatch' });
  });

  it('passes failures of discovery on and asks again afterwards', async () => {
    let down = true;
    const { handler } = scripted(() =>
      down
        ? json({ kind: 'Status', code: 503, message: 'down' }, 503)
        : json({ resources: [{ name: 'pods', kind: 'Pod', namespaced: true }] }),
    );
    const client = createClient(handler);
    await expect(client.resourceFor('v1', 'Pod')).rejects.toMatchObject({ code: 503 });
    down = false;
    expect(await client.resourceFor('v1', 'Pod')).toEqual(pods);
  });
});
