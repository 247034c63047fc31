// Makes sure that the packages of the lockfile and the project's own Node are there. Runs on Node 20, without packages.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The Node of the `node` dev dependency: everything but these scripts runs on it. */
export const node = join(
  root,
  'node_modules',
  'node',
  'bin',
  process.platform === 'win32' ? 'node.exe' : 'node',
);

const NEEDED_MAJOR = 24;
const MAX_LOCK_MS = 15 * 60_000;
const stampFile = join(root, 'node_modules', '.atoll-installed');

/** Something that the user can repair; printed without a stack. */
export class Remedy extends Error {}

/** Installs when the lockfile is not the one that was installed last. Says nothing when there is nothing to do. */
export function ensureInstalled() {
  if (isInstalled()) return;
  withLock(() => {
    if (isInstalled()) return;
    if (!matchesLockfile()) {
      say('installing packages (npm ci)');
      rmSync(stampFile, { force: true });
      const { status } = npm(['ci', '--no-audit', '--no-fund', '--loglevel=error']);
      if (status !== 0) throw new Remedy('npm ci failed (see above). When the network is there, try again.');
    }
    ensureNode();
    writeFileSync(stampFile, stamp());
  });
}

function isInstalled() {
  return existsSync(node) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp();
}

function stamp() {
  const digest = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  return `${digest} ${process.platform}-${process.arch}\n`;
}

/** Whether someone ran `npm ci` by hand: npm writes its own lockfile into node_modules at the end of that. */
function matchesLockfile() {
  const hidden = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(hidden)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(hidden, 'utf8')).packages;
  const differs = Object.entries(wanted).some(([path, entry]) => {
    const other = present[path];
    if (path === '') return false;
    if (other === undefined) return entry.optional !== true && entry.devOptional !== true;
    return (
      other.version !== entry.version || other.integrity !== entry.integrity || !existsSync(join(root, path))
    );
  });
  return !differs && Object.keys(present).every((path) => path in wanted);
}

/** Newer versions of npm may block the install script that brings the binary; then it is asked for by name. */
function ensureNode() {
  const attempts = [
    () => {
      say('fetching the Node that the project uses (npm rebuild node)');
      npm(['rebuild', 'node', '--loglevel=error']);
    },
    () => {
      const folder = join(root, 'node_modules', 'node');
      spawnSync(process.execPath, ['installArchSpecificPackage.js'], { cwd: folder, stdio: 'inherit' });
    },
  ];
  while (nodeMajor() < NEEDED_MAJOR) {
    const attempt = attempts.shift();
    if (attempt === undefined) {
      throw new Remedy(
        `Node ${NEEDED_MAJOR} is not in node_modules/node: its install script did not run. Allow it with: npm rebuild node --ignore-scripts=false`,
      );
    }
    attempt();
  }
}

function nodeMajor() {
  if (!existsSync(node)) return 0;
  const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return status === 0 ? Number.parseInt(stdout.slice(1), 10) : 0;
}

function npm(args) {
  const own = process.env.npm_execpath;
  const options = { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] };
  // The npm that runs us, on our Node: the one found by name may be another one.
  if (own?.endsWith('.js')) return spawnSync(process.execPath, [own, ...args], options);
  return spawnSync('npm', args, { ...options, shell: process.platform === 'win32' });
}

/** Two commands that start at once must not install or build at once. The second waits for the first. */
export function withLock(work) {
  const folder = join(root, '.cache');
  const path = join(folder, 'prepare.lock');
  mkdirSync(folder, { recursive: true });
  let told = false;
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = lockHolder(path);
    if (holder === undefined) {
      rmSync(path, { force: true });
    } else {
      if (!told) say(`waiting for process ${holder}, which installs or builds`);
      told = true;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    }
  }
  try {
    return work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** The living process that has the lock; undefined when whoever had it is gone. */
function lockHolder(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    // Pids are used again: nothing here takes that long.
    const age = Date.now() - statSync(path).mtimeMs;
    if (age > MAX_LOCK_MS || (pid === 0 && age > 5_000)) return undefined;
    if (pid !== 0) process.kill(pid, 0);
    return pid;
  } catch (error) {
    // EPERM: it lives and is another user's. Otherwise it, or its file, is gone.
    if (error.code === 'EPERM') return 'of another user';
    if (error.code === 'ESRCH' || error.code === 'ENOENT') return undefined;
    throw error;
  }
}

export function say(text) {
  process.stderr.write(`… ${text}\n`);
}

/** Runs a script of ours: a {@link Remedy} is told in one line, anything else with its stack. */
export async function runScript(work) {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    if (!(error instanceof Remedy)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
