import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../../src/apiserver/server.fixture.ts';
import { type Response, readBody } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

async function start(): Promise<Fixture> {
  const fixture = await startServer({ controllers: false });
  open.push(fixture);
  return fixture;
}

const map = (name: string, value: string, of: string = 'all'): Buffer =>
  Buffer.from(JSON.stringify({ metadata: { name, labels: { of, value } }, data: { value } }));

/** Sends requests all at once and waits for their answers. */
async function together(
  fixture: Fixture,
  requests: readonly { method: string; path: string; body?: Buffer }[],
): Promise<Response[]> {
  const answers = Promise.all(
    requests.map((request) => fixture.admin({ headers: { 'content-type': 'application/json' }, ...request })),
  );
  answers.catch(() => undefined); // awaited below
  await fixture.runtime.clock.settle();
  return answers;
}

interface Event {
  readonly type: string;
  readonly object: KubeObject & { data?: { value: string } };
}

/** A watch that is read as its events come, into a picture of what there is. */
async function follow(
  fixture: Fixture,
  path: string,
): Promise<{ state: Map<string, string>; events: Event[]; stop(): Promise<void> }> {
  const abort = new AbortController();
  const [response] = await Promise.all([
    fixture.admin({ method: 'GET', path, headers: {}, signal: abort.signal }),
    fixture.runtime.clock.settle(),
  ]);
  if (response.body instanceof Uint8Array) throw new Error(Buffer.from(response.body).toString());
  const { body } = response;
  const state = new Map<string, string>();
  const events: Event[] = [];
  const reading = (async () => {
    let rest = '';
    for await (const chunk of body) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = JSON.parse(line) as Event;
        if (event.type === 'BOOKMARK') continue;
        events.push(event);
        const name = event.object.metadata.name ?? '';
        if (event.type === 'DELETED') state.delete(name);
        else state.set(name, event.object.data?.value ?? '');
      }
    }
  })();
  reading.catch(() => undefined); // the end of an aborted stream
  await fixture.runtime.clock.settle();
  return {
    state,
    events,
    async stop() {
      abort.abort();
      await fixture.runtime.clock.settle();
      await reading.catch(() => undefined);
    },
  };
}

describe('a list and the watch that goes on from it', () => {
  it('[V20 V22] are together the state, whatever is written and wherever they begin', async () => {
    const fixture = await start();
    const step = fc.record({
      action: fc.constantFrom('put', 'put', 'patch', 'delete', 'clear'),
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      value: fc.constantFrom('1', '2', '3'),
      together: fc.boolean(),
    });
    const selectors = [
      '',
      '&labelSelector=value%3D1',
      '&labelSelector=value%20notin%20(2)',
      '&fieldSelector=metadata.name%3Db',
    ];
    const fits = [
      () => true,
      (_name: string, value: string) => value === '1',
      (_name: string, value: string) => value !== '2',
      (name: string) => name === 'b',
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.nat(24),
        fc.nat(3),
        async (steps, begin, which) => {
          const selector = selectors[which] ?? '';
          await together(fixture, [{ method: 'DELETE', path: MAPS }]);
          let watched: Awaited<ReturnType<typeof follow>> | undefined;
          let streamed: Awaited<ReturnType<typeof follow>> | undefined;
          const pending: { method: string; path: string; body?: Buffer }[] = [];
          for (const [index, { action, name, value, together: later }] of steps.entries()) {
            if (index === begin % steps.length) {
              const list = (await fixture.get(`${MAPS}?limit=500${selector}`)).body as {
                metadata: { resourceVersion: string };
                items: Event['object'][];
              };
              watched = await follow(
                fixture,
                `${MAPS}?watch=1&resourceVersion=${list.metadata.resourceVersion}${selector}`,
              );
              for (const item of list.items)
                watched.state.set(item.metadata.name ?? '', item.data?.value ?? '');
              streamed = await follow(
                fixture,
                `${MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true${selector}`,
              );
            }
            const path = `${MAPS}/${name}`;
            if (action === 'put')
              pending.push(
                { method: 'POST', path: MAPS, body: map(name, value) },
                { method: 'PUT', path, body: map(name, value) },
              );
            else if (action === 'clear') pending.push({ method: 'DELETE', path: MAPS });
            else if (action === 'delete') pending.push({ method: 'DELETE', path });
            else {
              const apply = `${path}?fieldManager=m&force=true`;
              pending.push({ method: 'PUT', path: apply, body: map(name, value) });
            }
            if (!later) await together(fixture, pending.splice(0));
          }
          await together(fixture, pending.splice(0));
          const { items } = (await fixture.get(MAPS)).body as { items: Event['object'][] };
          const expected = items
            .map((item): [string, string] => [item.metadata.name ?? '', item.data?.value ?? ''])
            .filter(([name, value]) => fits[which]?.(name, value));
          for (const picture of [watched, streamed]) {
            if (picture === undefined) continue;
            expect([...picture.state].sort()).toEqual(expected.sort());
            const revisions = picture.events.map(({ object }) => Number(object.metadata.resourceVersion));
            const live = picture === watched ? revisions : [];
            expect(live).toEqual([...live].sort((a, b) => a - b));
            expect(new Set(live).size).toBe(live.length);
            await picture.stop();
          }
        },
      ),
      { seed: 19, numRuns: 60 },
    );
  }, 60_000);
});

describe('100,000 objects and 1,000 watchers', () => {
  it('[V19] are listed in pages of one moment while others write, in bounded memory', async () => {
    const fixture = await start();
    const total = 100_000;
    const before = process.memoryUsage();
    for (let at = 0; at < total; at += 5_000) {
      const answers = await together(
        fixture,
        Array.from({ length: 5_000 }, (_, i) => ({
          method: 'POST',
          path: MAPS,
          body: map(`m-${at + i}`, 'first'),
        })),
      );
      expect(answers.every(({ status }) => status === 201)).toBe(true);
    }
    const used = process.memoryUsage();
    // Objects of 350 bytes: what is kept of each, indexes and the window of changes included.
    const bytes = (of: NodeJS.MemoryUsage): number => of.heapUsed + of.external;
    expect((bytes(used) - bytes(before)) / total).toBeLessThan(8_000);

    const seen = new Set<string>();
    const revisions = new Set<string>();
    let next: string | undefined = '';
    let pages = 0;
    while (next !== undefined) {
      const [page] = await together(fixture, [
        {
          method: 'GET',
          path: `${MAPS}?limit=5000${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`,
        },
        { method: 'POST', path: MAPS, body: map(`later-${pages}`, 'later') },
        { method: 'DELETE', path: `${MAPS}/m-${total - 1 - pages}` },
      ]);
      const { metadata, items } = JSON.parse(Buffer.from(await readBody(page as Response)).toString()) as {
        metadata: { continue?: string; resourceVersion: string; remainingItemCount?: number };
        items: KubeObject[];
      };
      for (const { metadata: item } of items) seen.add(item.name ?? '');
      revisions.add(metadata.resourceVersion);
      pages += 1;
      next = metadata.continue;
    }
    expect(pages).toBe(20);
    expect(seen.size).toBe(total);
    expect(revisions.size).toBe(1);
  }, 60_000);

  it('[V75] each watcher gets every change, in order', async () => {
    const fixture = await start();
    await together(fixture, [{ method: 'POST', path: MAPS, body: map('changing', '0') }]);
    const watchers = [];
    for (let index = 0; index < 1_000; index++)
      watchers.push(
        await follow(fixture, `${MAPS}?watch=1&fieldSelector=metadata.name%3Dchanging&resourceVersion=0`),
      );
    for (let change = 1; change <= 30; change++)
      await together(fixture, [
        { method: 'PUT', path: `${MAPS}/changing`, body: map('changing', String(change)) },
      ]);
    const wanted = Array.from({ length: 31 }, (_, index) => String(index));
    for (const { events } of watchers) expect(events.map(({ object }) => object.data?.value)).toEqual(wanted);
    for (const watcher of watchers) await watcher.stop();
  }, 60_000);
});
