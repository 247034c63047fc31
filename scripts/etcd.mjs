// Finds a real etcd for the tests of the storage on it: the one on PATH, or that of Debian, which is downloaded into .cache/ where
// apt is at hand. Nothing is installed, and root is not needed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, say } from './install.mjs';

const PACKAGE = 'etcd-server';
const folder = join(root, '.cache', 'etcd');
const DOWNLOAD_TIMEOUT_MS = 120_000;

/** Its path, or undefined where there is none to be had. */
export function findEtcd() {
  const cached = join(folder, 'usr', 'bin', 'etcd');
  if (process.env.ATOLL_ETCD) return process.env.ATOLL_ETCD;
  if (/etcd Version: \d/.test(spawnSync('etcd', ['--version'], { encoding: 'utf8' }).stdout ?? ''))
    return 'etcd';
  if (!existsSync(cached)) fetchDebian();
  return existsSync(cached) ? cached : undefined;
}

function fetchDebian() {
  if (process.platform !== 'linux' || spawnSync('apt-get', ['--version']).status !== 0) return;
  say(`downloading ${PACKAGE} of Debian`);
  const draft = `${folder}-draft-${process.pid}`;
  mkdirSync(draft, { recursive: true });
  const inDraft = { cwd: draft, stdio: 'ignore', timeout: DOWNLOAD_TIMEOUT_MS };
  spawnSync('apt-get', ['download', PACKAGE], inDraft);
  const archive = readdirSync(draft).find((name) => name.endsWith('.deb'));
  if (archive !== undefined && spawnSync('dpkg', ['-x', archive, '.'], inDraft).status === 0) {
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  }
  rmSync(draft, { recursive: true, force: true });
}
