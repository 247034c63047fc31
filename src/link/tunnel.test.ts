import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type Handler, type Request, type Response, readBody } from '../kube/exchange.ts';
import { certificateIdentity, createCertificateAuthority, issueCertificate } from '../kube/pki.ts';
import { type FaultProxy, startFaultProxy } from '../kube/wire/fault-proxy.fixture.ts';
import { errorText, type Logger, type Runtime, systemRuntime } from '../runtime/index.ts';
import { type LinkState, spokeSubject } from './index.ts';
import {
  afterwards,
  ask,
  changeOf,
  cleanUp,
  echo,
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

const runtime = systemRuntime();
afterEach(cleanUp);

async function network(port: number): Promise<FaultProxy> {
  const proxy = await startFaultProxy(runtime, { target: { port } });
  afterwards(() => proxy.close());
  return proxy;
}

describe('tunnel', () => {
  it('carries the hub’s requests to the spoke on the connection that the spoke dialled', async () => {
    const hub = await startHub();
    const spoke = startSpoke(hub.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    expect(await ask(link, '/api/v1/pods?limit=1')).toBe('GET /api/v1/pods?limit=1 ');
    expect(await ask(link, '/x', 'y'.repeat(5 * 1024 * 1024))).toHaveLength(
      'POST /x '.length + 5 * 1024 * 1024,
    );
    const many = await Promise.all(Array.from({ length: 300 }, (_, i) => ask(link, `/${i}`)));
    expect(many[299]).toBe('GET /299 ');
    expect(link.state).toMatchObject({ up: true, reason: 'Connected' });
    await spoke.until(({ phase }) => phase === 'up');
  });

  it('streams a watch through, ends it at the spoke when the hub stops reading, and breaks it when the link breaks', async () => {
    const hub = await startHub();
    const wire = await network(hub.port);
    let emit: (text: string) => void = () => {};
    let ended: (why: string) => void = () => {};
    const end = new Promise<string>((resolve) => {
      ended = resolve;
    });
    const serve = async (request: Request): Promise<Response> => ({
      status: 200,
      headers: {},
      body: (async function* () {
        const queue: string[] = [];
        let wake = (): void => {};
        emit = (text) => {
          queue.push(text);
          wake();
        };
        request.signal?.addEventListener('abort', () => {
          if (request.path === '/watch') ended('aborted');
          wake();
        });
        yield Buffer.from('start');
        while (!request.signal?.aborted) {
          const next = queue.shift();
          if (next !== undefined) yield Buffer.from(next);
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      })(),
    });
    startSpoke(wire.port, { keyStore: await enrolled('one'), serve });
    const link = await hub.up('one');
    const response = await link.handler({ method: 'GET', path: '/watch', headers: {} });
    const seen: string[] = [];
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      seen.push(Buffer.from(chunk).toString());
      if (seen.length === 3) break;
      emit(`event ${seen.length}`);
    }
    expect(seen).toEqual(['start', 'event 1', 'event 2']);
    expect(await end).toBe('aborted');

    const abort = new AbortController();
    const aborted = await link.handler({ method: 'GET', path: '/b', headers: {}, signal: abort.signal });
    const reading = readBody(aborted);
    abort.abort(new Error('no longer needed'));
    await expect(reading).rejects.toThrow('no longer needed');

    const second = await link.handler({ method: 'GET', path: '/c', headers: {} });
    const broken = readBody(second);
    wire.cut();
    await expect(broken).rejects.toThrow('the response to GET /c broke off: the connection was closed');
  });

  it('does not read ahead of a slow reader, and lets others pass', async () => {
    const hub = await startHub();
    let produced = 0;
    const serve: Handler = async (request) =>
      request.path === '/flood'
        ? {
            status: 200,
            headers: {},
            body: (async function* () {
              for (; !request.signal?.aborted; produced++) yield Buffer.alloc(64 * 1024);
            })(),
          }
        : echo(request);
    startSpoke(hub.port, { keyStore: await enrolled('one'), serve });
    const link = await hub.up('one');
    const flood = await link.handler({ method: 'GET', path: '/flood', headers: {} });
    for (let i = 0; i < 50; i++) expect(await ask(link, `/${i}`)).toBe(`GET /${i} `);
    const before = produced;
    for (let i = 0; i < 50; i++) await ask(link, `/${i}`);
    expect(produced).toBe(before);
    expect(produced).toBeLessThan(40);
    for await (const chunk of flood.body as AsyncIterable<Uint8Array>) {
      expect(chunk.byteLength).toBeGreaterThan(0);
      break;
    }
  });

  it('reconnects after the connection was cut; what was under way fails, and the link stays the same object', async () => {
    const hub = await startHub();
    const wire = await network(hub.port);
    let arrived: () => void = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const serve: Handler = (request) => {
      if (request.path !== '/hang') return echo(request);
      arrived();
      return new Promise(() => {});
    };
    startSpoke(wire.port, { keyStore: await enrolled('one'), serve });
    const link = await hub.up('one');
    const hanging = link.handler({ method: 'GET', path: '/hang', headers: {} });
    await arrival;
    wire.cut();
    await expect(hanging).rejects.toThrow('GET /hang was not answered');
    const down = await changeOf(link, ({ up }) => !up);
    expect(down.reason).toBe('ConnectionClosed');
    await expect(ask(link, '/')).rejects.toThrow('spoke "one" cannot be reached: the connection was closed');
    await changeOf(link, ({ up }) => up);
    expect(hub.listener.links.get('one')).toBe(link);
    expect(await ask(link, '/again')).toBe('GET /again ');
  });

  it('reconnects to a hub that was restarted', async () => {
    const hub = await startHub();
    startSpoke(hub.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    await hub.listener.close();
    expect(link.state).toMatchObject({ up: false, reason: 'Stopped' });
    const again = await startHub({ port: hub.port });
    expect(await ask(await again.up('one'), '/')).toBe('GET / ');
  });

  it('finds a half-open connection by its pings, on both ends', async () => {
    const pings = { pingIntervalMs: 20, pingTimeoutMs: 60 };
    const hub = await startHub(pings);
    const wire = await network(hub.port);
    const spoke = startSpoke(wire.port, { keyStore: await enrolled('one'), ...pings });
    const link = await hub.up('one');
    wire.blackHole();
    expect((await changeOf(link, ({ up }) => !up)).reason).toBe('PingTimeout');
    await spoke.until(refusedWith('PingTimeout'));
    wire.heal();
    await changeOf(link, ({ up }) => up);
  });
});

describe('enrolment', () => {
  it('gives a spoke with a join token a certificate for a key that it made, and uses the token up', async () => {
    const hub = await startHub();
    hub.tokens.set('one', 'T');
    const keyStore = memoryStore();
    const spoke = startSpoke(hub.port, { keyStore, joinToken: () => 'T' });
    expect(await ask(await hub.up('one'), '/')).toBe('GET / ');
    expect(spoke.states[0]?.phase).toBe('enrolling');
    const identity = certificateIdentity(keyStore.stored?.certificate ?? '');
    expect(identity).toMatchObject({ commonNames: ['spoke:one'], organizations: ['atoll:spokes'] });
    expect(identity.notAfter - runtime.clock.now()).toBeLessThanOrEqual(24 * HOUR);

    await spoke.dialer.close();
    const thief = startSpoke(hub.port, { keyStore: memoryStore(), joinToken: () => 'T' });
    await thief.until(refusedWith('TokenRefused'));
  });

  it('can be tried again with the same token after the answer was lost', async () => {
    const hub = await startHub();
    hub.tokens.set('one', 'T');
    const keyStore = memoryStore();
    const save = keyStore.save.bind(keyStore);
    let failures = 0;
    keyStore.save = async (credentials) => {
      if (credentials.certificate !== undefined && failures++ === 0) throw new Error('disk full');
      await save(credentials);
    };
    startSpoke(hub.port, { keyStore, joinToken: () => 'T' });
    await hub.up('one');
    expect(failures).toBe(2);
  });

  it('refuses a wrong token and tells the spoke', async () => {
    const hub = await startHub();
    hub.tokens.set('one', 'T');
    const spoke = startSpoke(hub.port, { keyStore: memoryStore(), joinToken: () => 'wrong' });
    expect((await spoke.until(refusedWith('TokenRefused'))).message).toBe(
      'the join token for "one" is wrong, used or expired',
    );
    expect(hub.listener.links.size).toBe(0);
  });

  it('does not dial without credentials, and starts once there is a token', async () => {
    const hub = await startHub();
    let token: string | undefined;
    const spoke = startSpoke(hub.port, { keyStore: memoryStore(), joinToken: () => token });
    expect((await spoke.until(refusedWith('NoCredentials'))).message).toBe(
      'there is neither a link certificate nor a join token',
    );
    hub.tokens.set('one', 'T');
    token = 'T';
    await hub.up('one');
  });

  it('refuses names that no object can have', async () => {
    const hub = await startHub({ consumeJoinToken: async () => true });
    const spoke = startSpoke(hub.port, {
      keyStore: memoryStore(),
      spoke: 'a,O=system:masters',
      joinToken: () => 'T',
    });
    await spoke.until(refusedWith('BadEnrolment'));
  });

  it('never shows its token to a hub of another authority', async () => {
    const hub = await startHub({ consumeJoinToken: async () => true });
    const spoke = startSpoke(hub.port, {
      keyStore: memoryStore(),
      hubCaPem: otherCa.certificate,
      joinToken: () => 'T',
    });
    const state = await spoke.until(refusedWith('ConnectionFailed'));
    expect(state.message).toContain('cannot be reached: ');
    expect(hub.listener.links.size).toBe(0);
  });

  it('checks the hub’s name, not only its authority', async () => {
    const hub = await startHub();
    const spoke = startSpoke(hub.port, { keyStore: await enrolled('one'), hubName: 'other.example' });
    expect((await spoke.until(refusedWith('ConnectionFailed'))).message).toMatch(/altnames|does not match/i);
  });
});

describe('identity', () => {
  it('[K29] takes no request from the spoke inside the tunnel', async () => {
    const hub = await startHub();
    const { key, certificate = '' } = (await enrolled('one')).stored!;
    const socket = connectTls({
      host: '127.0.0.1',
      port: hub.port,
      ca: hubCa.certificate,
      key,
      cert: certificate,
      ALPNProtocols: ['atoll-link/1'],
    });
    const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
    const session = connectHttp2('http://hub', { createConnection: () => socket });
    const failed = new Promise<string>((resolve) => {
      session.on('error', (error) => resolve(errorText(error)));
      session.request({ ':path': '/api' }).on('error', (error) => resolve(errorText(error)));
    });
    expect(await failed).not.toBe('');
    await closed;
    expect(hub.listener.links.size).toBe(0);
  });

  it('refuses certificates of other authorities and subjects that are not exactly a spoke’s', async () => {
    const hub = await startHub();
    const foreign = startSpoke(hub.port, { keyStore: await enrolled('one', HOUR, otherCa) });
    await foreign.until(refusedWith('BadCertificate'));
    for (const subject of [
      { commonName: 'spoke:one', organizations: ['atoll:spokes', 'system:masters'] },
      { commonName: 'spoke:one, O=atoll:spokes' },
      { commonName: 'spoke:', organizations: ['atoll:spokes'] },
      { commonName: 'one', organizations: ['atoll:spokes'] },
    ]) {
      const pair = await issueCertificate(runtime, linkCa, { ...subject, usage: 'client', lifetimeMs: HOUR });
      const spoke = startSpoke(hub.port, { keyStore: memoryStore(pair) });
      expect((await spoke.until(refusedWith('BadCertificate'))).message).toBe(
        'the certificate does not name a spoke',
      );
      await spoke.dialer.close();
    }
    expect(hub.listener.links.size).toBe(0);
  });

  it('refuses a second spoke of a name that is connected, clearly on both sides; the first is not disturbed', async () => {
    const lines: string[] = [];
    const log: Logger = {
      debug: () => {},
      info: () => {},
      warn: (_message, fields) => lines.push(String(fields?.message)),
      error: () => {},
      with: () => log,
    };
    const hub = await startHub({}, systemRuntime(log));
    startSpoke(hub.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    const changes: LinkState[] = [];
    link.onChange((state) => changes.push(state));
    const second = startSpoke(hub.port, { keyStore: await enrolled('one') });
    const state = await second.until(refusedWith('NameTaken'));
    expect(state.message).toContain('the name "one" is taken: another spoke is connected with it');
    expect(lines.some((line) => line.includes('the name "one" is taken'))).toBe(true);
    hub.tokens.set('one', 'T');
    const third = startSpoke(hub.port, { keyStore: memoryStore(), joinToken: () => 'T' });
    await third.until(refusedWith('NameTaken'));
    expect(hub.tokens.get('one')).toBe('T');
    expect(await ask(link, '/')).toBe('GET / ');
    expect(changes).toEqual([]);
  });

  it('lets a newcomer have the name of a connection that is dead', async () => {
    const hub = await startHub({ pingIntervalMs: 60_000, pingTimeoutMs: 50 });
    const wire = await network(hub.port);
    startSpoke(wire.port, {
      keyStore: await enrolled('one'),
      serve: async () => ({ status: 200, headers: {}, body: Buffer.from('old') }),
    });
    const link = await hub.up('one');
    wire.blackHole();
    startSpoke(hub.port, {
      keyStore: await enrolled('one'),
      serve: async () => ({ status: 200, headers: {}, body: Buffer.from('new') }),
    });
    await changeOf(link, ({ up }) => !up);
    await changeOf(link, ({ up }) => up);
    expect(await ask(link, '/')).toBe('new');
    wire.cut();
  });

  it('cuts a spoke that is removed and keeps it out', async () => {
    const hub = await startHub();
    const spoke = startSpoke(hub.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    hub.revoked.add('one');
    hub.listener.disconnect('one', 'the spoke was removed');
    expect(link.state).toMatchObject({ up: false, reason: 'Disconnected', message: 'the spoke was removed' });
    expect((await spoke.until(refusedWith('NotAuthorized'))).message).toBe('one was removed');
    expect(hub.listener.links.has('one')).toBe(false);
  });

  it('refuses a spoke that is removed while it is being admitted', async () => {
    let asked: () => void = () => {};
    const first = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let removed = false;
    let decide: () => void = () => {};
    const hub = await startHub({
      verifySpoke: () => {
        asked();
        if (removed) return { allowed: false, message: 'removed' };
        return new Promise((resolve) => {
          decide = () => resolve({ allowed: true });
        });
      },
    });
    const spoke = startSpoke(hub.port, { keyStore: await enrolled('one') });
    await first;
    removed = true;
    hub.listener.disconnect('one', 'removed');
    decide();
    await spoke.until(refusedWith('NotAuthorized'));
    expect(hub.listener.links.size).toBe(0);
  });

  it('[S16] renews the certificate over the live connection when a quarter of its life is left', async () => {
    const hub = await startHub();
    // Backdating counts as life: of this one, less than a fifth is left from the start.
    const keyStore = await enrolled('one', 60_000);
    const before = certificateIdentity(keyStore.stored?.certificate ?? '');
    let renewed: () => void = () => {};
    const renewal = new Promise<void>((resolve) => {
      renewed = resolve;
    });
    const save = keyStore.save.bind(keyStore);
    keyStore.save = async (credentials) => {
      await save(credentials);
      renewed();
    };
    startSpoke(hub.port, { keyStore });
    const link = await hub.up('one');
    await renewal;
    const after = certificateIdentity(keyStore.stored?.certificate ?? '');
    expect(after.notAfter).toBeGreaterThan(before.notAfter);
    expect(after.keyDigest).not.toBe(before.keyDigest);
    expect(link.up).toBe(true);
    expect(await ask(link, '/')).toBe('GET / ');
  });

  it('renews a certificate that ended a while ago only where that is allowed', async () => {
    // OpenSSL checks against the machine's clock, so this certificate is made by a signer in the past.
    const past: Runtime = { ...runtime, clock: { ...runtime.clock, now: () => Date.now() - 2 * HOUR } };
    const pastCa = await createCertificateAuthority(past, 'past-ca');
    const pair = await issueCertificate(past, pastCa, {
      ...spokeSubject('one'),
      usage: 'client',
      lifetimeMs: HOUR,
    });
    const strict = await startHub({ linkCa: pastCa });
    const refused = startSpoke(strict.port, { keyStore: memoryStore(pair) });
    expect((await refused.until(refusedWith('BadCertificate'))).message).toContain('CERT_HAS_EXPIRED');
    await refused.dialer.close();

    const lenient = await startHub({ linkCa: pastCa, renewExpiredForMs: 2 * HOUR });
    const keyStore = memoryStore(pair);
    startSpoke(lenient.port, { keyStore });
    await lenient.up('one');
    expect(certificateIdentity(keyStore.stored?.certificate ?? '').notAfter).toBeGreaterThan(Date.now());

    const removed = await startHub({ linkCa: pastCa, renewExpiredForMs: 2 * HOUR });
    removed.revoked.add('one');
    await startSpoke(removed.port, { keyStore: memoryStore(pair) }).until(refusedWith('NotAuthorized'));

    const anew = await startHub({
      linkCa: pastCa,
      renewExpiredForMs: 2 * HOUR,
      certificatesFrom: () => Date.now() - HOUR,
    });
    const old = memoryStore(pair);
    await startSpoke(anew.port, { keyStore: old }).until(refusedWith('NotAuthorized'));
    expect(old.saves).toBe(0);
  });

  it('takes and renews no certificate that begins before those of its name may, and makes none', async () => {
    const from = Math.floor(Date.now() / 1_000) * 1_000 - 30_000;
    let isLetGo = false;
    const hub = await startHub({
      certificatesFrom(spoke): number | undefined {
        isLetGo ||= hub.listener.links.get('one')?.up === true;
        return spoke === 'one' && isLetGo ? from : undefined;
      },
    });
    hub.tokens.set('one', 'T');
    startSpoke(hub.port, { keyStore: await enrolled('other'), spoke: 'other' });
    const other = await hub.up('other');
    // Less than a fifth of its life is left from the start: it is up, and to be renewed at once.
    const old = await enrolled('one', 60_000);
    const first = startSpoke(hub.port, { keyStore: old });
    const { message } = await first.until(refusedWith('NotAuthorized'));
    expect(message).toContain('is void');
    expect(first.states.filter(({ phase }) => phase === 'up')).toHaveLength(1);
    expect(old.saves).toBe(0);
    await first.dialer.close();
    const fresh = memoryStore();
    startSpoke(hub.port, { keyStore: fresh, joinToken: () => 'T' });
    await hub.up('one');
    expect(certificateIdentity(fresh.stored?.certificate ?? '').notBefore).toBe(from);
    expect(other.up).toBe(true);
  });

  it('serves with a renewed certificate without cutting anybody', async () => {
    const hub = await startHub();
    const one = startSpoke(hub.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    const renewed = await issueCertificate(runtime, hubCa, {
      commonName: 'renewed',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
      lifetimeMs: HOUR,
    });
    hub.listener.setCertificate(renewed.certificate, renewed.key);
    const socket = connectTls({
      host: '127.0.0.1',
      port: hub.port,
      ca: hubCa.certificate,
      ALPNProtocols: ['atoll-link/1'],
    });
    afterwards(() => socket.destroy());
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    expect(socket.getPeerCertificate().subject.CN).toBe('renewed');
    startSpoke(hub.port, { keyStore: await enrolled('two'), spoke: 'two' });
    await hub.up('two');
    expect(link.up).toBe(true);
    expect(one.states.filter(({ phase }) => phase === 'up')).toHaveLength(1);
  });
});
