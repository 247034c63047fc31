import { describe, expect, it, vi } from 'vitest';
import { type Fixture, startServer } from '../server.fixture.ts';

const MAPS = '/api/v1/namespaces/shop/configmaps';

async function shop(
  names: readonly string[],
  options: Parameters<typeof startServer>[0] = {},
): Promise<Fixture> {
  const fixture = await startServer({ controllers: false, ...options });
  await fixture.post('/api/v1/namespaces', { metadata: { name: 'shop' } });
  for (const name of names) await fixture.post(MAPS, { metadata: { name, labels: { name } } });
  return fixture;
}

function names(answer: { body: { items: { metadata: { name: string } }[] } }): string[] {
  return answer.body.items.map((item) => item.metadata.name);
}

describe('lists', () => {
  it('[V18] lists in key order with the revision of the snapshot', async () => {
    const { get, server } = await shop(['b', 'a', 'c']);
    const listed = await get(MAPS);
    expect(listed.body).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
    expect(listed.body.metadata).toEqual({ resourceVersion: String(server.store.revision) });
    expect(names(listed)).toEqual(['a', 'b', 'c']);
  });

  it('says in the words of whoever reads it that a revision is none', async () => {
    const { get, call } = await shop(['a']);
    const why = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax';
    expect((await get(`${MAPS}?resourceVersion=x`)).body).toMatchObject({ code: 500, message: why });
    expect((await get(`${MAPS}/a?resourceVersion=x`)).body).toMatchObject({ code: 500, message: why });
    for (const query of ['resourceVersion=x&limit=1', 'resourceVersion=x&resourceVersionMatch=Exact'])
      expect((await get(`${MAPS}?${query}`)).body).toMatchObject({
        code: 400,
        message: `invalid resource version: ${why}`,
      });
    expect((await call('DELETE', `${MAPS}?resourceVersion=x`)).body.code).toBe(400);
    expect((await get(`${MAPS}?resourceVersion=99999999999999999999`)).body.message).toContain(
      'value out of range',
    );
    expect((await get(`${MAPS}/a?limit=x&resourceVersionMatch=Exact&includeObject=Foo`)).status).toBe(200);
    expect((await get(`${MAPS}?watch=False`)).body.kind).toBe('ConfigMapList');
  });

  it('[V18] lists exactly as of a revision, or 410 when that is forgotten', async () => {
    const { get, delete: remove } = await shop(['a', 'b'], { store: { historyEvents: 3 } });
    const then = (await get(MAPS)).body.metadata.resourceVersion;
    await remove(`${MAPS}/a`);
    expect(names(await get(`${MAPS}?resourceVersion=${then}&resourceVersionMatch=Exact`))).toEqual([
      'a',
      'b',
    ]);
    expect(names(await get(`${MAPS}?resourceVersion=${then}&resourceVersionMatch=NotOlderThan`))).toEqual([
      'b',
    ]);
    expect(names(await get(`${MAPS}?resourceVersion=${then}`))).toEqual(['b']);
    expect(names(await get(`${MAPS}?resourceVersion=${then}&limit=5`))).toEqual(['a', 'b']);
    expect((await get(`${MAPS}?resourceVersion=1&resourceVersionMatch=Exact`)).body).toMatchObject({
      code: 410,
      reason: 'Expired',
      message: 'The resourceVersion for the provided list is too old.',
    });
  });

  it('[V18] says 504 for a revision that is not reached in time', async () => {
    const { admin, runtime, server } = await shop([]);
    const current = server.store.revision;
    const asked = admin({ method: 'GET', path: `${MAPS}?resourceVersion=${current + 5}`, headers: {} });
    await runtime.clock.advance(3100);
    const { status, headers, body } = await asked;
    expect(status).toBe(504);
    expect(headers['retry-after']).toBe('1');
    expect(JSON.parse(Buffer.from(body as Uint8Array).toString())).toMatchObject({
      reason: 'Timeout',
      message: `Timeout: Too large resource version: ${current + 5}, current: ${current}`,
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    });
  });

  it('[V18] refuses options that contradict each other', async () => {
    const { get } = await shop([]);
    const message = async (query: string): Promise<string> => (await get(`${MAPS}?${query}`)).body.message;
    expect(await message('resourceVersionMatch=Exact')).toContain(
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    );
    expect(await message('resourceVersion=0&resourceVersionMatch=Exact')).toContain(
      'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    );
    expect(await message('sendInitialEvents=true')).toContain('sendInitialEvents is forbidden for list');
    expect(await message('resourceVersion=x')).toContain('Invalid value: "x"');
    expect((await get(`${MAPS}?resourceVersion=x`)).body).toMatchObject({ code: 500 });
  });

  it('[V19] pages through one snapshot', async () => {
    const { get, post } = await shop(['a', 'b', 'c', 'd', 'e']);
    const first = await get(`${MAPS}?limit=2`);
    expect(names(first)).toEqual(['a', 'b']);
    expect(first.body.metadata.remainingItemCount).toBe(3);
    await post(MAPS, { metadata: { name: 'bb' } });
    const second = await get(`${MAPS}?limit=2&continue=${first.body.metadata.continue}`);
    expect(names(second)).toEqual(['c', 'd']);
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    const third = await get(`${MAPS}?limit=2&continue=${second.body.metadata.continue}`);
    expect(names(third)).toEqual(['e']);
    expect(third.body.metadata.continue).toBeUndefined();
    expect(names(await get(`${MAPS}?limit=2&labelSelector=name+in+(a,d,e)`))).toEqual(['a', 'd']);
  });

  it('[V19] reads on in few steps where a selector lets hardly anything through', async () => {
    const all = Array.from({ length: 40 }, (_, index) => `n${String(index).padStart(2, '0')}`);
    const { get, server } = await shop(all);
    const reads = vi.spyOn(server.store, 'list');
    const first = await get(`${MAPS}?limit=1&labelSelector=name+in+(n07,n08,n39)`);
    expect(names(first)).toEqual(['n07']);
    expect(reads.mock.calls.length).toBeLessThan(3);
    const second = await get(
      `${MAPS}?limit=1&labelSelector=name+in+(n07,n08,n39)&continue=${first.body.metadata.continue}`,
    );
    expect(names(second)).toEqual(['n08']);
    const third = await get(
      `${MAPS}?limit=1&labelSelector=name+in+(n07,n08,n39)&continue=${second.body.metadata.continue}`,
    );
    expect(names(third)).toEqual(['n39']);
    expect(third.body.metadata.continue).toBeUndefined();
    reads.mockRestore();
  });

  it('[V19] offers a fresh token when the snapshot of a token is gone', async () => {
    const { get, post } = await shop(['a', 'b', 'c'], { store: { historyEvents: 2 } });
    const first = await get(`${MAPS}?limit=1`);
    for (let i = 0; i < 8; i++) await post(MAPS, { metadata: { name: `z${i}` } });
    const expired = await get(`${MAPS}?limit=1&continue=${first.body.metadata.continue}`);
    expect(expired.body).toMatchObject({ code: 410, reason: 'Expired' });
    const resumed = await get(`${MAPS}?limit=1&continue=${expired.body.metadata.continue}`);
    expect(names(resumed)).toEqual(['b']);
    const malformed = await get(`${MAPS}?continue=nonsense`);
    expect(malformed.body).toMatchObject({ code: 400 });
    expect(malformed.body.message).toMatch(/^invalid continue token: continue key is not valid/);
  });

  it('[V24] selects by labels and fields', async () => {
    const { get, post } = await shop(['a', 'b']);
    expect(names(await get(`${MAPS}?labelSelector=name%3Da`))).toEqual(['a']);
    expect(names(await get(`${MAPS}?labelSelector=name!%3Da`))).toEqual(['b']);
    expect(names(await get(`${MAPS}?fieldSelector=metadata.name%3Db`))).toEqual(['b']);
    expect(names(await get(`${MAPS}?fieldSelector=metadata.name!%3Db`))).toEqual(['a']);
    expect((await get(`${MAPS}?labelSelector=a+in+(`)).body.code).toBe(400);
    expect((await get(`${MAPS}?fieldSelector=data.x%3D1`)).body.message).toBe(
      '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
    const pods = '/api/v1/namespaces/shop/pods';
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await post(pods, { metadata: { name: 'p' }, spec: { ...spec, nodeName: 'n1' } });
    await post(pods, { metadata: { name: 'q' }, spec });
    expect(names(await get(`${pods}?fieldSelector=spec.nodeName%3Dn1`))).toEqual(['p']);
    expect((await get(`${pods}?fieldSelector=spec.nope%3D1`)).body.message).toBe(
      'field label not supported: spec.nope',
    );
  });

  it('[V35] reduces objects to their metadata', async () => {
    const { get, watch } = await shop(['a']);
    const type = (as: string): Record<string, string> => ({
      accept: `application/json;as=${as};g=meta.k8s.io;v=v1`,
    });
    const one = await get(`${MAPS}/a`, type('PartialObjectMetadata'));
    expect(one.body).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'a' },
    });
    const list = await get(MAPS, type('PartialObjectMetadataList'));
    expect(list.body).toMatchObject({
      kind: 'PartialObjectMetadataList',
      items: [{ kind: 'PartialObjectMetadata' }],
    });
    const stream = await watch(`${MAPS}?watch=1`, type('PartialObjectMetadata'));
    const [event] = await stream.take(1);
    expect(Object.keys(event!.object).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  it('[V33] makes tables, with metadata beside the cells', async () => {
    const { get, watch, post } = await shop(['a']);
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
    const list = await get(MAPS, table);
    expect(list.body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(list.body.columnDefinitions.map((column: { name: string }) => column.name)).toEqual([
      'Name',
      'Data',
      'Age',
    ]);
    expect(list.body.rows).toMatchObject([
      { cells: ['a', 0, '0s'], object: { kind: 'PartialObjectMetadata', metadata: { namespace: 'shop' } } },
    ]);
    expect((await get(`${MAPS}?includeObject=Object`, table)).body.rows[0].object.kind).toBe('ConfigMap');
    const stream = await watch(`${MAPS}?watch=1`, table);
    await post(MAPS, { metadata: { name: 'b' } });
    const [first, second] = await stream.take(2);
    expect(first!.object.columnDefinitions).toHaveLength(3);
    expect(second!.object.columnDefinitions).toBeNull();
  });
});

describe('watches', () => {
  it('[V20] tells what happens after a revision, deletions with their own', async () => {
    const { watch, get, post, merge, delete: remove, server } = await shop(['a']);
    const from = (await get(MAPS)).body.metadata.resourceVersion;
    const stream = await watch(`${MAPS}?watch=1&resourceVersion=${from}`);
    await post(MAPS, { metadata: { name: 'b' } });
    await merge(`${MAPS}/b`, { data: { k: 'v' } });
    await remove(`${MAPS}/b`);
    const events = await stream.take(3);
    expect(events.map((event) => event.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(events[2]!.object).toMatchObject({
      data: { k: 'v' },
      metadata: { resourceVersion: String(server.store.revision) },
    });
  });

  it('[V20] begins with the present when no revision is named', async () => {
    const { watch, post } = await shop(['a', 'b']);
    const stream = await watch(`${MAPS}?watch=true`);
    expect((await stream.take(2)).map((event) => event.object.metadata.name)).toEqual(['a', 'b']);
    await post(MAPS, { metadata: { name: 'c' } });
    expect((await stream.take(1))[0]!.type).toBe('ADDED');
  });

  it('[V20] turns changes of the selection into additions and deletions', async () => {
    const { watch, post, merge, server } = await shop([]);
    const stream = await watch(`${MAPS}?watch=1&labelSelector=on&resourceVersion=${server.store.revision}`);
    await post(MAPS, { metadata: { name: 'a' }, data: { step: '1' } });
    await merge(`${MAPS}/a`, { metadata: { labels: { on: '' } } });
    await merge(`${MAPS}/a`, { data: { step: '2' } });
    const off = await merge(`${MAPS}/a`, { metadata: { labels: { on: null } }, data: { step: '3' } });
    const events = await stream.take(3);
    expect(events.map((event) => event.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(events[2]!.object).toMatchObject({
      data: { step: '2' },
      metadata: { labels: { on: '' }, resourceVersion: off.body.metadata.resourceVersion },
    });
  });

  it('[V20] ends a watch from a forgotten revision with a 410 event', async () => {
    const { watch, post } = await shop([], { store: { historyEvents: 2 } });
    for (let i = 0; i < 6; i++) await post(MAPS, { metadata: { name: `z${i}` } });
    const stream = await watch(`${MAPS}?watch=1&resourceVersion=1`);
    expect(stream.status).toBe(200);
    const events = await stream.rest();
    expect(events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
    expect((events[0]!.object as unknown as { message: string }).message).toMatch(
      /^too old resource version: 1 \(\d+\)$/,
    );
  });

  it('[V20] has no history from before what a new server begins with', async () => {
    const { watch, get } = await shop([]);
    const old = await (await watch(`${MAPS}?watch=1&resourceVersion=1`)).rest();
    expect(old).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
    const listed = (await get(MAPS)).body.metadata.resourceVersion;
    const now = await watch(`${MAPS}?watch=1&resourceVersion=${listed}`);
    expect(now.status).toBe(200);
    await now.close();
  });

  it('[V20] watches one object by its name', async () => {
    const { watch, post, server } = await shop(['a']);
    const stream = await watch(
      `${MAPS}?watch=1&fieldSelector=metadata.name%3Db&resourceVersion=${server.store.revision}`,
    );
    await post(MAPS, { metadata: { name: 'bb' } });
    await post(MAPS, { metadata: { name: 'b' } });
    expect((await stream.take(1))[0]!.object.metadata.name).toBe('b');
  });

  it('[V20] ends at its timeout, at an abort and at the close of the server', async () => {
    const { watch, admin, runtime, server } = await shop([]);
    const timed = await watch(`${MAPS}?watch=1&timeoutSeconds=5`);
    await runtime.clock.advance(5000);
    expect(await timed.rest()).toEqual([]);
    const abort = new AbortController();
    const aborted = await admin({
      method: 'GET',
      path: `${MAPS}?watch=1`,
      headers: {},
      signal: abort.signal,
    });
    abort.abort();
    for await (const _chunk of aborted.body as AsyncIterable<Uint8Array>)
      throw new Error('nothing was expected');
    const open = await watch(`${MAPS}?watch=1`);
    const closing = server.close();
    expect(await open.rest()).toEqual([]);
    await runtime.clock.settle();
    await closing;
    expect(server.ready).toBe(false);
  });

  it('[V21] sends bookmarks every minute and before the end', async () => {
    const { watch, post, runtime, server } = await shop([]);
    const from = server.store.revision;
    const stream = await watch(
      `${MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion=${from}`,
    );
    await post('/api/v1/namespaces', { metadata: { name: 'elsewhere' } });
    await runtime.clock.advance(61_000);
    const [bookmark] = await stream.take(1);
    expect(bookmark).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { resourceVersion: String(server.store.revision), creationTimestamp: null },
      },
    });
    await runtime.clock.advance(40_000);
    expect((await stream.rest()).map((event) => event.type)).toEqual(['BOOKMARK']);
  });

  it('[V22] streams a list and marks its end, also when it is empty', async () => {
    const { watch, server } = await shop(['a', 'b']);
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const events = await (await watch(`${MAPS}?${query}`)).take(3);
    expect(events.map((event) => event.type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK']);
    expect(events[2]!.object.metadata).toMatchObject({
      resourceVersion: String(server.store.revision),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    });
    const [end] = await (await watch(`/api/v1/namespaces/shop/secrets?${query}`)).take(1);
    expect(end!.type).toBe('BOOKMARK');
    const without = await watch(
      `${MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`,
    );
    expect(without.status).toBe(200);
  });

  it('[V75] cuts off a watcher that reads too slowly, and no other', async () => {
    const { admin, watch, merge, server } = await shop(['a']);
    const path = `${MAPS}?watch=1&resourceVersion=${server.store.revision}`;
    const slow = await admin({ method: 'GET', path, headers: {} });
    const slowly = (slow.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    const first = slowly.next();
    const quick = await watch(path);
    for (let i = 0; i < 20; i++) {
      const { status } = await merge(`${MAPS}/a`, {
        data: { big: String.fromCharCode(97 + i).repeat(900_000) },
      });
      expect(status).toBe(200);
      await quick.take(1);
    }
    await first;
    let bytes = 0;
    for (;;) {
      const { done, value } = await slowly.next();
      if (done) break;
      bytes += value.byteLength;
    }
    expect(bytes).toBeGreaterThan(15 * 1024 * 1024);
    await quick.close();
  });
});
