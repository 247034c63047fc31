// Finds helm for the tests with charts: `ATOLL_HELM`, the one on PATH, or one that is built into .cache/ where Go and the way to
// its modules are at hand. A build that takes too long is given up: what is compiled stays in Go's cache, and the next run goes on.
//
//   node scripts/helm.mjs   prints `{"path": …}`, or `{"why": …}` there is none
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, say } from './install.mjs';

const MODULE = 'helm.sh/helm/v3/cmd/helm@v3.18.6';
const folder = join(root, '.cache', 'helm');
const BUILD_MS = 150_000;

/** `{path}`, or `{why}` there is none to be had. */
export function findHelm() {
  if (process.env.ATOLL_HELM) return { path: process.env.ATOLL_HELM };
  if (spawnSync('helm', ['version', '--short']).status === 0) return { path: 'helm' };
  const path = join(folder, 'helm');
  if (existsSync(path)) return { path };
  if (spawnSync('go', ['version']).status !== 0)
    return { why: 'there is no helm on PATH, and no Go to build one with' };
  say(`building ${MODULE}`);
  mkdirSync(folder, { recursive: true });
  const { status, error, stderr } = spawnSync('go', ['install', MODULE], {
    cwd: folder,
    encoding: 'utf8',
    timeout: BUILD_MS,
    env: { ...process.env, GOBIN: folder, GOFLAGS: '-buildvcs=false', CGO_ENABLED: '0' },
  });
  if (status === 0) return { path };
  if (error?.code === 'ETIMEDOUT')
    return {
      why: `its build takes longer than ${BUILD_MS / 1000} s; the next run goes on from what is built`,
    };
  return { why: `it cannot be built: ${stderr.trim().split('\n').at(-1)}` };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.stdout.write(JSON.stringify(findHelm()));
