import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '../src/kube/client.ts';
import { httpHandler } from '../src/kube/http-handler.ts';
import { endpointFromKubeconfig } from '../src/kube/kubeconfig-endpoint.ts';
import { createClient } from '../src/kube/rest-client.ts';
import { configMaps, namespaces } from '../src/kube/well-known.ts';
import { nameSuffix, seededRandom } from '../src/runtime/index.ts';
import {
  type Benchmark,
  type BenchmarkContext,
  buildOnce,
  type Measurement,
  pause,
  percentile,
  residentMiB,
  root,
} from './measure.ts';

const SPOKES = ['spoke-1', 'spoke-2', 'spoke-3'];
const NAMESPACE = 'bench';
const CHANGES = 200;
const WARM_UP = 20;
const VIRTUAL = 30;

/** How long a change at the hub takes until it is on all spokes. */
export const propagationBenchmark: Benchmark = {
  name: 'propagation',
  description: 'ms from a write at the hub to its arrival on 3 spokes, one change at a time',
  run: (context) => withFleet(context, propagation),
};

/** What a fleet on one machine costs at rest, and how long it takes to come back. */
export const footprintBenchmark: Benchmark = {
  name: 'footprint',
  description: 'memory of hub, spoke and connected spoke at rest; time of a warm `up`',
  run: (context) => withFleet(context, footprint),
};

interface Fleet {
  readonly directory: string;
  /** Runs the command line on this fleet; resolves to its milliseconds. */
  atoll(...args: string[]): Promise<number>;
  client(context: string): Client;
}

async function withFleet(
  context: BenchmarkContext,
  work: (fleet: Fleet, context: BenchmarkContext) => Promise<readonly Measurement[]>,
): Promise<readonly Measurement[]> {
  buildOnce();
  const folder = mkdtempSync(join(tmpdir(), 'atoll-bench-'));
  const directory = join(folder, 'fleet');
  const fleet: Fleet = {
    directory,
    atoll: (...args) => atoll([...args, '--dir', directory]),
    client: (name) => {
      const text = readFileSync(join(directory, 'kubeconfig'), 'utf8');
      const endpoint = endpointFromKubeconfig(text, { stored: false, context: name });
      return createClient(httpHandler(endpoint), { userAgent: 'atoll-bench' });
    },
  };
  try {
    context.progress('starting a fleet');
    await fleet.atoll('up', '--spokes', String(SPOKES.length));
    return await work(fleet, context);
  } finally {
    await fleet.atoll('down');
    rmSync(folder, { recursive: true, force: true });
  }
}

function atoll(args: readonly string[]): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [join(root, 'bin', 'atoll.mjs'), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => {
      if (code === 0) resolve(performance.now() - began);
      else reject(new Error(`atoll ${args.join(' ')} ended with ${code}:\n${errors}`));
    });
  });
}

async function propagation(fleet: Fleet, context: BenchmarkContext): Promise<readonly Measurement[]> {
  const hub = fleet.client('hub');
  await hub.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const labels = { app: 'bench' };
  await hub.create(await hub.resourceFor('atoll.dev/v1alpha1', 'Propagation'), {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Propagation',
    metadata: { name: 'bench', namespace: NAMESPACE },
    spec: {
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: labels } }],
      placement: { clusterSelector: {} },
    },
  } as never);
  const abort = new AbortController();
  const sites = ['hub', ...SPOKES].map((name) => arrivals(fleet.client(name), name, abort.signal));
  const random = seededRandom(context.seed);
  const [floor, spokes, first]: [number[], number[], number[]] = [[], [], []];
  const changes = Math.max(10, Math.round(CHANGES * context.scale));
  for (let change = 0; change < WARM_UP + changes; change++) {
    const value = `${change}-${nameSuffix(random)}`;
    const waits = sites.map((site) => site.until(value));
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'changed', namespace: NAMESPACE, labels },
      data: { value, filler: Buffer.from(random.bytes(256)).toString('hex') },
    };
    const began = performance.now();
    await hub.apply(configMaps, object as never, { fieldManager: 'bench', force: true });
    const times = (await Promise.all(waits)).map((at) => at - began);
    if (change < WARM_UP) continue;
    if (change % 50 === 0) context.progress(`${change - WARM_UP} of ${changes} changes`);
    floor.push(times[0] ?? Number.NaN);
    spokes.push(Math.max(...times.slice(1)));
    first.push(Math.min(...times.slice(1)));
  }
  abort.abort();
  const at = (fraction: number, values: readonly number[], name: string, aim?: number): Measurement => ({
    name,
    value: percentile(values, fraction),
    unit: 'ms',
    floor: { name: 'write to watch event at the hub alone', value: percentile(floor, fraction) },
    ...(aim === undefined ? {} : { aim }),
  });
  return [
    at(0.5, spokes, 'applied on all 3 spokes, p50'),
    at(0.99, spokes, 'applied on all 3 spokes, p99', 300),
    at(0.5, first, 'applied on the first spoke, p50'),
    at(0.99, first, 'applied on the first spoke, p99'),
  ];
}

/** Watches the changed object at one place; `until` resolves to when a value arrived. */
function arrivals(
  client: Client,
  name: string,
  signal: AbortSignal,
): { until(value: string): Promise<number> } {
  const waiting = new Map<string, { resolve: (at: number) => void; reject: (error: unknown) => void }>();
  let failed: unknown;
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      const events = client.watch<{ data?: { value?: string } } & never>(configMaps, NAMESPACE, {
        sendInitialEvents: true,
        signal,
      });
      for await (const event of events) {
        if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
        const { value } = (event.object as { data?: { value?: string } }).data ?? {};
        if (value === undefined) continue;
        waiting.get(value)?.resolve(performance.now());
        waiting.delete(value);
      }
    }
  };
  follow().catch((error: unknown) => {
    if (signal.aborted) return;
    failed = error;
    for (const { reject } of waiting.values()) reject(error);
  });
  return {
    until: (value) =>
      new Promise((resolve, reject) => {
        if (failed !== undefined) return reject(failed);
        waiting.set(value, { resolve, reject });
        // A change that never arrives must fail the run, not hang it.
        const timer = setTimeout(
          () => reject(new Error(`${value} did not arrive at ${name} within 30 s`)),
          30_000,
        );
        timer.unref();
      }),
  };
}

async function footprint(fleet: Fleet, context: BenchmarkContext): Promise<readonly Measurement[]> {
  const ups: number[] = [];
  const repetitions = Math.max(1, Math.round(3 * context.scale));
  for (let repetition = 0; repetition < repetitions; repetition++) {
    context.progress(`down and up, ${repetition + 1} of ${repetitions}`);
    await fleet.atoll('down');
    ups.push(await fleet.atoll('up'));
  }
  context.progress('at rest for 10 s');
  await pause(10_000);
  const rest = memory(fleet);
  const bare = await bareNode();
  context.progress(`${VIRTUAL} more spokes`);
  await fleet.atoll('up', '--virtual', String(VIRTUAL));
  await pause(10_000);
  const more = memory(fleet);
  const floor = { name: 'a Node process that does nothing', value: bare.rss };
  const spokes = SPOKES.map((name) => rest[name] ?? Number.NaN);
  return [
    { name: 'hub with 3 spokes, RSS', value: rest['hub'] ?? Number.NaN, unit: 'MiB', floor, aim: 120 },
    { name: 'spoke, RSS (largest of 3)', value: Math.max(...spokes), unit: 'MiB', floor, aim: 90 },
    {
      name: `hub, each further connected spoke (${VIRTUAL})`,
      value: ((more['hub'] ?? Number.NaN) - (rest['hub'] ?? Number.NaN)) / VIRTUAL,
      unit: 'MiB',
    },
    {
      name: `virtual spoke, each of ${VIRTUAL} in one process`,
      value: (more['virtual'] ?? Number.NaN) / VIRTUAL,
      unit: 'MiB',
    },
    {
      name: 'warm `atoll up` to all connected, median',
      value: percentile(ups, 0.5),
      unit: 'ms',
      floor: { name: 'start of a Node process', value: bare.startMs },
      aim: 10_000,
    },
  ];
}

/** MiB of each running process of the fleet. */
function memory(fleet: Fleet): Record<string, number> {
  const folder = join(fleet.directory, 'run');
  const files = readdirSync(folder).filter((name) => name.endsWith('.pid'));
  return Object.fromEntries(
    files.map((file) => [file.slice(0, -4), residentMiB(Number(readFileSync(join(folder, file), 'utf8')))]),
  );
}

async function bareNode(): Promise<{ rss: number; startMs: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, ['-e', "process.stdout.write('.'); setInterval(() => {}, 60000)"], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const startMs = performance.now() - began;
  await pause(1_000);
  const rss = residentMiB(child.pid ?? 0);
  child.kill('SIGKILL');
  return { rss, startMs };
}
