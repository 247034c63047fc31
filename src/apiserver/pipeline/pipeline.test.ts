import { expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

it('answers paths that end early, or escape nothing, before anybody is asked who they are', async () => {
  const { get } = await startServer();
  const early = await get('/api/v1/watch');
  expect(early.status).toBe(500);
  expect(early.text).toBe(
    'Internal Server Error: "/api/v1/watch": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch\n',
  );
  expect((await get('/apis/apps/v1/proxy')).status).toBe(500);
  const broken = await get('/api/v1/namespaces/%zz');
  expect([broken.status, broken.text]).toEqual([400, '400 Bad Request']);
});
