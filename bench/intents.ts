import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HubCommand, HubStart } from './fleet-hub.ts';
import { type BenchProcess, now, startProcess } from './fleet-process.ts';
import type { SpokesCommand } from './fleet-spokes.ts';
import { type Authorities, makeAuthorities } from './links.ts';
import { type Benchmark, type BenchmarkContext, type Measurement, pause, percentile } from './measure.ts';

const SPOKES = 1_000;
/** Clusters of each intent, and how many there are in the fleet with many intents. */
const CLUSTERS = 100;
const OBJECTS = 3;
const SINGLE_INTENTS = 20;
const MANY_INTENTS = 1_000;
const SETTLE_MS = 3_000;

/** What many intents cost: one for 100 of 1,000 spokes, and a thousand for 100 spokes, built from nothing. */
export const intentsBenchmark: Benchmark = {
  name: 'intents',
  description:
    'an intent of 3 objects for 100 of 1,000 spokes; 1,000 intents for 100 spokes from nothing; the hub restarted with them (stand-ins by tunnels)',
  run,
};

interface Ends {
  hub: BenchProcess<HubCommand>;
  readonly spokes: BenchProcess<SpokesCommand>;
  readonly start: HubStart;
}

interface Span {
  readonly began: number;
  readonly reported: number;
}

async function run(context: BenchmarkContext): Promise<readonly Measurement[]> {
  const scaled = (full: number): number => Math.max(2, Math.round(full * Math.min(1, context.scale)));
  const spokes = scaled(SPOKES);
  context.progress(`making ${spokes} certificates`);
  const authorities = await makeAuthorities(spokes);
  const clusters = Math.min(scaled(CLUSTERS), spokes);
  return [
    ...(await withFleet(authorities, spokes, (ends) => measureSingle(context, ends, clusters))),
    ...(await withFleet(authorities, clusters, (ends) =>
      measureMany(context, ends, clusters, scaled(MANY_INTENTS)),
    )),
  ];
}

async function withFleet(
  authorities: Authorities,
  size: number,
  measure: (ends: Ends) => Promise<readonly Measurement[]>,
): Promise<readonly Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'atoll-bench-intents-'));
  const { serving, linkCa } = authorities;
  const identities = authorities.identities.slice(0, size);
  const first = { serving, linkCa, port: 0, path: join(folder, 'hub.db') };
  const hub = startProcess<HubCommand>('./fleet-hub.ts');
  const spokes = startProcess<SpokesCommand>('./fleet-spokes.ts');
  const ends: Ends = { hub, spokes, start: first };
  try {
    const port = await hub.tell<number>({ do: 'engine', start: first });
    const hubCa = authorities.hubCa.certificate;
    await spokes.tell({ do: 'dial', kind: 'stand-ins', port, hubCa, identities });
    await hub.tell({ do: 'spokes', spokes: identities.map(({ spoke }) => spoke) });
    await hub.tell({ do: 'seen', count: size });
    await pause(SETTLE_MS);
    return await measure(Object.assign(ends, { start: { ...first, port } }));
  } finally {
    await Promise.all([ends.hub.kill(), spokes.kill()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureSingle(
  context: BenchmarkContext,
  { hub, spokes }: Ends,
  clusters: number,
): Promise<readonly Measurement[]> {
  const applied: number[] = [];
  const reported: number[] = [];
  for (let index = 0; index < SINGLE_INTENTS; index++) {
    context.progress(`intent ${index + 1} of ${SINGLE_INTENTS} for ${clusters} clusters`);
    await spokes.tell({ do: 'listen' });
    const span = await hub.tell<Span>({ do: 'one', name: `one-${index}`, objects: OBJECTS, clusters });
    const arrivals = await spokes.tell<number[]>({ do: 'carried out', count: clusters });
    applied.push(...arrivals.map((at) => at - span.began));
    reported.push(span.reported - span.began);
  }
  const of = `an intent of ${OBJECTS} objects for ${clusters} clusters`;
  return [
    { name: `${of}: applied, p50`, value: percentile(applied, 0.5), unit: 'ms' },
    { name: `${of}: applied, p99`, value: percentile(applied, 0.99), unit: 'ms', aim: 2_000 },
    { name: `${of}: all reported, p50`, value: percentile(reported, 0.5), unit: 'ms' },
    { name: `${of}: all reported, p99`, value: percentile(reported, 0.99), unit: 'ms', aim: 2_000 },
  ];
}

async function measureMany(
  context: BenchmarkContext,
  ends: Ends,
  clusters: number,
  intents: number,
): Promise<readonly Measurement[]> {
  const { spokes, start } = ends;
  const of = `${intents} intents for ${clusters} clusters`;
  context.progress(`${of}: from nothing`);
  const span = await ends.hub.tell<Span>({ do: 'many', intents, clusters });
  await pause(SETTLE_MS);
  const { rss } = await ends.hub.tell<{ rss: number }>({ do: 'state' });
  const bytes = [start.path, `${start.path}-wal`].reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

  context.progress(`${of}: the hub starts again`);
  const writesOf = (): Promise<{ byHub: number }> => spokes.tell<{ byHub: number }>({ do: 'writes' });
  const quiet = await writesOf();
  const restart = async (): Promise<number> => {
    await ends.hub.kill();
    const began = now();
    ends.hub = startProcess<HubCommand>('./fleet-hub.ts');
    await ends.hub.tell({ do: 'engine', start });
    return began;
  };
  await restart();
  await ends.hub.tell({ do: 'seen', count: clusters });
  await pause(2 * SETTLE_MS);
  const written = (await writesOf()).byHub - quiet.byHub;
  const began = await restart();
  await spokes.tell({ do: 'listen' });
  await ends.hub.tell({ do: 'change one of many', index: 0, value: 'another' });
  const arrivals = await spokes.tell<number[]>({ do: 'carried out', count: clusters });
  return [
    { name: `${of}: built and reported`, value: span.reported - span.began, unit: 'ms', aim: 120_000 },
    { name: `${of}: database of the hub`, value: bytes / 2 ** 20, unit: 'MiB', aim: 250 },
    { name: `${of}: RSS of the hub`, value: rss / 2 ** 20, unit: 'MiB' },
    { name: `${of}: writes on spokes for a restart`, value: written, unit: 'writes', aim: 0 },
    {
      name: `${of}: restart of the hub to a new change on the first`,
      value: Math.min(...arrivals) - began,
      unit: 'ms',
      aim: 5_000,
    },
    {
      name: `${of}: restart of the hub to a new change on all`,
      value: Math.max(...arrivals) - began,
      unit: 'ms',
    },
  ];
}
