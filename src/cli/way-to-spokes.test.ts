import { describe, expect, it } from 'vitest';
import type { Handler, Response } from '../kube/exchange.ts';
import type { HttpHandler } from '../kube/http-handler.ts';
import { wayToSpokes } from './way-to-spokes.ts';

const SPOKE = '/clusters/edge/api/v1/namespaces';

function json(status: number, body: object): Response {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) };
}

const unknownPath: Response = {
  status: 404,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from('404 page not found\n'),
};

function failure(code: number): Response {
  return json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: 'no', reason: '' });
}

/** A hub's API server that answers what leads to spokes so, and tells of its other port where `data` are given. */
function hub(answer: Response, data?: Record<string, string>): { handler: Handler; asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    handler: async ({ path }) => {
      asked.push(path);
      if (!path.startsWith('/api/')) return answer;
      return data === undefined
        ? failure(404)
        : json(200, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'hub-access' }, data });
    },
  };
}

function port(status: number): HttpHandler {
  const handler: Handler = async () => json(status, {});
  return Object.assign(handler, {
    upgrade: () => Promise.reject(new Error('not asked for')),
    close: async () => undefined,
  });
}

const gone: HttpHandler = Object.assign<Handler, Omit<HttpHandler, keyof Handler>>(
  () => Promise.reject(new Error('connect ECONNREFUSED')),
  { upgrade: () => Promise.reject(new Error('not asked for')), close: async () => undefined },
);

const ask = (handler: Handler): Promise<Response> => handler({ method: 'GET', path: SPOKE, headers: {} });
const never = (): HttpHandler => {
  throw new Error('another server was opened');
};

describe('the way from a hub to its spokes', () => {
  it('is its API server where that knows it, also when a spoke has no such thing', async () => {
    for (const status of [200, 404, 503]) {
      const { handler, asked } = hub(failure(status), { server: 'https://elsewhere', ca: 'pem' });
      expect((await ask(wayToSpokes(handler, never).handler)).status).toBe(status);
      expect(asked).toEqual([SPOKE]);
    }
  });

  it.each([unknownPath, failure(403)])(
    'is the port that the hub tells of where it does not',
    async (answer) => {
      const { handler, asked } = hub(answer, { server: 'https://elsewhere', ca: 'pem' });
      const opened: object[] = [];
      const way = wayToSpokes(handler, (notice) => {
        opened.push(notice);
        return port(200);
      });
      expect((await ask(way.handler)).status).toBe(200);
      expect((await ask(way.handler)).status).toBe(200);
      expect(opened).toEqual([{ server: 'https://elsewhere', ca: 'pem' }]);
      expect(asked.filter((path) => path === SPOKE)).toHaveLength(1);
      await way.close();
    },
  );

  it('is said to be missing where there is none, and a refusal stays one', async () => {
    await expect(ask(wayToSpokes(hub(unknownPath).handler, never).handler)).rejects.toThrow('--access-port');
    expect((await ask(wayToSpokes(hub(failure(403)).handler, never).handler)).status).toBe(403);
  });

  it('is a replica that is there, where one that was killed is still named', async () => {
    const data = { 'server.1': 'https://killed', 'server.2': 'https://there', ca: 'pem' };
    const opened: string[] = [];
    const way = wayToSpokes(hub(unknownPath, data).handler, ({ server }) => {
      opened.push(server);
      return server === 'https://killed' ? gone : port(200);
    });
    expect((await ask(way.handler)).status).toBe(200);
    expect(opened).toEqual(['https://killed', 'https://there']);
    const none = wayToSpokes(hub(unknownPath, data).handler, () => gone);
    await expect(ask(none.handler)).rejects.toThrow('ECONNREFUSED');
  });
});
