import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBody } from '../../../src/kube/exchange.ts';
import type { HttpHandler } from '../../../src/kube/http-handler.ts';
import { endpointFromKubeconfig } from '../../../src/kube/kubeconfig-endpoint.ts';
import { seededRandom } from '../../../src/runtime/index.ts';
import { type ApiServerProcess, startApiServerProcess } from '../harness/api-server.ts';
import { until, within } from '../harness/until.ts';

const TOKEN = 'opensesame';
const MAPS = '/api/v1/namespaces/default/configmaps';

let server: ApiServerProcess;
let handler: HttpHandler;
beforeAll(async () => {
  server = await startApiServerProcess({
    memory: true,
    flags: ['--controllers', 'core', '--admin-token', TOKEN],
  });
  handler = server.handler();
});
afterAll(() => server?.stop());

async function call(
  method: string,
  path: string,
  body?: Buffer | string,
  by: HttpHandler = handler,
): Promise<{ status: number; text: string }> {
  const response = await by({
    method,
    path,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  });
  return { status: response.status, text: Buffer.from(await readBody(response)).toString() };
}

const map = (name: string, value: string): string => JSON.stringify({ metadata: { name }, data: { value } });

function dial(alpn?: string): Promise<TLSSocket> {
  const { ca } = endpointFromKubeconfig(readFileSync(server.kubeconfig, 'utf8'), { stored: false });
  const { port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        host: '127.0.0.1',
        port: Number(port),
        ...(ca === undefined ? {} : { ca }),
        ...(alpn === undefined ? {} : { ALPNProtocols: [alpn] }),
      },
      () => resolve(socket),
    );
    socket.once('error', reject);
  });
}

/** Sends bytes as they are, then ends or breaks the connection, and gives what came back. */
async function send(bytes: Buffer | string, options: { alpn?: string; cut?: boolean } = {}): Promise<string> {
  const socket = await dial(options.alpn);
  socket.removeAllListeners('error');
  // The server may close first, which is its right.
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(bytes);
  if (options.cut === true) setImmediate(() => socket.destroy());
  else socket.end();
  await within('the end of the connection', 15_000, closed);
  return text;
}

function residentMiB(): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024;
}

async function works(): Promise<void> {
  expect((await call('GET', '/readyz')).text).toBe('ok');
  expect(server.log()).not.toMatch(/\n {4}at |TypeError|nobody listened/);
}

describe('the process', () => {
  it('outlives connections that speak no HTTP, half of it, or too much of it', async () => {
    const head = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`;
    const post = `POST ${MAPS} HTTP/1.1\r\n${head}Content-Type: application/json\r\n`;
    const random = seededRandom(9);
    const noise = Array.from({ length: 20 }, (_, index) => Buffer.from(random.bytes(1 + index * 37)));
    for (const bytes of [
      ...noise,
      '',
      '\r\n\r\n',
      'GET\r\n\r\n',
      `GET / HTTP/9.9\r\n${head}\r\n`,
      `GET ${'/a'.repeat(60_000)} HTTP/1.1\r\n${head}\r\n`,
      `GET / HTTP/1.1\r\n${head}X: ${'y'.repeat(200_000)}\r\n\r\n`,
      `GET / HTTP/1.1\r\n${head}${Array.from({ length: 5_000 }, (_, i) => `X-${i}: 1\r\n`).join('')}\r\n`,
      `${post}Content-Length: 10\r\n\r\n{}`,
      `${post}Content-Length: -1\r\n\r\n{}`,
      `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
      `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
      `${post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}`,
      `${post}Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n`,
      `GET ${MAPS}?watch=1 HTTP/1.1\r\n${head}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
      `CONNECT x:1 HTTP/1.1\r\n${head}\r\n`,
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    ])
      for (const cut of [false, true]) {
        const text = await send(bytes, { cut });
        expect(text).not.toMatch(/^HTTP\/1\.1 5/);
        expect(text).not.toMatch(/\n {4}at |TypeError/);
      }
    const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    for (const bytes of [...noise, Buffer.alloc(0), Buffer.from([0, 0, 255, 4, 0, 0, 0, 0, 0])])
      for (const cut of [false, true]) await send(Buffer.concat([preface, bytes]), { alpn: 'h2', cut });
    await works();
  });

  it('refuses bodies that are too large or too deep, and stores what is just below', async () => {
    const mebi = 2 ** 20;
    const large = await call('POST', MAPS, map('large', 'x'.repeat(1.4 * mebi)));
    expect(large.status).toBe(422); // more than a ConfigMap may hold
    const secret = { metadata: { name: 'large' }, data: { a: Buffer.alloc(0.7 * mebi).toString('base64') } };
    expect((await call('POST', '/api/v1/namespaces/default/secrets', JSON.stringify(secret))).status).toBe(
      201,
    );
    for (const size of [3 * mebi + 1, 6 * mebi]) {
      // A client that is stopped while it sends counts what it could not send, and takes no more of that: each has its own.
      const outcome = await call('POST', MAPS, map('huge', 'x'.repeat(size)), server.handler());
      expect([size, outcome.status, outcome.text]).toEqual([
        size,
        413,
        expect.stringContaining('Request entity too large'),
      ]);
    }
    for (const deep of [
      '['.repeat(1_000_000),
      '{"a":'.repeat(200_000),
      `{"metadata":{"name":"deep"},"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    ])
      expect((await call('POST', MAPS, deep)).status).toBe(400);
    const name = 'ünïcode-🙂-\u0000-\ud800';
    expect((await call('POST', MAPS, map(name, name))).status).toBe(422);
    expect(await call('POST', MAPS, map('unicode', '日本語 🙂 \u2028'))).toMatchObject({
      status: 201,
      text: expect.stringContaining('日本語 🙂'),
    });
    await works();
  });

  it('[V75] holds little for readers that do not read, and the others miss nothing', async () => {
    const before = residentMiB();
    const stuck: TLSSocket[] = [];
    for (let index = 0; index < 30; index++) {
      const socket = await dial();
      socket.removeAllListeners('error');
      socket.on('error', () => undefined);
      socket.pause();
      socket.write(
        `GET ${MAPS}?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
      );
      stuck.push(socket);
    }
    const abort = new AbortController();
    const watch = await handler({
      method: 'GET',
      path: `${MAPS}?watch=1&fieldSelector=metadata.name%3Dchanging`,
      headers: {},
      signal: abort.signal,
    });
    const seen: string[] = [];
    const reading = (async () => {
      let rest = '';
      for await (const chunk of watch.body as AsyncIterable<Uint8Array>) {
        const lines = (rest + Buffer.from(chunk).toString()).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) seen.push(String(JSON.parse(line).object.data.value).slice(0, 3));
      }
    })();
    reading.catch(() => undefined); // aborted at the end
    const changes = 120;
    for (let change = 100; change < 100 + changes; change++) {
      const body = map('changing', `${change}${'x'.repeat(200_000)}`);
      const { status } =
        change === 100 ? await call('POST', MAPS, body) : await call('PUT', `${MAPS}/changing`, body);
      expect(status).toBe(change === 100 ? 201 : 200);
    }
    await until('all changes to arrive', () => seen.length === changes);
    expect(seen).toEqual(Array.from({ length: changes }, (_, index) => String(100 + index)));
    // 24 MB of changes for each of thirty would be 720 MB.
    expect(residentMiB() - before).toBeLessThan(350);
    abort.abort();
    for (const socket of stuck) socket.destroy();
    await works();
  });
});
