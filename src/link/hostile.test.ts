import { performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { createCertificateAuthority, issueCertificate } from '../kube/pki.ts';
import { type Logger, type Runtime, systemRuntime } from '../runtime/index.ts';
import { type LinkState, spokeSubject } from './index.ts';
import {
  afterwards,
  ask,
  cleanUp,
  enrolled,
  HOUR,
  hubCa,
  linkCa,
  memoryStore,
  otherCa,
  refusedWith,
  startHub,
  startSpoke,
} from './tunnel.fixture.ts';
import { askWebSocket } from './web-socket-stream.ts';

const runtime = systemRuntime();
afterEach(cleanUp);

function raw(port: number): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1').on('error', () => {});
  afterwards(() => socket.destroy());
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)));
}

function tls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({
    host: '127.0.0.1',
    port,
    ca: hubCa.certificate,
    ALPNProtocols: ['atoll-link/1'],
    ...options,
  });
  afterwards(() => socket.destroy());
  return new Promise((resolve, reject) => {
    socket
      .on('error', reject)
      .once('secureConnect', () => resolve(socket.off('error', reject).on('error', () => {})));
  });
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.resume().once('close', () => resolve());
  });

/** A logger by which a test sees why connections are refused. */
function refusals(): { on: Runtime; until(text: string): Promise<void> } {
  const lines: string[] = [];
  let wake = (): void => {};
  const take = (_text: string, fields?: Readonly<Record<string, unknown>>): void => {
    lines.push(String(fields?.message));
    wake();
  };
  const log: Logger = { debug: () => {}, info: () => {}, warn: take, error: () => {}, with: () => log };
  return {
    on: systemRuntime(log),
    async until(text): Promise<void> {
      while (!lines.some((line) => line.includes(text))) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

describe('certificates that are no good', () => {
  it('are refused: ended, forged, of another authority, for another use, of a replica', async () => {
    const hub = await startHub();
    const options = { ...spokeSubject('one'), usage: 'client', lifetimeMs: HOUR } as const;
    const twin = await createCertificateAuthority(runtime, 'link-ca');
    const past: Runtime = { ...runtime, clock: { ...runtime.clock, now: () => Date.now() - 2 * HOUR } };
    const mine = await issueCertificate(runtime, linkCa, options);
    for (const pair of [
      await issueCertificate(past, await createCertificateAuthority(past, 'old'), options),
      // The same name of the authority, another key.
      await issueCertificate(runtime, twin, options),
      await issueCertificate(runtime, otherCa, options),
      // Signed by a holder instead of an authority.
      await issueCertificate(runtime, mine, options),
      await issueCertificate(runtime, linkCa, { ...options, usage: 'server' }),
      await issueCertificate(runtime, linkCa, {
        ...options,
        commonName: 'hub-peer:x',
        organizations: ['atoll:hub-peers'],
      }),
    ]) {
      const spoke = startSpoke(hub.port, { keyStore: memoryStore(pair) });
      await spoke.until(refusedWith('BadCertificate'));
      await spoke.dialer.close();
    }
    expect(hub.listener.links.size).toBe(0);
  });

  it('are no use without their key', async () => {
    const hub = await startHub();
    const { certificate = '' } = (await enrolled('one')).stored ?? {};
    const { key } = await issueCertificate(runtime, otherCa, {
      ...spokeSubject('one'),
      usage: 'client',
      lifetimeMs: HOUR,
    });
    const spoke = startSpoke(hub.port, { keyStore: memoryStore({ key, certificate }) });
    expect((await spoke.until(refusedWith('ConnectionFailed'))).message).toMatch(/key/i);
  });
});

describe('connections that are no links', () => {
  it('are hung up on, whatever they speak, and disturb nobody', async () => {
    const hub = await startHub();
    startSpoke(hub.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    const changes: LinkState[] = [];
    link.onChange((state) => changes.push(state));
    await expect(tls(hub.port, { ALPNProtocols: ['h2'] })).rejects.toThrow(/alert/);
    await expect(tls(hub.port, { ALPNProtocols: ['atoll-peer/1'] })).rejects.toThrow(/alert/);
    await expect(tls(hub.port, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/alert|version/);
    const plain = await raw(hub.port);
    plain.write('GET /api HTTP/1.1\r\n\r\n');
    await closed(plain);
    for (const text of ['GET /api HTTP/1.1\r\nHost: hub\r\n\r\n', 'a'.repeat(20_000)]) {
      const http1 = await tls(hub.port, { ALPNProtocols: ['http/1.1'] });
      let heard = 0;
      http1.on('data', (data: Buffer) => {
        heard += data.byteLength;
      });
      http1.write(text);
      await closed(http1);
      expect(heard).toBe(0);
    }
    const garbage = await tls(hub.port);
    garbage.write(Buffer.alloc(100_000, 0xff));
    await closed(garbage);
    expect(await ask(link, '/')).toBe('GET / ');
    expect(changes).toEqual([]);
  });

  it('give way when others wait for their places', async () => {
    const hub = await startHub({ maxAdmissions: 2, unprovenMs: 20 });
    const silent = [await raw(hub.port), await raw(hub.port)];
    startSpoke(hub.port, { keyStore: await enrolled('one') });
    await hub.up('one');
    await Promise.any(silent.map(closed));
  });

  it('are not more than may wait', async () => {
    const hub = await startHub({ maxAdmissions: 1, maxPending: 1 });
    const [first, second, third] = [await raw(hub.port), await raw(hub.port), await raw(hub.port)];
    await closed(third as Socket);
    expect([first?.destroyed, second?.destroyed]).toEqual([false, false]);
  });
});

describe('a spoke that means harm', () => {
  /** Dials as a spoke and answers as it pleases. */
  async function harm(
    port: number,
    answer: (stream: ServerHttp2Stream, path: string) => void,
    credentials: ConnectionOptions = {},
  ): Promise<TLSSocket> {
    const socket = await tls(port, credentials);
    const session = performServerHandshake(socket, {});
    session.on('error', () => {});
    session.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      answer(stream, String(headers[':path']));
    });
    return socket;
  }

  it('is refused when its messages are too long, broken or no JSON', async () => {
    for (const [body, why] of [
      [Buffer.alloc(80_000, ' '), 'exceeds 65536 bytes'],
      [Buffer.from('[1]'), 'an enrolment needs'],
      [Buffer.from('{'), 'an enrolment needs'],
      [
        Buffer.from(JSON.stringify({ spoke: 'one', joinToken: 'T', request: 'x'.repeat(60_000) })),
        'exceeds 16384',
      ],
    ] as const) {
      const seen = refusals();
      const hub = await startHub({ consumeJoinToken: async () => true }, seen.on);
      const socket = await harm(hub.port, (stream) => {
        stream.respond({ ':status': 200 });
        stream.end(body);
      });
      await seen.until(why);
      await closed(socket);
    }
  });

  it('cannot have the hub hold what never ends', async () => {
    const seen = refusals();
    const hub = await startHub({}, seen.on);
    const socket = await harm(hub.port, (stream) => {
      stream.respond({ ':status': 200 });
      const flood = (): void => {
        while (!stream.destroyed && stream.write(Buffer.alloc(16_384))) {}
      };
      stream.on('drain', flood);
      flood();
    });
    await seen.until('exceeds 65536 bytes');
    await closed(socket);
  });

  it('gets the requests of no other spoke', async () => {
    const hub = await startHub();
    startSpoke(hub.port, { keyStore: await enrolled('good'), spoke: 'good' });
    const good = await hub.up('good');
    const { key, certificate = '' } = (await enrolled('bad')).stored ?? { key: '' };
    const paths: string[] = [];
    await harm(
      hub.port,
      (stream, path) => {
        paths.push(path);
        stream.respond({ ':status': path === '/link/accepted' ? 204 : 200 }, { endStream: true });
      },
      { key, cert: certificate },
    );
    await hub.up('bad');
    for (let i = 0; i < 20; i++) expect(await ask(good, `/${i}`)).toBe(`GET /${i} `);
    expect(paths).toEqual(['/link/accepted']);
  });
});

describe('who comes in a WebSocket', () => {
  /** The outer TLS, and a stream for the inner one. */
  async function webSocket(port: number): Promise<{ outer: TLSSocket; stream: Duplex }> {
    const outer = await tls(port, { ALPNProtocols: ['http/1.1'] });
    const stream = await askWebSocket(outer, 'hub', runtime.random, new AbortController().signal);
    return { outer, stream: stream.on('error', () => {}) };
  }
  const within = (socket: Duplex): ConnectionOptions => ({
    socket,
    ca: hubCa.certificate,
    host: '127.0.0.1',
    ALPNProtocols: ['atoll-link/1'],
  });

  it('keeps its place until it is let in, as anybody does, and loses it as one who says nothing', async () => {
    const hub = await startHub({ maxAdmissions: 1, unprovenMs: 50 });
    const silences = [
      async () => (await webSocket(hub.port)).outer,
      async () => {
        const { outer, stream } = await webSocket(hub.port);
        await new Promise((resolve) =>
          connectTls(within(stream), () => resolve(undefined)).on('error', () => {}),
        );
        return outer;
      },
    ];
    for (const [index, silence] of silences.entries()) {
      const outer = await silence();
      const spoke = `spoke-${index}`;
      startSpoke(hub.port, { keyStore: await enrolled(spoke), spoke });
      await closed(outer);
      await hub.up(spoke);
    }
  });

  it('gives its place up when it is let in, and where what is inside is no link', async () => {
    // Nobody is given up for others here.
    const hub = await startHub({ maxAdmissions: 1, unprovenMs: HOUR });
    const { stream } = await webSocket(hub.port);
    const { key, certificate: cert = '' } = (await enrolled('inside')).stored ?? { key: '' };
    const inner = connectTls({ ...within(stream), key, cert }).on('error', () => {});
    await new Promise((resolve) => inner.once('secureConnect', resolve));
    afterwards(() => inner.destroy());
    performServerHandshake(inner).on('stream', (answer) =>
      answer.respond({ ':status': 204 }, { endStream: true }),
    );
    await hub.up('inside');
    const other = await webSocket(hub.port);
    other.stream.write('no TLS at all, whatever it is');
    await closed(other.outer);
    startSpoke(hub.port, { keyStore: await enrolled('next'), spoke: 'next' });
    await hub.up('next');
  });
});

describe('a user of a link who means harm', () => {
  it('cannot speak of the link itself in the place of the hub', async () => {
    const hub = await startHub();
    const keyStore = await enrolled('one');
    startSpoke(hub.port, { keyStore });
    const link = await hub.up('one');
    const { stored } = keyStore;
    for (const path of ['/link/renewal', '/link/renewal?x', '/link/accepted', '/link/refused', '/link/']) {
      await expect(ask(link, path)).rejects.toMatchObject({ code: 404 });
      await expect(ask(link, path, '{}')).rejects.toMatchObject({ code: 404 });
    }
    const { certificate } = await issueCertificate(runtime, otherCa, {
      ...spokeSubject('one'),
      usage: 'client',
      lifetimeMs: HOUR,
    });
    await expect(ask(link, '/link/certificate', JSON.stringify({ certificate }))).rejects.toThrow('/link/');
    expect(keyStore.stored).toBe(stored);
    expect(await ask(link, '/linked')).toBe('GET /linked ');
  });
});

describe('all spokes coming back at once', () => {
  it('are let in a few at a time, and the links that are up stay up', async () => {
    const hub = await startHub({ maxAdmissions: 4 });
    startSpoke(hub.port, { keyStore: await enrolled('steady'), spoke: 'steady' });
    const steady = await hub.up('steady');
    const changes: LinkState[] = [];
    steady.onChange((state) => changes.push(state));
    const names = Array.from({ length: 60 }, (_, i) => `spoke-${i}`);
    const stores = await Promise.all(names.map((name) => enrolled(name)));
    names.forEach((spoke, i) => {
      const keyStore = stores[i];
      if (keyStore) startSpoke(hub.port, { spoke, keyStore });
    });
    const answers = names.map(async (name) => ask(await hub.up(name), `/${name}`));
    for (let i = 0; i < 10; i++) expect(await ask(steady, `/${i}`)).toBe(`GET /${i} `);
    expect(await Promise.all(answers)).toEqual(names.map((name) => `GET /${name} `));
    expect(changes).toEqual([]);
  }, 20_000);
});
