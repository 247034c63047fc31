// Finds real kubectl binaries for the end-to-end tests: the one on PATH, and the old one of Debian (1.20 in Debian 12), which is
// downloaded into .cache/ where apt is at hand. Nothing is installed, and root is not needed.
//
//   node scripts/kubectl.mjs          prints shell exports
//   node scripts/kubectl.mjs --json   prints what was found
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, say } from './install.mjs';

const PACKAGE = 'kubernetes-client';
const folder = join(root, '.cache', 'kubectl');
const DOWNLOAD_TIMEOUT_MS = 120_000;

/** All that can be had, newest first, as `{path, version}`. Empty where there is none. */
export function findKubectls({ download = true } = {}) {
  const paths = (process.env.PATH ?? '').split(delimiter).map((entry) => join(entry, 'kubectl'));
  const found = new Map();
  for (const path of [process.env.ATOLL_KUBECTL, ...paths]) {
    if (!path || !existsSync(path)) continue;
    add(found, path);
    if (found.size > 0) break;
  }
  const cached = debianBinary();
  if (cached !== undefined) add(found, cached);
  else if (download && ![...found.values()].some(({ version }) => minor(version) <= 20)) {
    const fresh = fetchDebian();
    if (fresh !== undefined) add(found, fresh);
  }
  return [...found.values()].sort((a, b) => minor(b.version) - minor(a.version));
}

/** `ATOLL_KUBECTL` (the newest) and `ATOLL_KUBECTL_ALL` (all, separated as PATH is). Empty where there is none. */
export function kubectlEnvironment(kubectls) {
  if (kubectls.length === 0) return {};
  const paths = kubectls.map(({ path }) => path);
  return { ATOLL_KUBECTL: paths[0], ATOLL_KUBECTL_ALL: paths.join(delimiter) };
}

function add(found, path) {
  const { status, stdout } = spawnSync(path, ['version', '--client', '-o', 'json'], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  if (status !== 0) return;
  const version = /"gitVersion":\s*"v([^"]+)"/.exec(stdout)?.[1];
  if (version !== undefined) found.set(realpathSync(path), { path: realpathSync(path), version });
}

function minor(version) {
  return Number(version.split('.')[1]);
}

function debianBinary() {
  const path = join(folder, 'usr', 'bin', 'kubectl');
  return existsSync(path) ? path : undefined;
}

function fetchDebian() {
  if (spawnSync('apt-get', ['--version']).status !== 0 || spawnSync('dpkg', ['--version']).status !== 0)
    return undefined;
  say(`downloading kubectl of Debian (${PACKAGE})`);
  const draft = `${folder}-draft-${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  try {
    const options = { cwd: draft, encoding: 'utf8', timeout: DOWNLOAD_TIMEOUT_MS };
    const download = () => spawnSync('apt-get', ['download', '-q', PACKAGE], options);
    let result = download();
    if (result.status !== 0 && process.getuid?.() === 0) {
      // Images of Debian come without package lists.
      spawnSync('apt-get', ['update', '-q'], options);
      result = download();
    }
    const archive = readdirSync(draft).find((name) => name.endsWith('.deb'));
    if (result.status !== 0 || archive === undefined) {
      say(
        `no kubectl from Debian: ${(result.stderr || String(result.error ?? '')).trim().split('\n').pop()}`,
      );
      return undefined;
    }
    const unpacked = spawnSync('dpkg', ['-x', archive, draft], options);
    if (unpacked.status !== 0) {
      say(`no kubectl from Debian: ${unpacked.stderr.trim()}`);
      return undefined;
    }
    rmSync(join(draft, archive));
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
    return debianBinary();
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const kubectls = findKubectls();
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(kubectls)}\n`);
  else {
    for (const [name, value] of Object.entries(kubectlEnvironment(kubectls))) {
      process.stdout.write(`export ${name}='${value}'\n`);
    }
  }
  process.exitCode = kubectls.length > 0 ? 0 : 1;
}
