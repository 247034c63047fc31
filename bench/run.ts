/**
 * `npm run bench [name …] [-- --seed 1 --scale 1]`: measures, prints, and writes bench/results/<name>.json.
 * Ratios are against a floor of the same run; absolute numbers are this machine's.
 */
import { parseArgs } from 'node:util';
import { apiServerBenchmark } from './apiserver.ts';
import { celBenchmark } from './cel.ts';
import { divideBenchmark } from './divide.ts';
import { footprintBenchmark, propagationBenchmark } from './fleet.ts';
import { fleetBenchmark } from './fleet-scale.ts';
import { gateBenchmark } from './gate.ts';
import { graphsBenchmark } from './graphs.ts';
import { intentsBenchmark } from './intents.ts';
import { linksBenchmark } from './links.ts';
import { type Benchmark, describeMeasurement, holds, writeResults } from './measure.ts';
import { placeBenchmark } from './place.ts';

const benchmarks: readonly Benchmark[] = [
  propagationBenchmark,
  apiServerBenchmark,
  footprintBenchmark,
  celBenchmark,
  linksBenchmark,
  fleetBenchmark,
  placeBenchmark,
  divideBenchmark,
  gateBenchmark,
  intentsBenchmark,
  graphsBenchmark,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' }, scale: { type: 'string', default: '1' } },
});
const unknown = positionals.filter((name) => !benchmarks.some((benchmark) => benchmark.name === name));
if (unknown.length > 0) {
  const names = benchmarks.map((benchmark) => benchmark.name).join(', ');
  process.stderr.write(`There is no benchmark ${unknown.join(', ')}; there are ${names}.\n`);
  process.exit(1);
}
let out = 0;
for (const benchmark of benchmarks) {
  if (positionals.length > 0 && !positionals.includes(benchmark.name)) continue;
  process.stdout.write(`${benchmark.name}: ${benchmark.description}\n`);
  const context = {
    seed: Number(values.seed),
    scale: Number(values.scale),
    progress: (text: string): void => void process.stderr.write(`  … ${text}\n`),
  };
  const measurements = await benchmark.run(context);
  for (const measurement of measurements) process.stdout.write(`${describeMeasurement(measurement)}\n`);
  out += measurements.filter((measurement) => !holds(measurement)).length;
  process.stdout.write(`  → ${writeResults(benchmark, context, measurements)}\n`);
}
// Agents keep connections alive for a while.
process.exit(out === 0 ? 0 : 1);
