import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { enableCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { silentLogger } from '../../src/runtime/index.ts';
import { BUGS, plantBug } from './rig/bugs.ts';
import type { Outcome, runHistory as RunHistory } from './rig/run-history.ts';
import { shrink } from './rig/shrink.ts';
import { historyOf, type Step, stepText, themesOf } from './rig/step.ts';

/**
 * `npm run simulate -- --seeds N --spokes M --first-seed S`: random histories of a whole fleet, one a seed. The last line is
 * the verdict, the exit status its truth. A failing seed is cut down to the steps that it needs, and its replay printed.
 */

const USAGE = `npm run simulate -- [--seeds 200] [--spokes 3] [--first-seed 1] [--steps 40] [--jobs n] [--bug name | --bugs]
  --bug name   plant a deliberate bug and see whether it is found: ${Object.keys(BUGS).join(', ')}
  --bugs       plant each of them in turn
  --no-shrink  name the seeds that fail, and do not look for the steps that they need`;

interface Settings {
  readonly first: number;
  readonly seeds: number;
  readonly spokes: number;
  readonly steps: number;
  readonly bug?: string;
  /** Seeds that are left out. */
  readonly except?: readonly number[];
}

interface Failure {
  readonly seed: number;
  readonly findings: readonly string[];
}

/** What a worker tells of a seed. */
interface Played extends Failure {
  readonly did: Outcome['did'];
  readonly digest: string;
  /** Time of a processor, of which the part of a seed in what is made once is none. */
  readonly cpuMs: number;
}

interface Tally {
  readonly failures: readonly Failure[];
  readonly played: readonly Played[];
}

/** Much is short-lived here, and each worker has a processor of its own that it need not share with its own collector. */
const WORKER_FLAGS = ['--max-semi-space-size=64', '--single-threaded-gc', '--always-sparkplug'];

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    spokes: { type: 'string', default: '3' },
    'first-seed': { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    bug: { type: 'string' },
    bugs: { type: 'boolean', default: false },
    except: { type: 'string', default: '' },
    stride: { type: 'string', default: '1' },
    worker: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function numberOf(name: 'seeds' | 'spokes' | 'first-seed' | 'steps' | 'jobs' | 'stride'): number {
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

async function play(run: typeof RunHistory, seed: number, steps: readonly Step[]): Promise<Outcome> {
  return run(steps, {
    seed,
    spokes: spokeNames(settings.spokes),
    withGraph: themesOf(seed).includes('graphs'),
    log: silentLogger,
  });
}

/** Plays its share of the seeds, one of every `stride`, and tells the parent of each. */
async function work(): Promise<void> {
  enableCompileCache();
  // Refusals are part of every history, and what is found is told in words: nobody reads where they were made.
  Error.stackTraceLimit = 0;
  // A bug is planted in the source as it is loaded, before anything of the product is.
  if (settings.bug !== undefined) plantBug(settings.bug);
  const { runHistory } = await import('./rig/run-history.ts');
  const { goldenImage } = await import('./rig/golden-image.ts');
  const spokes = spokeNames(settings.spokes);
  const stride = numberOf('stride');
  const except = new Set(values.except.split(',').map(Number));
  for (let index = 0; index < settings.seeds; index++) {
    const seed = settings.first + index * stride;
    if (except.has(seed)) continue;
    const steps = historyOf(seed, spokes, settings.steps);
    await goldenImage(spokes, themesOf(seed).includes('graphs'));
    const before = process.cpuUsage();
    const { findings, did, digest } = await play(runHistory, seed, steps);
    const { user, system } = process.cpuUsage(before);
    process.send?.({ seed, findings, did, digest, cpuMs: (user + system) / 1000 } satisfies Played);
  }
  if (process.connected) process.disconnect();
}

/** Plays the seeds of the settings; ends early at the first failure where `stopAtFirst`. */
async function playAll({ bug, except = [], ...range }: Settings, stopAtFirst: boolean): Promise<Tally> {
  const jobs = Math.min(numberOf('jobs'), range.seeds);
  const failures: Failure[] = [];
  const played: Played[] = [];
  const children = Array.from({ length: jobs }, (_, job) => {
    const share = Math.floor(range.seeds / jobs) + (job < range.seeds % jobs ? 1 : 0);
    return fork(
      fileURLToPath(import.meta.url),
      [
        '--worker',
        `--first-seed=${range.first + job}`,
        `--stride=${jobs}`,
        `--except=${except.join()}`,
        `--seeds=${share}`,
        `--spokes=${range.spokes}`,
        `--steps=${range.steps}`,
        ...(bug === undefined ? [] : [`--bug=${bug}`]),
      ],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [...process.execArgv, ...WORKER_FLAGS] },
    );
  });
  const ends = children.map(
    (child) =>
      new Promise<void>((resolve) => {
        child.on('message', (message) => {
          const one = message as Played;
          played.push(one);
          const done = played.length;
          if (one.findings.length > 0) failures.push(one);
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
  const bySeed = (a: Failure, b: Failure): number => a.seed - b.seed;
  return { failures: failures.sort(bySeed), played: played.sort(bySeed) };
}

/** How many histories of each sort were played, and what was done in them. */
function account(played: readonly Played[]): string {
  const sorts: Record<string, number> = {};
  const did: Record<string, number> = {};
  const digest = createHash('sha256');
  let cpuMs = 0;
  for (const one of played) {
    const themes = themesOf(one.seed);
    for (const theme of themes.length > 0 ? themes : ['plain']) sorts[theme] = (sorts[theme] ?? 0) + 1;
    for (const [deed, count] of Object.entries(one.did)) did[deed] = (did[deed] ?? 0) + count;
    digest.update(`${one.seed} ${one.digest}\n`);
    cpuMs += one.cpuMs;
  }
  const most = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
  return (
    `histories: ${most(sorts)}\ndone: ${most(did)}\n` +
    `${(cpuMs / 1000 / Math.max(1, played.length)).toFixed(2)} s of a processor a history; digest of all ${digest.digest('hex').slice(0, 16)}\n`
  );
}

async function explain({ seed, findings }: Failure): Promise<void> {
  process.stdout.write(`\nseed ${seed}:\n${findings.map((text) => `  ${text.slice(0, 600)}\n`).join('')}`);
  const { runHistory } = await import('./rig/run-history.ts');
  const steps = historyOf(seed, spokeNames(settings.spokes), settings.steps);
  const needed = await shrink(
    steps,
    async (some) => (await play(runHistory, seed, some)).findings.length > 0,
    80,
  );
  process.stdout.write(
    `needs ${needed.length} of ${steps.length} steps:\n${needed.map((step) => `  ${stepText(step)}\n`).join('')}` +
      `replay: npm run simulate -- --first-seed ${seed} --seeds 1 --spokes ${settings.spokes} --steps ${settings.steps}\n`,
  );
}

/** The first history that ends well without the bug only. Those that fail anyway are put into `except`. */
async function findBug(bug: string, except: number[]): Promise<Failure | undefined> {
  for (;;) {
    const [found] = (await playAll({ ...settings, bug, except }, true)).failures;
    if (found === undefined) return undefined;
    const { seed } = found;
    const { runHistory } = await import('./rig/run-history.ts');
    const steps = historyOf(seed, spokeNames(settings.spokes), settings.steps);
    if ((await play(runHistory, seed, steps)).findings.length === 0) return found;
    process.stdout.write(`seed ${seed} fails without a planted bug, too\n`);
    except.push(seed);
  }
}

async function main(): Promise<boolean> {
  if (values.bugs) {
    let all = true;
    const except: number[] = [];
    for (const bug of Object.keys(BUGS)) {
      const found = await findBug(bug, except);
      process.stdout.write(
        found ? `${bug}: found with seed ${found.seed}: ${found.findings[0]}\n` : `${bug}: NOT FOUND\n`,
      );
      all &&= found !== undefined;
    }
    process.stdout.write(all ? 'every planted bug was found\n' : 'a planted bug was not found\n');
    return all;
  }
  const { failures, played } = await playAll(settings, false);
  if (settings.bug === undefined && !values['no-shrink'])
    for (const failure of failures.slice(0, 3)) await explain(failure);
  process.stdout.write(account(played));
  process.stdout.write(
    `${settings.seeds - failures.length} of ${settings.seeds} histories ended well${failures.length > 0 ? `; failed: ${failures.map(({ seed }) => seed).join(' ')}` : ''}\n`,
  );
  return failures.length === 0;
}

if (values.help) process.stdout.write(`${USAGE}\n`);
else if (values.worker) await work();
else process.exitCode = (await main()) ? 0 : 1;
