import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { silentLogger } from '../../src/runtime/index.ts';
import { BUGS, plantBug } from './rig/bugs.ts';
import type { runHistory as RunHistory } from './rig/run-history.ts';
import { shrink } from './rig/shrink.ts';
import { historyOf, type Step, stepText, themesOf } from './rig/step.ts';

/**
 * `npm run simulate -- --seeds N --spokes M --first-seed S`: random histories of a whole fleet, one a seed. The last line is
 * the verdict, the exit status its truth. A failing seed is cut down to the steps that it needs, and its replay printed.
 */

const USAGE = `npm run simulate -- [--seeds 200] [--spokes 3] [--first-seed 1] [--steps 40] [--jobs n] [--bug name | --bugs]
  --bug name   plant a deliberate bug and see whether it is found: ${Object.keys(BUGS).join(', ')}
  --bugs       plant each of them in turn`;

interface Settings {
  readonly first: number;
  readonly seeds: number;
  readonly spokes: number;
  readonly steps: number;
  readonly bug?: string;
}

interface Failure {
  readonly seed: number;
  readonly findings: readonly string[];
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    spokes: { type: 'string', default: '3' },
    'first-seed': { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    bug: { type: 'string' },
    bugs: { type: 'boolean', default: false },
    worker: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function numberOf(name: 'seeds' | 'spokes' | 'first-seed' | 'steps' | 'jobs'): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 1) return value;
  process.stderr.write(`--${name} ${values[name]} is not a number above zero\n${USAGE}\n`);
  process.exit(2);
}

const settings: Settings = {
  first: numberOf('first-seed'),
  seeds: numberOf('seeds'),
  spokes: numberOf('spokes'),
  steps: numberOf('steps'),
  ...(values.bug === undefined ? {} : { bug: values.bug }),
};

function spokeNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    index < 26 ? String.fromCharCode(97 + index) : `s${index}`,
  );
}

async function play(
  run: typeof RunHistory,
  seed: number,
  steps: readonly Step[],
): Promise<readonly string[]> {
  const { findings } = await run(steps, {
    seed,
    spokes: spokeNames(settings.spokes),
    withGraph: themesOf(seed).includes('graphs'),
    log: silentLogger,
  });
  return findings;
}

/** Plays its share of the seeds and tells the parent of each. */
async function work(): Promise<void> {
  // A bug is planted in the source as it is loaded, before anything of the product is.
  if (settings.bug !== undefined) plantBug(settings.bug);
  const { runHistory } = await import('./rig/run-history.ts');
  for (let seed = settings.first; seed < settings.first + settings.seeds; seed++) {
    const steps = historyOf(seed, spokeNames(settings.spokes), settings.steps);
    const findings = await play(runHistory, seed, steps);
    process.send?.({ seed, findings } satisfies Failure);
  }
  if (process.connected) process.disconnect();
}

/** Failures among the seeds of the settings; ends early at the first where `stopAtFirst`. */
async function playAll({ bug, ...range }: Settings, stopAtFirst: boolean): Promise<Failure[]> {
  const jobs = Math.min(numberOf('jobs'), range.seeds);
  const failures: Failure[] = [];
  let done = 0;
  const children = Array.from({ length: jobs }, (_, job) => {
    const share = Math.floor(range.seeds / jobs) + (job < range.seeds % jobs ? 1 : 0);
    const offset = job * Math.floor(range.seeds / jobs) + Math.min(job, range.seeds % jobs);
    return fork(
      fileURLToPath(import.meta.url),
      [
        '--worker',
        `--first-seed=${range.first + offset}`,
        `--seeds=${share}`,
        `--spokes=${range.spokes}`,
        `--steps=${range.steps}`,
        ...(bug === undefined ? [] : [`--bug=${bug}`]),
      ],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
    );
  });
  const ends = children.map(
    (child) =>
      new Promise<void>((resolve) => {
        child.on('message', (message) => {
          const failure = message as Failure;
          done += 1;
          if (failure.findings.length > 0) failures.push(failure);
          if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${range.seeds} seeds`);
          else if (done % 100 === 0) process.stderr.write(`… ${done} of ${range.seeds} seeds\n`);
          if (stopAtFirst && failures.length > 0) for (const other of children) other.kill();
        });
        child.on('exit', (code) => {
          if (code !== 0 && !stopAtFirst)
            failures.push({ seed: range.first, findings: [`a worker ended with ${code}`] });
          resolve();
        });
      }),
  );
  await Promise.all(ends);
  if (process.stderr.isTTY) process.stderr.write('\n');
  return failures.sort((a, b) => a.seed - b.seed);
}

async function explain({ seed, findings }: Failure): Promise<void> {
  process.stdout.write(`\nseed ${seed}:\n${findings.map((text) => `  ${text.slice(0, 600)}\n`).join('')}`);
  const { runHistory } = await import('./rig/run-history.ts');
  const steps = historyOf(seed, spokeNames(settings.spokes), settings.steps);
  const needed = await shrink(steps, async (some) => (await play(runHistory, seed, some)).length > 0, 80);
  process.stdout.write(
    `needs ${needed.length} of ${steps.length} steps:\n${needed.map((step) => `  ${stepText(step)}\n`).join('')}` +
      `replay: npm run simulate -- --first-seed ${seed} --seeds 1 --spokes ${settings.spokes} --steps ${settings.steps}\n`,
  );
}

async function main(): Promise<boolean> {
  if (values.bugs) {
    let all = true;
    for (const bug of Object.keys(BUGS)) {
      const [found] = await playAll({ ...settings, bug }, true);
      process.stdout.write(
        found ? `${bug}: found with seed ${found.seed}: ${found.findings[0]}\n` : `${bug}: NOT FOUND\n`,
      );
      all &&= found !== undefined;
    }
    process.stdout.write(all ? 'every planted bug was found\n' : 'a planted bug was not found\n');
    return all;
  }
  const failures = await playAll(settings, false);
  if (settings.bug === undefined) for (const failure of failures.slice(0, 3)) await explain(failure);
  process.stdout.write(
    `${settings.seeds - failures.length} of ${settings.seeds} histories ended well${failures.length > 0 ? `; failed: ${failures.map(({ seed }) => seed).join(' ')}` : ''}\n`,
  );
  return failures.length === 0;
}

if (values.help) process.stdout.write(`${USAGE}\n`);
else if (values.worker) await work();
else process.exitCode = (await main()) ? 0 : 1;
