import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../kube/exchange.ts';
import { certificateIdentity, issueCertificate } from '../kube/pki.ts';
import { type FaultProxyOptions, startFaultProxy } from '../kube/wire/fault-proxy.fixture.ts';
import { systemRuntime } from '../runtime/index.ts';
import type { Link } from './index.ts';
import {
  afterwards,
  ask,
  changeOf,
  cleanUp,
  enrolled,
  HOUR,
  hubCa,
  memoryStore,
  otherCa,
  refusedWith,
  startHub,
  startSpoke,
} from './tunnel.fixture.ts';

const runtime = systemRuntime();
afterEach(cleanUp);

const proxy = async (options: FaultProxyOptions) => {
  const started = await startFaultProxy(runtime, options);
  afterwards(() => started.close());
  return started;
};

/** What a company's proxy shows: a certificate of its own authority for whatever name. */
const corporate = await issueCertificate(runtime, otherCa, {
  commonName: 'corporate',
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
  lifetimeMs: HOUR,
});

describe('a spoke behind a proxy', () => {
  it.each([
    ['http', 'connect'],
    ['https', 'connect'],
    ['socks5', 'socks5'],
  ] as const)(
    '[S122] enrols and stays connected with nothing but the way out by an %s proxy',
    async (scheme, mode) => {
      const hub = await startHub();
      hub.tokens.set('one', 'T');
      const out = await proxy({
        mode,
        auth: 'me:secret',
        target: { port: hub.port },
        ...(scheme === 'https' ? { tls: corporate } : {}),
      });
      startSpoke(1, {
        // A name that only the proxy knows the address of.
        hubAddress: 'hub.example:6440',
        hubName: '127.0.0.1',
        keyStore: memoryStore(),
        joinToken: () => 'T',
        proxy: { url: `${scheme}://me:secret@127.0.0.1:${out.port}`, ca: otherCa.certificate },
      });
      expect(await ask(await hub.up('one'), '/x')).toBe('GET /x ');
      expect(out.asked).toEqual(['hub.example:6440', 'hub.example:6440']);
    },
  );

  it('[S122] goes past the proxy where NO_PROXY says so, and tells what the proxy refused', async () => {
    const hub = await startHub();
    const out = await proxy({ mode: 'connect', auth: 'me:secret' });
    const url = `http://me:wrong@127.0.0.1:${out.port}`;
    const past = startSpoke(hub.port, {
      keyStore: await enrolled('one'),
      proxy: { url, noProxy: 'localhost,127.0.0.0/8' },
    });
    await hub.up('one');
    await past.dialer.close();
    const refused = startSpoke(hub.port, { keyStore: await enrolled('one'), proxy: { url } });
    const { message } = await refused.until(refusedWith('ConnectionFailed'));
    expect(message).toContain('does not accept the user and password (407)');
    expect(message).not.toContain('wrong');
  });
});

describe('a hub behind a load balancer that passes TLS on', () => {
  it('[S120] shows each name’s own certificate, and the spoke checks the name that it dialled', async () => {
    const certificateFor = async (name: string) => ({
      ...(await issueCertificate(runtime, hubCa, {
        commonName: name,
        dnsNames: [name],
        usage: 'server',
        lifetimeMs: HOUR,
      })),
      names: [name],
    });
    const hub = await startHub({
      certificates: [
        await certificateFor('hub.one.example'),
        await certificateFor('hub.two.example'),
        await certificateFor('*.three.example'),
      ],
    });
    const balancer = await proxy({ mode: 'connect', target: { port: hub.port } });
    const names = ['hub.one.example', 'hub.two.example', 'eu.three.example'];
    for (const name of names) {
      const spoke = startSpoke(1, {
        spoke: name,
        hubAddress: `${name}:443`,
        keyStore: await enrolled(name),
        proxy: { url: `http://127.0.0.1:${balancer.port}` },
      });
      await hub.up(name);
      await spoke.dialer.close();
    }
    const other = startSpoke(1, {
      hubAddress: 'hub.four.example:443',
      keyStore: await enrolled('one'),
      proxy: { url: `http://127.0.0.1:${balancer.port}` },
    });
    expect((await other.until(refusedWith('ConnectionFailed'))).message).toMatch(/altnames|does not match/i);
  });
});

describe('a network that lets only HTTP/1.1 out', () => {
  it('carries enrolment, requests and watches in a WebSocket, and remembers that', async () => {
    const hub = await startHub();
    hub.tokens.set('one', 'T');
    const wall = await proxy({ mode: 'http1', tls: corporate, target: { port: hub.port } });
    const keyStore = memoryStore();
    const spoke = startSpoke(wall.port, { keyStore, joinToken: () => 'T' });
    const link = await hub.up('one');
    expect(await ask(link, '/x', 'y'.repeat(2 * 1024 * 1024))).toHaveLength(
      'POST /x '.length + 2 * 1024 * 1024,
    );
    const many = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(link, `/${i}`)));
    expect(many[99]).toBe('GET /99 ');
    expect(link.stats?.()).toMatchObject({ connections: 1, openStreams: 0 });
    expect(link.stats?.().bytesOut).toBeGreaterThan(2 * 1024 * 1024);
    // TLS was tried when the spoke enrolled and when it came back with its certificate, and not again.
    const before = wall.accepted;
    wall.cut();
    await changeOf(link, ({ up }) => !up);
    await changeOf(link, ({ up }) => up);
    expect(wall.accepted).toBe(before + 1);
    expect(spoke.states.filter(({ phase }) => phase === 'up')).toHaveLength(2);
    // Nothing of it stays behind, at either end.
    hub.revoked.add('one');
    hub.listener.disconnect('one', 'the spoke was removed');
    await spoke.until(refusedWith('NotAuthorized'));
    await spoke.dialer.close();
    while (wall.connections > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('shows the spoke’s certificate to the hub and not to who ends TLS on the way; a false hub is not believed', async () => {
    const impostor = await startHub({
      certificate: corporate.certificate,
      key: corporate.key,
      consumeJoinToken: async () => true,
    });
    const wall = await proxy({ mode: 'http1', tls: corporate, target: { port: impostor.port } });
    const spoke = startSpoke(wall.port, { keyStore: memoryStore(), joinToken: () => 'T' });
    const { message } = await spoke.until(refusedWith('ConnectionFailed'));
    expect(message).toContain('in a WebSocket: ');
    expect(impostor.listener.links.size).toBe(0);
  });

  it('refuses revoked and foreign certificates there as anywhere', async () => {
    const hub = await startHub();
    const wall = await proxy({ mode: 'http1', tls: corporate, target: { port: hub.port } });
    const foreign = startSpoke(wall.port, { keyStore: await enrolled('one', HOUR, otherCa) });
    await foreign.until(refusedWith('BadCertificate'));
    await foreign.dialer.close();
    hub.revoked.add('one');
    await startSpoke(wall.port, { keyStore: await enrolled('one') }).until(refusedWith('NotAuthorized'));
  });

  it('is not used where it is not allowed', async () => {
    const hub = await startHub();
    const wall = await proxy({ mode: 'http1', tls: corporate, target: { port: hub.port } });
    const spoke = startSpoke(wall.port, { keyStore: await enrolled('one'), transports: ['tls'] });
    const { message } = await spoke.until(refusedWith('ConnectionFailed'));
    expect(message).not.toContain('WebSocket');
  });

  it('finds a half-open WebSocket by its pings', async () => {
    const pings = { pingIntervalMs: 20, pingTimeoutMs: 60 };
    const hub = await startHub(pings);
    const wall = await proxy({ mode: 'http1', tls: corporate, target: { port: hub.port } });
    const spoke = startSpoke(wall.port, { keyStore: await enrolled('one'), ...pings });
    const link = await hub.up('one');
    wall.blackHole('toServer');
    expect((await changeOf(link, ({ up }) => !up)).reason).toBe('PingTimeout');
    wall.blackHole();
    await spoke.until(({ phase }) => phase === 'waiting');
    wall.heal();
    await changeOf(link, ({ up }) => up);
  });
});

describe('a network that kills connections', () => {
  /** Asks again until it is answered, as whoever delivers does. */
  async function deliver(link: Link, path: string): Promise<string> {
    for (;;) {
      try {
        return await ask(link, path);
      } catch {
        if (!link.up) await changeOf(link, ({ up }) => up);
      }
    }
  }

  it('[S47] still delivers everything where each lives for a moment only', async () => {
    const hub = await startHub();
    const wire = await proxy({ target: { port: hub.port } });
    wire.setMaxAge(60);
    startSpoke(wire.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    for (let i = 0; i < 100 || wire.accepted < 4; i++)
      expect(await deliver(link, `/${i}`)).toBe(`GET /${i} `);
    expect(link.stats?.().reconnects).toBeGreaterThanOrEqual(2);
  });

  it('[S47] comes by at intervals where it is told to; requests wait for the next visit', async () => {
    const hub = await startHub();
    const seen: string[] = [];
    const serve: Handler = async (request) => {
      seen.push(request.path);
      return { status: 200, headers: {}, body: Buffer.from('ok') };
    };
    const spoke = startSpoke(hub.port, { keyStore: await enrolled('one'), serve, pollIntervalMs: 1_000 });
    const link = await hub.up('one');
    expect(await ask(link, '/first')).toBe('ok');
    await changeOf(link, ({ reason }) => reason === 'Polling');
    expect(link.up).toBe(true);
    const visits = spoke.states.filter(({ phase }) => phase === 'up').length;
    expect(await ask(link, '/second')).toBe('ok');
    expect(spoke.states.filter(({ phase }) => phase === 'up').length).toBe(visits + 1);
    expect(seen).toEqual(['/first', '/second']);
    // Who gives up waiting is told at once, and one that is gone is not waited for.
    await changeOf(link, ({ reason }) => reason === 'Polling');
    const abort = new AbortController();
    const waiting = link.handler({ method: 'GET', path: '/', headers: {}, signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const never = link.handler({ method: 'GET', path: '/', headers: {} });
    hub.listener.disconnect('one', 'removed');
    await expect(never).rejects.toThrow('removed');
  }, 15_000);
});

describe('a hub with several addresses', () => {
  it('is found by the first that answers, and by the next when that goes away', async () => {
    const first = await startHub();
    const second = await startHub();
    const dead = await proxy({ target: { port: 1 } });
    dead.refuse();
    const store = await enrolled('one');
    const spoke = startSpoke(1, {
      keyStore: store,
      hubAddress: [`127.0.0.1:${dead.port}`, `127.0.0.1:${first.port}`, `127.0.0.1:${second.port}`],
    });
    await first.up('one');
    expect(spoke.states.some(({ phase }) => phase === 'waiting')).toBe(false);
    await first.listener.close();
    expect(await ask(await second.up('one'), '/')).toBe('GET / ');
    expect(certificateIdentity(store.stored?.certificate ?? '').commonNames).toEqual(['spoke:one']);
  });

  it('refuses addresses that are none', () => {
    const keyStore = memoryStore();
    expect(() => startSpoke(1, { keyStore, hubAddress: 'hub' })).toThrow(
      'not an address of the form host:port',
    );
    expect(() => startSpoke(1, { keyStore, hubAddress: [] })).toThrow('needs an address');
  });
});
