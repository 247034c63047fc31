import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Figures, measureRequests, measureWatches } from './apiserver-load.ts';
import {
  atollSubject,
  bareSubject,
  inProcessSubject,
  kubeApiServerSubject,
  type ProcessSubject,
  type Subject,
} from './apiserver-subject.ts';
import {
  type Benchmark,
  type BenchmarkContext,
  buildOnce,
  type Measurement,
  pause,
  root,
} from './measure.ts';

/**
 * The embedded API server, in this process and as a process of its own over HTTPS; beside kube-apiserver with etcd, by the
 * same client in the same run, where `KUBEBUILDER_ASSETS` names a folder with both.
 */
export const apiServerBenchmark: Benchmark = {
  name: 'apiserver',
  description: 'requests by 32 loops, watches by 200 and 1,000, SQLite with FULL sync, memory and start',
  run,
};

const PEER = 'kube-apiserver with etcd';
const BARE = 'bare node:http2 and SQLite';
const WATCHERS = [200, 1_000];
const REST_MS = 2_000;

/** What is asked of the server, over HTTPS, by the name of the measurement. */
const AIMS: Figures = {
  create: 2_600,
  get: 10_000,
  'list 500': 114,
  apply: 1_500,
  'merge patch': 1_800,
  'watch deliveries, 200 watchers': 84_000,
  'write to watch p99, 1000 watchers': 10,
  'idle, RSS': 120,
  'start to ready': 1_000,
};

async function run(context: BenchmarkContext): Promise<readonly Measurement[]> {
  buildOnce();
  const folder = mkdtempSync(join(tmpdir(), 'atoll-bench-'));
  try {
    const assets = process.env['KUBEBUILDER_ASSETS'];
    const peer = assets
      ? await figuresOf(PEER, () => kubeApiServerSubject(assets, folder), context)
      : undefined;
    if (!assets) context.progress(`KUBEBUILDER_ASSETS is not set: no ${PEER} to compare with`);
    const own = await figuresOf('atoll apiserver', () => atollSubject(folder), context);
    const within = await figuresOf('in this process', () => inProcessSubject(folder), context);
    const clusters = await logicalClusters(context, folder);
    const bare = await bareWatches(context, folder);
    return [
      ...Object.entries(own).map(([name, value]) => measurement(name, `${name}, HTTPS`, value, peer)),
      ...Object.entries(within).map(([name, value]) =>
        measurement('', `${name}, in process`, value, undefined),
      ),
      ...bare,
      ...clusters,
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function measurement(aim: string, name: string, value: number, peer: Figures | undefined): Measurement {
  const compared = peer?.[aim];
  return {
    name,
    value,
    unit: unitOf(name),
    ...(compared === undefined ? {} : { floor: { name: PEER, value: compared } }),
    ...(AIMS[aim] === undefined ? {} : { aim: AIMS[aim] }),
  };
}

function unitOf(name: string): Measurement['unit'] {
  if (name.includes('deliveries')) return 'deliveries/s';
  if (name.includes('RSS')) return 'MiB';
  return name.startsWith('write to watch') || name.startsWith('start') ? 'ms' : 'requests/s';
}

async function figuresOf(
  name: string,
  start: () => Promise<Subject | ProcessSubject>,
  context: BenchmarkContext,
): Promise<Figures> {
  context.progress(`${name}: start`);
  const subject = await start();
  try {
    const figures: Record<string, number> = {};
    if ('rssMiB' in subject) {
      await pause(REST_MS);
      figures['idle, RSS'] = subject.rssMiB();
      figures['start to ready'] = subject.readyMs;
    }
    context.progress(`${name}: requests`);
    Object.assign(figures, await measureRequests(subject, context));
    for (const watchers of WATCHERS) {
      context.progress(`${name}: ${watchers} watchers`);
      const { deliveries, p50, p99 } = await measureWatches(subject, watchers, context);
      figures[`watch deliveries, ${watchers} watchers`] = deliveries;
      figures[`write to watch p50, ${watchers} watchers`] = p50;
      figures[`write to watch p99, ${watchers} watchers`] = p99;
    }
    if ('rssMiB' in subject) figures['after all that, RSS'] = subject.rssMiB();
    return figures;
  } finally {
    await subject.close();
  }
}

/** What the sync to this disk and node:http2 take of the time from a write to its watchers, whoever serves them. */
async function bareWatches(context: BenchmarkContext, folder: string): Promise<Measurement[]> {
  const watchers = Math.max(...WATCHERS);
  context.progress(`${BARE}: ${watchers} watchers`);
  const subject = await bareSubject(folder);
  try {
    const { p50, p99 } = await measureWatches(subject, watchers, context);
    return [
      { name: `write to watch p50, ${watchers} watchers, ${BARE}`, value: p50, unit: 'ms' },
      { name: `write to watch p99, ${watchers} watchers, ${BARE}`, value: p99, unit: 'ms' },
    ];
  } finally {
    await subject.close();
  }
}

/** A process of its own that makes a thousand empty logical clusters and tells how long it took and what they weigh. */
export async function logicalClusters(context: BenchmarkContext, folder: string): Promise<Measurement[]> {
  context.progress('1,000 logical clusters');
  const worker = join(root, 'bench', 'clusters-worker.ts');
  const child = spawn(process.execPath, ['--expose-gc', worker, join(folder, 'clusters.db')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${worker} ended with ${String(code)}`);
  const { perSecond, rssMiB } = JSON.parse(text) as { perSecond: number; rssMiB: number };
  return [
    { name: '1,000 empty logical clusters, creation', value: perSecond, unit: 'clusters/s', aim: 200 },
    { name: '1,000 empty logical clusters, RSS of all', value: rssMiB, unit: 'MiB', aim: 300 },
  ];
}
