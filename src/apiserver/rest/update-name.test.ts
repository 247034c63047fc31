import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

describe('names in updates', () => {
  it.each([[{}], [{ metadata: {} }], [{ metadata: null }]])('must be given: %j', async (body) => {
    const { post, put } = await startServer();
    await post(PATH, { metadata: { name: 'a' } });
    const { status, body: answer } = await put(`${PATH}/a`, body);
    expect([status, answer.message]).toEqual([
      400,
      'the name of the object (a based on URL) was undeterminable: name must be provided',
    ]);
  });

  it('must be those of the path', async () => {
    const { post, put } = await startServer();
    await post(PATH, { metadata: { name: 'a' } });
    const { status, body } = await put(`${PATH}/a`, { metadata: { name: 'b' } });
    expect([status, body.message]).toEqual([
      400,
      'the name of the object (b) does not match the name on the URL (a)',
    ]);
  });
});
