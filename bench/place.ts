import {
  type ClusterFacts,
  compilePlacement,
  createFleetIndex,
  type Decision,
  decideOn,
  type FleetIndex,
  type Placement,
} from '../src/engine/place/index.ts';
import { seededRandom } from '../src/runtime/index.ts';
import { type Benchmark, type BenchmarkContext, type Measurement, percentile } from './measure.ts';

/** Decisions a second: many intents over many clusters, of one core. */
export const placeBenchmark: Benchmark = {
  name: 'place',
  description: 'decides where 1,000 intents go among 1,000 clusters; one intent after another',
  run: (context) => Promise.resolve(run(context)),
};

const INTENTS = 1000;
const CLUSTERS = 1000;

/** Numbers from 0 up to but without a bound, the same for the same seed. */
type Draw = (bound: number) => number;

function run(context: BenchmarkContext): readonly Measurement[] {
  const draw = drawing(context.seed);
  const clusters = Array.from({ length: CLUSTERS }, (_, index) => cluster(index, draw));
  const placements = Array.from({ length: INTENTS }, (_, index) => placement(index, draw));
  const rounds = Math.max(1, Math.round(3 * context.scale));

  context.progress('compile');
  const compileMs = timed(() => placements.map(compilePlacement)).ms;
  const compiled = placements.map(compilePlacement);
  const broken = compiled.flatMap(({ issues }) => issues);
  if (broken.length > 0) throw new Error(broken.join('; '));

  const counts = new Map<string, number>();
  const placed = (name: string): number => counts.get(name) ?? 0;
  const decisions: (Decision | undefined)[] = compiled.map(() => undefined);
  /** One pass over all intents. Returns how long each took. */
  const pass = (fleet: FleetIndex): number[] =>
    compiled.map((intent, index) => {
      const before = decisions[index];
      const { ms, value } = timed(() => decideOn(intent, fleet, before, { nowMs: 0, placed }));
      for (const name of before?.chosen ?? []) counts.set(name, placed(name) - 1);
      for (const name of value.chosen) counts.set(name, placed(name) + 1);
      decisions[index] = value;
      return ms;
    });

  context.progress('first decisions');
  const { ms: indexMs, value: first } = timed(() => createFleetIndex(clusters));
  const cold = pass(first);

  context.progress('decisions again');
  const warm: number[] = [];
  for (let round = 0; round < rounds; round++) warm.push(...pass(first));

  context.progress('decisions after a change of one cluster');
  const moved: number[] = [];
  let facts = clusters;
  let fleet = first;
  let reindexMs = 0;
  for (let round = 0; round < rounds; round++) {
    const at = draw(CLUSTERS);
    facts = facts.map((item, index) =>
      index === at ? { ...item, labels: { ...item.labels, tier: `t${draw(4)}` } } : item,
    );
    const { ms, value } = timed(() => createFleetIndex(facts, fleet));
    reindexMs += ms / rounds;
    fleet = value;
    moved.push(...pass(fleet));
  }

  context.progress('a floor: a loop over labels');
  const byHand = timed(() => {
    for (const { placement: given } of handWritten(placements))
      for (const item of clusters) if (matchesByHand(given, item)) counts.size;
  }).ms;
  const bytes =
    decisions.reduce((sum, decision) => sum + JSON.stringify(decision).length, 0) / INTENTS / CLUSTERS;
  return [
    {
      name: 'decisions, nothing changed',
      value: perSecond(warm),
      unit: 'requests/s',
      floor: { name: 'comparing two labels by hand', value: (INTENTS / byHand) * 1000 },
      aim: 2000,
    },
    {
      name: 'decisions after a change of one cluster',
      value: perSecond(moved),
      unit: 'requests/s',
      aim: 2000,
    },
    { name: 'one decision after a change, p99', value: percentile(moved, 0.99), unit: 'ms', aim: 32 },
    { name: 'first decisions, p99', value: percentile(cold, 0.99), unit: 'ms', aim: 32 },
    { name: 'first decisions', value: perSecond(cold), unit: 'requests/s' },
    { name: 'compile 1,000 placements', value: compileMs, unit: 'ms' },
    { name: 'index 1,000 clusters', value: indexMs, unit: 'ms' },
    { name: 'index them again after a change', value: reindexMs, unit: 'ms' },
    { name: 'a decision, bytes for each cluster', value: bytes, unit: 'bytes' },
  ];
}

function perSecond(times: readonly number[]): number {
  return (times.length / times.reduce((sum, ms) => sum + ms, 0)) * 1000;
}

/** By the clock: the time of a thread on a processor is told in steps of milliseconds, and a decision takes parts of one. */
function timed<T>(work: () => T): { readonly ms: number; readonly value: T } {
  const began = performance.now();
  const value = work();
  return { ms: performance.now() - began, value };
}

function drawing(seed: number): Draw {
  const random = seededRandom(seed);
  return (bound) => Math.floor(random.next() * bound);
}

function cluster(index: number, draw: Draw): ClusterFacts {
  const region = `region-${index % 12}`;
  return {
    name: `cluster-${String(index).padStart(4, '0')}`,
    labels: { region, tier: `t${draw(4)}`, env: draw(5) === 0 ? 'test' : 'prod' },
    fields: {
      provider: ['aws', 'gcp', 'azure'][index % 3] ?? '',
      region,
      zone: `${region}-${draw(3)}`,
      version: `v1.${28 + draw(8)}.${draw(10)}`,
    },
    properties: { cost: String(1 + draw(50)) },
    resources: { allocatable: { cpu: String(8 * (1 + draw(16))) } },
    ...(draw(25) === 0 ? { taints: [{ key: 'maintenance', effect: 'NoSelectIfNew' as const }] } : {}),
    ...(draw(50) === 0 ? { unschedulable: true } : {}),
  };
}

/** A mix: labels, versions, expressions; all clusters or a few; spread, groups, scores. */
function placement(index: number, draw: Draw): Placement {
  const prod = { clusterSelector: { matchLabels: { env: 'prod', tier: `t${draw(4)}` } } };
  switch (index % 8) {
    case 0:
      return { clusterSelector: {}, exclude: [{ clusterSelector: { matchLabels: { env: 'test' } } }] };
    case 1:
      return prod;
    case 2:
      return { ...prod, numberOfClusters: 1 + draw(5) };
    case 3:
      return {
        clusterFields: [{ key: 'version', operator: 'InRange', values: ['>=1.30 <1.34'] }],
        numberOfClusters: 6,
        spread: [{ field: 'region', minGroups: 3, maxSkew: 1 }],
      };
    case 4:
      return {
        clusterExpressions: [
          `int(cluster.properties.cost) < ${10 + draw(30)} && cluster.labels.env == 'prod'`,
        ],
        numberOfClusters: 3,
        scores: [{ type: 'Property', name: 'cost', order: 'Ascending', weight: 2 }, { type: 'Balance' }],
      };
    case 5:
      return {
        groups: ['aws', 'gcp', 'azure'].map((name) => ({
          name,
          clusterFields: [{ key: 'provider', operator: 'In' as const, values: [name] }],
        })),
        numberOfClusters: 4,
      };
    case 6:
      return {
        clusterSelector: {},
        spread: [
          { field: 'region', minGroups: 2, maxGroups: 3 },
          { field: 'cluster', minGroups: 4, maxGroups: 8 },
        ],
      };
    default:
      return {
        clusterSelector: {},
        numberOfClusters: 10,
        scores: [
          { type: 'Resource', name: 'cpu' },
          { type: 'Balance', weight: 2 },
          { type: 'Steady', weight: 3 },
        ],
      };
  }
}

function handWritten(placements: readonly Placement[]): { placement: { env: string; tier: string } }[] {
  return placements.map((_, index) => ({ placement: { env: 'prod', tier: `t${index % 4}` } }));
}

function matchesByHand(given: { env: string; tier: string }, { labels }: ClusterFacts): boolean {
  return labels['env'] === given.env && labels['tier'] === given.tier;
}
