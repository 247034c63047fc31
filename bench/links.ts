import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../src/kube/pki.ts';
import { spokeSubject, type Transport } from '../src/link/index.ts';
import { systemRuntime } from '../src/runtime/index.ts';
import type { Command, Identity } from './links-end.ts';
import type { Benchmark, BenchmarkContext, Measurement } from './measure.ts';

const SIZES = [1, 100, 1000];
const HOUR_MS = 3_600_000;
/** A third of a heartbeat's interval: pings are spread over it. */
const REST_MS = 10_000;

/** What connected spokes cost a hub, how fast they come back, and what one link carries. */
export const linksBenchmark: Benchmark = {
  name: 'links',
  description:
    'memory and CPU of the hub per tunnel at rest (heartbeats every 30 s), return after a restart, throughput of one link',
  run,
};

export interface Authorities {
  readonly serving: KeyPair;
  readonly hubCa: KeyPair;
  readonly linkCa: KeyPair;
  readonly identities: readonly Identity[];
}

interface End {
  tell(command: Command): Promise<number>;
  stop(): void;
}

async function run(context: BenchmarkContext): Promise<readonly Measurement[]> {
  const sizes = SIZES.map((size) => Math.max(1, Math.round(size * Math.min(1, context.scale))));
  const most = Math.max(...sizes);
  context.progress(`making ${most} certificates`);
  const authorities = await makeAuthorities(most);
  const out: Measurement[] = [];

  context.progress(`${most} bare TLS and HTTP/2 connections`);
  const bare = await tunnels('floor', authorities, most);
  const name = 'bare node:tls and node:http2';
  const floor = { name, value: bare.perTunnel / 1024 };
  const durationMs = 3_000 * Math.min(1, context.scale);
  const bareRequests = { name, value: await bare.hub.tell({ do: 'requests', durationMs }) };
  await bare.stop();

  for (const size of sizes) {
    context.progress(`${size} tunnels`);
    const { hub, stop, rss, perTunnel } = await tunnels('atoll', authorities, size);
    const before = await hub.tell({ do: 'cpu' });
    await wait(REST_MS * Math.min(1, context.scale));
    const cpu = (await hub.tell({ do: 'cpu' })) - before;
    out.push({ name: `hub with ${size} tunnels, RSS`, value: rss / 2 ** 20, unit: 'MiB' });
    if (size > 1) out.push({ name: `RSS a tunnel, of ${size}`, value: perTunnel / 1024, unit: 'KiB', floor });
    out.push({
      name: `CPU of the hub with ${size} tunnels at rest`,
      value: (cpu / (REST_MS * Math.min(1, context.scale))) * 100,
      unit: '% of a core',
    });
    if (size === most) {
      context.progress('the hub starts again');
      const back = await hub.tell({ do: 'restart' });
      out.push({ name: `all ${size} spokes back after a restart`, value: back, unit: 'ms' });
    }
    await stop();
  }

  for (const transport of ['tls', 'websocket'] as const) {
    context.progress(`throughput of one link (${transport})`);
    const { hub, stop } = await tunnels('atoll', authorities, 1, transport);
    out.push({
      name: `requests on one link, 64 at a time (${transport})`,
      value: await hub.tell({ do: 'requests', durationMs }),
      unit: 'requests/s',
      floor: bareRequests,
    });
    out.push({
      name: `download on one link (${transport})`,
      value: await hub.tell({ do: 'download', durationMs }),
      unit: 'MiB/s',
    });
    await stop();
  }
  return out;
}

export async function makeAuthorities(count: number): Promise<Authorities> {
  const runtime = systemRuntime();
  const hubCa = await createCertificateAuthority(runtime, 'hub-ca');
  const linkCa = await createCertificateAuthority(runtime, 'link-ca');
  const serving = await issueCertificate(runtime, hubCa, {
    commonName: 'hub',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    lifetimeMs: HOUR_MS,
  });
  const identities: Identity[] = [];
  for (let i = 0; i < count; i++) {
    const spoke = `spoke-${i}`;
    identities.push({
      spoke,
      ...(await issueCertificate(runtime, linkCa, {
        ...spokeSubject(spoke),
        usage: 'client',
        // Renewals would begin at two thirds of a life.
        lifetimeMs: 24 * HOUR_MS,
      })),
    });
  }
  return { serving, hubCa, linkCa, identities };
}

async function tunnels(
  kind: 'atoll' | 'floor',
  authorities: Authorities,
  count: number,
  transport?: Transport,
): Promise<{ hub: End; rss: number; perTunnel: number; stop(): Promise<void> }> {
  const { serving, linkCa, hubCa } = authorities;
  const hub = end();
  const spokes = end();
  const port = await hub.tell({ do: kind === 'atoll' ? 'hub' : 'floor-hub', serving, linkCa, port: 0 });
  const identities = authorities.identities.slice(0, count);
  const dial = (some: readonly Identity[]): Promise<number> =>
    spokes.tell({
      do: kind === 'atoll' ? 'spokes' : 'floor-spokes',
      port,
      hubCa: hubCa.certificate,
      identities: some,
      ...(transport === undefined ? {} : { transport }),
    });
  // The first tunnel loads what is loaded once.
  await dial(identities.slice(0, 1));
  await hub.tell({ do: 'connected', count: 1 });
  const empty = await hub.tell({ do: 'memory' });
  await dial(identities.slice(1));
  await hub.tell({ do: 'connected', count });
  await wait(1_000);
  const rss = await hub.tell({ do: 'memory' });
  return {
    hub,
    rss,
    perTunnel: count > 1 ? (rss - empty) / (count - 1) : 0,
    async stop(): Promise<void> {
      hub.stop();
      spokes.stop();
      await wait(100);
    },
  };
}

function end(): End {
  const child: ChildProcess = fork(fileURLToPath(new URL('./links-end.ts', import.meta.url)), {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
  });
  return {
    tell: (command) =>
      new Promise((resolve, reject) => {
        child.once('message', (answer: { value: number } | { error: string }) => {
          if ('error' in answer) reject(new Error(answer.error));
          else resolve(answer.value);
        });
        child.send(command);
      }),
    stop: () => child.kill('SIGKILL'),
  };
}
