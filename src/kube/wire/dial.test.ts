import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { errorText, systemRuntime } from '../../runtime/index.ts';
import { createCertificateAuthority, issueCertificate } from '../pki.ts';
import { type FaultProxyOptions, startFaultProxy } from './fault-proxy.fixture.ts';
import { dial, dialTls, parseProxy, proxyFor } from './index.ts';

const runtime = systemRuntime();
const authority = await createCertificateAuthority(runtime, 'proxy-ca');
const serving = await issueCertificate(runtime, authority, {
  commonName: 'server',
  dnsNames: ['server.example'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
  lifetimeMs: 3_600_000,
});
const limits = { clock: runtime.clock, timeoutMs: 10_000 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as { port: number }).port;
}

const upperCase = (socket: NodeJS.ReadWriteStream): void => {
  socket.on('data', (data) => socket.write(String(data).toUpperCase()));
};

async function proxy(options: FaultProxyOptions) {
  const started = await startFaultProxy(runtime, options);
  cleanups.push(() => started.close());
  return started;
}

function answer(socket: Socket, text: string): Promise<string> {
  cleanups.push(() => socket.destroy());
  return new Promise((resolve, reject) => {
    socket.once('data', (data) => resolve(String(data))).once('error', reject);
    socket.write(text);
  });
}

describe('dialling through proxies', () => {
  it.each([
    ['http', 'connect', undefined],
    ['http', 'connect', 'me:p@ss:word'],
    ['https', 'connect', 'me:secret'],
    ['socks5', 'socks5', undefined],
    ['socks5', 'socks5', 'me:secret'],
  ] as const)('[F3] reaches a server by an %s proxy (%s, %s)', async (scheme, mode, auth) => {
    const port = await listening(createServer(upperCase));
    const on = await proxy({
      mode,
      ...(auth ? { auth } : {}),
      ...(scheme === 'https' ? { tls: serving } : {}),
    });
    const [user, ...rest] = (auth ?? '').split(':');
    const login = auth ? `${encodeURIComponent(user ?? '')}:${encodeURIComponent(rest.join(':'))}@` : '';
    const through = parseProxy(`${scheme}://${login}127.0.0.1:${on.port}`, authority.certificate);
    const socket = await dial({ host: '127.0.0.1', port, proxy: through }, limits);
    expect(await answer(socket, 'hello')).toBe('HELLO');
    expect(on.asked).toEqual([`127.0.0.1:${port}`]);
  });

  it('leaves names to the proxy, and checks TLS against the name behind it', async () => {
    const port = await listening(createTlsServer({ cert: serving.certificate, key: serving.key }, upperCase));
    const on = await proxy({ mode: 'socks5', target: { port } });
    const through = parseProxy(`socks5://127.0.0.1:${on.port}`);
    const options = { ca: authority.certificate };
    const socket = await dialTls({ host: 'server.example', port: 443, proxy: through }, options, limits);
    expect(await answer(socket, 'hello')).toBe('HELLO');
    expect(on.asked).toEqual(['server.example:443']);
    await expect(
      dialTls({ host: 'other.example', port: 443, proxy: through }, options, limits),
    ).rejects.toThrow(/does not match|altnames/i);
  });

  it.each([
    ['connect', 'http', 'asks for a user and password (407)'],
    ['socks5', 'socks5', 'asks for a way to log in that is not given'],
  ] as const)('says what a proxy (%s) refuses, and never a password', async (mode, scheme, message) => {
    const on = await proxy({ mode, auth: 'me:secret' });
    const fails = async (login: string): Promise<string> => {
      const through = parseProxy(`${scheme}://${login}127.0.0.1:${on.port}`);
      return dial({ host: 'h', port: 1, proxy: through }, limits).then(
        () => 'connected',
        (error: unknown) => errorText(error),
      );
    };
    expect(await fails('')).toBe(
      `the ${scheme} proxy at 127.0.0.1:${on.port} does not lead to h:1: it ${message}`,
    );
    const wrong = await fails('me:hunter2@');
    expect(wrong).toContain('does not accept the user and password');
    expect(wrong).not.toContain('hunter2');
  });

  it('gives up in time on a proxy that does not answer, and when it is told to', async () => {
    const port = await listening(createServer(() => {}));
    const through = parseProxy(`http://127.0.0.1:${port}`);
    await expect(dial({ host: 'h', port: 1, proxy: through }, { ...limits, timeoutMs: 20 })).rejects.toThrow(
      'no connection within 20 ms',
    );
    const abort = new AbortController();
    const dialling = dial({ host: 'h', port: 1, proxy: through }, { ...limits, signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(dialling).rejects.toThrow('enough');
  });

  it('refuses answers without an end', async () => {
    const port = await listening(
      createServer((socket) => {
        socket.resume();
        const flood = (): void => {
          while (!socket.destroyed && socket.write(Buffer.alloc(4096, 'a'))) {}
        };
        socket.on('drain', flood);
        flood();
      }),
    );
    const through = parseProxy(`http://127.0.0.1:${port}`);
    const failed = dial({ host: 'h', port: 1, proxy: through }, limits).catch(errorText);
    expect(await failed).toContain('sent a head of more than 16384 bytes');
  });
});

describe('parseProxy', () => {
  it('reads what people write', () => {
    expect(parseProxy('http://proxy')).toEqual({ kind: 'http', host: 'proxy', port: 80 });
    expect(parseProxy('https://a%40b:c%3Ad@[::1]:8443')).toEqual({
      kind: 'https',
      host: '::1',
      port: 8443,
      user: 'a@b',
      password: 'c:d',
    });
    expect(parseProxy('socks5h://p')).toEqual({ kind: 'socks5', host: 'p', port: 1080 });
  });

  it.each(['proxy:3128', 'ftp://p', 'http://p/path', 'http://p?x', ''])('refuses %j', (url) => {
    expect(() => parseProxy(url)).toThrow(/proxy/);
  });
});

describe('proxyFor', () => {
  const via = (noProxy: string, host: string, port: number = 443): boolean =>
    proxyFor({ url: 'http://p:1', noProxy }, { host, port }) !== undefined;

  it.each([
    ['*', 'hub.example', false],
    ['example', 'hub.example', false],
    ['example', 'example', false],
    ['.example', 'hub.example', false],
    ['.example', 'example', true],
    ['*.example', 'hub.example', false],
    ['ample', 'hub.example', true],
    ['hub.example:8443', 'hub.example', true],
    ['hub.example:443', 'hub.example', false],
    ['a, HUB.example ,b', 'hub.EXAMPLE.', false],
    ['10.0.0.0/8', '10.2.3.4', false],
    ['10.0.0.0/8', '11.2.3.4', true],
    ['10.0.0.0/8', '10.example', true],
    ['10.2.3.4', '10.2.3.4', false],
    ['fd00::/8', 'fd12::1', false],
    ['[::1]:443', '::1', false],
    ['::1', '::1', false],
    ['10.0.0.0/99', '10.2.3.4', true],
    ['', 'hub.example', true],
  ])('NO_PROXY=%s, %s: by the proxy %s', (rules, host, expected) => {
    expect(via(rules, host)).toBe(expected);
  });

  it('is none without settings', () => {
    expect(proxyFor(undefined, { host: 'h', port: 1 })).toBeUndefined();
    expect(proxyFor({ url: '' }, { host: 'h', port: 1 })).toBeUndefined();
  });
});
