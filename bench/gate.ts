import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logicalClusters } from './apiserver.ts';
import { type Figures, measureRequests, measureWatches } from './apiserver-load.ts';
import { atollSubject, bareSubject, type ProcessSubject } from './apiserver-subject.ts';
import { type Benchmark, type BenchmarkContext, buildOnce, type Measurement, pause } from './measure.ts';

/**
 * The embedded API server beside the least that any server must do, in one short run. Its bounds are far from what a quiet
 * machine shows: they are there for a change that makes something several times slower or larger, wherever it runs. What is
 * aimed at is measured by `apiserver`.
 */
export const gateBenchmark: Benchmark = {
  name: 'gate',
  description: 'the embedded API server beside a bare one, short, with bounds that must hold',
  run,
};

const FLOOR = 'a bare server';
const SHARE_OF_FULL_RUN = 0.15;
const WATCHERS = 200;
const REST_MS = 1_000;

/** Shares of the floor's rates that must be reached: a third or less of what two quiet cores show, less where the disk has its say. */
const LEAST_SHARE: Figures = {
  create: 0.5,
  get: 0.1,
  'list 500': 0.2,
  apply: 0.15,
  'merge patch': 0.2,
  'watch deliveries': 0.12,
};
/** MiB that must not be passed. */
const MOST_MIB: Figures = { 'idle, RSS': 150, '1,000 empty logical clusters, RSS of all': 300 };

async function run(context: BenchmarkContext): Promise<readonly Measurement[]> {
  buildOnce();
  const folder = mkdtempSync(join(tmpdir(), 'atoll-gate-'));
  const short = { ...context, scale: context.scale * SHARE_OF_FULL_RUN };
  try {
    const floor = await ratesOf(FLOOR, bareSubject(folder), short);
    const own = await ratesOf('atoll apiserver', atollSubject(folder), short);
    const clusters = await logicalClusters(context, folder);
    return [
      ...Object.entries(own.rates).map(
        ([name, value]): Measurement => ({
          name,
          value,
          unit: name === 'watch deliveries' ? 'deliveries/s' : 'requests/s',
          floor: { name: FLOOR, value: floor.rates[name] ?? Number.NaN },
          bound: { ratio: LEAST_SHARE[name] ?? 0 },
        }),
      ),
      { name: 'idle, RSS', value: own.idleMiB, unit: 'MiB', bound: { most: MOST_MIB['idle, RSS'] ?? 0 } },
      ...clusters.map((measurement): Measurement => {
        const most = MOST_MIB[measurement.name];
        return most === undefined ? measurement : { ...measurement, bound: { most } };
      }),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ratesOf(
  name: string,
  starting: Promise<ProcessSubject>,
  context: BenchmarkContext,
): Promise<{ rates: Figures; idleMiB: number }> {
  context.progress(name);
  const subject = await starting;
  try {
    await pause(REST_MS);
    const idleMiB = subject.rssMiB();
    const requests = await measureRequests(subject, context);
    const { deliveries } = await measureWatches(subject, WATCHERS, context);
    return { rates: { ...requests, 'watch deliveries': deliveries }, idleMiB };
  } finally {
    await subject.close();
  }
}
