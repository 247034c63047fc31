// `npm run lint|types|boundaries|features|bench|simulate`: one check on the project's own Node, whatever Node the shell has.
import { spawn } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureInstalled, node, Remedy, root, runScript } from './install.mjs';

const biome = join('node_modules', '@biomejs', 'biome', 'bin', 'biome');

/** What each check runs, in order; all of it, even when the first fails. */
export const checks = {
  lint: [
    [biome, 'check', '--error-on-warnings', '--max-diagnostics=200'],
    [join('scripts', 'check-time.mjs')],
  ],
  types: [[join('node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']],
  boundaries: [[join('scripts', 'check-boundaries.mjs')]],
  features: [[join('scripts', 'features.ts')]],
  bench: [[join('bench', 'run.ts')]],
  simulate: [[join('test', 'simulation', 'simulate.ts')]],
};

/** The environment in which `node` is the project's own. */
export const environment = {
  ...process.env,
  PATH: [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
  NODE_OPTIONS: [process.env.NODE_OPTIONS, '--disable-warning=ExperimentalWarning'].filter(Boolean).join(' '),
};

/**
 * Runs a script of the project with its output shown. Resolves to its exit code. Whoever stops us stops it too, so that it can
 * clean up.
 */
export function runNode(args, extra = {}) {
  const child = spawn(node, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...environment, ...extra },
  });
  let stopped = false;
  const stop = () => {
    stopped = true;
    child.kill('SIGTERM');
  };
  process.on('SIGTERM', stop);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => {
      process.off('SIGTERM', stop);
      if (stopped) process.exit(143);
      resolve(code ?? 1);
    });
  });
}

/** Exit code of a check: that of its first command that failed. */
export async function runCheck(name, args = []) {
  const commands = checks[name];
  if (commands === undefined) {
    throw new Remedy(`There is no check ${name}; there are ${Object.keys(checks).join(', ')}.`);
  }
  let first = 0;
  for (const command of commands) {
    const code = await runNode([...command, ...args]);
    first = first || code;
  }
  return first;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runScript(() => {
    ensureInstalled();
    return runCheck(process.argv[2] ?? '', process.argv.slice(3));
  });
}
