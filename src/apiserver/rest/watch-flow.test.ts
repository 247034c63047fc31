import { describe, expect, it } from 'vitest';
import { isFlowing } from '../../kube/exchange.ts';
import { startServer } from '../server.fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

describe('a watch that flows', () => {
  it('hands over each turn at once, waits while nobody takes more, and ends when it is stopped', async () => {
    const { admin, post, server } = await startServer({ controllers: false });
    const before = server.store.revision;
    const response = await admin({
      method: 'GET',
      path: `${MAPS}?watch=1&resourceVersion=${before}`,
      headers: {},
    });
    if (response.body instanceof Uint8Array || !isFlowing(response.body)) throw new Error('it does not flow');
    const chunks: string[] = [];
    let takesMore = true;
    let ends = 0;
    const flow = response.body.flow(
      (chunk) => {
        chunks.push(Buffer.from(chunk).toString());
        return takesMore;
      },
      () => {
        ends += 1;
      },
    );
    const names = (): string[][] =>
      chunks.splice(0).map((chunk) =>
        chunk
          .trimEnd()
          .split('\n')
          .map(
            (line) => (JSON.parse(line) as { object: { metadata: { name: string } } }).object.metadata.name,
          ),
      );

    await Promise.all(['a', 'b'].map((name) => post(MAPS, { metadata: { name } })));
    expect(names().flat()).toEqual(['a', 'b']);
    takesMore = false;
    await post(MAPS, { metadata: { name: 'c' } });
    await post(MAPS, { metadata: { name: 'd' } });
    await post(MAPS, { metadata: { name: 'e' } });
    expect(names()).toEqual([['c']]);
    takesMore = true;
    flow.resume();
    expect(names()).toEqual([['d', 'e']]);
    flow.stop();
    flow.stop();
    expect(ends).toBe(1);
    await post(MAPS, { metadata: { name: 'f' } });
    expect(chunks).toEqual([]);
    await server.close();
  });

  it('[V20] ends where an event cannot be told, rather than go on without it', async () => {
    const { watch, post, runtime, server } = await startServer({ controllers: false });
    const stream = await watch(
      `${MAPS}?watch=1&labelSelector=a%3Db&resourceVersion=${server.store.revision}`,
    );
    await post(MAPS, { metadata: { name: 'a', labels: { a: 'b' } } });
    // No client can store this.
    const labels = null as unknown as Record<string, string>;
    const write = server.store.write('/core/configmaps/root/default/odd', () => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'odd', namespace: 'default', labels },
    }));
    await Promise.all([write, runtime.clock.settle()]);
    expect((await stream.rest()).map(({ type }) => type)).toEqual(['ADDED', 'ERROR']);
    await server.close();
  });

  it('[V21] leaves no timer behind when a bookmark finds that nobody reads', async () => {
    const { admin, runtime, server } = await startServer({ controllers: false });
    await runtime.clock.advance(600_000);
    const before = runtime.clock.pending();
    const response = await admin({
      method: 'GET',
      path: `${MAPS}?watch=1&allowWatchBookmarks=1&resourceVersion=${server.store.revision}`,
      headers: {},
    });
    if (response.body instanceof Uint8Array || !isFlowing(response.body)) throw new Error('it does not flow');
    const flow = response.body.flow(
      () => {
        flow.stop();
        return false;
      },
      () => {},
    );
    expect(runtime.clock.pending()).toBeGreaterThan(before);
    await runtime.clock.advance(61_000);
    expect(runtime.clock.pending()).toBe(before);
    await server.close();
  });
});
