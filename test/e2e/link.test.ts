import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isUpgraded, readBody } from '../../src/kube/exchange.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../../src/kube/pki.ts';
import {
  type FaultProxy,
  type FaultProxyOptions,
  startFaultProxy,
} from '../../src/kube/wire/fault-proxy.fixture.ts';
import {
  type Link,
  LinkDown,
  spokeSubject,
  startTunnelListener,
  type TunnelListener,
} from '../../src/link/index.ts';
import { systemRuntime } from '../../src/runtime/index.ts';
import type { LinkSpokeSettings } from './harness/link-spoke.ts';
import { until } from './harness/until.ts';

/** A spoke in a process of its own, the hub's listener here, and a network with faults between them. */

const HOUR_MS = 3_600_000;
const PING_MS = 500;
const runtime = systemRuntime();
const folder = mkdtempSync(join(tmpdir(), 'atoll-link-'));
const file = (name: string): string => join(folder, name);
let linkCa: KeyPair;
let serving: KeyPair;
let stranger: KeyPair;

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

beforeAll(async () => {
  const hubCa = await createCertificateAuthority(runtime, 'hub-ca');
  const other = await createCertificateAuthority(runtime, 'other-ca');
  linkCa = await createCertificateAuthority(runtime, 'link-ca');
  const server = {
    commonName: 'hub',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    lifetimeMs: HOUR_MS,
  } as const;
  serving = await issueCertificate(runtime, hubCa, server);
  stranger = await issueCertificate(runtime, other, server);
  const pair = await issueCertificate(runtime, linkCa, {
    ...spokeSubject('one'),
    usage: 'client',
    lifetimeMs: 24 * HOUR_MS,
  });
  writeFileSync(file('hub-ca.crt'), hubCa.certificate);
  writeFileSync(file('one.key'), pair.key);
  writeFileSync(file('one.crt'), pair.certificate);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Hub {
  readonly listener: TunnelListener;
  link(): Link;
  up(): Promise<Link>;
}

async function startHub(replicas: string[] | undefined = undefined): Promise<Hub> {
  const listener = await startTunnelListener(runtime, {
    port: 0,
    certificate: serving.certificate,
    key: serving.key,
    linkCa,
    pingIntervalMs: PING_MS,
    pingTimeoutMs: PING_MS,
    verifySpoke: () => ({ allowed: true }),
    consumeJoinToken: async () => false,
    onLink: () => {},
    ...(replicas === undefined ? {} : { peers: { addresses: () => replicas, refreshMs: 100 } }),
  });
  open.push(() => listener.close());
  replicas?.push(`127.0.0.1:${listener.port}`);
  const link = (): Link => {
    const found = listener.links.get('one');
    if (found === undefined) throw new Error('the spoke has never been connected');
    return found;
  };
  // A spoke that dialled into a black hole gives that attempt its whole time before it tries anew.
  const up = (): Promise<Link> =>
    until('the link is up', () => (link().up ? link() : undefined), { withinMs: 45_000 });
  return { listener, link, up };
}

async function network(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = await startFaultProxy(runtime, options);
  open.push(() => proxy.close());
  return proxy;
}

function startSpoke(port: number | readonly number[], more: Partial<LinkSpokeSettings> = {}): ChildProcess {
  const settings: LinkSpokeSettings = {
    hubAddress: [port].flat().map((each) => `127.0.0.1:${each}`),
    spoke: 'one',
    hubCa: file('hub-ca.crt'),
    key: file('one.key'),
    certificate: file('one.crt'),
    ...more,
  };
  const script = fileURLToPath(new URL('./harness/link-spoke.ts', import.meta.url));
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', script, JSON.stringify(settings)],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  open.push(() => child.kill('SIGKILL'));
  return child;
}

async function ask(link: Link, path: string = '/api'): Promise<{ path: string; pid: number }> {
  const body = await readBody(await link.handler({ method: 'GET', path, headers: {} }));
  return JSON.parse(Buffer.from(body).toString()) as { path: string; pid: number };
}

async function echo(link: Link, text: string): Promise<string> {
  const answer = await link.upgrade?.({ method: 'POST', path: '/exec', headers: { upgrade: 'SPDY/3.1' } });
  if (answer === undefined || !isUpgraded(answer)) throw new Error(`not switched: ${answer?.status}`);
  answer.socket.end(text);
  let heard = '';
  for await (const chunk of answer.socket) heard += chunk;
  return heard;
}

/** Ports of this machine's TCP on which a process listens. */
function listening(pid: number): number[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        // Closed since it was listed.
        return [];
      }
    }),
  );
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
        return state === '0A' && inodes.has(inode) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : [];
      }),
  );
}

describe('a spoke in a process of its own', () => {
  it('[S45] is reached, streams and all, though it listens on no port', async () => {
    const hub = await startHub();
    const spoke = startSpoke(hub.listener.port);
    const link = await hub.up();
    expect(await ask(link)).toEqual({ path: '/api', pid: spoke.pid });
    expect(await echo(link, 'x'.repeat(1_000_000))).toHaveLength(1_000_000);
    expect(listening(spoke.pid ?? 0)).toEqual([]);
  });

  it('is down when it is killed, and up again when it is started again', async () => {
    const hub = await startHub();
    const first = startSpoke(hub.listener.port);
    const link = await hub.up();
    first.kill('SIGKILL');
    await until('the link is down', () => !link.up);
    expect(link.state.reason).toBe('ConnectionClosed');
    await expect(ask(link)).rejects.toThrow(LinkDown);
    const second = startSpoke(hub.listener.port);
    await hub.up();
    expect((await ask(link)).pid).toBe(second.pid);
  });

  it('is down when it hangs, and comes back by itself when it goes on', async () => {
    const hub = await startHub();
    const spoke = startSpoke(hub.listener.port);
    const link = await hub.up();
    spoke.kill('SIGSTOP');
    await until('the link is down', () => !link.up);
    expect(link.state.reason).toBe('PingTimeout');
    spoke.kill('SIGCONT');
    await hub.up();
    expect((await ask(link)).pid).toBe(spoke.pid);
  });

  it.each(['both', 'toServer', 'toClient'] as const)(
    'comes through a partition (%s) that swallows everything',
    async (direction) => {
      const hub = await startHub();
      const wire = await network({ target: { port: hub.listener.port } });
      startSpoke(wire.port);
      const link = await hub.up();
      wire.blackHole(direction);
      await until('the link is down', () => !link.up);
      wire.heal();
      await hub.up();
      expect((await ask(link)).path).toBe('/api');
    },
  );

  it.each(['close', 'reset'] as const)('comes back after every cut (%s), on a slow network', async (how) => {
    const hub = await startHub();
    const wire = await network({ target: { port: hub.listener.port } });
    wire.setDelay(20);
    startSpoke(wire.port);
    for (let i = 0; i < 3; i++) {
      const link = await hub.up();
      expect((await ask(link)).path).toBe('/api');
      wire.cut(how);
      await until('the link is down', () => !link.up || (link.stats?.().connections ?? 0) > i + 1);
    }
    await hub.up();
  });

  it('[S122] gets out by a proxy that asks for a password, and by one that knows only HTTP/1.1', async () => {
    const hub = await startHub();
    const connect = await network({
      mode: 'connect',
      auth: 'me:secret',
      target: { port: hub.listener.port },
    });
    const first = startSpoke(1, {
      hubAddress: ['hub.example:6440'],
      hubName: '127.0.0.1',
      proxyUrl: `http://me:secret@127.0.0.1:${connect.port}`,
    });
    const link = await hub.up();
    expect((await ask(link)).pid).toBe(first.pid);
    first.kill('SIGKILL');
    await until('the link is down', () => !link.up);
    const http1 = await network({ mode: 'http1', tls: stranger, target: { port: hub.listener.port } });
    const second = startSpoke(http1.port);
    await hub.up();
    expect((await ask(link)).pid).toBe(second.pid);
    expect(await echo(link, 'through it')).toBe('through it');
  });

  it('[S47] is delivered to within two intervals where no connection lasts', async () => {
    const hub = await startHub();
    const wire = await network({ target: { port: hub.listener.port } });
    wire.setMaxAge(1_500);
    startSpoke(wire.port, { pollIntervalMs: 1_000 });
    await hub.up();
    const visits = (): number => hub.link().stats?.().connections ?? 0;
    for (let i = 0; i < 4; i++) {
      const before = visits();
      const answer = await until('an answer', () => ask(hub.link(), `/${i}`), { withinMs: 10_000 });
      expect(answer.path).toBe(`/${i}`);
      // One visit an interval.
      expect(visits() - before).toBeLessThanOrEqual(2);
      await until('the spoke is away', () => hub.link().state.reason === 'Polling');
    }
  });

  it('moves to another replica of the hub, and is reached from both', async () => {
    const replicas: string[] = [];
    const [first, second] = [await startHub(replicas), await startHub(replicas)];
    const wire = await network({ target: { port: first.listener.port } });
    const spoke = startSpoke([wire.port, second.listener.port]);
    expect((await ask(await first.up())).pid).toBe(spoke.pid);
    expect((await ask(await second.up())).pid).toBe(spoke.pid);
    wire.refuse();
    wire.cut();
    await until('the second has it', () => second.link().state.reason === 'Connected');
    await until('the first knows', () => first.link().state.reason === 'ConnectedToPeer');
    expect((await ask(first.link())).pid).toBe(spoke.pid);
    expect(await echo(first.link(), 'one hop')).toBe('one hop');
  });
});
