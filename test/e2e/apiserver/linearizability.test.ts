import { afterAll, describe, expect, it } from 'vitest';
import { readBody } from '../../../src/kube/exchange.ts';
import type { HttpHandler } from '../../../src/kube/http-handler.ts';
import { type Random, seededRandom, sleep, systemClock } from '../../../src/runtime/index.ts';
import { type ApiServerProcess, startApiServerProcess } from '../harness/api-server.ts';
import { until } from '../harness/until.ts';

const SEED = Number(process.env['ATOLL_E2E_SEED'] ?? 20260801);
const ROUNDS = 3;
const CLIENTS = 8;
const NAMES = ['a', 'b', 'c'];
const MAPS = '/api/v1/namespaces/default/configmaps';

/** What one client asked and was told. Times are of one clock of this process. */
interface Operation {
  readonly kind: 'create' | 'put' | 'patch' | 'delete' | 'get' | 'list';
  readonly name: string;
  /** Unlike that of any other write. */
  readonly value: string;
  /** The resourceVersion that a `put` insisted on. */
  readonly on: number | undefined;
  readonly began: number;
  ended: number | undefined;
  /** Undefined when no answer came: it happened, or it did not. */
  status: number | undefined;
  /** Of the answer: after a write, or what was read (0 for nothing). */
  revision: number;
  /** What was read, by name. */
  read: Map<string, { value: string; revision: number }>;
}

/** One change, as every watcher was told. Their order is the order of all writes. */
interface Change {
  readonly type: string;
  readonly name: string;
  readonly value: string;
  readonly revision: number;
}

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: { readonly value?: string };
}

let server: ApiServerProcess | undefined;
afterAll(() => server?.stop());

/** Does random things until the server is gone. */
async function client(handler: HttpHandler, id: string, random: Random, history: Operation[]): Promise<void> {
  const clock = systemClock();
  const known = new Map<string, number>();
  for (let count = 0; ; count++) {
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)] as T;
    const name = pick(NAMES);
    const kind = pick(['create', 'put', 'put', 'patch', 'delete', 'get', 'list'] as const);
    const value = `${id}-${count}`;
    const on = kind === 'put' ? known.get(name) : undefined;
    if (kind === 'put' && on === undefined) continue;
    const operation: Operation = {
      ...{
        kind,
        name,
        value,
        on,
        began: clock.monotonic(),
        ended: undefined,
        status: undefined,
        revision: 0,
      },
      read: new Map(),
    };
    history.push(operation);
    const method = { create: 'POST', put: 'PUT', patch: 'PATCH', delete: 'DELETE', get: 'GET', list: 'GET' }[
      kind
    ];
    const metadata = { name, ...(on === undefined ? {} : { resourceVersion: String(on) }) };
    const body = ['create', 'put', 'patch'].includes(kind)
      ? Buffer.from(JSON.stringify({ metadata, data: { value } }))
      : undefined;
    try {
      const response = await handler({
        method,
        path: kind === 'create' || kind === 'list' ? MAPS : `${MAPS}/${name}`,
        headers:
          body === undefined
            ? {}
            : { 'content-type': kind === 'patch' ? 'application/merge-patch+json' : 'application/json' },
        ...(body === undefined ? {} : { body }),
      });
      const answer = JSON.parse(Buffer.from(await readBody(response)).toString()) as Item & {
        items?: Item[];
      };
      operation.ended = clock.monotonic();
      operation.status = response.status;
      if (response.status >= 300) {
        if (response.status === 404 || response.status === 409) continue;
        throw new Error(`${method} was answered with ${response.status}: ${JSON.stringify(answer)}`);
      }
      operation.revision = Number(answer.metadata.resourceVersion);
      for (const item of answer.items ?? (kind === 'get' ? [answer] : []))
        operation.read.set(item.metadata.name, {
          value: item.data?.value ?? '',
          revision: Number(item.metadata.resourceVersion),
        });
      if (kind === 'delete') known.delete(name);
      else if (kind !== 'list') known.set(name, operation.revision);
    } catch (error) {
      if (operation.status !== undefined) throw error;
      return;
    }
  }
}

/** All changes since a revision, up to one that a write makes now. */
async function changesSince(handler: HttpHandler, revision: number): Promise<Change[]> {
  const abort = new AbortController();
  const response = await handler({
    method: 'GET',
    path: `${MAPS}?watch=1&resourceVersion=${revision}`,
    headers: {},
    signal: abort.signal,
  });
  expect(response.status).toBe(200);
  const last = `last-${revision}`;
  await handler({
    method: 'POST',
    path: MAPS,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ metadata: { name: last } })),
  }).then(readBody);
  const changes: Change[] = [];
  let rest = '';
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    const lines = (rest + Buffer.from(chunk).toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { type: string; object: Item };
      const { name, resourceVersion } = object.metadata;
      if (name === last) {
        abort.abort();
        return changes;
      }
      if (NAMES.includes(name))
        changes.push({ type, name, value: object.data?.value ?? '', revision: Number(resourceVersion) });
    }
  }
  throw new Error('the watch ended early');
}

/** Checks that the order of changes explains every answer, and keeps to the order in which things happened. */
function check(changes: readonly Change[], history: readonly Operation[]): void {
  const shown = `seed ${SEED}`;
  const byRevision = new Map(changes.map((change) => [change.revision, change]));
  expect(byRevision.size, shown).toBe(changes.length);
  for (const [index, change] of changes.entries())
    expect(change.revision, shown).toBeGreaterThan(changes[index - 1]?.revision ?? 0);

  // Each change is one that somebody asked for; each acknowledged write is a change, once.
  const writes = new Map(history.map((operation) => [operation.value, operation]));
  const previous = new Map<string, Change>();
  for (const change of changes) {
    const before = previous.get(change.name);
    if (change.type === 'DELETED')
      expect(before?.type === 'DELETED' || before === undefined, JSON.stringify(change)).toBe(false);
    else {
      const author = writes.get(change.value);
      expect(author?.name, JSON.stringify(change)).toBe(change.name);
      expect([undefined, 200, 201], JSON.stringify(author)).toContain(author?.status);
      expect(change.type === 'ADDED', JSON.stringify(change)).toBe(
        before === undefined || before.type === 'DELETED',
      );
      if (author?.kind === 'put') expect(before?.revision, JSON.stringify(author)).toBe(author.on);
      if (author?.kind === 'create') expect(change.type).toBe('ADDED');
    }
    previous.set(change.name, change);
  }
  for (const operation of history) {
    if (operation.status === undefined || operation.status >= 300) continue;
    const { kind, name, value, revision } = operation;
    if (kind === 'create' || kind === 'put' || kind === 'patch')
      expect(byRevision.get(revision), JSON.stringify(operation)).toMatchObject({ name, value });
  }

  // What is read is a state that there was.
  const stateAt = (name: string, revision: number): Change | undefined => {
    const last = changes.findLast((change) => change.name === name && change.revision <= revision);
    return last?.type === 'DELETED' ? undefined : last;
  };
  for (const operation of history) {
    if (operation.status !== 200) continue;
    if (operation.kind === 'get') {
      const [[name, read] = []] = operation.read;
      expect(byRevision.get(read?.revision ?? 0), JSON.stringify(read)).toMatchObject({
        name,
        value: read?.value,
      });
    } else if (operation.kind === 'list')
      for (const name of NAMES)
        expect(operation.read.get(name)?.revision, `${name} at ${operation.revision}`).toBe(
          stateAt(name, operation.revision)?.revision,
        );
  }

  // Nobody is told of a past that was over when they asked.
  const done = history
    .filter(({ status, revision }) => status !== undefined && status < 300 && revision > 0)
    .sort((a, b) => (a.ended ?? 0) - (b.ended ?? 0));
  let newest = 0;
  let at = 0;
  const newestOf = new Map<string, number>();
  for (const operation of [...history].sort((a, b) => a.began - b.began)) {
    for (; at < done.length && (done[at]?.ended ?? 0) < operation.began; at++) {
      const { name, kind, revision } = done[at] as Operation;
      newest = Math.max(newest, revision);
      if (kind !== 'list') newestOf.set(name, Math.max(newestOf.get(name) ?? 0, revision));
    }
    if (operation.status === undefined || operation.status >= 300) continue;
    if (operation.kind === 'get') {
      const seen = operation.revision;
      expect(seen, JSON.stringify(operation)).toBeGreaterThanOrEqual(newestOf.get(operation.name) ?? 0);
    } else if (operation.kind !== 'delete')
      expect(operation.revision, JSON.stringify(operation)).toBeGreaterThanOrEqual(newest);
  }
}

describe(`writers and readers at once, and kill -9 (seed ${SEED})`, () => {
  it('[V71] see one order of all writes, that of the watch, over every crash', async () => {
    const random = seededRandom(SEED);
    const clock = systemClock();
    const history: Operation[] = [];
    server = await startApiServerProcess({ flags: ['--controllers', 'none'] });
    const { directory } = server;
    const list = JSON.parse(
      Buffer.from(
        await readBody(await server.handler()({ method: 'GET', path: MAPS, headers: {} })),
      ).toString(),
    ) as { metadata: { resourceVersion: string } };
    let from = Number(list.metadata.resourceVersion);
    const changes: Change[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const running = server;
      const already = history.length;
      const clients = Array.from({ length: CLIENTS }, (_, id) =>
        client(running.handler(), `${round}.${id}`, seededRandom(SEED + round * 100 + id), history),
      );
      const failed = Promise.all(clients);
      failed.catch(() => undefined); // awaited below
      await until('the load to run', () => history.length > already + 300, { everyMs: 2 });
      await sleep(clock, random.next() * 200);
      await running.kill();
      await failed;
      server = await startApiServerProcess({ directory, flags: ['--controllers', 'none'] });
      const more = await changesSince(server.handler(), from);
      changes.push(...more);
      from = Math.max(from, more.at(-1)?.revision ?? 0);
    }
    expect(history.filter(({ status }) => status === 200 || status === 201).length).toBeGreaterThan(300);
    check(changes, history);
  });
});
