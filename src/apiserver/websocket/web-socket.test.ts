import { type Duplex, duplexPair } from 'node:stream';
import { Agent, WebSocket as Client } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { createCertificateAuthority, issueCertificate } from '../../kube/pki.ts';
import { systemRuntime } from '../../runtime/index.ts';
import { staticTokenAuthenticator } from '../auth/index.ts';
import { serveHttps } from '../http/index.ts';
import { createApiServer } from '../server.ts';
import { memoryDriver } from '../storage/index.ts';
import { frameHead, OPCODES } from './frame.ts';
import { acceptWebSocket, browserRequest, type WebSocketMessage, webSocketHandshake } from './index.ts';

const HEADERS = {
  upgrade: 'websocket',
  connection: 'keep-alive, Upgrade',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function frame(opcode: number, text: string, final: boolean = true): Buffer {
  const payload = Buffer.from(text, 'latin1');
  const head = Buffer.from(frameHead(opcode, payload.byteLength, final));
  head[1] = (head[1] ?? 0) | 0x80;
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}

/** Both ends of a connection; the client's end sees raw bytes. */
function pair(head: Uint8Array = Buffer.of(), maxMessageBytes?: number) {
  const [client, socket] = duplexPair();
  const webSocket = acceptWebSocket({ method: 'GET', headers: HEADERS }, socket as Duplex, head, [''], {
    ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
  });
  return { client, webSocket };
}

async function textsOf(messages: AsyncIterable<WebSocketMessage>): Promise<string[]> {
  const texts: string[] = [];
  for await (const { kind, data } of messages) texts.push(`${kind}:${Buffer.from(data).toString('latin1')}`);
  return texts;
}

async function bytesOf(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('a handshake', () => {
  it('proves that the key was read and takes the first subprotocol of the client that is known', () => {
    const request = { method: 'GET', headers: { ...HEADERS, 'sec-websocket-protocol': 'x, b, a' } };
    const { protocol, headers } = webSocketHandshake(request, ['a', 'b']);
    expect(protocol).toBe('b');
    // The example of RFC 6455, section 1.3.
    expect(headers['sec-websocket-accept']).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    expect(headers['sec-websocket-protocol']).toBe('b');
    expect(() => webSocketHandshake(request, ['c', ''])).toThrow('no common WebSocket subprotocol');
    expect(webSocketHandshake({ method: 'GET', headers: HEADERS }, ['']).headers).not.toHaveProperty(
      'sec-websocket-protocol',
    );
  });

  it.each([
    ['another version', { 'sec-websocket-version': '8' }],
    ['a bad key', { 'sec-websocket-key': 'short' }],
    ['no upgrade', { connection: 'close' }],
  ])('with %s is refused', (_title, headers) => {
    const request = { method: 'GET', headers: { ...HEADERS, ...headers } };
    expect(() => webSocketHandshake(request, [''])).toThrow(expect.objectContaining({ code: 400 }));
  });

  it('of a browser brings its token as a subprotocol, and needs one where the page is of another origin', () => {
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('s3cret').toString('base64url')}`;
    const base = {
      method: 'GET',
      path: '/',
      headers: { ...HEADERS, host: 'api:6443', origin: 'https://evil' },
    };
    const asked = browserRequest({
      ...base,
      headers: { ...base.headers, 'sec-websocket-protocol': `a, ${token}` },
    });
    expect(asked.headers).toMatchObject({ authorization: 'Bearer s3cret', 'sec-websocket-protocol': 'a' });
    expect(() => browserRequest(base)).toThrow('needs a token');
    const same = { ...base, headers: { ...base.headers, origin: 'https://api:6443' } };
    expect(browserRequest(same).headers.authorization).toBeUndefined();
  });
});

describe('a WebSocket', () => {
  it('puts fragments together, answers pings between them, and ends with the close of the client', async () => {
    const { client, webSocket } = pair(frame(OPCODES.text, 'he', false));
    client.write(frame(OPCODES.ping, 'x'));
    client.write(frame(OPCODES.continuation, 'llo'));
    client.write(frame(OPCODES.binary, '\xff'));
    client.write(frame(OPCODES.close, '\x03\xe8'));
    expect(await textsOf(webSocket.messages)).toEqual(['text:hello', 'binary:\xff']);
    expect(webSocket.closed).toBe(true);
    const sent = await bytesOf(client);
    expect([...sent]).toEqual([0x8a, 1, 0x78, 0x88, 2, 0x03, 0xe8]);
  });

  it.each([
    ['a text that is not UTF-8', frame(OPCODES.text, '\xff'), 1007],
    ['a continuation of nothing', frame(OPCODES.continuation, 'x'), 1002],
    [
      'a message within another',
      Buffer.concat([frame(OPCODES.text, 'a', false), frame(OPCODES.text, 'b')]),
      1002,
    ],
    [
      'a message that is too big',
      Buffer.concat([frame(OPCODES.text, 'aaaaa', false), frame(OPCODES.continuation, 'aaaa')]),
      1009,
    ],
    ['a close code that is none', frame(OPCODES.close, '\x03\xed'), 1002],
  ])('tells who sends %s, and ends', async (_title, bytes, code) => {
    const { client, webSocket } = pair(Buffer.of(), 8);
    client.write(bytes);
    await expect(textsOf(webSocket.messages)).rejects.toThrow(expect.objectContaining({ code }));
    const sent = await bytesOf(client);
    expect(sent.readUInt16BE(2)).toBe(code);
  });

  it('makes its sender wait for a client that does not read', async () => {
    const { client, webSocket } = pair();
    let sent = 0;
    const sending = (async () => {
      for (; sent < 100; sent++) await webSocket.send({ kind: 'binary', data: Buffer.alloc(10_000) });
      webSocket.close();
    })();
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBeLessThan(50);
    const [bytes] = await Promise.all([bytesOf(client), sending]);
    expect(bytes.byteLength).toBe(100 * 10_004 + 4);
  });
});

describe('a watch over a WebSocket', () => {
  it('[V23] gives a browser one message for each event, through the pipeline that all requests take', async () => {
    const runtime = systemRuntime();
    const ca = await createCertificateAuthority(runtime, 'ca');
    const serving = await issueCertificate(runtime, ca, {
      commonName: 'server',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
      lifetimeMs: 3_600_000,
    });
    const server = await createApiServer({
      runtime,
      storage: memoryDriver(),
      controllers: false,
      authenticate: staticTokenAuthenticator([
        { token: 's3cret', user: { name: 'admin', groups: ['system:masters'] } },
      ]),
    });
    cleanups.push(() => server.close());
    const https = await serveHttps(runtime, {
      port: 0,
      certificate: serving.certificate,
      key: serving.key,
      clientCa: ca.certificate,
      handle: server.handle,
    });
    cleanups.push(() => https.close(0));
    const dispatcher = new Agent({ connect: { ca: ca.certificate } });
    cleanups.push(() => dispatcher.close());
    const path = '/api/v1/namespaces/default/configmaps?watch=1';
    const open = (token: string): Client =>
      new Client(`wss://127.0.0.1:${https.port}${path}`, {
        protocols: [
          'base64.binary.k8s.io',
          `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`,
        ],
        dispatcher,
      });

    const refused = open('wrong');
    await new Promise<void>((resolve) => refused.addEventListener('error', () => resolve()));

    const client = open('s3cret');
    const messages: { type: string; object: KubeObject }[] = [];
    const two = new Promise<void>((resolve) =>
      client.addEventListener('message', ({ data }) => {
        messages.push(JSON.parse(String(data)) as { type: string; object: KubeObject });
        if (messages.length === 2) resolve();
      }),
    );
    await new Promise<void>((resolve) => client.addEventListener('open', () => resolve()));
    const admin = server.as({ name: 'admin', groups: ['system:masters'] });
    for (const name of ['a', 'b'])
      await admin({
        method: 'POST',
        path: '/api/v1/namespaces/default/configmaps',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify({ metadata: { name } })),
      });
    await two;
    expect(messages.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'a'],
      ['ADDED', 'b'],
    ]);
    const closed = new Promise<number>((resolve) =>
      client.addEventListener('close', ({ code }) => resolve(code)),
    );
    client.close(1000);
    expect(await closed).toBe(1000);
  });
});
