import { expect, it } from 'vitest';
import type { Response } from '../../kube/exchange.ts';
import { startServer } from '../server.fixture.ts';

const ALLOW_ALL = () => ({ allowed: true, reason: '' });

it('[V68] answers 429 in plain text beyond the limit, but not to system:masters or of watches', async () => {
  const fixture = await startServer({
    authorize: { authorize: ALLOW_ALL },
    fairness: { maxReading: 2, maxWriting: 1 },
  });
  const { server, runtime, admin } = fixture;
  const dev = server.as({ name: 'dev', groups: [] });
  const path = '/api/v1/namespaces/default/configmaps';
  const body = (name: string) => Buffer.from(JSON.stringify({ metadata: { name } }));
  const post = (name: string, handler = dev) =>
    handler({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body: body(name) });
  const get = (query = '') => dev({ method: 'GET', path: `${path}${query}`, headers: {} });
  const watches = [get('?watch=1'), get('?watch=1'), get('?watch=1')];
  const writes = ['a', 'b', 'c'].map((name) => post(name));
  const asAdmin = ['d', 'e'].map((name) => post(name, admin));
  await runtime.clock.settle();
  const statuses = async (answers: Promise<Response>[]) =>
    (await Promise.all(answers)).map(({ status }) => status);
  expect(await statuses(watches)).toEqual([200, 200, 200]);
  expect(await statuses(writes)).toEqual([201, 429, 429]);
  expect(await statuses(asAdmin)).toEqual([201, 201]);
  const refused = await (writes[1] as Promise<Response>);
  expect(refused.headers).toMatchObject({ 'retry-after': '1', 'content-type': 'text/plain; charset=utf-8' });
  expect(Buffer.from(refused.body as Uint8Array).toString()).toBe(
    'Too many requests, please try again later.\n',
  );
  const later = post('f');
  await runtime.clock.settle();
  expect((await later).status).toBe(201);
  await server.close();
});
