import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One number, and what it is held against: a floor that was measured in the same run, so that machines can be compared. */
export interface Measurement {
  readonly name: string;
  readonly value: number;
  readonly unit:
    | 'requests/s'
    | 'deliveries/s'
    | 'clusters/s'
    | 'MiB/s'
    | 'ms'
    | 'MiB'
    | 'KiB'
    | 'bytes'
    | 'writes'
    | '% of a core';
  readonly floor?: { readonly name: string; readonly value: number };
  /** What the project wants to stay below (ms, MiB) or above (rates). */
  readonly aim?: number;
  /** What must hold wherever it runs: at least this share of the floor, or at most this much. */
  readonly bound?: { readonly ratio: number } | { readonly most: number };
}

/** Whether the bound of a measurement holds; so it does where there is none. */
export function holds({ value, floor, bound }: Measurement): boolean {
  if (bound === undefined) return true;
  if ('most' in bound) return value <= bound.most;
  return floor !== undefined && value / floor.value >= bound.ratio;
}

export interface BenchmarkContext {
  readonly seed: number;
  /** Scales the number of repetitions; 1 is the full run. */
  readonly scale: number;
  progress(text: string): void;
}

export interface Benchmark {
  readonly name: string;
  readonly description: string;
  run(context: BenchmarkContext): Promise<readonly Measurement[]>;
}

/** Builds what is measured as a process of its own. Throws where that fails. */
export function buildOnce(): void {
  const build = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
  if (build.status !== 0) throw new Error('the build failed');
}

export const root: string = dirname(dirname(fileURLToPath(import.meta.url)));

/** Writes `bench/results/<name>.json`. Returns its path. */
export function writeResults(
  benchmark: Benchmark,
  context: BenchmarkContext,
  measurements: readonly Measurement[],
): string {
  const folder = join(root, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${benchmark.name}.json`);
  const result = {
    benchmark: benchmark.name,
    description: benchmark.description,
    seed: context.seed,
    scale: context.scale,
    machine: machine(),
    measurements: measurements.map((measurement) => ({
      ...measurement,
      value: round(measurement.value),
      ...(measurement.floor
        ? {
            floor: { ...measurement.floor, value: round(measurement.floor.value) },
            ratio: round(measurement.value / measurement.floor.value),
          }
        : {}),
    })),
  };
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
  return path;
}

/** A line for people. */
export function describeMeasurement(measurement: Measurement): string {
  const { name, value, unit, floor, aim } = measurement;
  const ratio = floor ? `  ${(value / floor.value).toFixed(2)} × ${floor.name} (${format(floor.value)})` : '';
  const aimed = aim === undefined ? '' : `  aim ${format(aim)}${isMet(value, unit, aim) ? '' : ' MISSED'}`;
  return `  ${name.padEnd(44)} ${format(value).padStart(10)} ${unit.padEnd(12)}${ratio}${aimed}${holds(measurement) ? '' : '  OUT OF BOUNDS'}`;
}

/** How many times a second `work` gets done by `concurrency` loops, after a warm-up of a quarter of the time. */
export async function rate(
  concurrency: number,
  durationMs: number,
  work: (index: number) => Promise<void>,
): Promise<number> {
  let next = 0;
  let done = 0;
  let until = performance.now() + durationMs / 4;
  const loop = async (): Promise<void> => {
    while (performance.now() < until) {
      await work(next++);
      done += 1;
    }
  };
  const loops = (): Promise<unknown> => Promise.all(Array.from({ length: concurrency }, loop));
  await loops();
  done = 0;
  const began = performance.now();
  until = began + durationMs;
  await loops();
  return (done / (performance.now() - began)) * 1000;
}

/** The value below which `fraction` of the values are (nearest rank). */
export function percentile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? Number.NaN;
}

/** Resident memory of a process. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function machine(): Record<string, unknown> {
  const processors = cpus();
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    processor: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    commit: commit(),
    version: (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version,
    date: new Date().toISOString(),
  };
}

function commit(): string {
  try {
    const short = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const changes = execFileSync('git', ['status', '--porcelain'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    return changes === '' ? short : `${short} with changes`;
  } catch {
    // A released package has no repository around it.
    return 'unknown';
  }
}

function isMet(value: number, unit: Measurement['unit'], aim: number): boolean {
  return unit.endsWith('/s') ? value >= aim : value <= aim;
}

function format(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}
