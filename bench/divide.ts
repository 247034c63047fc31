import {
  type ClusterCapacity,
  type DivisionCluster,
  type DivisionStrategy,
  divide,
  estimateReplicas,
} from '../src/engine/divide/index.ts';
import { type RolloutCluster, type RolloutStep, step } from '../src/engine/rollout/index.ts';
import { seededRandom } from '../src/runtime/random.ts';
import { type Benchmark, type BenchmarkContext, type Measurement, percentile } from './measure.ts';

/** Divisions a second over a thousand clusters, room of a fleet, and a rollout to it; on one core, without any I/O. */
export const divideBenchmark: Benchmark = {
  name: 'divide',
  description: 'divisions over 1,000 clusters, estimates of room, a staged rollout; on one core',
  run: (context) => Promise.resolve(run(context)),
};

const CLUSTERS = 1000;

function run(context: BenchmarkContext): readonly Measurement[] {
  const random = seededRandom(context.seed);
  const number = (most: number): number => Math.floor(random.next() * most);
  const clusters = Array.from(
    { length: CLUSTERS },
    (_, index): DivisionCluster => ({
      name: `cluster-${String(index).padStart(4, '0')}`,
      weight: 1 + number(9),
      minReplicas: number(2),
      available: 20 + number(80),
    }),
  );
  const measurements: Measurement[] = [];
  const strategies: readonly DivisionStrategy[] = ['Balanced', 'DynamicWeight', 'Aggregated', 'Planner'];
  const total = 10_000;
  const floor = rateOf(context, () => proportional(total, clusters)).rate;
  for (const strategy of strategies) {
    context.progress(strategy);
    const fresh = divide({ total, clusters, strategy, key: 'bench/web' });
    const previous = Object.fromEntries(fresh.clusters.map(({ cluster, replicas }) => [cluster, replicas]));
    const { rate, p99 } = rateOf(context, (turn) =>
      divide({ total: total + (turn % 50), clusters, strategy, previous, key: `bench/web-${turn}` }),
    );
    measurements.push({
      name: `${strategy}: ${total} replicas over ${CLUSTERS} clusters`,
      value: rate,
      unit: 'requests/s',
      floor: { name: 'shares rounded down', value: floor },
    });
    measurements.push({ name: `${strategy}: p99`, value: p99, unit: 'ms', aim: 32 });
  }
  context.progress('few clusters');
  const few = clusters.slice(0, 10);
  const small = rateOf(context, (turn) => divide({ total: 100, clusters: few, key: `bench/${turn}` }));
  measurements.push({
    name: 'Balanced: 100 replicas over 10 clusters',
    value: small.rate,
    unit: 'requests/s',
  });
  context.progress('room');
  const capacities = clusters.map((): ClusterCapacity => {
    const nodes = Array.from({ length: 10 }, () => ({
      count: 1 + number(5),
      free: { cpu: number(16_000), memory: number(64) * 2 ** 30, pods: 110 },
      labels: { pool: number(2) === 0 ? 'general' : 'batch' },
    }));
    return { free: { cpu: 400_000, memory: 2 ** 41, pods: 3300 }, nodes };
  });
  const needs = { amounts: { cpu: 500, memory: 2 ** 30, pods: 1 }, nodeSelector: { pool: 'general' } };
  const room = rateOf(context, () =>
    capacities.map((capacity) => estimateReplicas(capacity, needs).replicas),
  );
  measurements.push({
    name: 'room of clusters with ten kinds of nodes',
    value: room.rate * CLUSTERS,
    unit: 'clusters/s',
  });
  context.progress('rollout');
  measurements.push(...rolloutOf(context));
  return measurements;
}

/** What no division can be faster than: one pass, every share rounded down, nothing kept within bounds. */
function proportional(total: number, clusters: readonly DivisionCluster[]): ReadonlyMap<string, number> {
  const weights = clusters.reduce((all, { weight = 1 }) => all + weight, 0);
  return new Map(clusters.map(({ name, weight = 1 }) => [name, Math.floor((total * weight) / weights)]));
}

function rateOf(
  { scale }: BenchmarkContext,
  work: (turn: number) => unknown,
): { readonly rate: number; readonly p99: number } {
  const times: number[] = [];
  const warm = performance.now() + 200 * scale;
  let turn = 0;
  while (performance.now() < warm) work(turn++);
  const began = performance.now();
  while (performance.now() - began < 1000 * scale) {
    const at = performance.now();
    work(turn++);
    times.push(performance.now() - at);
  }
  return { rate: (times.length / (performance.now() - began)) * 1000, p99: percentile(times, 0.99) };
}

/** A revision to all clusters in three stages, twenty at a time; every cluster is seen twice. */
function rolloutOf({ seed }: BenchmarkContext): readonly Measurement[] {
  const random = seededRandom(seed);
  const clusters = Array.from(
    { length: CLUSTERS },
    (_, index): RolloutCluster => ({
      name: `c${index}`,
      labels: { tier: index % 10 === 0 ? 'edge' : 'core' },
      revision: 'r1',
    }),
  );
  const strategy = {
    stages: [
      { name: 'canary', size: 5 },
      { name: 'edge', clusterSelector: { matchLabels: { tier: 'edge' } } },
      { name: 'core' },
    ],
    maxConcurrency: 20,
  };
  const times: number[] = [];
  const began = performance.now();
  let now = 0;
  let last: RolloutStep | undefined;
  const released: string[] = [];
  const send = (event: Parameters<typeof step>[1]): void => {
    const at = performance.now();
    last = step(last?.state, event, now, random);
    times.push(performance.now() - at);
    for (const effect of last?.effects ?? []) if (effect.type === 'release') released.push(effect.cluster);
  };
  const see = (cluster: string, revision: string): void =>
    send({ type: 'observe', observations: [{ cluster, live: true, revision, word: 'Ready' }] });
  send({ type: 'start', revision: 'r2', clusters, strategy });
  send({
    type: 'observe',
    observations: clusters.map(({ name }) => ({ cluster: name, live: true, revision: 'r1', word: 'Ready' })),
  });
  for (let next = released.shift(); next !== undefined; next = released.shift()) {
    now += 100;
    see(next, 'r2');
  }
  if (last?.state.phase !== 'Succeeded') throw new Error(`the rollout ended as ${last?.state.phase}`);
  return [
    {
      name: `rollout: ${CLUSTERS} clusters, all decisions`,
      value: performance.now() - began,
      unit: 'ms',
      aim: 10_000,
    },
    { name: 'rollout: p99 of one step', value: percentile(times, 0.99), unit: 'ms', aim: 32 },
  ];
}
