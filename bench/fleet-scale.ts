import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MALLOC_SETTINGS, nodeFlags } from '../src/cli/processes.ts';
import type { HubCommand, HubStart, HubState } from './fleet-hub.ts';
import { type BenchProcess, now, startProcess } from './fleet-process.ts';
import type { SpokesCommand } from './fleet-spokes.ts';
import { type Authorities, makeAuthorities } from './links.ts';
import {
  type Benchmark,
  type BenchmarkContext,
  buildOnce,
  type Measurement,
  pause,
  percentile,
} from './measure.ts';

/** Real spoke engines, so far as one process bears them. All others are stand-ins. */
const SIZES = [
  { size: 1, kind: 'stand-ins' },
  { size: 100, kind: 'engines' },
  { size: 1_000, kind: 'stand-ins' },
] as const;
const CHANGES = 5;
/** One heartbeat: every spoke is looked at once. */
const REST_MS = 30_000;
/** Longer than the pause after which what spokes say is summed up. */
const SETTLE_MS = 8_000;
/** Until spoke engines have removed what earlier orders brought, once each. */
const COLLECTED_MS = 75_000;

/** What a hub with its engine costs and does with 1, 100 and 1,000 connected spokes. */
export const fleetBenchmark: Benchmark = {
  name: 'fleet',
  description:
    'a hub with 1, 100 (real engines) and 1,000 spokes (stand-ins) by tunnels: at rest, a change of one of 3 objects, a reconnect storm, a restart',
  run,
};

interface Ends {
  readonly hub: BenchProcess<HubCommand>;
  readonly spokes: BenchProcess<SpokesCommand>;
  readonly names: readonly string[];
  readonly start: HubStart;
}

interface Writes {
  readonly byHub: number;
  readonly own: number;
}

async function run(context: BenchmarkContext): Promise<readonly Measurement[]> {
  context.progress('building');
  buildOnce();
  const scale = Math.min(1, context.scale);
  const most = Math.max(...SIZES.map(({ size }) => size));
  const largest = Math.max(2, Math.round(most * scale));
  context.progress(`making ${largest} certificates`);
  const authorities = await makeAuthorities(largest);
  const floor = await measureFloor(context, authorities, largest);
  const out: Measurement[] = [];
  let alone: HubState | undefined;
  for (const { size: full, kind } of SIZES) {
    const size = full === 1 ? 1 : Math.max(2, Math.round(full * scale));
    const ends = await open(authorities, size, 'engine', kind);
    try {
      const { rest, measurements } = await measureFleet(context, ends, {
        of: `${size} ${kind === 'engines' ? 'real spokes' : size === 1 ? 'spoke' : 'spokes'}`,
        last: full === most,
        alone,
        floor,
        stillMs: kind === 'engines' ? COLLECTED_MS : SETTLE_MS,
        restMs: Math.max(2_000, REST_MS * scale),
      });
      alone ??= rest;
      out.push(...measurements);
    } finally {
      await close(ends);
    }
  }
  return out;
}

/** As `atoll up` starts one: what is built, with the same flags. */
function startHub(): BenchProcess<HubCommand> {
  const asBuilt = ['--import', new URL('./as-built.ts', import.meta.url).href];
  return startProcess<HubCommand>(
    './fleet-hub.ts',
    [...nodeFlags({ role: 'hub', clusters: ['hub'] }), ...asBuilt],
    MALLOC_SETTINGS,
  );
}

async function open(
  authorities: Authorities,
  size: number,
  what: 'engine' | 'floor',
  kind: 'stand-ins' | 'engines',
): Promise<Ends> {
  const folder = mkdtempSync(join(tmpdir(), 'atoll-bench-fleet-'));
  const hub = startHub();
  const spokes = startProcess<SpokesCommand>('./fleet-spokes.ts');
  const { serving, linkCa } = authorities;
  const first = { serving, linkCa, port: 0, path: join(folder, 'hub.db') };
  const identities = authorities.identities.slice(0, size);
  const ends = { hub, spokes, names: identities.map(({ spoke }) => spoke), start: first };
  try {
    const port = await hub.tell<number>({ do: what, start: first });
    await spokes.tell({ do: 'dial', kind, port, hubCa: authorities.hubCa.certificate, identities });
    return { ...ends, start: { ...first, port } };
  } catch (error) {
    await close(ends);
    throw error;
  }
}

async function close({ hub, spokes, start }: Ends): Promise<void> {
  await Promise.all([hub.kill(), spokes.kill()]);
  rmSync(join(start.path, '..'), { recursive: true, force: true });
}

interface Floor {
  readonly rssKiB: number;
  readonly times: readonly number[];
  readonly cpuMs: number;
}

/** The ends of the tunnels with two watches on each spoke, and one write to each; nothing decides anything. */
async function measureFloor(
  context: BenchmarkContext,
  authorities: Authorities,
  size: number,
): Promise<Floor> {
  context.progress(`${size} tunnels with bare watches`);
  const few = await open(authorities, 1, 'floor', 'stand-ins');
  const one = await few.hub.tell({ do: 'seen', count: 1 }).then(() => stateOf(few));
  await close(few);
  const ends = await open(authorities, size, 'floor', 'stand-ins');
  try {
    await ends.hub.tell({ do: 'seen', count: size });
    await pause(1_000);
    const before = await stateOf(ends);
    const times: number[] = [];
    for (let change = 1; change <= CHANGES; change++) {
      const began = ends.hub.tell<number>({ do: 'change', value: String(change) });
      const arrivals = await ends.spokes.tell<number[]>({ do: 'applied', generation: change });
      const from = await began;
      times.push(...arrivals.map((at) => at - from));
    }
    const after = await stateOf(ends);
    return {
      rssKiB: (before.rss - one.rss) / (size - 1) / 1_024,
      times,
      cpuMs: (after.cpuMs - before.cpuAfterMs) / CHANGES / size,
    };
  } finally {
    await close(ends);
  }
}

function stateOf({ hub }: Pick<Ends, 'hub'>): Promise<HubState> {
  return hub.tell<HubState>({ do: 'state' });
}

interface Plan {
  readonly of: string;
  readonly last: boolean;
  readonly alone: HubState | undefined;
  readonly floor: Floor;
  /** From the last change until nothing goes on. */
  readonly stillMs: number;
  readonly restMs: number;
}

async function measureFleet(
  context: BenchmarkContext,
  ends: Ends,
  { of, last, alone, floor, stillMs, restMs }: Plan,
): Promise<{ rest: HubState; measurements: readonly Measurement[] }> {
  const { spokes, names, start } = ends;
  let { hub } = ends;
  const size = names.length;
  const out: Measurement[] = [];
  // It costs time itself, so figures of a run with it are not for comparing.
  const profile = last ? profiles(() => hub) : undefined;
  const add = (name: string, value: number, unit: Measurement['unit'], more?: Partial<Measurement>): void =>
    void out.push({ name: `${of}: ${name}`, value, unit, ...more });
  const writes = (): Promise<Writes> => spokes.tell<Writes>({ do: 'writes' });
  let generation = 0;
  const reported = async (least: number): Promise<number> => {
    const { at, reached } = await hub.tell<{ at: number; reached: number }>({
      do: 'reported',
      count: size,
      generation: least,
    });
    generation = reached;
    return at;
  };

  context.progress(`${of}: all join`);
  const joining = now();
  await hub.tell({ do: 'enlist', spokes: names });
  add('from the first SpokeCluster to all report their objects', (await reported(1)) - joining, 'ms');
  await pause(SETTLE_MS);

  context.progress(`${of}: changes`);
  const before = await stateOf({ hub });
  const [times, reports]: [number[], number[]] = [[], []];
  await profile?.begin();
  for (let change = 1; change <= CHANGES; change++) {
    const from = await hub.tell<number>({ do: 'change', value: `${context.seed}-${change}` });
    const arrivals = await spokes.tell<number[]>({ do: 'applied', generation: generation + 1 });
    times.push(...arrivals.map((at) => at - from));
    reports.push((await reported(generation + 1)) - from);
  }
  await profile?.end('change');
  const after = await stateOf({ hub });
  const bare = (value: number): Pick<Measurement, 'floor'> =>
    last ? { floor: { name: 'one bare write to each spoke', value } } : {};
  add('a change applied, p50', percentile(times, 0.5), 'ms', bare(percentile(floor.times, 0.5)));
  const most = percentile(times, 0.99);
  add('a change applied, p99', most, 'ms', { ...bare(percentile(floor.times, 0.99)), aim: 5_000 });
  add('a change reported by the hub as applied on all, p50', percentile(reports, 0.5), 'ms');
  add('CPU of the hub, each change and spoke', (after.cpuMs - before.cpuAfterMs) / CHANGES / size, 'ms', {
    ...bare(floor.cpuMs),
  });
  add('durable writes at the hub, each change', (after.revision - before.revision) / CHANGES, 'writes');

  context.progress(`${of}: at rest for ${Math.round(restMs / 1_000)} s`);
  await pause(stillMs);
  const [rested, restedWrites] = [await stateOf({ hub }), await writes()];
  await profile?.begin();
  await pause(restMs);
  await profile?.end('rest');
  const [rest, restWrites] = [await stateOf({ hub }), await writes()];
  add('RSS of the hub', rest.rss / 2 ** 20, 'MiB');
  add('CPU of the hub at rest', ((rest.cpuMs - rested.cpuAfterMs) / restMs) * 100, '% of a core');
  add('durable writes at the hub at rest', rest.revision - rested.revision, 'writes', { aim: 0 });
  add('writes on the spokes at rest', delta(restedWrites, restWrites), 'writes', { aim: 0 });
  if (alone) {
    const each = (later: number, first: number): number => (later - first) / (size - 1) / 1_024;
    const watches = { name: 'a tunnel with two bare watches', value: floor.rssKiB };
    add('RSS of the hub, each spoke', each(rest.rss, alone.rss), 'KiB', { floor: watches });
    add('RSS of the hub, each spoke beyond its tunnel', each(rest.rss, alone.rss) - floor.rssKiB, 'KiB', {
      aim: 40,
    });
    add('JavaScript heap of the hub, each spoke', each(rest.heap, alone.heap), 'KiB');
  }
  await profile?.heap();
  if (size === 1) return { rest, measurements: out };

  context.progress(`${of}: reconnect storm`);
  const calmWrites = await writes();
  const calm = await stateOf({ hub });
  await hub.tell({ do: 'forget-seen' });
  await profile?.begin();
  const cutAt = await spokes.tell<number>({ do: 'cut' });
  const back = (await hub.tell<number[]>({ do: 'seen', count: size })).map((at) => at - cutAt);
  await pause(SETTLE_MS);
  await profile?.end('storm');
  const stormed = await stateOf({ hub });
  add('seen again after all links were cut, p50', percentile(back, 0.5), 'ms');
  add('seen again after all links were cut, last', percentile(back, 1), 'ms');
  add('CPU of the hub for a reconnect, each spoke', (stormed.cpuMs - calm.cpuAfterMs) / size, 'ms');
  add('durable writes at the hub for a storm', stormed.revision - calm.revision, 'writes');
  add('writes on the spokes for a storm', delta(calmWrites, await writes()), 'writes', { aim: 0 });

  context.progress(`${of}: the hub starts again`);
  const restart = async (profiled?: typeof profile): Promise<{ began: number; loaded: number }> => {
    await hub.kill();
    const began = now();
    hub = startHub();
    await hub.tell({ do: 'forget-seen' });
    const loaded = now() - began;
    await profiled?.begin();
    await hub.tell({ do: 'engine', start });
    return { began, loaded };
  };
  try {
    const quiet = await writes();
    const { began } = await restart(profile);
    const sights = (await hub.tell<number[]>({ do: 'seen', count: size })).map((at) => at - began);
    await profile?.end('restart');
    await pause(SETTLE_MS);
    const restarted = await stateOf({ hub });
    add('all seen after a restart of the hub', percentile(sights, 1), 'ms');
    add('durable writes at the hub for a restart', restarted.revision - stormed.revision, 'writes');
    add('writes on the spokes for a restart', delta(quiet, await writes()), 'writes', { aim: 0 });

    const { began: again, loaded } = await restart();
    await hub.tell({ do: 'change', value: `${context.seed}-restarted` });
    const arrivals = await spokes.tell<number[]>({ do: 'applied', generation: generation + 1 });
    const served = arrivals.map((at) => at - again);
    const loading = { floor: { name: 'until its code is loaded', value: loaded } };
    add('restart of the hub to a new change on the first', Math.min(...served), 'ms', {
      ...loading,
      aim: 5_000,
    });
    add('restart of the hub to a new change on all', Math.max(...served), 'ms', loading);
  } finally {
    if (hub !== ends.hub) await hub.kill();
  }
  return { rest, measurements: out };
}

function delta(before: Writes, after: Writes): number {
  return after.byHub - before.byHub + after.own - before.own;
}

/** With `ATOLL_BENCH_PROFILE=<folder>`: CPU profiles of the phases of the largest fleet, and its heap by class. */
function profiles(hub: () => BenchProcess<HubCommand>):
  | {
      begin(): Promise<void>;
      end(phase: string): Promise<void>;
      heap(): Promise<void>;
    }
  | undefined {
  const folder = process.env['ATOLL_BENCH_PROFILE'];
  if (folder === undefined) return undefined;
  return {
    begin: () => hub().tell({ do: 'profile' }),
    end: (phase) => hub().tell({ do: 'profiled', path: join(folder, `fleet-${phase}.cpuprofile`) }),
    async heap(): Promise<void> {
      const path = join(folder, 'fleet.heapsnapshot');
      const classes = await hub().tell<Record<string, { bytes: number; count: number }>>({
        do: 'heap',
        path,
      });
      const sorted = Object.entries(classes).sort(([, a], [, b]) => b.bytes - a.bytes);
      writeFileSync(
        join(folder, 'fleet-heap.json'),
        JSON.stringify(Object.fromEntries(sorted.slice(0, 200)), null, 1),
      );
    },
  };
}
