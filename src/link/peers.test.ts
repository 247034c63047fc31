import { duplexPair } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { isUpgraded, type Upgrader } from '../kube/exchange.ts';
import { issueCertificate, type KeyPair } from '../kube/pki.ts';
import { startFaultProxy } from '../kube/wire/fault-proxy.fixture.ts';
import { systemRuntime } from '../runtime/index.ts';
import { LinkDown, spokeSubject, type TunnelListenerOptions } from './index.ts';
import {
  afterwards,
  ask,
  changeOf,
  cleanUp,
  enrolled,
  HOUR,
  type Hub,
  hubCa,
  linkCa,
  otherCa,
  refusedWith,
  startHub,
  startSpoke,
} from './tunnel.fixture.ts';

const runtime = systemRuntime();
afterEach(cleanUp);

/** Replicas of one hub that know of each other. */
async function replicas(count: number, options: Partial<TunnelListenerOptions> = {}): Promise<Hub[]> {
  const addresses: string[] = [];
  const hubs: Hub[] = [];
  for (let i = 0; i < count; i++) {
    const hub = await startHub({ peers: { addresses: () => addresses, refreshMs: 10 }, ...options });
    addresses.push(`127.0.0.1:${hub.port}`);
    hubs.push(hub);
  }
  return hubs;
}

describe('replicas of a hub', () => {
  it('each reach a spoke that has dialled one of them, with its streams', async () => {
    const [first, second, third] = (await replicas(3)) as [Hub, Hub, Hub];
    const serveUpgrade: Upgrader = async () => {
      const [a, b] = duplexPair();
      b.pipe(b);
      return { status: 101, headers: { 'sec-websocket-protocol': 'v5' }, socket: a };
    };
    startSpoke(second.port, { keyStore: await enrolled('one'), serveUpgrade });
    for (const hub of [first, second, third]) {
      const link = await hub.up('one');
      expect(await ask(link, '/api', 'body')).toBe('POST /api body');
      const answer = await link.upgrade?.({
        method: 'GET',
        path: '/exec',
        headers: { upgrade: 'websocket' },
      });
      if (!answer || !isUpgraded(answer)) throw new Error('not switched');
      answer.socket.end('echo');
      let text = '';
      for await (const chunk of answer.socket) text += chunk;
      expect(text).toBe('echo');
    }
    expect((await first.up('one')).state.reason).toBe('ConnectedToPeer');
    expect((await second.up('one')).state.reason).toBe('Connected');
  });

  it('learn where a spoke goes, and that it is nowhere', async () => {
    const [first, second] = (await replicas(2)) as [Hub, Hub];
    const wire = await startFaultProxy(runtime, { target: { port: second.port } });
    afterwards(() => wire.close());
    const spoke = startSpoke(1, {
      keyStore: await enrolled('one'),
      hubAddress: [`127.0.0.1:${wire.port}`, `127.0.0.1:${first.port}`],
    });
    const link = await first.up('one');
    expect(link.state.reason).toBe('ConnectedToPeer');
    wire.refuse();
    wire.cut('reset');
    await changeOf(link, ({ reason }) => reason === 'Connected');
    await changeOf(await second.up('one'), ({ reason }) => reason === 'ConnectedToPeer');
    expect(await ask(await second.up('one'), '/')).toBe('GET / ');
    await spoke.dialer.close();
    await changeOf(link, ({ up }) => !up);
    await expect(ask(link, '/')).rejects.toThrow(LinkDown);
  });

  it('fail what is under way when the replica that has the spoke goes away', async () => {
    const [first, second] = (await replicas(2)) as [Hub, Hub];
    const arrived = Promise.withResolvers<void>();
    startSpoke(second.port, {
      keyStore: await enrolled('one'),
      serve: () => {
        arrived.resolve();
        return new Promise(() => {});
      },
    });
    const link = await first.up('one');
    const asking = ask(link, '/hang');
    await arrived.promise;
    const down = changeOf(link, ({ up }) => !up);
    await Promise.all([expect(asking).rejects.toThrow(LinkDown), second.listener.close()]);
    expect((await down).message).toContain(second.listener.replica);
  });

  it('let a name be had once among them, and cut a spoke everywhere', async () => {
    const [first, second] = (await replicas(2)) as [Hub, Hub];
    const spoke = startSpoke(second.port, { keyStore: await enrolled('one') });
    const link = await first.up('one');
    const twin = startSpoke(first.port, { keyStore: await enrolled('one') });
    await twin.until(refusedWith('NameTaken'));
    await twin.dialer.close();
    const there = await second.up('one');
    first.revoked.add('one');
    second.revoked.add('one');
    first.listener.disconnect('one', 'the spoke was removed');
    expect(link.state.reason).toBe('Disconnected');
    await changeOf(there, ({ up }) => !up);
    expect(there.state).toMatchObject({ reason: 'Disconnected', message: 'the spoke was removed' });
    await spoke.until(refusedWith('NotAuthorized'));
  });

  it('pass on in one hop only', async () => {
    const [first, second] = (await replicas(2)) as [Hub, Hub];
    // Knows the first only, which has the spoke not itself.
    const third = await startHub({ peers: { addresses: () => [`127.0.0.1:${first.port}`], refreshMs: 10 } });
    startSpoke(second.port, { keyStore: await enrolled('one') });
    startSpoke(first.port, { spoke: 'two', keyStore: await enrolled('two') });
    await first.up('one');
    await third.up('two');
    expect(third.listener.links.has('one')).toBe(false);
  });

  it('believe certificates of replicas only', async () => {
    const [hub] = (await replicas(1)) as [Hub];
    const connect = (pair: KeyPair | undefined): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({
          host: '127.0.0.1',
          port: hub.port,
          ca: [hubCa.certificate, linkCa.certificate],
          servername: 'hub-peer.invalid',
          checkServerIdentity: () => undefined,
          ALPNProtocols: ['atoll-peer/1'],
          ...(pair ? { cert: pair.certificate, key: pair.key } : {}),
        });
        socket.on('data', () => resolve('served')).on('error', () => {});
        socket.on('close', () => resolve('closed'));
      });
    const options = { usage: 'client-and-server', lifetimeMs: HOUR } as const;
    const peer = { commonName: 'hub-peer:x', organizations: ['atoll:hub-peers'] };
    expect(await connect(await issueCertificate(runtime, linkCa, { ...peer, ...options }))).toBe('served');
    expect(await connect(undefined)).toBe('closed');
    expect(await connect(await issueCertificate(runtime, otherCa, { ...peer, ...options }))).toBe('closed');
    expect(
      await connect(await issueCertificate(runtime, linkCa, { ...spokeSubject('one'), ...options })),
    ).toBe('closed');
    const more = { ...peer, organizations: ['atoll:hub-peers', 'atoll:spokes'] };
    expect(await connect(await issueCertificate(runtime, linkCa, { ...more, ...options }))).toBe('closed');
  });
});
