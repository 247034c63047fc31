import { createServer as createPlainServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readBody } from './exchange.ts';
import { httpHandler } from './http-handler.ts';
import { createClient } from './rest-client.ts';
import { pods } from './well-known.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

function listen(server: Server): Promise<string> {
  open.push({ close: () => new Promise((resolve) => server.close(resolve)) });
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  );
}

function handlerOf(url: string, token?: string): ReturnType<typeof httpHandler> {
  const handler = httpHandler({ url, ...(token === undefined ? {} : { token }) });
  open.push(handler);
  return handler;
}

describe('httpHandler', () => {
  it('sends path prefix, token and body, and gives status, headers and body back', async () => {
    const url = await listen(
      createPlainServer(async (request, response) => {
        let body = '';
        for await (const chunk of request) body += chunk;
        response.writeHead(201, { 'content-type': 'text/plain', 'set-cookie': ['a', 'b'] });
        response.end(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
      }),
    );
    const handler = handlerOf(`${url}/clusters/hub/`, 'T');
    const response = await handler({
      method: 'POST',
      path: '/api/v1?x=1',
      headers: {},
      body: Buffer.from('hi'),
    });
    expect(response.status).toBe(201);
    expect(response.headers['set-cookie']).toBe('a, b');
    expect(Buffer.from(await readBody(response)).toString()).toBe(
      'POST /clusters/hub/api/v1?x=1 Bearer T hi',
    );
  });

  it('does not follow redirects', async () => {
    const asked: string[] = [];
    const url = await listen(
      createPlainServer((request, response) => {
        asked.push(request.url ?? '');
        response.writeHead(307, { location: '/elsewhere' }).end();
      }),
    );
    await expect(createClient(handlerOf(url, 'T')).getJson('/x')).rejects.toMatchObject({ code: 307 });
    expect(asked).toEqual(['/x']);
  });

  it('streams a watch, and ends it at the server when the caller stops', async () => {
    const gone = Promise.withResolvers<void>();
    const url = await listen(
      createPlainServer((request, response) => {
        response.writeHead(200);
        response.write('{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n');
        request.on('close', () => gone.resolve());
      }),
    );
    const client = createClient(handlerOf(url));
    for await (const event of client.watch(pods, 'n')) {
      expect(event.type).toBe('ADDED');
      break;
    }
    await gone.promise;
  });

  it('rejects when there is no server, naming host only', async () => {
    const server = createPlainServer();
    const url = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    await expect(handlerOf(url, 'T')({ method: 'GET', path: '/x', headers: {} })).rejects.toThrow(
      /^cannot reach 127\.0\.0\.1:\d+$/,
    );
  });
});
