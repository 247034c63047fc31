// `npm test`: everything that must hold, from a bare checkout. The last line is the sum over all: `N passed, N failed`.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from './build.mjs';
import { runCheck, runNode } from './check.mjs';
import { findEtcd } from './etcd.mjs';
import { runGo } from './go.mjs';
import { ensureInstalled, Remedy, root, runScript } from './install.mjs';
import { findKubectls, kubectlEnvironment } from './kubectl.mjs';

let kubectl = {};
/** Left alone, the runner keeps one core for itself: on two cores that is every other minute. */
const EVERY_CORE = [`--maxWorkers=${availableParallelism()}`];
const steps = [
  { name: 'lint', run: () => check('lint') },
  { name: 'types', run: () => check('types') },
  { name: 'boundaries', run: () => check('boundaries') },
  { name: 'features', run: () => check('features', ['--check']) },
  { name: 'build', run: () => counted(attempt(ensureBuilt)) },
  {
    name: 'unit',
    run: () => {
      if (findEtcd() === undefined)
        process.stdout.write(
          `${'!'.repeat(72)}\n!! No etcd: not on PATH, and apt has none. Tests that need it are SKIPPED.\n${'!'.repeat(72)}\n`,
        );
      return vitest('unit', EVERY_CORE);
    },
  },
  { name: 'simulation', run: () => vitest('simulation', EVERY_CORE) },
  // Random histories of whole fleets; the same seeds each time.
  { name: 'histories', run: () => check('simulate', ['--seeds', '200']) },
  { name: 'conformance', run: () => vitest('conformance') },
  // Alone, so that nothing runs beside what is measured.
  { name: 'gate', run: () => vitest('gate') },
  {
    name: 'go',
    run: () => {
      const code = attempt(ensureBuilt);
      return code === 0 ? runGo() : counted(code);
    },
  },
  {
    name: 'e2e',
    run: () => {
      const found = findKubectls();
      kubectl = kubectlEnvironment(found);
      if (found.length > 0)
        process.stdout.write(`kubectl ${found.map(({ version }) => version).join(' and ')}\n`);
      else
        process.stdout.write(
          `${'!'.repeat(72)}\n!! No kubectl: not on PATH, and apt has none. Tests that need it are SKIPPED.\n${'!'.repeat(72)}\n`,
        );
      return vitest('e2e');
    },
  },
  {
    // The same on kube-apiservers, as hub and as spokes.
    name: 'e2e-real',
    run: () => {
      if (process.env.KUBEBUILDER_ASSETS) {
        kubectl = kubectlEnvironment(findKubectls());
        return vitest('e2e-real');
      }
      process.stdout.write(
        `${'!'.repeat(72)}\n!! KUBEBUILDER_ASSETS names no kube-apiserver and etcd (setup-envtest gets them): hubs and spokes\n!! on real API servers are NOT tested.\n${'!'.repeat(72)}\n`,
      );
      return { passed: 0, failed: 0, skipped: 1 };
    },
  },
];

await runScript(async () => {
  const only = process.argv.slice(2);
  const unknown = only.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0) {
    throw new Remedy(
      `There is no step ${unknown.join(', ')}; there are ${steps.map(({ name }) => name).join(', ')}.`,
    );
  }
  const began = performance.now();
  ensureInstalled();
  const results = [];
  for (const { name, run } of steps.filter((step) => only.length === 0 || only.includes(step.name))) {
    process.stdout.write(`\n── ${name} ${'─'.repeat(Math.max(0, 70 - name.length))}\n`);
    const start = performance.now();
    const result = await run();
    results.push({ name, ...result, seconds: (performance.now() - start) / 1000 });
  }
  const sum = (key) => results.reduce((total, result) => total + (result[key] ?? 0), 0);
  process.stdout.write('\n');
  for (const { name, passed, failed, skipped, seconds } of results) {
    const counts = `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    process.stdout.write(
      `${failed > 0 ? '✗' : '✓'} ${name.padEnd(12)} ${counts.padEnd(40)} ${seconds.toFixed(1)} s\n`,
    );
  }
  process.stdout.write(`in ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
  return sum('failed') === 0 ? 0 : 1;
});

async function check(name, args = []) {
  return counted(await runCheck(name, args));
}

function counted(code) {
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function attempt(work) {
  try {
    work();
    return 0;
  } catch (error) {
    if (!(error instanceof Remedy)) throw error;
    process.stdout.write(`${error.message}\n`);
    return 1;
  }
}

async function vitest(project, options = []) {
  const report = join(root, '.cache', `vitest-${project}.json`);
  rmSync(report, { force: true });
  const binary = join('node_modules', 'vitest', 'vitest.mjs');
  const code = await runNode(
    [
      binary,
      'run',
      '--project',
      project,
      '--passWithNoTests',
      ...options,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    { ...kubectl, CI: 'true' },
  );
  if (!existsSync(report)) return counted(code || 1);
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  // A file that cannot be loaded, or an error outside of any test, fails no test but the run.
  const failed = Math.max(numFailedTests, code === 0 ? 0 : 1);
  return { passed: numPassedTests, failed, skipped: numPendingTests + numTodoTests };
}
