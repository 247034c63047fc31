// Real Go controllers against Atoll's API server: builds tests/go and runs it with `bin/` in place of envtest's programs.
// Skipped, and loudly, where there is no Go, no way to its modules, or no time: what was built is kept for the next run.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from './check.mjs';
import { root } from './install.mjs';

const folder = join(root, 'tests', 'go');
const OLDEST = [1, 25];
/** All of it takes less than three minutes, whatever the machine and its network. */
const BUDGET_MS = 175_000;
const FETCH_MS = 60_000;
const RUN_MS = 40_000;

/** Numbers of tests that passed, failed and were skipped. */
export function runGo() {
  const began = performance.now();
  const version = /go(\d+)\.(\d+)/.exec(go(['version'], 10_000).stdout ?? '');
  if (version === null) return skipped('There is no Go on PATH.');
  const [major, minor] = [Number(version[1]), Number(version[2])];
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    return skipped(`${version[0]} is too old: ${OLDEST.join('.')} is needed.`);
  const fetched = go(['mod', 'download'], FETCH_MS);
  if (fetched.status !== 0) return skipped(`Modules cannot be downloaded: ${lastLine(fetched.stderr)}`);

  mkdirSync(join(root, '.cache'), { recursive: true });
  const binary = join(root, '.cache', 'go-controllers.test');
  // Unoptimised code of a thousand packages is there in half the time.
  const flags = ['-vet=off', '-gcflags=all=-N -l', '-ldflags=-s -w'];
  const buildMs = BUDGET_MS - RUN_MS - Math.round(performance.now() - began);
  const built = go(['test', '-c', ...flags, '-o', binary, '.'], buildMs);
  if (built.error?.code === 'ETIMEDOUT')
    return skipped(
      `The build takes longer than ${Math.round(buildMs / 1000)} s here; the next run goes on from what is built.`,
    );
  if (built.status !== 0) {
    process.stdout.write(built.stderr);
    return { passed: 0, failed: 1 };
  }

  const { status, stdout, stderr } = spawnSync(
    binary,
    ['-test.v', '-test.count=1', `-test.timeout=${RUN_MS - 5_000}ms`],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: RUN_MS,
      maxBuffer: 1 << 26,
      env: { ...environment, KUBEBUILDER_ASSETS: join(root, 'bin') },
    },
  );
  const results = stdout.match(/^\s*--- (?:PASS|FAIL|SKIP): .*$/gm) ?? [];
  process.stdout.write(status === 0 ? `${results.join('\n')}\n` : stdout + stderr);
  const count = (word) => results.filter((line) => line.trimStart().startsWith(`--- ${word}`)).length;
  // A binary that ends badly without a failed test has failed as well.
  return {
    passed: count('PASS'),
    failed: Math.max(count('FAIL'), status === 0 ? 0 : 1),
    skipped: count('SKIP'),
  };
}

function go(args, timeout) {
  return spawnSync('go', args, {
    cwd: folder,
    encoding: 'utf8',
    timeout,
    maxBuffer: 1 << 26,
    // Without cgo neither a C compiler nor its time is needed.
    env: { ...process.env, GOFLAGS: '-buildvcs=false -mod=readonly', GOWORK: 'off', CGO_ENABLED: '0' },
  });
}

function skipped(why) {
  const rule = '!'.repeat(72);
  process.stdout.write(`${rule}\n!! ${why}\n!! Tests with Go controllers are SKIPPED.\n${rule}\n`);
  return { passed: 0, failed: 0, skipped: 1 };
}

function lastLine(text = '') {
  return text.trim().split('\n').at(-1) || 'no answer in time';
}
