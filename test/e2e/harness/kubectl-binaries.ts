import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface KubectlBinary {
  readonly path: string;
  /** `1.20`. */
  readonly version: string;
}

/** Where distributions and SDKs put versions beside each other: `kubectl.1.27`. */
const FOLDERS = ['/usr/lib/google-cloud-sdk/bin', '/usr/local/bin', '/opt/kubectl'];

/**
 * Every kubectl to test with, one a minor version, oldest first. `ATOLL_KUBECTL_ALL` (paths separated as in PATH) says
 * which; otherwise what this machine has.
 */
export function kubectlBinaries(): KubectlBinary[] {
  const named = (process.env['ATOLL_KUBECTL_ALL'] ?? '').split(delimiter).filter((path) => path !== '');
  const paths = named.length > 0 ? named : [...found(), ...onPath()];
  const byVersion = new Map<string, KubectlBinary>();
  for (const path of paths) {
    const version = versionOf(path);
    if (version !== undefined && !byVersion.has(version)) byVersion.set(version, { path, version });
  }
  const binaries = [...byVersion.values()].sort((a, b) => minor(a) - minor(b));
  if (binaries.length === 0) throw new Error('the end-to-end tests need kubectl: put one on PATH, or name some in ATOLL_KUBECTL_ALL');
  return binaries;
}

function minor(binary: KubectlBinary): number {
  return Number(binary.version.split('.')[1]);
}

function found(): string[] {
  return FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^kubectl[.-]?v?1\.\d+/.test(name))
      .map((name) => join(folder, name)),
  );
}

function onPath(): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'kubectl')).filter(isExecutable).slice(0, 1);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not to be run: then it is not a kubectl to test with.
    return false;
  }
}

function versionOf(path: string): string | undefined {
  if (!isExecutable(path)) throw new Error(`${path} is not an executable kubectl (ATOLL_KUBECTL_ALL)`);
  const text = execFileSync(path, ['version', '--client', '-o', 'json'], { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
  const { clientVersion } = JSON.parse(text) as { clientVersion?: { gitVersion?: string } };
  // A dispatcher runs whichever binary it likes for a server: it says nothing about a version.
  if (clientVersion?.gitVersion?.includes('dispatcher')) return undefined;
  return /^v(1\.\d+)/.exec(clientVersion?.gitVersion ?? '')?.[1];
}
